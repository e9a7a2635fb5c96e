"""One template for every form field."""

from django.forms.renderers import TemplatesSetting


class StudioFormRenderer(TemplatesSetting):
    """Fields come from ``templates/eqstudio/forms``; widgets are Django's own (``django.forms`` is an installed app)."""

    field_template_name = "eqstudio/forms/field.html"
