"""Addresses of the evaluation pages."""

from django.urls import include, path

from evaluation.views import comparison, runs, studies

urlpatterns = [
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.study_new, name="study_new"),
    path("studies/<str:uid>/", studies.study, name="study"),
    path("studies/<str:uid>/close/", studies.study_off, name="study_close"),
    path("studies/<str:uid>/runs/new/", runs.run_new, name="run_new"),
    path("studies/<str:uid>/comparison/", comparison.comparison, name="comparison"),
    path("studies/<str:uid>/comparison/<str:chart>.svg", comparison.comparison_chart, name="comparison_chart"),
    path("studies/<str:uid>/comparison.csv", comparison.comparison_csv, name="comparison_csv"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<str:uid>/", runs.run, name="run"),
    path("runs/<str:uid>/stop/", runs.run_off, name="run_stop"),
    path("runs/<str:uid>/resume/", runs.run_on, name="run_resume"),
    path("", include("evaluation.sit_urls")),
]
