"""Addresses of the annotation pages, but for those of listening, and of what documents the API."""

from django.urls import include, path

from annotation.views import api

urlpatterns = [
    path("", include("annotation.quality_urls")),
    path("", include("annotation.round_urls")),
    path("", include("annotation.agreement_urls")),
    path("", include("annotation.split_urls")),
    path("", include("annotation.export_urls")),
    path("api/schema/", api.schema, name="schema"),
    path("api/docs/", api.docs, name="docs"),
]
