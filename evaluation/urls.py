"""Addresses of the evaluation pages."""

urlpatterns: list[object] = []
