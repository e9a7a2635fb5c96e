"""A round is made, filled and steered here."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.domain.assignment import ORDERS, shuffle_place
from annotation.models import Round, RoundItem
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput, UnknownAlias
from eqstudio.events import event_record
from eqstudio.ids import uid
from eqstudio.models import User
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue
from generation.services import dialogue_move


def round_create(
    *,
    name: str,
    corpus: Corpus | None,
    actor: User | None = None,
    benchmark: str = "",
    language: str = "",
    people_per_item: int = 3,
    agree_needed: int = 2,
    gate_share: float = 0.9,
    guidelines: str = "",
    seed: int = 0,
    is_demo: bool = False,
    order: str = "fewest_first",
    lease_minutes: int = 20,
    undo_seconds: int = 300,
    show_transcript: bool = True,
) -> Round:
    """Make an open round without items and write one Event; ``round_top_up`` fills it.

    InvalidInput names the field that is wrong, Conflict a name that is taken. The rubric version is the benchmark's.
    """
    if order not in ORDERS:
        raise UnknownAlias(kind="order", alias=order, known=sorted(ORDERS))
    new = Round(
        name=name,
        corpus=corpus,
        benchmark=benchmark,
        language=language,
        people_per_item=people_per_item,
        agree_needed=agree_needed,
        gate_share=gate_share,
        guidelines=guidelines,
        seed=seed,
        is_demo=is_demo,
        order=order,
        lease_minutes=lease_minutes,
        undo_seconds=undo_seconds,
        show_transcript=show_transcript,
        rubric_version=benchmark_get(benchmark).version if benchmark else "",
        created_by=actor,
    )
    _check(new)
    try:
        with transaction.atomic():
            new.save()
            event_record(actor=actor, verb="created", entity=new, name=name)
    except IntegrityError as error:
        raise Conflict(
            _("There is a round called %(name)s already. Choose another name.") % {"name": name}, field="name"
        ) from error
    return new


def _check(new: Round) -> None:
    if not 1 <= new.agree_needed <= new.people_per_item:
        raise InvalidInput(
            _("Between 1 and %(people)d people can be needed to agree.") % {"people": new.people_per_item},
            field="agree_needed",
        )
    if not 0 <= new.gate_share <= 1:
        raise InvalidInput(_("The share to be heard lies between 0 and 1."), field="gate_share")
    if new.lease_minutes < 1:
        raise InvalidInput(_("A reservation lasts at least one minute."), field="lease_minutes")
    try:
        new.clean_fields(exclude={"corpus", "created_by"})
    except ValidationError as error:
        field, messages = next(iter(error.message_dict.items()))
        raise InvalidInput(f"{field}: {' '.join(messages)}", field=field) from error


def round_top_up(*, round: Round, actor: User | None = None) -> int:  # noqa: A002 -- the word of the domain
    """Take every READY dialogue of the round's corpus that fits its benchmark and language into the round.

    Each goes in with its move to IN_REVIEW, in one transaction; one that somebody else moved first is left alone.
    Writes one Event when anything was added. Returns how many were added.
    """
    if round.corpus_id is None:
        return 0
    ready = Dialogue.objects.filter(corpus_id=round.corpus_id, state=DialogueState.READY.value)
    if round.benchmark:
        ready = ready.filter(benchmark=round.benchmark)
    if round.language:
        ready = ready.filter(language=round.language)
    added = 0
    for dialogue in (
        ready.exclude(round_items__round=round).select_related("brief__batch").order_by("pk").iterator(chunk_size=200)
    ):
        added += _item_add(round, dialogue, actor)
    if added:
        event_record(actor=actor, verb="topped up", entity=round, added=added)
    return added


def _item_add(round_: Round, dialogue: Dialogue, actor: User | None) -> bool:
    try:
        with transaction.atomic():
            dialogue_move(dialogue=dialogue, to=DialogueState.IN_REVIEW, actor=actor, reason=f"round {round_.name}")
            RoundItem.objects.create(**_item_fields(round_, dialogue))
    except (Conflict, IntegrityError):
        return False
    return True


def _item_fields(round_: Round, dialogue: Dialogue) -> dict[str, Any]:
    """What an item of kind work starts with; its place in the circle follows from the round's seed."""
    public_id = uid()
    batch = dialogue.brief.batch if dialogue.brief else None
    return {
        "uid": public_id,
        "round": round_,
        "dialogue": dialogue,
        "category": dialogue.category,
        "language": dialogue.language,
        "author_id": batch.created_by_id if batch else None,
        "twin_key": dialogue.template_key,
        "shuffle": shuffle_place(seed=str(round_.seed), key=public_id),
        "wanted": round_.people_per_item,
    }


@transaction.atomic
def round_set_state(*, round: Round, state: Round.State, actor: User | None = None) -> Round:  # noqa: A002
    """Open, pause or close a round and write one Event; doing it twice is harmless. A closed round can be opened again.

    Work in progress stays with its people: what they hold can still be submitted.
    """
    changed = Round.objects.filter(pk=round.pk).exclude(state=state.value).update(state=state.value)
    round.state = state.value
    if changed:
        event_record(actor=actor, verb=f"set to {state.value}", entity=round)
    return round
