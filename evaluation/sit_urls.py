"""Addresses of the exam for people."""

from django.urls import path

from evaluation.views import sit

urlpatterns = [
    path("studies/<str:uid>/sit/", sit.sit_start, name="sit_start"),
    path("sit/<str:uid>/", sit.sit, name="sit"),
    path("sit/<str:uid>/begin/", sit.sit_begin, name="sit_begin"),
    path("sit/<str:uid>/answer/", sit.sit_answer, name="sit_answer"),
]
