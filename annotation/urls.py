"""Addresses of the annotation pages."""

from django.urls import include, path

urlpatterns = [
    path("", include("annotation.judge_urls")),
]
