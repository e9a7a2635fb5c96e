"""Addresses elsewhere that want to hear what happens in rounds."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.models.rounds import Round
from eqstudio.ids import uid
from eqstudio.models import Event


class Webhook(models.Model):
    """Where events are sent. ``secret_name`` is the environment variable whose value signs them."""

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    url = models.URLField(max_length=500)
    secret_name = models.CharField(max_length=80)
    verbs = models.JSONField(default=list, blank=True, help_text="which events; empty is all of them")
    round = models.ForeignKey(Round, null=True, blank=True, on_delete=models.CASCADE, related_name="webhooks")
    active = models.BooleanField(default=True)
    seen = models.PositiveBigIntegerField(default=0, help_text="events up to this one have been looked at")
    created = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]

    def __str__(self) -> str:
        return self.url


class WebhookDelivery(models.Model):
    """One event on its way to one address: tried again with growing pauses until it is taken or given up."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        DELIVERED = "delivered", _("delivered")
        GIVEN_UP = "given up", _("given up")

    uid = models.CharField(max_length=16, unique=True, default=uid, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    event = models.ForeignKey(Event, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    error = models.CharField(max_length=300, blank=True)
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        app_label = "annotation"
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["webhook", "event"], name="delivery_once")]
        indexes: ClassVar = [models.Index(fields=["state", "due_at"], name="delivery_due")]

    def __str__(self) -> str:
        return self.uid
