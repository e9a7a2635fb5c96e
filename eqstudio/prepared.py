"""Statements that pages ask again and again, compiled once for each connection and then run with other values.

The ORM says what is asked; what it takes to turn that into SQL, a third of a millisecond and more, is paid once. Where the
database is PostgreSQL, it keeps its own side of the statement, too (``prepare_threshold`` in the settings).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from django.core.exceptions import EmptyResultSet
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Model, QuerySet
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)
from django.db.models.sql import UpdateQuery

R = TypeVar("R")
M = TypeVar("M", bound=Model)


class Given(Expression):
    """A value that is not known yet, under its name."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def as_sql(self, _compiler: Any, _connection: Any) -> Any:  # type: ignore[override]
        return "%s", [self]


class _Statement(NamedTuple):
    sql: str
    params: tuple[Any, ...]


def _statement(compiler: Any) -> _Statement:
    try:
        sql, params = compiler.as_sql()
    except EmptyResultSet as error:
        raise ValueError("a prepared statement that finds nothing whatever it is given") from error
    return _Statement(sql, tuple(params))


def _execute(connection: Any, statement: _Statement, given: Mapping[str, Any]) -> Any:
    """Run it and give the cursor; its rows are to be fetched before anything else is run."""
    adapt = connection.ops.adapt_unknown_value
    params = [adapt(given[param.name]) if type(param) is Given else param for param in statement.params]
    return _run(connection, statement.sql, params)


def _run(connection: Any, sql: str, params: Sequence[Any]) -> Any:
    cursor = _cursor(connection)
    cursor.execute(sql, params)
    return cursor


class _Kept:
    """What is kept for a connection. It hangs on the connection itself, which all of it refers to: so it goes with it."""

    def __init__(self) -> None:
        self.cursor: Any = None
        self.statements: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.inserts: dict[type[Model], _Insert] = {}


def _kept(connection: Any) -> _Kept:
    found: _Kept | None = connection.__dict__.get("_prepared")
    if found is None:
        found = connection.__dict__["_prepared"] = _Kept()
    return found


@cache
def _server_cursor() -> Any:
    from django.db.backends.postgresql.base import (  # noqa: PLC0415 -- needs psycopg, which SQLite does without
        ServerBindingCursor,
    )

    return ServerBindingCursor


def _cursor(connection: Any) -> Any:
    """A cursor of the connection; on PostgreSQL always the same one, as long as the connection lasts.

    Django's own writes the values into the text, which the server cannot keep, but which a log of statements wants.
    """
    if connection.vendor != "postgresql" or connection.queries_logged:
        return connection.cursor()
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    kept = _kept(connection)
    if kept.cursor is None or kept.cursor.connection is not connection.connection:
        kept.cursor = connection.make_cursor(_server_cursor()(connection.connection))
    return kept.cursor


class _Of(Generic[R]):
    """What is kept for each connection; connections belong to one thread each."""

    def __init__(self, build: Callable[..., Any], names: Iterable[str] | None = None) -> None:
        self._build = build
        wanted = inspect.signature(build).parameters if names is None else names
        self._given = {name: Given(name) for name in wanted}

    def _compile(self, connection: Any) -> R:
        raise NotImplementedError

    def _for(self, connection: Any) -> R:
        statements = _kept(connection).statements
        found: R | None = statements.get(self)
        if found is None:
            found = statements[self] = self._compile(connection)
        return found


class _Read(NamedTuple):
    statement: _Statement
    compiler: Any
    converters: Any
    rows: Callable[[Iterator[Any]], list[Any]]


class Prepared(_Of[_Read], Generic[R]):
    """A query whose values come later: ``Prepared[Row](lambda uid: Row.objects.filter(uid=uid)).first(uid="x")``.

    Rows are what the query gives: model objects (also with ``select_related``, ``only`` and annotations), or tuples or
    single values of ``values_list``. The values are named as the parameters of the function, or by ``names``.
    ``prefetch_related``, a list of values and None as a value are not for it.
    """

    def rows(self, **given: Any) -> list[R]:
        """All rows that the query finds for these values."""
        connection = connections[DEFAULT_DB_ALIAS]
        read = self._for(connection)
        found = _execute(connection, read.statement, given).fetchall()
        return read.rows(read.compiler.apply_converters(found, read.converters) if read.converters else found)

    def first(self, **given: Any) -> R | None:
        """The first of them, or None."""
        return next(iter(self.rows(**given)), None)

    def _compile(self, connection: Any) -> _Read:
        queryset: QuerySet[Any] = self._build(**self._given)
        compiler = queryset.query.get_compiler(connection=connection)
        statement = _statement(compiler)
        converters = compiler.get_converters([column for column, _sql, _alias in compiler.select[: compiler.col_count]])
        return _Read(statement, compiler, converters, _reader(queryset, compiler))


def _reader(queryset: QuerySet[Any], compiler: Any) -> Callable[[Iterator[Any]], list[Any]]:
    kind = queryset._iterable_class  # type: ignore[attr-defined]  # noqa: SLF001 -- how Django itself tells them apart
    if kind is ModelIterable:
        return _model_reader(compiler)
    if kind is ValuesListIterable:
        return lambda rows: [tuple(row) for row in rows]
    if kind is FlatValuesListIterable:
        return lambda rows: [row[0] for row in rows]
    raise TypeError(f"a prepared query gives model objects or values_list, not {kind.__name__}")


def _model_reader(compiler: Any) -> Callable[[Iterator[Any]], list[Any]]:
    info, columns = compiler.klass_info, compiler.annotation_col_map or {}
    fields = info["select_fields"]
    start, end = fields[0], fields[-1] + 1
    names = [column.target.attname for column, _sql, _alias in compiler.select[start:end]]
    populators = get_related_populators(info, compiler.select, DEFAULT_DB_ALIAS)  # type: ignore[call-arg]
    model = info["model"]

    def read(rows: Iterator[Any]) -> list[Any]:
        found = []
        for row in rows:
            made = model.from_db(DEFAULT_DB_ALIAS, names, row[start:end])
            for populator in populators:
                populator.populate(row, made)
            for name, place in columns.items():
                setattr(made, name, row[place])
            found.append(made)
        return found

    return read


class PreparedUpdate(_Of[_Statement]):
    """An UPDATE whose values come later; the function gives the rows and what they become.

    ``PreparedUpdate(lambda pk, now: (Row.objects.filter(pk=pk, ended=None), {"ended": now}))``
    """

    def run(self, **given: Any) -> int:
        """How many rows were changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        return int(_execute(connection, self._for(connection), given).rowcount)

    def _compile(self, connection: Any) -> _Statement:
        queryset, values = self._build(**self._given)
        query = queryset.query.chain(UpdateQuery)
        query.add_update_values(values)
        return _statement(query.get_compiler(connection=connection))


class _Written(NamedTuple):
    statement: _Statement
    compiler: Any
    converters: Any
    names: list[str]
    model: type[Model]


class PreparedWrite(_Of[_Written], Generic[M]):
    """As ``PreparedUpdate``, and gives the rows of the model as they are then."""

    def rows(self, **given: Any) -> list[M]:
        """The rows that were changed."""
        connection = connections[DEFAULT_DB_ALIAS]
        write = self._for(connection)
        found = _execute(connection, write.statement, given).fetchall()
        rows = write.compiler.apply_converters(found, write.converters) if write.converters else found
        return [write.model.from_db(DEFAULT_DB_ALIAS, write.names, row) for row in rows]  # type: ignore[misc]

    def _compile(self, connection: Any) -> _Written:
        queryset, values = self._build(**self._given)
        query = queryset.query.chain(UpdateQuery)
        query.add_update_values(values)
        compiler = query.get_compiler(connection=connection)
        changed = _statement(compiler)
        fields = queryset.model._meta.concrete_fields  # noqa: SLF001 -- Django's documented way to a model's fields
        columns = ", ".join(connection.ops.quote_name(field.column) for field in fields)
        converters = compiler.get_converters([field.cached_col for field in fields])
        statement = _Statement(f"{changed.sql} RETURNING {columns}", changed.params)
        return _Written(statement, compiler, converters, [field.attname for field in fields], queryset.model)


class _Insert(NamedTuple):
    head: str
    row: str
    tail: str
    fields: list[Any]


def row_insert(row: M) -> M:
    """Insert a new row, as ``save`` does for a model without parents and without listeners, and give it its key."""
    connection = connections[DEFAULT_DB_ALIAS]
    insert = _insert_of(connection, type(row))
    row.pk = _run(connection, insert.head + insert.row + insert.tail, _values(connection, insert, row)).fetchall()[0][0]
    _stored(row)
    return row


def rows_insert_few(rows: Sequence[Model]) -> None:
    """Insert a few new rows of one model in one statement; they do not learn their keys."""
    if not rows:
        return
    connection = connections[DEFAULT_DB_ALIAS]
    insert = _insert_of(connection, type(rows[0]))
    params = [value for row in rows for value in _values(connection, insert, row)]
    _run(connection, insert.head + ", ".join([insert.row] * len(rows)), params)


def _insert_of(connection: Any, model: type[Model]) -> _Insert:
    kept = _kept(connection).inserts
    if model not in kept:
        meta, quote = model._meta, connection.ops.quote_name  # noqa: SLF001 -- Django's documented way to a model's fields
        fields = [field for field in meta.local_concrete_fields if not field.primary_key]
        columns = ", ".join(quote(field.column) for field in fields)
        kept[model] = _Insert(
            head=f"INSERT INTO {quote(meta.db_table)} ({columns}) VALUES ",  # noqa: S608 -- names of our own models
            row=f"({', '.join(['%s'] * len(fields))})",
            tail=f" RETURNING {quote(meta.pk.column)}",
            fields=fields,
        )
    return kept[model]


def _values(connection: Any, insert: _Insert, row: Model) -> list[Any]:
    if not row._state.adding:  # noqa: SLF001 -- Django's documented way to tell a new row
        raise TypeError(f"{type(row).__name__} {row.pk} is stored already")
    return [field.get_db_prep_save(field.pre_save(row, add=True), connection) for field in insert.fields]


def _stored(row: Model) -> None:
    row._state.adding, row._state.db = False, DEFAULT_DB_ALIAS  # noqa: SLF001 -- as ``save`` leaves it
