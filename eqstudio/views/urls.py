"""Addresses of the kernel's own pages."""

from django.urls import path

from eqstudio.views import health, home, me

urlpatterns = [
    path("", home.home, name="home"),
    path("running/", home.running, name="running"),
    path("search/", home.search, name="search"),
    path("language/", me.language, name="language"),
    path("me/", me.me, name="me"),
    path("healthz", health.healthz, name="healthz"),
    path("health/", health.health, name="health"),
]
