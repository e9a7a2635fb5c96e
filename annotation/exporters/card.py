"""The dataset card: what is in a split, how people agreed, where it comes from, and what it cannot tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from django.db.models import Count, Sum

from annotation.domain.anonymity import anonymity
from annotation.exporters.base import Exporter
from annotation.exporters.chart import bars_svg
from annotation.models import Split
from annotation.selectors import round_agreement
from annotation.selectors.rights import split_corpora, split_licences
from annotation.selectors.splits import manifest_head, split_rounds
from eqstudio.benchmarks import benchmark_get
from eqstudio.estimates import Estimate
from eqstudio.templatetags.studio import figure
from generation.models import Clip, Dialogue, ProviderCall

SHOWN = ("alpha_ordinal", "alpha_interval", "alpha_nominal", "percent_agreement", "ac1", "ac2", "qwk")
LICENCES = ("mit", "apache-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0")
_FIGURES = ("value", "lo", "hi")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_DEMO = "> **Demo data.** Written and judged for trying out the studio. It measures nothing and must not be cited.\n"
_CHECKING = "`python3 verify.py` tells whether every file is unchanged and the manifest gives its hash.\n"
_LIMITS = """\
- The key is in this file (labels, intended grades, answers in `extras`). Do not train on it what you test with it.
- Grades are opinions of a small number of people; read them with the agreement above, not as truth.
- Agreement is reported before and after selection: dropping items people disagree on raises every figure.
- Synthetic speech carries the habits of its voices; a cue such as loudness may tell the key (`split_audit` measures it).
- The audio is as it was made. Where the studio had copies at one loudness (-23 LUFS), people and models heard those.
"""


def card_text(split: Split, exporter: Exporter) -> str:
    """The README with the YAML front matter that the hub and ``datasets`` read."""
    parts = [
        f"---\n{_front_matter(split, exporter).to_yaml()}\n---\n",
        f"# {split}\n",
        _DEMO if split.is_demo else "",
        _summary(split),
        f"## Opening it\n\n{exporter.opening}\n\n{_CHECKING}",
        _statistics(split),
        _agreement(split),
        _judgements(split),
        f"## Limitations\n\n{_LIMITS}{_recorded(split)}",
        _provenance(split),
    ]
    return "\n".join(part for part in parts if part)


def chart_svg(split: Split) -> str:
    """Dialogues by category."""
    counts = sorted(Counter(_dialogues(split).values_list("category", flat=True)).items())
    return bars_svg(f"{split}: dialogues by category", counts)


def _dialogues(split: Split) -> Any:
    return Dialogue.objects.filter(split_items__split=split).order_by()


def _front_matter(split: Split, exporter: Exporter) -> Any:
    from huggingface_hub import DatasetCardData  # noqa: PLC0415 -- slow import

    sides = sorted(set(split.items.order_by().values_list("side", flat=True)))
    fields: dict[str, Any] = {
        "language": sorted(set(_dialogues(split).values_list("language", flat=True))),
        "license": "other",
        "pretty_name": str(split),
        "size_categories": [next((name for most, name in _SIZES if split.item_count < most), "n>1M")],
        "tags": ["audio", "spoken-dialogue", "emotional-intelligence", split.benchmark],
    }
    if files := exporter.data_files(sides):
        told = [{"split": side, "path": path} for side, path in files.items()]
        fields["configs"] = [{"config_name": "default", "data_files": told}]
    slugs = [_slug(licence) for licence in split_licences(split=split)]
    if slugs and set(slugs) <= set(LICENCES):
        fields["license"] = slugs if len(slugs) > 1 else slugs[0]
    elif slugs:
        fields["license_name"] = "-and-".join(slugs)
    return DatasetCardData(**fields)


def _slug(licence: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-")


def _summary(split: Split) -> str:
    benchmark = benchmark_get(split.benchmark)
    return (
        f"{split.item_count} spoken dialogues for {benchmark.title} (version {manifest_head(split=split)['benchmark_version']}), "
        f"frozen on {split.frozen_at:%Y-%m-%d}. A dialogue has lines in order and, for each line, "
        f"its variants with their audio as it was made or recorded.\n\n![Dialogues by category](chart.svg)\n\nManifest hash: `{split.manifest_hash}`\n"
    )


def _statistics(split: Split) -> str:
    dialogues = _dialogues(split)
    clips = Clip.objects.filter(variants__turn__dialogue__split_items__split=split).distinct()
    length = Clip.objects.filter(pk__in=clips.values("pk")).aggregate(seconds=Sum("duration"), number=Count("pk"))
    facts = [
        ("dialogues", split.item_count),
        ("clips", length["number"]),
        ("minutes of audio", f"{(length['seconds'] or 0) / 60:.1f}"),
    ]
    by = [
        _table(("side", "dialogues"), sorted(Counter(split.items.order_by().values_list("side", flat=True)).items())),
        _table(("category", "dialogues"), sorted(Counter(dialogues.values_list("category", flat=True)).items())),
        _table(("language", "dialogues"), sorted(Counter(dialogues.values_list("language", flat=True)).items())),
        _table(("source", "dialogues"), sorted(Counter(dialogues.values_list("source", flat=True)).items())),
    ]
    return "## Statistics\n\n" + "\n".join([_table(("", ""), facts), *by])


def _agreement(split: Split) -> str:
    rounds = split_rounds(split=split)
    if not rounds:
        return "## Agreement\n\nThis split was frozen from a corpus; nobody's judgement chose its items.\n"
    over = (("all judged items", None), ("items in the split", split))
    rows = [
        (round_.name, group["dimension"], label, name, figure(_settled(found)))
        for round_ in rounds
        for label, only in over
        for group in round_agreement(round=round_, split=only, names=SHOWN)
        for name, found in group["estimates"].items()
        if found["value"] is not None
    ]
    rules = (
        f"{each.name}: {each.people_per_item} people per item, {each.agree_needed} had to agree." for each in rounds
    )
    table = _table(("round", "question", "over", "coefficient", "value (95 % interval), n"), rows)
    how = "Intervals are from a bootstrap that draws whole dialogues."
    return f"## Agreement\n\n{' '.join(rules)} {how}\n\n{table}"


def _settled(found: dict[str, Any]) -> Estimate:
    """Without the last digits, which differ from processor to processor and would tip a figure that lies between two."""
    settled = {name: value if value is None else round(value, 12) for name, value in found.items() if name in _FIGURES}
    return Estimate(**{**found, **settled})


def _judgements(split: Split) -> str:
    if not split_rounds(split=split):
        return ""
    return (
        "## Judgements\n\n`judgements/ratings.csv` holds what every person said of every item, under pseudonyms that no other "
        "split shares; `judgements/codebook.json` explains its columns and says what was left out for privacy.\n"
    )


def _recorded(split: Split) -> str:
    """A voice tells who speaks; a rare speaker all the more."""
    spoken = _dialogues(split).filter(source=Dialogue.Source.RECORDED)
    told = spoken.exclude(turns__speaker_name="").values_list("turns__gender", "language", "turns__speaker_name")
    rows = [{"gender": gender or "", "language": language} for gender, language, _name in set(told)]
    if not rows:
        return ""
    found = anonymity(rows, ("gender", "language"))
    alone = f" Gender and language together single out fewer than {found.k} of them." if found.dropped else ""
    return f"- {len(rows)} speakers were recorded. A voice is personal: use it for what they consented to.{alone}\n"


def _provenance(split: Split) -> str:
    head = manifest_head(split=split)
    code = head["code"]
    calls = ProviderCall.objects.filter(dialogue__split_items__split=split, outcome="ok").order_by()
    made = sorted(calls.values_list("kind", "provider", "model").annotate(number=Count("pk")))
    facts = [
        ("studio", code["version"]),
        ("git revision", code["git"] or "not a checkout"),
        ("Python", code["python"]),
        ("rounds", ", ".join(each.name for each in split_rounds(split=split)) or "none"),
        ("corpus", ", ".join(corpus.name for corpus in split_corpora(split=split))),
        ("licence", ", ".join(split_licences(split=split)) or "not stated"),
        *([("canary", head["canary"])] if head.get("canary") else []),
        ("recipe", ", ".join(f"{key}={value}" for key, value in sorted(split.recipe.items()) if value)),
    ]
    table = _table(("", ""), facts)
    if not made:
        return f"## Provenance\n\n{table}"
    return f"## Provenance\n\n{table}\n{_table(('step', 'provider', 'model', 'calls'), made)}"


def _table(head: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(f"| {' | '.join(_cell(cell) for cell in line)} |\n" for line in lines)


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
