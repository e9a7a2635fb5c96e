"""The WSGI entry point for gunicorn."""

import os

from django.core.wsgi import get_wsgi_application
from django.urls import get_resolver

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "eqstudio.settings")

application = get_wsgi_application()
# Pages are imported here, once, and not by each process that gunicorn forks, in its first request.
_pages = get_resolver().url_patterns
