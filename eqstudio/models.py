"""People and the trail of what they did."""

from __future__ import annotations

from typing import ClassVar, NoReturn, Self, TypeVar

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from eqstudio.ids import uid

M = TypeVar("M", bound=models.Model)
PAGE_LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]


class Role(models.TextChoices):
    """The three groups a person may belong to."""

    ANNOTATOR = "annotator", _("annotator")
    RESEARCHER = "researcher", _("researcher")
    ADMIN = "admin", _("admin")


class User(AbstractUser):
    """A person who signs in. ``uid`` is the only id that leaves the server."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    display_name = models.CharField(_("name to show"), max_length=80, blank=True)
    language = models.CharField(_("language"), max_length=12, default="en", choices=PAGE_LANGUAGES)
    skills = models.JSONField(default=list, blank=True, help_text="what rounds may ask for, as short words")
    speaks = models.JSONField(default=list, blank=True, help_text="codes of the languages in which the person judges")
    is_demo = models.BooleanField(default=False, editable=False)

    def __str__(self) -> str:
        return self.display_name or self.username


class FactQuerySet(models.QuerySet[M]):
    """Rows that can be read and inserted. What hangs on a row that goes, goes with it; nothing else removes them."""

    def update(self, **_values: object) -> NoReturn:
        raise TypeError(f"{self.model.__name__} rows are facts: insert new ones")

    def bulk_update(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(f"{self.model.__name__} rows are facts: insert new ones")

    def delete(self) -> NoReturn:
        raise TypeError(f"{self.model.__name__} rows are facts: they stay")


class AppendOnly(models.Model):
    """Facts are inserted, never updated and never deleted, one by one or many at once."""

    objects: ClassVar[models.Manager[Self]] = models.Manager.from_queryset(FactQuerySet)()

    class Meta:
        abstract = True

    def save(self, *args: object, **kwargs: object) -> None:
        if not self._state.adding:
            raise TypeError(f"{type(self).__name__} rows are facts: insert a new one")
        super().save(*args, **kwargs)  # type: ignore[arg-type]

    def delete(self, *_args: object, **_kwargs: object) -> NoReturn:
        raise TypeError(f"{type(self).__name__} rows are facts: they stay")


class Event(AppendOnly):
    """Who did what to what, and when."""

    created = models.DateTimeField(auto_now_add=True, db_index=True)
    actor = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="events")
    verb = models.CharField(max_length=60)
    entity = models.CharField(max_length=40)
    entity_uid = models.CharField(max_length=64)
    detail = models.JSONField(default=dict)

    class Meta:
        ordering: ClassVar = ["-created", "-pk"]
        indexes: ClassVar = [models.Index(fields=["entity", "entity_uid"], name="event_entity")]

    def __str__(self) -> str:
        return f"{self.verb} {self.entity}:{self.entity_uid}"
