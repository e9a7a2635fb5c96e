"""Addresses of the annotation pages."""

urlpatterns: list[object] = []
