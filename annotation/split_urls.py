"""Addresses of splits: recipe, versions, audits, releases, exports."""

from django.urls import path

from annotation.views import audits, freezes, releases, splits

urlpatterns = [
    path("splits/", splits.splits, name="splits"),
    path("splits/new/", splits.split_new, name="split_new"),
    path("splits/counts/", splits.split_counts, name="split_counts"),
    path("freezes/<str:uid>/", freezes.freeze_page, name="freeze"),
    path("freezes/<str:uid>/part/", freezes.freeze_part, name="freeze_part"),
    path("freezes/<str:uid>/stop/", freezes.freeze_end, name="freeze_end"),
    path("splits/<str:uid>/", splits.split_page, name="split"),
    path("splits/<str:uid>/recipe/", splits.split_recipe, name="split_recipe"),
    path("splits/<str:uid>/audit/", audits.split_audit_part, name="split_audit"),
    path("splits/<str:uid>/audit/new/", audits.split_audit_new, name="split_audit_new"),
    path("audits/<str:uid>/", audits.audit_page, name="audit"),
    path("audits/<str:uid>/stop/", audits.audit_end, name="audit_end"),
    path("splits/<str:uid>/changes/", releases.split_diff, name="split_diff"),
    path("splits/<str:uid>/waive/", releases.split_waive, name="split_waive"),
    path("splits/<str:uid>/release/", releases.release_split, name="split_release"),
    path("splits/<str:uid>/public/", releases.publish_split, name="split_publish"),
    path("splits/<str:uid>/withdraw/", releases.withdraw_items, name="split_withdraw"),
    path("released/<str:uid>/", releases.split_public, name="split_public"),
]
