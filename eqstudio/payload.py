"""What a page sends as JSON, read against a schema: a wrong field is named, nothing is guessed."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from django.utils.translation import gettext as _
from pydantic import BaseModel, ConfigDict, ValidationError

from eqstudio.errors import InvalidInput

if TYPE_CHECKING:
    from django.http import HttpRequest


class Payload(BaseModel):
    """Base of what pages send. Strict: "3" is no number; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


P = TypeVar("P", bound=Payload)


def payload_read(request: HttpRequest, schema: type[P]) -> P:
    """Read the body of ``request``; InvalidInput names the first field that is wrong."""
    try:
        return schema.model_validate_json(request.body)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        message = _("What the page sent could not be read at %(field)s: %(why)s. Nothing was changed.")
        raise InvalidInput(
            message % {"field": field or _("the top"), "why": first["msg"]}, field=field or None
        ) from error
