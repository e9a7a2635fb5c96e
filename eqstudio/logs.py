"""Structured logs: one JSON object a line where a machine reads them, plain lines for a person at a terminal."""

from __future__ import annotations

from typing import Any

import structlog
from structlog.typing import Processor

QUIET = ("httpx", "httpx2", "django_structlog")
"""Loggers whose every call is not news."""

_SHARED: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
]


def logging_config(*, level: str, as_json: bool) -> dict[str, Any]:
    """Django's LOGGING: everything goes to standard error in one form, whoever logs it."""
    renderers: list[Processor] = (
        [structlog.processors.format_exc_info, structlog.processors.JSONRenderer(ensure_ascii=False)]
        if as_json
        # Never with local variables, as the renderer would: keys and passwords are among them.
        else [structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)]
    )
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "structured": {
                "()": structlog.stdlib.ProcessorFormatter,
                "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderers],
                "foreign_pre_chain": _SHARED,
            }
        },
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "structured"}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {name: {"level": "WARNING"} for name in QUIET},
    }


def structlog_configure() -> None:
    """Send structlog's own loggers through the standard library's, so that there is one stream."""
    structlog.configure(
        processors=[
            *_SHARED,
            structlog.processors.StackInfoRenderer(),
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
