"""Addresses of the kernel's own pages."""

urlpatterns: list[object] = []
