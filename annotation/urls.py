"""Addresses of the annotation pages and of the API."""

from django.urls import include, path

from annotation.views import adjudicate, api, rounds, splits

urlpatterns = [
    path("", include("annotation.judge_urls")),
    path("rounds/", rounds.rounds, name="rounds"),
    path("rounds/new/", rounds.round_new, name="round_new"),
    path("rounds/<str:uid>/", rounds.round_page, name="round"),
    path("rounds/<str:uid>/figure/", rounds.round_figure, name="round_figure"),
    path("rounds/<str:uid>/fill/", rounds.round_fill, name="round_fill"),
    path("rounds/<str:uid>/state/", rounds.round_state, name="round_state"),
    path("items/<str:uid>/", adjudicate.adjudicate, name="adjudicate"),
    path("splits/", splits.splits, name="splits"),
    path("splits/new/", splits.split_new, name="split_new"),
    path("splits/counts/", splits.split_counts, name="split_counts"),
    path("splits/<str:uid>/", splits.split_page, name="split"),
    path("splits/<str:uid>/audit/", splits.split_audit_part, name="split_audit"),
    path("", include("annotation.export_urls")),
    path("api/v1/", include(api.urlpatterns)),
    path("api/schema/", api.schema, name="schema"),
    path("api/docs/", api.docs, name="docs"),
]
