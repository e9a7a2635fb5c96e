"""A split is frozen here: chosen by a recipe, told whole in a manifest, never changed again."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.domain.curation import Choice, Offered, Recipe, choice
from annotation.domain.manifest import FORMAT, canary_string, canonical, head_hash, item_hash
from annotation.models import Round, Split, SplitItem
from annotation.provenance import code_identity
from annotation.selectors.changes import Mark, changed_since, mark_now
from annotation.selectors.split_agreement import SaidRatings
from annotation.selectors.splits import Sources, all_keys, candidates, fitting_keys, recipe_names_check, sources_of
from annotation.services.shelf import Shelf
from eqstudio.benchmarks import benchmark_get
from eqstudio.bulk import rows_insert
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus
from generation.services import dialogues_move

_FREEZABLE = (DialogueState.READY, DialogueState.KEPT)
_SHORT_TOLD = 12
_TOLD_EVERY = 500
_ATTEMPTS = 3
NAMED = 20
"""An error names so many items."""
Progress = Callable[[int, int], None]


def split_freeze(
    *,
    name: str,
    round: Round | None = None,  # noqa: A002 -- the word of the domain
    corpus: Corpus | None = None,
    recipe: Recipe | dict[str, Any] | None = None,
    actor: User | None = None,
    now: datetime,
    progress: Progress = lambda _done, _total: None,
    written: Callable[[Split], None] = lambda _split: None,
) -> Split:
    """Freeze what the recipe takes from its rounds or its corpus as the next version of ``name``.

    ``round`` or ``corpus`` go before those that the recipe names, and stand in their place in the manifest. Reads and chooses first, telling ``progress`` how many of
    how many items are read, then writes in one transaction: inserts Split and SplitItems with the manifest, moves ready and
    kept dialogues to FROZEN, writes one Event for the split and one for each state that was left, and calls ``written`` last.
    InvalidInput when nothing would be in it, when the items belong to several benchmarks, or when a strict recipe falls
    short; Conflict when the items keep changing meanwhile.
    """
    split_name_check(name)
    chosen_by = recipe if isinstance(recipe, Recipe) else Recipe.from_dict(recipe or {})
    recipe_names_check(chosen_by)
    sources = _sources(chosen_by, round, corpus)
    if chosen_by.rounds or chosen_by.corpus:
        names = tuple(one.name for one in sources.rounds)
        chosen_by = replace(chosen_by, rounds=names, corpus=sources.corpus.name if sources.corpus else "")
    changed: list[str] = []
    for _attempt in range(_ATTEMPTS):
        with Shelf() as shelf:
            chosen = _chosen(name, sources, chosen_by, shelf, progress)
            with transaction.atomic():
                changed = changed_since(mark=chosen.mark, rounds=sources.rounds, keys=chosen.keys)
                if not changed:
                    split = _write(name, sources, chosen, actor=actor, now=now)
                    written(split)
                    return split
    raise Conflict(
        _("These items were judged or changed while they were being read: %(items)s. Nothing was frozen; try again.")
        % {"items": ", ".join(changed[:NAMED])}
    )


@dataclass(frozen=True)
class _Chosen:
    """What goes in: the items in order with their sides, the keys of all entries on the shelf as they lie there (rising), and up
    to which facts they were read.
    """

    choice: Choice
    keys: array[int]
    shelf: Shelf
    shelved: array[int]
    mark: Mark
    head: dict[str, Any]

    def entries(self) -> Iterator[tuple[int, dict[str, Any]]]:
        for item in self.choice.items:
            place = bisect_left(self.shelved, item.key)
            yield item.key, {**self.shelf.get(place), "side": self.choice.sides[item.key]}


def _chosen(name: str, sources: Sources, recipe: Recipe, shelf: Shelf, progress: Progress) -> _Chosen:
    """Read everything on offer once and let the recipe choose."""
    mark = mark_now()
    keys = fitting_keys(all_keys(sources), recipe, name=name)
    offered: list[Offered] = []
    shelved = array("q")
    ratings = SaidRatings()
    for number, one in enumerate(candidates(sources=sources, recipe=recipe, keys=keys)):
        if number % _TOLD_EVERY == 0:
            progress(number, len(keys))
        if sources.rounds and one.outcome != recipe.outcome:
            continue
        offered.append(one.item)
        ratings.add(one.item.key, one.said)
        shelved.append(one.item.key)
        shelf.put(one.entry())
    progress(len(keys), len(keys))
    chosen = choice(offered, recipe)
    del offered
    _check_choice(chosen, recipe)
    taken = array("q", (item.key for item in chosen.items))
    head = {
        **_head(_one_benchmark(chosen), recipe),
        "agreement": ratings.agreement(recipe, taken).as_dict(),
        "shortfalls": [short.as_dict() for short in chosen.shortfalls],
    }
    return _Chosen(chosen, taken, shelf, shelved, mark, head)


def _write(name: str, sources: Sources, chosen: _Chosen, *, actor: User | None, now: datetime) -> Split:
    head = {**chosen.head, "frozen_at": now.isoformat()}
    split = _insert(name, sources, head, len(chosen.keys), actor=actor, now=now)
    return split_finish(split=split, rows=chosen.entries(), keys=chosen.keys, actor=actor)


def _sources(recipe: Recipe, round_: Round | None, corpus: Corpus | None) -> Sources:
    if round_ is not None and corpus is not None:
        raise InvalidInput(_("Freeze from a round or from a corpus: name one of them."), field="round")
    if round_ is not None:
        return Sources(rounds=(round_,))
    found = Sources(corpus=corpus) if corpus is not None else sources_of(recipe)
    if not found.rounds and found.corpus is None:
        raise InvalidInput(_("Freeze from a round or from a corpus: name one of them."), field="round")
    return found


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


def _head(alias: str, recipe: Recipe) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "benchmark": alias,
        "benchmark_version": benchmark_get(alias).version,
        "recipe": recipe.as_dict(),
        "code": code_identity(),
    }


def split_finish(
    *, split: Split, rows: Iterable[tuple[int, dict[str, Any]]], keys: Sequence[int], actor: User | None
) -> Split:
    """The second half of a freeze, inside its transaction: items, hash and canary, states, Event."""
    digests: list[str] = []

    def columns() -> Iterator[tuple[Any, ...]]:
        for position, (key, entry) in enumerate(rows):
            digests.append(item_hash(entry))
            yield split.pk, key, position, entry["side"], entry["content"], canonical(entry).decode()

    rows_insert(model=SplitItem, columns=["split", "dialogue", "position", "side", "identity", "entry"], rows=columns())
    split.manifest_hash = head_hash(split.manifest, digests)
    split.canary = canary_string(split.manifest_hash)
    split.save(update_fields=["manifest_hash", "canary"])
    for state in _FREEZABLE:
        dialogues_move(keys=keys, before=state, to=DialogueState.FROZEN, actor=actor, reason=f"split {split}")
    event_record(actor=actor, verb="froze", entity=split, items=split.item_count, manifest_hash=split.manifest_hash)
    return split


def _insert(
    name: str, sources: Sources, head: dict[str, Any], count: int, *, actor: User | None, now: datetime
) -> Split:
    one_round = sources.rounds[0] if len(sources.rounds) == 1 else None
    split = Split(
        name=name,
        benchmark=head["benchmark"],
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
