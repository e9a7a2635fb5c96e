"""One template for every form field."""

from django.forms.renderers import TemplatesSetting


class StudioFormRenderer(TemplatesSetting):
    field_template_name = "eqstudio/forms/field.html"
