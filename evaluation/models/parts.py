"""What a question is there for."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _


class Part(models.TextChoices):
    """Only the items of the study themselves are data; everything else is kept beside them and enters no figure."""

    ITEM = "", _("item")
    PRACTICE = "practice", _("practice")
    ATTENTION = "attention", _("attention item")
    REPEAT = "repeat", _("repetition")
