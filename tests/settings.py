"""The studio's settings with a throw-away data folder and no worker. DATABASE_URL and REDIS_URL are honoured."""

import atexit
import os
import shutil
import tempfile

os.environ["EQSTUDIO_ENV_FILE"] = os.devnull
if "EQSTUDIO_DATA" not in os.environ:
    _data = os.environ["EQSTUDIO_DATA"] = tempfile.mkdtemp(prefix="eqstudio-tests-")
    atexit.register(shutil.rmtree, _data, ignore_errors=True)

from eqstudio.settings import *  # noqa: F403
from eqstudio.settings import DATA_DIR, DATABASES, STORAGES

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
CACHES = {
    name: {"BACKEND": "django.core.cache.backends.locmem.LocMemCache", "LOCATION": name}
    for name in ("default", "counts")
}
STORAGES = {**STORAGES, "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
ACCOUNT_RATE_LIMITS = False
CONNECTIONS = 1
LOG_LEVEL = "ERROR"
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: threads and child processes then meet the locks that production has.
    DATABASES["default"]["TEST"] = {"NAME": str(DATA_DIR / "tests.sqlite3")}
    DATABASES["default"]["OPTIONS"]["init_command"] = (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA busy_timeout=20000;"
    )
else:
    DATABASES["default"]["CONN_MAX_AGE"] = 0
