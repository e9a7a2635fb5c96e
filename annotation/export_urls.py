"""Addresses of exports."""

from django.urls import path

from annotation.views import exports

urlpatterns = [
    path("splits/<str:uid>/exports/", exports.split_exports, name="split_exports"),
    path("splits/<str:uid>/export/", exports.split_export, name="split_export"),
    path("exports/<str:uid>/", exports.split_download, name="split_download"),
    path("exports/<str:uid>/again/", exports.export_again, name="export_again"),
]
