"""Items to practise on and attention items: dialogues outside the study's own, chosen before anybody sits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils.translation import gettext as _

from annotation.models import Kind
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.protocol import Protocol
from evaluation.models import Part, SpecialItem, Study
from evaluation.selectors.copies import Copy, copies_read, met_in
from evaluation.selectors.exposure import twin_keys
from evaluation.selectors.plans import specials_of
from generation.models import Dialogue

OFFERED = 30
_READ_AT_ONCE = 100


@transaction.atomic
def specials_set(*, study: Study, purpose: Part, codes: Iterable[str], actor: User | None = None) -> list[SpecialItem]:
    """Put these dialogues (public ids, in order) in place of those chosen before. Writes one Event.

    Conflict once the protocol is locked: they are part of what was registered. InvalidInput names the dialogue that will not do:
    there twice, unknown, of another benchmark or language, without sound, one of the study's own items, the twin or a copy of
    one, or chosen for the other purpose.
    """
    _unlocked_claim(study)
    wanted = [code.strip() for code in codes if code.strip()]
    twice = next((code for place, code in enumerate(wanted) if code in wanted[:place]), None)
    if twice is not None:
        raise InvalidInput(f"{twice}: {_('it is there twice.')}", field=purpose.value)
    found = {one.uid: one for one in Dialogue.objects.filter(uid__in=wanted)}
    own = dict(study.split.items.values_list("dialogue_id", "dialogue__language"))
    twins = set(twin_keys(dialogues=own).values())
    taken = set(SpecialItem.objects.filter(study=study).exclude(purpose=purpose).values_list("dialogue_id", flat=True))
    copies = {one.dialogue: one for one in copies_read([one.pk for one in found.values()], met_in(list(own)))}
    for code in wanted:
        refusal = _refusal(study, found.get(code), own, twins, taken) or _copy_refusal(found[code], copies)
        if refusal:
            raise InvalidInput(f"{code}: {refusal}", field=purpose.value)
    SpecialItem.objects.filter(study=study, purpose=purpose).delete()
    made = [SpecialItem.objects.create(study=study, dialogue=found[code], purpose=purpose) for code in wanted]
    event_record(actor=actor, verb="specials_set", entity=study, purpose=purpose.value, dialogues=len(made))
    return made


def _unlocked_claim(study: Study) -> None:
    """An UPDATE that changes nothing but holds the row, so that no lock comes between the question and the choice."""
    if not Study.objects.filter(pk=study.pk, locked_at=None).update(locked_at=F("locked_at")):
        raise Conflict(_("The protocol is locked, and these items with it. Make a new study to choose others."))


def _refusal(study: Study, one: Dialogue | None, own: dict[int, str], twins: set[str], taken: set[int]) -> str:
    if one is None:
        return _("there is no such dialogue.")
    refusals = (
        (one.benchmark != study.benchmark, _("it belongs to another benchmark.")),
        (one.language not in set(own.values()), _("no item of this study is in its language.")),
        (one.pk in own, _("it is one of the study's own items.")),
        (
            bool(set(twin_keys(dialogues=[one.pk]).values()) & twins),
            _("it tells the story of one of the study's own items."),
        ),
        (one.pk in taken, _("it is chosen for the other purpose already.")),
        (not one.turns.filter(variants__clip__isnull=False).exists(), _("it has no sound.")),
    )
    return next((sentence for refused, sentence in refusals if refused), "")


def _copy_refusal(one: Dialogue, copies: dict[int, Copy]) -> str:
    copy = copies[one.pk]
    if copy.sound:
        return _("it has a recording of one of the study's own items.")
    return _("it has the same words as one of the study's own items.") if copy.words else ""


def specials_offered(*, study: Study, purpose: Part) -> Sequence[Dialogue]:
    """Dialogues that would do, those with a known answer in a round first (their answer is the least in doubt)."""
    own = dict(study.split.items.values_list("dialogue_id", "dialogue__language"))
    topics = set(Dialogue.objects.filter(pk__in=own).exclude(topic_key="").values_list("topic_key", flat=True))
    known = [Kind.TRAINING.value, Kind.GOLD.value] if purpose == Part.PRACTICE else [Kind.GOLD.value]
    rows = (
        Dialogue.objects.filter(benchmark=study.benchmark, language__in=set(own.values()))
        .exclude(pk__in=own)
        .exclude(topic_key__in=topics)
        .filter(turns__variants__clip__isnull=False)
        .annotate(gold=Count("round_items", filter=Q(round_items__kind__in=known), distinct=True))
        .order_by("-gold", "pk")
        .distinct()
    )
    keys = list(rows.values_list("pk", flat=True))
    met, free = met_in(list(own)), list[int]()
    for start in range(0, len(keys), _READ_AT_ONCE):
        free += [one.dialogue for one in copies_read(keys[start : start + _READ_AT_ONCE], met) if not one.found]
        if len(free) >= OFFERED:
            break
    return list(rows.filter(pk__in=free[:OFFERED]))


def specials_check(*, study: Study, protocol: Protocol) -> None:
    """InvalidInput where the protocol asks for more practice or attention items than are chosen; it names the field."""
    execution = protocol.execution
    for purpose, wanted in ((Part.PRACTICE, execution.practice), (Part.ATTENTION, execution.attention)):
        chosen = len(specials_of(study=study, purpose=purpose))
        if chosen < wanted:
            raise InvalidInput(
                _(
                    "The protocol asks for %(wanted)s of %(purpose)s, and %(chosen)s are chosen. Choose them under People, Practice and attention; then lock."
                )
                % {"wanted": wanted, "purpose": purpose.label, "chosen": chosen},
                field=f"execution.{purpose.value}",
            )
