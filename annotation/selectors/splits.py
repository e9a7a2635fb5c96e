"""What could go into a split, as content that is the same on every machine."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.db.models import QuerySet

from annotation.domain.curation import Offered, Recipe, choose
from annotation.domain.manifest import content_hash
from annotation.models import Grade, Round
from annotation.selectors.judgements import live_judgements
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue

_FROM_CORPUS = (DialogueState.READY.value, DialogueState.KEPT.value, DialogueState.FROZEN.value)
_CHUNK = 200


@dataclass(frozen=True)
class Chosen:
    """One dialogue of a split: its row and its entry in the manifest."""

    dialogue: int
    entry: dict[str, Any]


def split_dialogues(*, round: Round | None, corpus: Corpus | None, recipe: Recipe) -> QuerySet[Dialogue]:  # noqa: A002
    """Dialogues a recipe may draw from: those of a round with the outcome it asks for, or a corpus's ready and kept ones.

    A frozen dialogue can be frozen again: a split is a new version, not a change.
    """
    if round is not None:
        found = Dialogue.objects.filter(round_items__round=round, round_items__outcome=recipe.outcome)
    else:
        found = Dialogue.objects.filter(corpus=corpus, state__in=_FROM_CORPUS)
    for field in ("benchmark", "language", "source"):
        if wanted := getattr(recipe, field):
            found = found.filter(**{field: wanted})
    return found.order_by("pk")


def split_candidates(*, round: Round | None, corpus: Corpus | None, recipe: Recipe) -> list[Chosen]:  # noqa: A002
    """The dialogues the recipe takes, in stable order, each with its manifest entry. Queries grow by chunks of 200."""
    judged = _judgement_summaries(round) if round is not None else {}
    entries: dict[int, dict[str, Any]] = {}
    offered: list[Offered] = []
    dialogues = split_dialogues(round=round, corpus=corpus, recipe=recipe)
    for dialogue in dialogues.prefetch_related("turns__variants__clip").iterator(chunk_size=_CHUNK):
        entry = _entry(dialogue, judged.get(dialogue.pk, {}))
        entries[dialogue.pk] = entry
        people = sum(entry["judgements"].get("votes", {}).values())
        offered.append(Offered(dialogue.pk, entry["content"] + entry["external_id"], dialogue.category, people))
    return [Chosen(item.key, entries[item.key]) for item in choose(offered, recipe)]


def _entry(dialogue: Dialogue, judgements: dict[str, Any]) -> dict[str, Any]:
    turns = list(_turns(dialogue))
    content = {
        "benchmark": dialogue.benchmark,
        "category": dialogue.category,
        "language": dialogue.language,
        "scenario": dialogue.scenario,
        "extras": dialogue.extras,
        "turns": turns,
    }
    return {
        "uid": dialogue.uid,
        "external_id": dialogue.external_id,
        "content": content_hash(content),
        "clips": [variant["clip"] for turn in turns for variant in turn["variants"] if variant["clip"]],
        "category": dialogue.category,
        "language": dialogue.language,
        "source": dialogue.source,
        "side": "test",
        "judgements": judgements,
    }


def _turns(dialogue: Dialogue) -> Iterator[dict[str, Any]]:
    for turn in dialogue.turns.all():
        variants = sorted(turn.variants.all(), key=lambda variant: variant.label)
        yield {
            "position": turn.position,
            "role": turn.role,
            "speaker": turn.speaker,
            "variants": [
                {
                    "label": variant.label,
                    "text": variant.text,
                    "grade": variant.intended_grade,
                    "clip": variant.clip.sha256 if variant.clip else None,
                }
                for variant in variants
            ],
        }


def _judgement_summaries(round_: Round) -> dict[int, dict[str, Any]]:
    """By dialogue: counted votes, reasons, and the median grade of each variant by ``position/label``."""
    live = live_judgements(round=round_)
    votes: dict[int, Counter[str]] = defaultdict(Counter)
    for dialogue, verdict in live.values_list("item__dialogue_id", "verdict"):
        votes[dialogue][verdict] += 1
    grades: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    rows = Grade.objects.filter(judgement__in=live).values_list(
        "judgement__item__dialogue_id", "variant__turn__position", "variant__label", "value"
    )
    for dialogue, position, label, value in rows:
        grades[dialogue][f"{position}/{label}"].append(value)
    decided = dict(round_.items.values_list("dialogue_id", "outcome"))
    return {
        dialogue: {
            "outcome": outcome,
            "votes": dict(sorted(votes[dialogue].items())),
            "median_grades": {key: float(median(values)) for key, values in sorted(grades[dialogue].items())},
        }
        for dialogue, outcome in decided.items()
    }
