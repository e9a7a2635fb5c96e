"""Items to practise on and attention items: dialogues outside the study's own, chosen before anybody sits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils.translation import gettext as _

from annotation.models import Kind
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.protocol import Protocol
from evaluation.models import Part, SpecialItem, Study
from evaluation.selectors.copies import copies_read, met_in
from evaluation.selectors.exposure import twin_keys
from evaluation.selectors.plans import specials_named, specials_of
from evaluation.services.specials_sound import specials_heard, specials_measure
from generation.models import Dialogue

OFFERED = 30
_READ_AT_ONCE = 100


def specials_set(*, study: Study, chosen: Mapping[Part, Iterable[str]], actor: User | None = None) -> list[SpecialItem]:
    """Put these dialogues (public ids, in order) in place of those chosen before for the same purposes, all or nothing; a purpose
    that is not named keeps its own. Writes one Event a purpose.

    Conflict once the protocol is locked: they are part of what was registered. InvalidInput names the dialogue that will not do:
    there twice, unknown, of another benchmark or language, without sound, one of the study's own items, the twin or a copy of
    one (also one whose recording was encoded anew), or chosen, itself or as a copy, for the other purpose. Recordings are
    measured, and their ClipPrints kept, before anything is held or refused.
    """
    asked = {purpose: [code.strip() for code in codes if code.strip()] for purpose, codes in chosen.items()}
    if Study.objects.filter(pk=study.pk, locked_at=None).exists():
        every = [code for codes in (specials_named(study) | asked).values() for code in codes]
        specials_measure(split=study.split, codes=every)
    return _chosen_put(study, asked, actor)


@transaction.atomic
def _chosen_put(study: Study, chosen: Mapping[Part, Sequence[str]], actor: User | None) -> list[SpecialItem]:
    _unlocked_claim(study)
    before = specials_named(study)
    wanted = {purpose: before[purpose.value] for purpose in (Part.PRACTICE, Part.ATTENTION)} | dict(chosen)
    every = [code for codes in wanted.values() for code in codes]
    choice = _Choice(study, {one.uid: one for one in Dialogue.objects.filter(uid__in=every)})
    for purpose, codes in wanted.items():
        for place, code in enumerate(codes):
            refusal = _("it is there twice.") if code in codes[:place] else choice.refusal(code)
            if refusal:
                raise InvalidInput(f"{code}: {refusal}", field=purpose.value)
    choice.apart(wanted[Part.PRACTICE], wanted[Part.ATTENTION], last=[*chosen][-1])
    SpecialItem.objects.filter(study=study, purpose__in=list(chosen)).delete()
    made = [
        SpecialItem.objects.create(study=study, dialogue=choice.found[code], purpose=purpose)
        for purpose in chosen
        for code in wanted[purpose]
    ]
    for purpose in chosen:
        event_record(
            actor=actor, verb="specials_set", entity=study, purpose=purpose.value, dialogues=len(wanted[purpose])
        )
    return made


def _unlocked_claim(study: Study) -> None:
    """An UPDATE that changes nothing but holds the row, so that no lock comes between the question and the choice."""
    if not Study.objects.filter(pk=study.pk, locked_at=None).update(locked_at=F("locked_at")):
        raise Conflict(_("The protocol is locked, and these items with it. Make a new study to choose others."))


class _Choice:
    """Dialogues by public id, and what the study and they have in common."""

    def __init__(self, study: Study, found: dict[str, Dialogue]) -> None:
        self.study, self.found = study, found
        keys = [one.pk for one in found.values()]
        self.own = dict(study.split.items.values_list("dialogue_id", "dialogue__language"))
        self.twins = set(twin_keys(dialogues=self.own).values())
        self.copies = {one.dialogue: one for one in copies_read(keys, met_in(list(self.own)))}
        self.heard = specials_heard(study=study, dialogues=keys)

    def refusal(self, code: str) -> str:
        one = self.found.get(code)
        if one is None:
            return _("there is no such dialogue.")
        copy = self.copies[one.pk]
        refusals = (
            (one.benchmark != self.study.benchmark, _("it belongs to another benchmark.")),
            (one.language not in set(self.own.values()), _("no item of this study is in its language.")),
            (one.pk in self.own, _("it is one of the study's own items.")),
            (
                bool(set(twin_keys(dialogues=[one.pk]).values()) & self.twins),
                _("it tells the story of one of the study's own items."),
            ),
            (not one.turns.filter(variants__clip__isnull=False).exists(), _("it has no sound.")),
            (copy.sound, _("it has a recording of one of the study's own items.")),
            (copy.words, _("it has the same words as one of the study's own items.")),
            (one.pk in self.heard.own, _("it has a recording that sounds like one of the study's own items.")),
        )
        return next((sentence for refused, sentence in refusals if refused), "")

    def apart(self, practice: Sequence[str], attention: Sequence[str], *, last: Part) -> None:
        """Nobody may meet an attention item, or a copy of one, while they practise. InvalidInput names it in the field that was
        set ``last``.
        """
        ahead, checked = (attention, practice) if last == Part.PRACTICE else (practice, attention)
        first = {self.found[code].pk: code for code in ahead}
        met = met_in(list(first))
        copies = {one.dialogue for one in copies_read([self.found[code].pk for code in checked], met) if one.found}
        for code in checked:
            key = self.found[code].pk
            if key in first:
                raise InvalidInput(f"{code}: {_('it is chosen for the other purpose already.')}", field=last.value)
            if key in copies or any(frozenset((key, other)) in self.heard.pairs for other in first):
                told = _("it is a copy of one that is chosen for the other purpose.")
                raise InvalidInput(f"{code}: {told}", field=last.value)


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
