"""Addresses of the kernel's own pages."""

from django.urls import path

from eqstudio.views import events, health, home, me, people

urlpatterns = [
    path("", home.home, name="home"),
    path("running/", home.running, name="running"),
    path("search/", home.search, name="search"),
    path("language/", me.language, name="language"),
    path("me/", me.me, name="me"),
    path("me/token/", me.token, name="me_token"),
    path("people/", people.people, name="people"),
    path("people/new/", people.person_new, name="person_new"),
    path("people/<str:uid>/", people.person, name="person"),
    path("people/<str:uid>/activation/", people.person_activation, name="person_activation"),
    path("people/<str:uid>/link/", people.person_link, name="person_link"),
    path("events/", events.events, name="events"),
    path("health/", health.health, name="health"),
    path("health/counts/", health.health_counts, name="health_counts"),
    path("healthz", health.healthz, name="healthz"),
]
