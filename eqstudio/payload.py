"""What a page sends as JSON, read against a schema: a wrong field is named, nothing is guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError

from eqstudio.errors import InvalidInput

if TYPE_CHECKING:
    from django.http import HttpRequest


class Payload(BaseModel):
    """Base of what pages send. Strict: "3" is no number; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


P = TypeVar("P", bound=Payload)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def unstorable(value: Any) -> bool:
    """Whether a text anywhere in ``value``, keys included, holds NUL or half a character, which PostgreSQL refuses."""
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is not None
    if isinstance(value, Mapping):
        return any(unstorable(name) or unstorable(held) for name, held in value.items())
    return isinstance(value, list | tuple) and any(map(unstorable, value))


def storable(value: Any) -> Any:
    """The same without those characters, for what comes from files; a number that JSON cannot hold becomes its name."""
    if isinstance(value, str):
        return _UNSTORABLE.sub("", value)
    if isinstance(value, Mapping):
        return {storable(str(name)): storable(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [storable(held) for held in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def payload_read(request: HttpRequest, schema: type[P]) -> P:
    """Read the body of ``request``; InvalidInput names the first field that is wrong."""
    try:
        sent = schema.model_validate_json(request.body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = _("What the page sent could not be read at %(field)s: %(why)s. Nothing was changed.")
        raise InvalidInput(
            message % {"field": field or _("the top"), "why": first["msg"]}, field=field or None
        ) from error
    for name, value in sent:
        if unstorable(value):
            raise InvalidInput(_("%(field)s holds a character that no text has.") % {"field": name}, field=name)
    return sent
