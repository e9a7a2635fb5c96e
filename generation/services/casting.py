"""What is drawn for a dialogue before it is written: who, where, about what. Least used comes first."""

from __future__ import annotations

from random import Random

from django.db import transaction

from eqstudio.benchmarks import Benchmark
from eqstudio.benchmarks.base import Cast
from eqstudio.benchmarks.variety import Dealer, cast_draw, cast_read
from generation.models import Brief, Corpus, Dialogue, Draw
from generation.selectors.writing import draws_counted
from generation.services.seeds import dialogue_seed


@transaction.atomic
def dialogue_cast(*, dialogue: Dialogue, brief: Brief, benchmark: Benchmark) -> Cast:
    """The cast of this take of a dialogue: drawn once, the same ever after.

    Side effects: one row per thing drawn. Draws of one corpus happen one after the other, so counts are never stale.
    """
    Corpus.objects.select_for_update().get(pk=dialogue.corpus_id)
    drawn = dict(Draw.objects.filter(dialogue=dialogue, take=dialogue.takes).values_list("kind", "value"))
    if not drawn:
        rng = Random(dialogue_seed(dialogue, "cast"))  # noqa: S311 -- variety, not secrecy
        dealer = Dealer(lambda pool: draws_counted(corpus_id=dialogue.corpus_id, pool=pool), rng)
        cast_draw(
            dealer,
            benchmark,
            category=dialogue.category,
            language=dialogue.language,
            valence=brief.valence,
            setting=brief.setting,
        )
        Draw.objects.bulk_create(
            Draw(
                corpus_id=dialogue.corpus_id,
                dialogue=dialogue,
                take=dialogue.takes,
                kind=each.kind,
                pool=each.pool,
                value=each.value,
            )
            for each in dealer.drawn
        )
        drawn = {each.kind: each.value for each in dealer.drawn}
    return cast_read(drawn)
