"""Every setting comes from the environment and is documented in .env.example; nonsense stops the start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _
from environs import FileAwareEnv, validate

from eqstudio.broker import FILES, broker_files, broker_socket
from eqstudio.limits import limits_checked, prices_checked
from eqstudio.logs import logging_config, structlog_configure
from eqstudio.settings_database import database_of
from eqstudio.settings_models import models_of, prices_with, recogniser_of
from eqstudio.settings_names import names_checked
from eqstudio.settings_vendors import vendor_details_read, vendors_read

BASE_DIR = Path(__file__).resolve().parent.parent

env = FileAwareEnv(strip_whitespace=True)  # editors and `openssl rand` end a file with a newline
ENV_FILE = env.str("EQSTUDIO_ENV_FILE", str(BASE_DIR / ".env"))
env.read_env(ENV_FILE, recurse=False)

DATA_DIR = Path(env.str("EQSTUDIO_DATA", "") or BASE_DIR / "var").resolve()
PRODUCTION = env.bool("EQSTUDIO_PRODUCTION", False)
DEBUG = env.bool("EQSTUDIO_DEBUG", False)


def _secret_key() -> str:
    """From the environment; the embedded default keeps one of its own in the data folder."""
    from_env: str = env.str("SECRET_KEY", "")
    if from_env:
        return from_env
    if PRODUCTION:
        raise ImproperlyConfigured("SECRET_KEY must be set when EQSTUDIO_PRODUCTION is on.")
    path = DATA_DIR / "secret-key"
    if not path.exists():
        from django.core.management.utils import get_random_secret_key  # noqa: PLC0415 -- only on the first start

        mine = path.with_name(f"secret-key.{os.getpid()}")
        try:
            DATA_DIR.mkdir(parents=True, exist_ok=True)
            mine.touch(mode=0o600)
            mine.write_text(get_random_secret_key())
        except OSError as error:
            raise ImproperlyConfigured(
                f"The data folder {DATA_DIR} cannot be written: {error.strerror}. Nothing was started. "
                "Make room, or set EQSTUDIO_DATA to a folder that is yours."
            ) from error
        try:
            path.hardlink_to(mine)  # two processes on a first start agree on one key
        except FileExistsError:
            pass
        finally:
            mine.unlink()
    return path.read_text()


SECRET_KEY = _secret_key()
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", ["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", [])

INSTALLED_APPS = [
    "eqstudio",
    "generation",
    "annotation",
    "evaluation",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "rules.apps.AutodiscoverRulesConfig",
    "django_htmx",
    "template_partials",
    "rest_framework",
    "rest_framework.authtoken",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_linear_migrations",
    "django_prometheus",
    "django_structlog",
    "csp",
]

MIDDLEWARE = [
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "django_permissions_policy.PermissionsPolicyMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "eqstudio.middleware.PersonLanguageMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "eqstudio.middleware.GuestMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_structlog.middlewares.RequestMiddleware",
    "eqstudio.middleware.StudioErrorMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]

ROOT_URLCONF = "eqstudio.urls"
WSGI_APPLICATION = "eqstudio.wsgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "django.template.context_processors.i18n",
                "eqstudio.context.shell",
            ],
            "builtins": ["eqstudio.templatetags.studio"],
        },
    }
]
FORM_RENDERER = "eqstudio.forms.StudioFormRenderer"

DATABASES = {"default": database_of(env, DATA_DIR)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Broker: Redis for a team; else an embedded Redis-compatible server on a unix socket, which `manage.py studio` starts
# (other commands find it by its socket); else files, where no such server exists on this machine.
REDIS_URL = env.str("REDIS_URL", "")
if REDIS_URL and not REDIS_URL.startswith(("redis://", "rediss://", "redis+socket://")):
    raise ImproperlyConfigured("REDIS_URL must start with redis://, rediss:// or redis+socket://.")
BROKER_SOCKET = broker_socket(DATA_DIR)
BROKER_EMBEDDED = env.str("EQSTUDIO_BROKER", "", validate=validate.OneOf(["", "redis", FILES])) or (
    "redis" if BROKER_SOCKET.exists() else FILES
)
BROKER_PREFIX = env.str("EQSTUDIO_BROKER_PREFIX", "")
TASK_TIME_LIMIT_S = 660
if REDIS_URL or BROKER_EMBEDDED == "redis":
    CELERY_BROKER_URL = REDIS_URL or f"redis+socket://{BROKER_SOCKET}"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "visibility_timeout": 900,
        "unacked_restore_interval": 5,
        "unacked_restore_throttle": 1,
        "queue_order_strategy": "priority",
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.2,
        "global_keyprefix": BROKER_PREFIX,
    }
else:
    CELERY_BROKER_URL = "filesystem://localhost//"
    CELERY_BROKER_TRANSPORT_OPTIONS = broker_files(DATA_DIR)
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_DEFAULT_QUEUE = "io"
CELERY_TASK_ROUTES = {"io.*": {"queue": "io"}, "cpu.*": {"queue": "cpu"}, "gpu.*": {"queue": "gpu"}}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_TIMEZONE = "UTC"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "broker" / "beat-schedule")
CELERY_WORKER_SOFT_SHUTDOWN_TIMEOUT = 2
DJANGO_STRUCTLOG_CELERY_ENABLED = True
DJANGO_STRUCTLOG_IP_LOGGING_ENABLED = False  # who listens from where is nobody's business, and a log is kept for long
SWEEP_INTERVAL_S = env.int("EQSTUDIO_SWEEP_SECONDS", 15, validate=validate.Range(min=1, max=3600))
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "generation-sweep": {"task": "io.generation.tasks.production_sweep", "schedule": SWEEP_INTERVAL_S},
    "annotation-sweep": {"task": "io.annotation.tasks.annotation_sweep", "schedule": SWEEP_INTERVAL_S},
    "evaluation-sweep": {"task": "io.evaluation.tasks.sittings_sweep", "schedule": SWEEP_INTERVAL_S},
}
CELERY_BEAT_SCHEDULE["annotation-recount"] = {"task": "io.annotation.tasks.rounds_recount", "schedule": 3600}
if not PRODUCTION:
    CELERY_BEAT_SCHEDULE["demo"] = {"task": "io.evaluation.demo.tasks.demo_step", "schedule": SWEEP_INTERVAL_S}

CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": str(DATA_DIR / "cache")},
    # Of requests, for each of which a file would cost more than most answers do.
    "counts": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
}
if REDIS_URL.startswith(("redis://", "rediss://")):
    _redis = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": f"{BROKER_PREFIX}eqstudio",
    }
    CACHES = dict.fromkeys(CACHES, _redis)

# Files: content-addressed clips in a folder, or in an S3-compatible store when AWS_STORAGE_BUCKET_NAME is set.
MEDIA_ROOT = DATA_DIR / "media"
UPLOAD_MAX_BYTES = env.int("EQSTUDIO_UPLOAD_MAX_MB", 2000, validate=validate.Range(min=1, max=50_000)) * 10**6
DATA_UPLOAD_MAX_NUMBER_FILES = 2000
FILE_UPLOAD_HANDLERS = [
    "eqstudio.uploads.CappedUpload",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
AWS_STORAGE_BUCKET_NAME = env.str("AWS_STORAGE_BUCKET_NAME", "")
AWS_S3_ENDPOINT_URL = env.str("AWS_S3_ENDPOINT_URL", "") or None
AWS_S3_REGION_NAME = env.str("AWS_S3_REGION_NAME", "") or None
AWS_ACCESS_KEY_ID = env.str("AWS_ACCESS_KEY_ID", "") or None
AWS_SECRET_ACCESS_KEY = env.str("AWS_SECRET_ACCESS_KEY", "") or None
AWS_S3_SIGNATURE_VERSION = "s3v4"  # regions and stores of these years take no other
AWS_QUERYSTRING_EXPIRE = 3600
AWS_DEFAULT_ACL = None
MEDIA_ORIGINS = [AWS_S3_ENDPOINT_URL or "https://*.amazonaws.com"] if AWS_STORAGE_BUCKET_NAME else []
"""Where presigned addresses lead; the content security policy lets clips come from there too."""
STORAGES = {
    "default": {
        "BACKEND": "storages.backends.s3.S3Storage"
        if AWS_STORAGE_BUCKET_NAME
        else "django.core.files.storage.FileSystemStorage"
    },
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}
MEDIA_ACCEL_PREFIX = env.str("MEDIA_ACCEL_PREFIX", "")
"""nginx's internal location in front of MEDIA_ROOT; empty lets Django send the bytes itself."""
MEDIA_TOKEN_SECONDS = 6 * 3600

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"

# Sign-in
AUTH_USER_MODEL = "eqstudio.User"
AUTHENTICATION_BACKENDS = [
    "rules.permissions.ObjectPermissionBackend",
    "eqstudio.signin.PasswordBackend",
    "eqstudio.signin.AccountBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
ACCOUNT_ADAPTER = "eqstudio.accounts.InvitedOnlyAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_RATE_LIMITS = {"login_failed": "10/m/ip,5/5m/key"}
ALLAUTH_TRUSTED_PROXY_COUNT = env.int(
    "EQSTUDIO_PROXIES", 1 if PRODUCTION else 0, validate=validate.Range(min=0, max=10)
)
"""How many proxies of one's own append to X-Forwarded-For; limits count by the address that the first of them saw."""
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
OIDC_ISSUER = env.str("OIDC_ISSUER", "")
SOCIALACCOUNT_ADAPTER = "eqstudio.accounts.SingleSignOnAdapter"
SOCIALACCOUNT_PROVIDERS = (
    {
        "openid_connect": {
            "APPS": [
                {
                    "provider_id": "sso",
                    "name": env.str("OIDC_NAME", "Single sign-on"),
                    "client_id": env.str("OIDC_CLIENT_ID", ""),
                    "secret": env.str("OIDC_CLIENT_SECRET", ""),
                    "settings": {"server_url": OIDC_ISSUER},
                }
            ]
        }
    }
    if OIDC_ISSUER
    else {}
)
SESSION_ENGINE = "eqstudio.signin"
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SECURE_HSTS_SECONDS = 31_536_000 if PRODUCTION else 0
SECURE_SSL_REDIRECT = PRODUCTION
if PRODUCTION:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_REDIRECT_EXEMPT = [r"^healthz$"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "media-src": [SELF, "blob:", *MEDIA_ORIGINS],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "manifest-src": [SELF],
        "worker-src": [SELF],
    }
}
PERMISSIONS_POLICY: dict[str, list[str]] = {"microphone": [], "camera": [], "geolocation": []}

# Languages
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

API_RATE = env.str("EQSTUDIO_API_RATE", "6000/min", validate=validate.Regexp(r"\d+/(s|m|h|d)[a-z]*\Z"))
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "eqstudio.signin.TokenSignIn",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.CursorPagination",
    "PAGE_SIZE": 100,
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "eqstudio.middleware.api_exception_handler",
    "DEFAULT_THROTTLE_CLASSES": ["eqstudio.throttle.UserThrottle"],
    "DEFAULT_THROTTLE_RATES": {"user": API_RATE},
}
WEBHOOK_PRIVATE = env.bool("EQSTUDIO_WEBHOOK_PRIVATE", False)  # may they lead to addresses inside the house?
SPECTACULAR_SETTINGS = {
    "TITLE": "eqstudio",
    "VERSION": "0.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# Providers: which endpoints exist and what their calls cost is configuration; keys are named, never stored.
TEXT_BASE_URL = env.str("EQSTUDIO_TEXT_BASE_URL", "https://api.openai.com/v1")
TEXT_MODEL = env.str("EQSTUDIO_TEXT_MODEL", "gpt-5-mini")
TEXT_KEY_ENV = env.str("EQSTUDIO_TEXT_KEY_ENV", "OPENAI_API_KEY")
VOICE_BASE_URL = env.str("EQSTUDIO_VOICE_BASE_URL", "https://api.openai.com/v1")
VOICE_MODEL = env.str("EQSTUDIO_VOICE_MODEL", "gpt-4o-mini-tts")
VOICE_KEY_ENV = env.str("EQSTUDIO_VOICE_KEY_ENV", "OPENAI_API_KEY")
TRANSCRIBER_BASE_URL = env.str("EQSTUDIO_TRANSCRIBER_BASE_URL", "https://api.openai.com/v1")
TRANSCRIBER_MODEL = env.str("EQSTUDIO_TRANSCRIBER_MODEL", "gpt-transcribe")
TRANSCRIBER_KEY_ENV = env.str("EQSTUDIO_TRANSCRIBER_KEY_ENV", "OPENAI_API_KEY")
EXAM_BASE_URL = env.str("EQSTUDIO_EXAM_BASE_URL", "https://api.openai.com/v1")
EXAM_MODEL = env.str("EQSTUDIO_EXAM_MODEL", "gpt-audio-1.5")
EXAM_KEY_ENV = env.str("EQSTUDIO_EXAM_KEY_ENV", "OPENAI_API_KEY")
EXAM_TIMEOUT_S = env.float("EQSTUDIO_EXAM_TIMEOUT", 120.0, validate=validate.Range(min=0.1, max=3600))
EXAM_DEADLINE_S = env.float("EQSTUDIO_EXAM_DEADLINE", 900.0, validate=validate.Range(min=1, max=86_400))
"""How long one call of a model run may take, and how long one question may be tried in all."""
EXAM_MODELS = models_of(env)
EXAM_RECOGNISER, EXAM_RECOGNISER_MODEL = recogniser_of(env)
VENDORS, VENDOR_DETAILS = vendors_read(env), vendor_details_read(env)
FAKE_DELAY_S = env.float("EQSTUDIO_FAKE_DELAY", 0.0)
PRICES = prices_with(prices_checked(env.json("EQSTUDIO_PRICES", {})), EXAM_MODELS)
PROVIDER_LIMITS = limits_checked(env.json("EQSTUDIO_PROVIDER_LIMITS", {}))
CONNECTIONS = env.int("EQSTUDIO_CONNECTIONS", 32, validate=validate.Range(min=1, max=256))
"""How many steps that wait on a provider run at once in one process."""

# Logs: one JSON object a line where a machine reads them, plain lines for a person at a terminal.
LOG_LEVEL = env.str(
    "EQSTUDIO_LOG_LEVEL", "INFO", validate=validate.OneOf(["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
)
LOG_FORMAT = env.str(
    "EQSTUDIO_LOG_FORMAT", "json" if PRODUCTION else "plain", validate=validate.OneOf(["json", "plain"])
)
LOGGING = logging_config(level=LOG_LEVEL, as_json=LOG_FORMAT == "json")
structlog_configure()
SENTRY_DSN = env.str("SENTRY_DSN", "")
if SENTRY_DSN:
    try:
        import sentry_sdk  # type: ignore[import-not-found]
    except ImportError as _error:
        raise ImproperlyConfigured(
            "SENTRY_DSN is set, but sentry-sdk is not installed: pip install sentry-sdk"
        ) from _error
    sentry_sdk.init(dsn=SENTRY_DSN, send_default_pii=False)

names_checked(env, ENV_FILE)
