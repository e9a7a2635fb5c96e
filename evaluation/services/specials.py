"""Items to practise on and attention items: dialogues outside the study's own, chosen before anybody sits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction
from django.db.models import Count, Q
from django.utils.translation import gettext as _

from annotation.models import Kind
from eqstudio.errors import InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Part, SpecialItem, Study
from evaluation.selectors.exposure import twin_keys
from generation.models import Dialogue

OFFERED = 30


@transaction.atomic
def specials_set(*, study: Study, purpose: Part, codes: Iterable[str], actor: User | None = None) -> list[SpecialItem]:
    """Put these dialogues (public ids, in order) in place of those chosen before. Writes one Event.

    InvalidInput names the dialogue that will not do: there twice, unknown, of another benchmark or language, without sound, one of the
    study's own items or the twin of one, or chosen for the other purpose.
    """
    wanted = [code.strip() for code in codes if code.strip()]
    twice = next((code for place, code in enumerate(wanted) if code in wanted[:place]), None)
    if twice is not None:
        raise InvalidInput(f"{twice}: {_('it is there twice.')}", field=purpose.value)
    found = {one.uid: one for one in Dialogue.objects.filter(uid__in=wanted)}
    own = dict(study.split.items.values_list("dialogue_id", "dialogue__language"))
    twins = set(twin_keys(dialogues=own).values())
    taken = set(SpecialItem.objects.filter(study=study).exclude(purpose=purpose).values_list("dialogue_id", flat=True))
    for code in wanted:
        refusal = _refusal(study, found.get(code), own, twins, taken)
        if refusal:
            raise InvalidInput(f"{code}: {refusal}", field=purpose.value)
    SpecialItem.objects.filter(study=study, purpose=purpose).delete()
    made = [SpecialItem.objects.create(study=study, dialogue=found[code], purpose=purpose) for code in wanted]
    event_record(actor=actor, verb="specials_set", entity=study, purpose=purpose.value, dialogues=len(made))
    return made


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
    return list(rows[:OFFERED])
