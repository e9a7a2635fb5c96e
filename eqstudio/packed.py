"""JSON in a column, compressed: a question as shown takes a third of the space, and nobody notices."""

from __future__ import annotations

import json
import zlib
from typing import Any

from django.db import models

_WORDS = (
    b'"scale": null}"scale": [1, 4]"order": "answer_first"}"order": "rationale_first"}'
    b'"question": "scenario": "context": [{"speaker": "variant": null, "text": "options": ['
    b'"key": "s4", "kind": "choice", "category": "language": "zh", "language": "en", "question": "'
    b'"kind": "grade", "kind": "mcq", "kind": "transcribe", "kind": "reply", "scenario": "", "context": []'
    b'{"speaker": "speaker1", "variant": "", "text": null}, {"speaker": "speaker2", "variant": "", "text": null}], '
    b'"options": [{"letter": "A", "variant": "", "text": null}, {"letter": "B", "variant": "", "text": null}], '
)
"""What such rows are full of. Rows in the database were packed with it: another dictionary needs another first byte."""
_FIRST = b"\x01"


def pack(value: Any) -> bytes:
    """``value`` as JSON, compressed."""
    packer = zlib.compressobj(level=6, wbits=-15, zdict=_WORDS)
    text = json.dumps(value, ensure_ascii=False).encode()
    return _FIRST + packer.compress(text) + packer.flush()


def unpack(data: bytes) -> Any:
    """What was packed. ValueError for bytes that were packed in a way this version does not know."""
    if data[:1] != _FIRST:
        raise ValueError(f"packed in a way this version does not know: {data[:1]!r}")
    return json.loads(zlib.decompressobj(wbits=-15, zdict=_WORDS).decompress(data[1:]))


class PackedJSONField(models.BinaryField):  # type: ignore[type-arg]
    """A JSON value that is read and written whole; the database does not look inside."""

    description = "JSON, compressed"

    def from_db_value(self, value: Any, _expression: object, _connection: object) -> Any:
        return None if value is None else unpack(bytes(value))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:  # noqa: FBT001, FBT002 -- Django's
        packed = None if value is None else pack(value)
        return super().get_db_prep_value(packed, connection, prepared)

    def get_default(self) -> Any:
        return self._get_default()  # type: ignore[attr-defined]

    def to_python(self, value: Any) -> Any:
        return json.loads(value) if isinstance(value, str) else value

    def value_to_string(self, obj: Any) -> str:
        return json.dumps(self.value_from_object(obj), ensure_ascii=False)
