"""Addresses under which rounds are listed, made and steered."""

from django.urls import path

from annotation.views import round_settings, rounds, webhooks

urlpatterns = [
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/new/", rounds.round_new, name="round_new"),
    path("rounds/counts/", rounds.round_counts, name="round_counts"),
    path("rounds/<str:uid>/fill/", rounds.round_fill, name="round_fill"),
    path("rounds/<str:uid>/state/", rounds.round_state, name="round_state"),
    path("rounds/<str:uid>/settings/", round_settings.round_settings, name="round_settings"),
    path("rounds/<str:uid>/examples/", round_settings.round_example, name="round_example"),
    path(
        "rounds/<str:uid>/examples/<str:example>/remove/",
        round_settings.round_example_remove,
        name="round_example_remove",
    ),
    path("webhooks/", webhooks.webhooks, name="webhooks"),
    path("webhooks/<str:uid>/", webhooks.webhook, name="webhook"),
    path("webhooks/<str:uid>/act/", webhooks.webhook_act, name="webhook_act"),
]
