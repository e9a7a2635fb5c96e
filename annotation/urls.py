"""Addresses of the annotation pages and of the API."""

from django.urls import include, path

from annotation.views import adjudicate, api, rounds

urlpatterns = [
    path("", include("annotation.judge_urls")),
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/new/", rounds.round_new, name="round_new"),
    path("rounds/<str:uid>/", rounds.round_page, name="round"),
    path("rounds/<str:uid>/figure/", rounds.round_figure, name="round_figure"),
    path("rounds/<str:uid>/fill/", rounds.round_fill, name="round_fill"),
    path("rounds/<str:uid>/state/", rounds.round_state, name="round_state"),
    path("items/<str:uid>/", adjudicate.adjudicate, name="adjudicate"),
    path("", include("annotation.split_urls")),
    path("api/v1/", include(api.urlpatterns)),
    path("api/schema/", api.schema, name="schema"),
    path("api/docs/", api.docs, name="docs"),
]
