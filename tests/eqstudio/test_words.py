"""What the code keeps in English has words on pages, and every word of the interface is there in Chinese."""

import io
import re
from pathlib import Path

import pytest
from babel.messages.extract import extract
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from django.apps import apps
from django.utils import translation
from django.utils.translation.template import templatize

from annotation.services.rounds import OPENED_AGAIN, ROUND_CLOSED
from eqstudio.estimates import Estimate
from eqstudio.templatetags.studio import entity_words, figure, roughly, time_left, verb_words
from eqstudio.words import ENTITIES, MOVES, REASONS, VERBS

ROOT = Path(__file__).resolve().parents[2]
APPS = ("eqstudio", "generation", "annotation", "evaluation")
CODE = [path for app in APPS for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts]
PO = ROOT / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po"
KEYWORDS = {
    "_": None, "gettext": None, "gettext_lazy": None, "gettext_noop": None,
    "ngettext": (1, 2), "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2), "npgettext": ((1, "c"), 2, 3),
}  # fmt: skip
PLACES = re.compile(r"%\(\w+\)|\{\w+\}")


def catalogue():
    with PO.open("rb") as handle:
        return read_po(handle, locale="zh_Hans")


def used(source):
    """The msgids (the singular of a plural) in one Python source."""
    for _line, message, _comments, _context in extract("python", io.BytesIO(source.encode()), KEYWORDS):
        yield message[0] if isinstance(message, tuple) else message


def test_every_verb_of_an_event_has_words():
    found = {verb for path in CODE for verb in re.findall(r"verb=\"([^\"{]+)\"", path.read_text())}

    assert found - set(VERBS) == set()


def test_every_thing_with_a_public_id_has_a_word():
    things = {
        model._meta.model_name
        for app in APPS
        for model in apps.get_app_config(app).get_models()
        if any(field.name == "uid" for field in model._meta.get_fields())
    }

    assert set(ENTITIES) == things


def test_every_reason_of_the_domain_has_words():
    given = {reason for path in CODE for reason in re.findall(r"(?:undefined|NoNorm)\(\"([^\"]+)\"", path.read_text())}

    assert given - set(REASONS) == set()


def test_why_items_moved_when_a_round_closed_or_opened_has_words():
    assert {ROUND_CLOSED, OPENED_AGAIN} <= set(MOVES)


def test_an_unknown_verb_is_shown_as_it_is():
    assert (verb_words("danced"), entity_words("thing")) == ("danced", "thing")


@pytest.mark.parametrize(
    ("estimate", "english", "chinese"),
    [
        (Estimate(0.714, 0.66, 0.75, 412), "0.71 (0.66–0.75), n\u00a0412", "0.71 (0.66–0.75), n\u00a0412"),
        (Estimate(0.5, n=3), "0.50, n\u00a03", "0.50, n\u00a03"),
        (Estimate(-0.001, -0.004, 0.12, 6), "0.00 (0.00–0.12), n\u00a06", "0.00 (0.00–0.12), n\u00a06"),
        (Estimate(-0.5, -0.86, -0.14, 7), "-0.50 (-0.86, -0.14), n\u00a07", "-0.50 (-0.86, -0.14), n\u00a07"),
        (Estimate.undefined("no variation"), "undefined: no variation", "无定义：没有差异"),
    ],
)
def test_a_figure_is_a_value_with_its_interval_or_the_word_and_its_reason(estimate, english, chinese):
    assert figure(estimate) == english
    with translation.override("zh-hans"):
        assert figure(estimate) == chinese


@pytest.mark.parametrize(
    ("seconds", "left", "length"),
    [
        (20, "less than a minute left", "about 1 minute"),
        (60, "about 1 minute left", "about 1 minute"),
        (1500, "about 25 minutes left", "about 25 minutes"),
        (7200, "about 2 hours left", "about 2 hours"),
    ],
)
def test_times_are_told_roughly(seconds, left, length):
    assert (time_left(seconds), roughly(seconds)) == (left, length)


def test_every_message_is_translated_and_keeps_its_places():
    for message in catalogue():
        if not message.id:
            continue
        singular = message.id[0] if isinstance(message.id, tuple) else message.id
        string = message.string[0] if isinstance(message.string, tuple) else message.string
        assert string, singular
        assert "fuzzy" not in message.flags, singular
        assert set(PLACES.findall(string)) == set(PLACES.findall(singular)), singular


def test_the_compiled_translations_are_those_of_the_source():
    def first(value):
        return value if isinstance(value, str) else value[0]

    def texts(found):
        return {first(message.id): first(message.string) for message in found if message.id}

    with PO.with_suffix(".mo").open("rb") as handle:
        compiled = read_mo(handle)

    assert texts(compiled) == texts(catalogue())


def test_every_message_of_pages_and_code_is_in_the_catalogue():
    known = {message.id[0] if isinstance(message.id, tuple) else message.id for message in catalogue()}
    sources = {path: path.read_text() for path in CODE}
    sources |= {path: templatize(path.read_text()) for path in sorted((ROOT / "templates").rglob("*.html"))}

    missing = {message for source in sources.values() for message in used(source)} - known

    assert missing == set(), "collect them with `make messages` and translate them"
