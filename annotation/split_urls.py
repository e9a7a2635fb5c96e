"""Addresses of splits: recipe, versions, audits, releases, exports."""

from django.urls import path

from annotation.views import splits

urlpatterns = [
    path("splits/", splits.splits, name="splits"),
    path("splits/new/", splits.split_new, name="split_new"),
    path("splits/counts/", splits.split_counts, name="split_counts"),
    path("splits/<str:uid>/", splits.split_page, name="split"),
    path("splits/<str:uid>/audit/", splits.split_audit_part, name="split_audit"),
    path("splits/<str:uid>/exports/", splits.split_exports, name="split_exports"),
    path("splits/<str:uid>/export/", splits.split_export, name="split_export"),
    path("exports/<str:uid>/", splits.split_download, name="split_download"),
]
