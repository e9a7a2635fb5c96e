"""Addresses of the exam for people."""

from django.urls import path

from evaluation.views import join, sit, sit_steps

urlpatterns = [
    path("join/", join.sit_code, name="sit_code"),
    path("join/<str:token>/", join.sit_join, name="sit_join"),
    path("studies/<str:uid>/sit/", sit.sit_start, name="sit_start"),
    path("sit/<str:uid>/", sit.sit, name="sit"),
    path("sit/<str:uid>/eligible/", sit_steps.sit_eligible, name="sit_eligible"),
    path("sit/<str:uid>/consent/", sit_steps.sit_consent, name="sit_consent"),
    path("sit/<str:uid>/no-ai/", sit_steps.sit_no_ai, name="sit_no_ai"),
    path("sit/<str:uid>/headphones/", sit_steps.sit_headphones, name="sit_headphones"),
    path("sit/<str:uid>/begin/", sit_steps.sit_begin, name="sit_begin"),
    path("sit/<str:uid>/answer/", sit.sit_answer, name="sit_answer"),
    path("sit/<str:uid>/go-on/", sit_steps.sit_go_on, name="sit_go_on"),
    path("sit/<str:uid>/about/", sit_steps.sit_details, name="sit_details"),
    path("sit/<str:uid>/withdraw/", sit_steps.sit_withdraw, name="sit_withdraw"),
]
