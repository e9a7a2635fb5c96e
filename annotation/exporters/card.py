"""The dataset card: what is in a split, how people agreed, where it comes from, and what it cannot tell."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.db.models import Count, Sum
from huggingface_hub import DatasetCardData

from annotation.models import Split
from annotation.selectors import round_agreement
from eqstudio.benchmarks import benchmark_get
from eqstudio.estimates import Estimate
from eqstudio.templatetags.studio import figure
from generation.models import Clip, Dialogue, ProviderCall

SHOWN = ("alpha_ordinal", "alpha_interval", "alpha_nominal", "percent_agreement", "ac1", "ac2", "qwk")
LICENCES = ("mit", "apache-2.0", "cc0-1.0", "cc-by-4.0", "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0")
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_DEMO = "> **Demo data.** Written and judged for trying out the studio. It measures nothing and must not be cited.\n"
_LIMITS = """\
- The key is in this file (labels, intended grades, answers in `extras`). Do not train on it what you test with it.
- Grades are opinions of a small number of people; read them with the agreement above, not as truth.
- Agreement is reported before and after selection: dropping items people disagree on raises every figure.
- Synthetic speech carries the habits of its voices; a cue such as loudness may tell the key (see `split_audit`).
- The audio is as it was made. Where the studio had copies at one loudness (-23 LUFS), people and models heard those.
"""


def card_write(split: Split, folder: Path) -> None:
    """Write README.md with the YAML front matter that the hub and ``datasets`` read."""
    parts = [
        f"---\n{_front_matter(split).to_yaml()}\n---\n",
        f"# {split}\n",
        _DEMO if split.is_demo else "",
        _summary(split),
        _loading(),
        _statistics(split),
        _agreement(split),
        f"## Limitations\n\n{_LIMITS}",
        _provenance(split),
    ]
    (folder / "README.md").write_text("\n".join(part for part in parts if part), encoding="utf-8")


def _dialogues(split: Split) -> Any:
    return Dialogue.objects.filter(split_items__split=split).order_by()


def _front_matter(split: Split) -> DatasetCardData:
    licence = (split.corpus.licence if split.corpus else "").strip()
    sides = sorted(set(split.items.order_by().values_list("side", flat=True)))
    fields: dict[str, Any] = {
        "language": sorted(set(_dialogues(split).values_list("language", flat=True))),
        "license": "other",
        "pretty_name": str(split),
        "size_categories": [next((name for most, name in _SIZES if split.item_count < most), "n>1M")],
        "tags": ["audio", "spoken-dialogue", "emotional-intelligence", split.benchmark],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": side, "path": f"data/{side}-*.parquet"} for side in sides],
            }
        ],
    }
    slug = re.sub(r"[^a-z0-9.]+", "-", licence.lower()).strip("-")
    if slug in LICENCES:
        fields["license"] = slug
    elif slug:
        fields["license_name"] = slug
    return DatasetCardData(**fields)


def _summary(split: Split) -> str:
    benchmark = benchmark_get(split.benchmark)
    return (
        f"{split.item_count} spoken dialogues for {benchmark.title} (version {split.manifest['benchmark_version']}), "
        f"frozen on {split.frozen_at:%Y-%m-%d}. One row is one dialogue; `turns` holds its lines in order and, for each line, "
        f"its variants with their audio as it was made or recorded.\n\nManifest hash: `{split.manifest_hash}`\n"
    )


def _loading() -> str:
    return '```python\nfrom datasets import load_dataset\n\ndataset = load_dataset("path/to/this/folder", split="test")\n```\n'


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
        _table(("category", "dialogues"), sorted(Counter(dialogues.values_list("category", flat=True)).items())),
        _table(("language", "dialogues"), sorted(Counter(dialogues.values_list("language", flat=True)).items())),
        _table(("source", "dialogues"), sorted(Counter(dialogues.values_list("source", flat=True)).items())),
    ]
    return "## Statistics\n\n" + "\n".join([_table(("", ""), facts), *by])


def _agreement(split: Split) -> str:
    if split.round is None:
        return "## Agreement\n\nThis split was frozen from a corpus; nobody's judgement chose its items.\n"
    rows = []
    for label, outcome in (("all judged items", ""), ("items in the split", split.recipe.get("outcome", "kept"))):
        for group in round_agreement(round=split.round, outcome=outcome, names=SHOWN):
            rows += [
                (group["dimension"], label, name, figure(Estimate(**found)))
                for name, found in group["estimates"].items()
                if found["value"] is not None
            ]
    rule = f"{split.round.people_per_item} people per item, {split.round.agree_needed} had to agree."
    table = _table(("question", "over", "coefficient", "value (95 % interval), n"), rows)
    return f"## Agreement\n\n{rule} Intervals are from a bootstrap that draws whole dialogues.\n\n{table}"


def _provenance(split: Split) -> str:
    code = split.manifest["code"]
    calls = ProviderCall.objects.filter(dialogue__split_items__split=split, outcome="ok").order_by()
    made = (
        calls.values_list("kind", "provider", "model")
        .annotate(number=Count("pk"))
        .order_by("kind", "provider", "model")
    )
    facts = [
        ("studio", code["version"]),
        ("git revision", code["git"] or "not a checkout"),
        ("Python", code["python"]),
        ("round", split.round.name if split.round else "none"),
        ("corpus", split.corpus.name if split.corpus else "none"),
        ("recipe", ", ".join(f"{key}={value}" for key, value in split.recipe.items() if value)),
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
