"""Nested rows as Arrow columns, column by column: pyarrow's own way makes every sound grow byte by byte in a buffer of its own,
which costs more than writing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import pyarrow as pa


def table_of(rows: Sequence[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """The same as ``pa.Table.from_pylist``, for schemas of text, numbers, bytes, lists and structs."""
    columns = [_column(field.type, [row[field.name] for row in rows]) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    if pa.types.is_struct(kind):
        there = [value is not None for value in values]
        parts = [
            _column(field.type, [None if value is None else value[field.name] for value in values]) for field in kind
        ]
        return pa.StructArray.from_buffers(kind, len(values), [_bits(there)], children=parts)
    if pa.types.is_list(kind):
        flat = [one for value in values for one in value]
        return pa.ListArray.from_arrays(_ends(values), _column(kind.value_type, flat), type=kind)
    if pa.types.is_binary(kind):
        there = [value is not None for value in values]
        data = [value or b"" for value in values]
        ends = _ends(data)
        return pa.Array.from_buffers(kind, len(values), [_bits(there), ends.buffers()[1], pa.py_buffer(b"".join(data))])
    return pa.array(values, kind)


def _ends(values: Sequence[Any]) -> pa.Array:
    return pa.array([0, *accumulate(map(len, values))], pa.int32())


def _bits(there: list[bool]) -> pa.Buffer | None:
    return None if all(there) else pa.array(there, pa.bool_()).buffers()[1]
