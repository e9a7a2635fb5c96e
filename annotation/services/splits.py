"""A split is frozen here: chosen by a recipe, told whole in a manifest, never changed again."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.domain.curation import Recipe
from annotation.domain.manifest import manifest_hash
from annotation.models import Round, Split, SplitItem
from annotation.provenance import code_identity
from annotation.selectors.splits import split_candidates
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue
from generation.services import dialogue_move

_FREEZABLE = {DialogueState.READY.value, DialogueState.KEPT.value}


@transaction.atomic
def split_freeze(
    *,
    name: str,
    round: Round | None = None,  # noqa: A002 -- the word of the domain
    corpus: Corpus | None = None,
    recipe: Recipe | dict[str, Any] | None = None,
    actor: User | None = None,
    now: datetime,
) -> Split:
    """Freeze what the recipe takes from a round or a corpus as the next version of ``name``.

    Inserts Split and SplitItems with the manifest, moves ready and kept dialogues to FROZEN, writes one Event.
    InvalidInput when nothing would be in it or when the items belong to several benchmarks.
    """
    if (round is None) == (corpus is None):
        raise InvalidInput(_("Freeze from a round or from a corpus: name one of them."), field="round")
    chosen_by = recipe if isinstance(recipe, Recipe) else Recipe.from_dict(recipe or {})
    chosen = split_candidates(round=round, corpus=corpus, recipe=chosen_by)
    if not chosen:
        raise InvalidInput(_("No item meets this recipe, so there is nothing to freeze."), field="recipe")
    rows = Dialogue.objects.in_bulk([item.dialogue for item in chosen])
    alias = _one_benchmark(rows.values())
    manifest = _manifest(alias, chosen_by, [item.entry for item in chosen], now)
    split = _insert(name, alias, chosen_by, manifest, round=round, corpus=corpus, actor=actor, now=now)
    SplitItem.objects.bulk_create(
        (SplitItem(split=split, dialogue_id=item.dialogue, position=place) for place, item in enumerate(chosen)),
        batch_size=500,
    )
    for dialogue in rows.values():
        if dialogue.state in _FREEZABLE:
            dialogue_move(dialogue=dialogue, to=DialogueState.FROZEN, actor=actor, reason=f"split {split}")
    event_record(actor=actor, verb="froze", entity=split, items=split.item_count, manifest_hash=split.manifest_hash)
    return split


def _one_benchmark(dialogues: Iterable[Dialogue]) -> str:
    aliases = sorted({dialogue.benchmark for dialogue in dialogues})
    if len(aliases) > 1:
        raise InvalidInput(
            _("These items belong to several benchmarks (%(found)s). A split holds one: name it in the recipe.")
            % {"found": ", ".join(aliases)},
            field="benchmark",
        )
    return aliases[0]


def _manifest(alias: str, recipe: Recipe, entries: list[dict[str, Any]], now: datetime) -> dict[str, Any]:
    return {
        "format": 1,
        "benchmark": alias,
        "benchmark_version": benchmark_get(alias).version,
        "recipe": recipe.as_dict(),
        "items": entries,
        "frozen_at": now.isoformat(),
        "code": code_identity(),
    }


def _insert(
    name: str,
    alias: str,
    recipe: Recipe,
    manifest: dict[str, Any],
    *,
    round: Round | None,  # noqa: A002
    corpus: Corpus | None,
    actor: User | None,
    now: datetime,
) -> Split:
    latest = Split.objects.filter(name=name).order_by("-version").first()
    split = Split(
        name=name,
        version=latest.version + 1 if latest else 1,
        benchmark=alias,
        corpus=corpus or (round.corpus if round else None),
        round=round,
        recipe=recipe.as_dict(),
        manifest=manifest,
        manifest_hash=manifest_hash(manifest),
        item_count=len(manifest["items"]),
        is_demo=bool((round and round.is_demo) or (corpus and corpus.is_demo)),
        frozen_at=now,
        created_by=actor,
    )
    try:
        split.clean_fields(exclude={"corpus", "round", "created_by", "manifest", "recipe"})
    except ValidationError as error:
        raise InvalidInput(
            _("%(name)r cannot name a split: letters, digits, hyphens and underscores only, at most 80 of them.")
            % {"name": name},
            field="name",
        ) from error
    try:
        with transaction.atomic():
            split.save()
    except IntegrityError as error:
        raise Conflict(
            _("Somebody froze %(name)s at the same moment; look at that version.") % {"name": name}
        ) from error
    return split
