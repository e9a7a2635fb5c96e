"""Addresses of the evaluation pages."""

from django.urls import include, path

urlpatterns = [
    path("", include("evaluation.sit_urls")),
]
