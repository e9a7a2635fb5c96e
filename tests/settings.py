"""The studio's settings with a throw-away data folder and no worker."""

import os
import tempfile

_data = tempfile.mkdtemp(prefix="eqstudio-tests-")
os.environ.setdefault("EQSTUDIO_DATA", _data)

from eqstudio.settings import *  # noqa: E402, F403
from eqstudio.settings import STORAGES  # noqa: E402

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
ACCOUNT_RATE_LIMITS = False
LOG_LEVEL = "ERROR"
