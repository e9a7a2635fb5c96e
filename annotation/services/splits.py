"""A split is frozen here: chosen by a recipe, told whole in a manifest, never changed again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.domain.curation import Choice, Recipe, choice
from annotation.domain.manifest import FORMAT, canary_string, head_hash, item_hash
from annotation.models import Round, Split, SplitItem
from annotation.provenance import code_identity
from annotation.selectors.split_agreement import said_agreement
from annotation.selectors.splits import Candidate, Sources, all_keys, candidates, fitting_keys, sources_of
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus
from generation.services import dialogues_move

_FREEZABLE = (DialogueState.READY, DialogueState.KEPT)
_BATCH = 500
_SHORT_TOLD = 12


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
    """Freeze what the recipe takes from its rounds or its corpus as the next version of ``name``.

    ``round`` or ``corpus`` go before those that the recipe names. Inserts Split and SplitItems with the manifest, moves ready
    and kept dialogues to FROZEN, writes one Event for the split and one for each state that was left. InvalidInput when
    nothing would be in it, when the items belong to several benchmarks, or when a strict recipe falls short.
    """
    split_name_check(name)
    chosen_by = recipe if isinstance(recipe, Recipe) else Recipe.from_dict(recipe or {})
    sources = _sources(chosen_by, round, corpus)
    offered = _offered(sources, chosen_by, fitting_keys(all_keys(sources), chosen_by, name=name))
    chosen = choice([one.item for one in offered.values()], chosen_by)
    _check_choice(chosen, chosen_by)
    alias = _one_benchmark(chosen)
    taken = [item.key for item in chosen.items]
    head = _head(alias, chosen_by, now) | {
        "agreement": said_agreement([(key, offered[key].said) for key in taken], chosen_by).as_dict(),
        "shortfalls": [short.as_dict() for short in chosen.shortfalls],
    }
    split = _insert(name, alias, sources, head, len(taken), actor=actor, now=now)
    rows = ((key, offered[key].entry(chosen.sides[key])) for key in taken)
    return split_finish(split=split, rows=rows, keys=taken, actor=actor)


def _sources(recipe: Recipe, round_: Round | None, corpus: Corpus | None) -> Sources:
    if round_ is not None and corpus is not None:
        raise InvalidInput(_("Freeze from a round or from a corpus: name one of them."), field="round")
    if round_ is not None:
        return Sources(rounds=(round_,))
    found = Sources(corpus=corpus) if corpus is not None else sources_of(recipe)
    if not found.rounds and found.corpus is None:
        raise InvalidInput(_("Freeze from a round or from a corpus: name one of them."), field="round")
    return found


def _offered(sources: Sources, recipe: Recipe, keys: Sequence[int]) -> dict[int, Candidate]:
    """By key, the items with the outcome that the recipe asks for."""
    return {
        one.item.key: one
        for one in candidates(sources=sources, recipe=recipe, keys=keys)
        if not sources.rounds or one.outcome == recipe.outcome
    }


def _check_choice(chosen: Choice, recipe: Recipe) -> None:
    if not chosen.items:
        last = next((step for step in reversed(chosen.steps) if step.removed), None)
        if last is None:
            raise InvalidInput(_("No item meets this recipe, so there is nothing to freeze."), field="recipe")
        raise InvalidInput(
            _(
                "No item meets this recipe, so there is nothing to freeze. The rule %(rule)s removed the last %(count)d: %(items)s."
            )
            % {"rule": last.rule, "count": last.removed, "items": ", ".join(last.named)},
            field="recipe",
        )
    if recipe.strict and chosen.shortfalls:
        told = "; ".join(
            f"{short.rule} {short.value}".strip() + f": {short.got:g}/{short.wanted:g}"
            for short in chosen.shortfalls[:_SHORT_TOLD]
        )
        raise InvalidInput(
            _("The recipe is strict and cannot be met (got/wanted): %(told)s. Nothing was frozen.") % {"told": told},
            field="recipe",
        )


def _one_benchmark(chosen: Choice) -> str:
    aliases = {item.benchmark for item in chosen.items}
    if len(aliases) > 1:
        raise InvalidInput(
            _("These items belong to several benchmarks (%(found)s). A split holds one: name it in the recipe.")
            % {"found": ", ".join(sorted(aliases))},
            field="benchmark",
        )
    return aliases.pop()


def _head(alias: str, recipe: Recipe, now: datetime) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "benchmark": alias,
        "benchmark_version": benchmark_get(alias).version,
        "recipe": recipe.as_dict(),
        "frozen_at": now.isoformat(),
        "code": code_identity(),
    }


def split_finish(
    *, split: Split, rows: Iterable[tuple[int, dict[str, Any]]], keys: Sequence[int], actor: User | None
) -> Split:
    """The second half of a freeze, inside its transaction: items, hash and canary, states, Event."""
    digests: list[str] = []
    batch: list[SplitItem] = []
    for position, (key, entry) in enumerate(rows):
        digests.append(item_hash(entry))
        batch.append(
            SplitItem(
                split=split,
                dialogue_id=key,
                position=position,
                side=entry["side"],
                identity=entry["content"],
                entry=entry,
            )
        )
        if len(batch) == _BATCH:
            SplitItem.objects.bulk_create(batch)
            batch = []
    SplitItem.objects.bulk_create(batch)
    split.manifest_hash = head_hash(split.manifest, digests)
    split.canary = canary_string(split.manifest_hash)
    split.save(update_fields=["manifest_hash", "canary"])
    for state in _FREEZABLE:
        dialogues_move(keys=keys, before=state, to=DialogueState.FROZEN, actor=actor, reason=f"split {split}")
    event_record(actor=actor, verb="froze", entity=split, items=split.item_count, manifest_hash=split.manifest_hash)
    return split


def _insert(
    name: str, alias: str, sources: Sources, head: dict[str, Any], count: int, *, actor: User | None, now: datetime
) -> Split:
    one_round = sources.rounds[0] if len(sources.rounds) == 1 else None
    split = Split(
        name=name,
        benchmark=alias,
        corpus=sources.corpus or (one_round.corpus if one_round else None),
        round=one_round,
        recipe=head["recipe"],
        manifest=head,
        item_count=count,
        is_demo=sources.is_demo,
        frozen_at=now,
        created_by=actor,
    )
    return split_insert(split=split)


def split_insert(*, split: Split) -> Split:
    """Insert the row as the next version of its name. Conflict when somebody was first."""
    latest = Split.objects.filter(name=split.name).order_by("-version").first()
    split.version = latest.version + 1 if latest else 1
    try:
        with transaction.atomic():
            split.save()
    except IntegrityError as error:
        raise Conflict(
            _("Somebody froze %(name)s at the same moment; look at that version.") % {"name": split.name}
        ) from error
    return split


def split_name_check(name: str) -> None:
    """InvalidInput unless this can name a split."""
    try:
        Split._meta.get_field("name").clean(name, None)  # noqa: SLF001 -- Django's documented way to a model's fields
    except ValidationError as error:
        raise InvalidInput(
            _("%(name)s cannot name a split: letters, digits, hyphens and underscores only, at most 80 of them.")
            % {"name": ascii(name)},
            field="name",
        ) from error
