"""Addresses of the evaluation pages."""

from django.urls import include, path

from evaluation.views import comparison, figures, items, release, report, runs, studies

urlpatterns = [
    path("studies/", studies.studies, name="studies"),
    path("studies/new/", studies.study_new, name="study_new"),
    path("studies/<str:uid>/", studies.study, name="study"),
    path("studies/<str:uid>/close/", studies.study_off, name="study_close"),
    path("studies/<str:uid>/runs/new/", runs.run_new, name="run_new"),
    path("studies/<str:uid>/comparison/", comparison.comparison, name="comparison"),
    path("studies/<str:uid>/comparison/<str:chart>.svg", figures.comparison_chart, name="comparison_chart"),
    path("studies/<str:uid>/comparison/items/", items.comparison_items, name="comparison_items"),
    path("studies/<str:uid>/comparison/items/<str:item>/", items.comparison_item, name="comparison_item"),
    path("studies/<str:uid>/comparison/items/<str:item>/tag/", items.comparison_tag, name="comparison_tag"),
    path("studies/<str:uid>/comparison/norm/", comparison.norm_keep, name="norm_freeze"),
    path("studies/<str:uid>/comparison/<str:chart>.<str:form>", figures.comparison_table, name="comparison_table"),
    path("studies/<str:uid>/comparison.csv", figures.comparison_csv, name="comparison_csv"),
    path("studies/<str:uid>/release.zip", release.study_release, name="study_release"),
    path("studies/<str:uid>/report/", report.study_report, name="study_report"),
    path("studies/<str:uid>/power/", report.study_power, name="study_power"),
    path("studies/<str:uid>/rules/", runs.rules_run, name="study_rules"),
    path("runs/", runs.runs, name="runs"),
    path("runs/<str:uid>/", runs.run, name="run"),
    path("runs/<str:uid>/stop/", runs.run_off, name="run_stop"),
    path("runs/<str:uid>/resume/", runs.run_on, name="run_resume"),
    path("runs/<str:uid>/again/", runs.run_again, name="run_again"),
    path("runs/<str:uid>/limits/", runs.run_limits, name="run_limits"),
    path("", include("evaluation.sit_urls")),
]
