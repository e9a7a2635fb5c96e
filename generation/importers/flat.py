"""One row, one recording: what the columns of a flat table are called, and how a row becomes a dialogue of one line."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.importers.base import Audio, DialogueRow, RowRefused, TurnRow, VariantRow

COLUMNS: dict[str, tuple[str, ...]] = {
    "id": ("id", "uid", "utterance_id", "example_id", "segment_id"),
    "audio": ("audio", "file", "file_name", "filename", "path", "audio_path", "audio_file", "wav", "clip"),
    "text": ("text", "transcript", "transcription", "sentence", "normalized_text", "raw_text", "utterance"),
    "language": ("language", "lang", "locale"),
    "benchmark": ("benchmark",),
    "category": ("category", "label", "emotion", "attribute", "sub_task", "subtask", "major_emotion"),
    "speaker": ("speaker", "speaker_id", "client_id", "speaker_name"),
    "gender": ("gender", "sex"),
    "consent": ("consent", "speaker_consent"),
    "licence": ("licence", "license"),
    "title": ("title",),
    "tone": ("tone", "style", "delivery"),
    "valence": ("valence", "sentiment"),
    "source": ("source",),
    "grade": ("grade", "score"),
    "role": ("role",),
    "rendition": ("rendition", "variant"),
    "position": ("position",),
}
"""What a column may be called; the first that is there and filled counts."""

ROLES = ("context", "critical", "response")

MAX_POSITION = 999
NO = frozenset({"no", "false", "0", "n", "none", "refused", "withdrawn", "否", "无", "不同意"})
"""What stands in the place of consent where somebody has not given it, in small letters."""
_CHINESE = re.compile(r"[\u3400-\u9fff]")
_LANGUAGES = {
    "english": "en",
    "chinese": "zh",
    "mandarin": "zh",
    "cmn": "zh",
    "eng": "en",
    "zho": "zh",
    "英文": "en",
    "中文": "zh",
}
_SOURCES = ("recorded", "imported", "synthetic")


def value_of(values: Mapping[str, Any], name: str, defaults: Mapping[str, str]) -> str:
    """What a row says under any name of a column, as text; else what holds for all rows."""
    for column in COLUMNS[name]:
        value = values.get(column)
        if isinstance(value, str | int | float) and str(value).strip():
            return str(value).strip()
    return defaults.get(name, "")


def empty_cell(values: Mapping[str, Any], name: str) -> str:
    """The reason when the row has a column for ``name`` and nothing in it; empty when there is no such column."""
    found = next((column for column in COLUMNS[name] if column in values), "")
    return _("The cell in the column %(column)s is empty. Fill it in.") % {"column": found} if found else ""


def flat_dialogue(
    values: Mapping[str, Any],
    *,
    path: str,
    row: str,
    key: str,
    audio: Audio,
    defaults: Mapping[str, str],
    source: str,
    wordless: bool = False,
) -> DialogueRow:
    """A row as a dialogue of one line. RowRefused says which column is missing or not understood.

    ``wordless`` lets it in without a transcript; it is then flagged until somebody decides.
    """

    def get(name: str) -> str:
        return value_of(values, name, defaults)

    text = get("text")
    if not text and not wordless:
        raise RowRefused(
            empty_cell(values, "text")
            or _("The transcript is missing. Expected a column called one of: %(columns)s.")
            % {"columns": ", ".join(COLUMNS["text"])}
        )
    if get("consent").lower() in NO:
        raise RowRefused(_("The speaker has not consented (consent is %(value)r).") % {"value": get("consent")})
    if not get("category") and (unfilled := empty_cell(values, "category")):
        raise RowRefused(unfilled)
    benchmark, category = category_known(get("benchmark"), get("category"))
    grade = _grade(get("grade"))
    said_source = get("source").lower()
    role = _role(benchmark, get("role").lower())
    label = get("rendition") or _label(benchmark, role, grade)
    turn = TurnRow(
        position=_position(get("position")),
        role=role,
        speaker="speaker",
        speaker_name=get("speaker"),
        gender=get("gender").lower(),
        variants=(VariantRow(label=label, text=text, audio=audio, tone=get("tone"), grade=grade),),
    )
    recording = {name: get(name) for name in ("speaker", "consent", "licence") if get(name)}
    return DialogueRow(
        path=path,
        row=row,
        external_id=get("id") or key,
        benchmark=benchmark,
        category=category,
        language=language_known(get("language"), text),
        turns=(turn,),
        title=get("title") or text[:80],
        valence=get("valence").lower(),
        source=said_source if said_source in _SOURCES else source,
        scenario={"speaker_name": get("speaker")} if get("speaker") else {},
        extras={"recording": recording} if recording else {},
    )


def _grade(said: str) -> int | None:
    if said in ("", "1", "2", "3", "4"):
        return int(said) if said else None
    raise RowRefused(_("The grade is %(value)r; expected 1, 2, 3 or 4.") % {"value": said})


def _role(benchmark: str, said: str) -> str:
    """The role that a row names; else that which people grade in this benchmark, for a lone clip is there to be judged."""
    return said if said in ROLES else benchmark_get(benchmark).review_form.graded_roles[0]


def _label(benchmark: str, role: str, grade: int | None) -> str:
    """A lone clip is neither side of a pair, so where pairs are asked about it is the only one."""
    if grade is not None:
        return str(grade)
    return "target" if role == "critical" and benchmark_get(benchmark).shortcut_pairs is None else "only"


def _position(said: str) -> int:
    """Which line of its dialogue it is; the first unless the row says a whole number from 1."""
    return int(said) if said.isascii() and said.isdigit() and 1 <= int(said) <= MAX_POSITION else 1


def language_known(named: str, text: str) -> str:
    """The language a row names (en, en-GB, English ...), or the one its text is written in. RowRefused for another."""
    if not named:
        return "zh" if len(_CHINESE.findall(text)) * 4 > len(text) else "en"
    code = _LANGUAGES.get(named.lower(), re.split(r"[-_]", named.lower())[0])
    if code not in ("en", "zh"):
        raise RowRefused(_("The language %(value)r is not known. Expected en or zh.") % {"value": named})
    return code


def category_known(benchmark: str, category: str) -> tuple[str, str]:
    """Benchmark and key of a category given by key, label or ``group - label``. RowRefused names those that exist."""
    if benchmark and benchmark not in benchmarks:
        raise RowRefused(
            _("Unknown benchmark %(value)r. Expected one of: %(known)s.")
            % {"value": benchmark, "known": ", ".join(benchmarks)}
        )
    if not category:
        raise RowRefused(
            _("The category is missing. Expected a column called one of: %(columns)s.")
            % {"columns": ", ".join(COLUMNS["category"])}
        )
    aliases = [benchmark] if benchmark else list(benchmarks)
    found = [(alias, key) for alias in aliases if (key := _names(alias).get(_plain(category)))]
    if len(found) == 1:
        return found[0]
    if found:
        raise RowRefused(
            _("%(value)r is a category of %(known)s. Say which in a column called benchmark.")
            % {"value": category, "known": ", ".join(alias for alias, _key in found)}
        )
    keys = [leaf.key for alias in aliases for leaf in benchmark_get(alias).categories]
    raise RowRefused(
        _("Unknown category %(value)r. Expected one of: %(known)s.") % {"value": category, "known": ", ".join(keys)}
    )


@cache
def _names(benchmark: str) -> dict[str, str]:
    names: dict[str, str] = {}
    for leaf in benchmark_get(benchmark).categories:
        for language in ("en", "zh"):
            names.setdefault(_plain(leaf.label[language]), leaf.key)
            names.setdefault(_plain(f"{leaf.group_label[language]} {leaf.label[language]}"), leaf.key)
    names |= {_plain(leaf.key): leaf.key for leaf in benchmark_get(benchmark).categories}
    return names


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "_", name.casefold()).strip("_")
