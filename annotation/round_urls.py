"""Addresses under which rounds are listed, made and steered."""

from django.urls import path

from annotation.views import rounds

urlpatterns = [
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/new/", rounds.round_new, name="round_new"),
    path("rounds/<str:uid>/fill/", rounds.round_fill, name="round_fill"),
    path("rounds/<str:uid>/state/", rounds.round_state, name="round_state"),
]
