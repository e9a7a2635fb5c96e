"""A prepared statement says what the query says that it was made from, whatever it is given, on every connection."""

import gc
import threading
import weakref
from datetime import timedelta

import pytest
from django.db import DEFAULT_DB_ALIAS, IntegrityError, connection, connections, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from eqstudio.models import Event, User
from eqstudio.prepared import Prepared, PreparedUpdate, PreparedWrite, row_insert, rows_insert_few
from tests.eqstudio.factories import annotator

by_name = Prepared[User](lambda name: User.objects.filter(username=name).order_by())
by_language = Prepared[tuple](
    lambda language: User.objects.filter(language=language).order_by("pk").values_list("uid", "skills", "date_joined")
)
names_since = Prepared[str](
    lambda since: User.objects.filter(date_joined__gt=since).order_by("username").values_list("username", flat=True)
)
events_of = Prepared[Event](lambda entity: Event.objects.select_related("actor").filter(entity=entity).order_by("pk"))
greet = PreparedUpdate(
    lambda name, said: (User.objects.filter(username=name, is_active=True), {"display_name": said, "first_name": "x"})
)

pytestmark = pytest.mark.django_db


def test_it_gives_the_rows_of_the_query_for_each_value():
    anna, bert = annotator(username="anna", skills=["actor"]), annotator(username="bert")

    assert [by_name.first(name="anna"), by_name.first(name="bert"), by_name.first(name="none")] == [anna, bert, None]
    assert by_name.first(name="anna").skills == ["actor"]
    assert by_name.first(name="anna").date_joined == anna.date_joined
    assert by_name.first(name="anna").get_deferred_fields() == set()


def test_tuples_and_single_values_are_as_values_list_gives_them():
    anna = annotator(username="anna", language="zh-hans", skills=["actor"])
    annotator(username="bert")

    assert by_language.rows(language="zh-hans") == [(anna.uid, ["actor"], anna.date_joined)]
    assert names_since.rows(since=anna.date_joined - timedelta(seconds=1)) == ["anna", "bert"]
    assert names_since.rows(since=timezone.now() + timedelta(days=1)) == []


def test_what_is_selected_along_comes_along(django_assert_num_queries):
    anna = annotator(username="anna")
    for actor in (anna, None):
        Event.objects.create(actor=actor, verb="did", entity="thing", entity_uid="1", detail={"a": [1]})

    with django_assert_num_queries(1):
        found = events_of.rows(entity="thing")
        assert [(each.actor, each.detail) for each in found] == [(anna, {"a": [1]}), (None, {"a": [1]})]


def test_it_is_run_often_enough_to_be_kept_by_the_server_and_says_the_same():
    people = [annotator(username=f"p{number}") for number in range(12)]

    assert [by_name.first(name=each.username) for each in people] == people


def test_an_update_tells_how_many_rows_it_changed():
    anna = annotator(username="anna")

    assert (greet.run(name="anna", said="Anna"), greet.run(name="nobody", said="?")) == (1, 0)
    anna.refresh_from_db()
    assert (anna.display_name, anna.first_name) == ("Anna", "x")


def test_a_value_that_is_missing_is_named():
    with pytest.raises(KeyError, match="said"):
        greet.run(name="anna")


def test_a_row_is_inserted_as_save_does():
    anna = annotator(username="anna")

    made = row_insert(Event(actor=anna, verb="did", entity="thing", entity_uid="1", detail={"ä": None}))

    stored = Event.objects.get(pk=made.pk)
    assert (stored.actor, stored.detail, stored.created) == (anna, {"ä": None}, made.created)
    with pytest.raises(TypeError, match="stored already"):
        row_insert(made)


def test_rows_are_inserted_in_one_statement(django_assert_num_queries):
    with django_assert_num_queries(1):
        rows_insert_few([Event(verb="did", entity="many", entity_uid=str(number)) for number in range(5)])
    with django_assert_num_queries(0):
        rows_insert_few([])

    assert list(Event.objects.filter(entity="many").order_by("pk").values_list("entity_uid", flat=True)) == list(
        "01234"
    )


def test_what_the_database_refuses_is_an_error_of_django_and_can_be_rolled_back():
    anna, bert = annotator(username="anna"), annotator(username="bert")
    rename = PreparedUpdate(lambda old, new: (User.objects.filter(username=old), {"username": new}))

    with pytest.raises(IntegrityError), transaction.atomic():
        rename.run(old="anna", new="bert")

    assert by_name.first(name="anna") == anna
    assert by_name.first(name="bert") == bert


def test_statements_are_seen_by_who_counts_them():
    with CaptureQueriesContext(connection) as seen:
        by_name.rows(name="nobody")

    assert ["nobody" in each["sql"] for each in seen.captured_queries] == [True]


def test_other_kinds_of_rows_and_hopeless_queries_are_refused():
    with pytest.raises(TypeError, match="values_list"):
        Prepared(lambda name: User.objects.filter(username=name).values("pk")).rows(name="x")
    with pytest.raises(ValueError, match="finds nothing"):
        Prepared(lambda name: User.objects.none().filter(username=name)).rows(name="x")


def test_an_update_may_count_on_what_is_there():
    anna = annotator(username="anna", first_name="a")
    copy = PreparedUpdate(lambda pk: (User.objects.filter(pk=pk), {"last_name": F("first_name")}))

    assert copy.run(pk=anna.pk) == 1
    anna.refresh_from_db()
    assert anna.last_name == "a"


def test_a_write_gives_the_rows_as_they_are_then():
    anna = annotator(username="anna", skills=["ears"])
    write = PreparedWrite[User](lambda name, said: (User.objects.filter(username=name), {"display_name": said}))

    (found,) = write.rows(name="anna", said="Anna")

    anna.refresh_from_db()
    assert write.rows(name="nobody", said="?") == []
    assert (found, found.display_name, found.skills, found.date_joined) == (anna, "Anna", ["ears"], anna.date_joined)


@pytest.mark.django_db(transaction=True)
def test_threads_have_statements_of_their_own_and_a_lost_connection_is_replaced():
    annotator(username="anna")
    found = []

    def ask():
        found.extend(by_name.first(name="anna").username for _ in range(5))
        connections.close_all()

    threads = [threading.Thread(target=ask) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    by_name.rows(name="anna")
    connection.close()

    assert found == ["anna"] * 15
    assert by_name.first(name="anna").username == "anna"


@pytest.mark.django_db(transaction=True)
def test_the_connection_of_a_thread_that_ended_is_let_go():
    gone = []

    def ask():
        by_name.first(name="nobody")
        greet.run(name="nobody", said="?")
        PreparedWrite[User](lambda name: (User.objects.filter(username=name), {"first_name": "x"})).rows(name="nobody")
        row_insert(Event(verb="did", entity="thing", entity_uid="1"))
        gone.append(weakref.ref(connections[DEFAULT_DB_ALIAS]))
        connections.close_all()

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    gc.collect()

    assert [each() for each in gone] == [None]


def test_what_was_compiled_goes_with_its_statement():
    passing = Prepared[User](lambda name: User.objects.filter(username=name))
    passing.rows(name="nobody")
    gone = weakref.ref(passing)

    del passing
    gc.collect()

    assert gone() is None
