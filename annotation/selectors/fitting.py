"""Which dialogues a round would take now."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, QuerySet

from annotation.domain.round_query import RoundQuery, chosen
from annotation.models import Kind, Round
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue, QcReport, Turn


def dialogues_fitting(
    *, corpus: Corpus, benchmark: str = "", language: str = "", query: RoundQuery | None = None
) -> QuerySet[Dialogue]:
    """The READY dialogues of a corpus that a round with these wishes takes; its limit is not applied."""
    wanted = query or RoundQuery()
    found = Dialogue.objects.filter(corpus=corpus, state=DialogueState.READY.value)
    chosen_fields = {
        "benchmark": benchmark,
        "language": language,
        "category__in": wanted.categories,
        "source__in": wanted.sources,
        "valence__in": wanted.valences,
    }
    found = found.filter(**{name: value for name, value in chosen_fields.items() if value})
    if wanted.voices:
        found = found.filter(pk__in=Turn.objects.filter(voice__in=wanted.voices).values("dialogue"))
    if wanted.clean:
        later = QcReport.objects.filter(dialogue=OuterRef("dialogue"), run__gt=OuterRef("run"))
        failed = QcReport.objects.filter(passed=False).exclude(Exists(later))
        found = found.exclude(pk__in=failed.values("dialogue"))
    return found.order_by("pk")


def dialogues_for_round(*, round: Round) -> list[int]:  # noqa: A002 -- the word of the domain
    """Ids of the dialogues that ``round_top_up`` takes now: those that fit, up to what the limit leaves.

    A dialogue that serves as a worked example in the guidelines is left out: its answer is given there.
    """
    if round.corpus is None:
        return []
    query = RoundQuery.from_dict(round.query)
    fitting = dialogues_fitting(corpus=round.corpus, benchmark=round.benchmark, language=round.language, query=query)
    shown = round.examples.values("variant__turn__dialogue")
    ids = list(fitting.exclude(round_items__round=round).exclude(pk__in=shown).values_list("pk", flat=True))
    if not query.limit:
        return ids
    left = query.limit - round.items.filter(kind=Kind.WORK).count()
    return chosen(ids, limit=left, seed=query.seed) if left > 0 else []


def voices_of(*, corpus: Corpus) -> list[str]:
    """The voices that speak in a corpus."""
    voices = Turn.objects.filter(dialogue__corpus=corpus).exclude(voice="").order_by()
    return sorted(voices.values_list("voice", flat=True).distinct())
