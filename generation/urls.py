"""Addresses of the generation pages."""

urlpatterns: list[object] = []
