"""The demo's researcher: what only the embedded transcriber misheard goes on, with a reason; one dialogue stays flagged."""

from __future__ import annotations

from django.db.models import Max

from evaluation.demo.corpora import YOUR_TURN
from generation.domain.lifecycle import DialogueState
from generation.models import Corpus, Dialogue
from generation.services import dialogue_settle

REASON = "Demo: the embedded transcriber mishears short lines; everything else passed. Nobody has listened yet."
MISHEARD = "transcript"
SHOWN_FLAGGED = "echomind"
"""One dialogue of this benchmark stays flagged, for the visitor to decide on."""


def flagged_settle(corpus: Corpus) -> int:
    """Keep the flagged dialogues of a demo corpus in which no check failed but the transcript. Returns how many were kept.

    The first one of ``demo-echomind`` is left for the visitor. Moves dialogues and writes their Events.
    """
    flagged = list(Dialogue.objects.filter(corpus=corpus, state=DialogueState.FLAGGED.value).order_by("pk"))
    if corpus.name != YOUR_TURN and flagged and flagged[0].benchmark == SHOWN_FLAGGED:
        flagged = flagged[1:]
    kept = [dialogue for dialogue in flagged if _misheard_only(dialogue)]
    for dialogue in kept:
        dialogue_settle(dialogue=dialogue, to=DialogueState.READY, reason=REASON)
    return len(kept)


def _misheard_only(dialogue: Dialogue) -> bool:
    latest = dialogue.findings.aggregate(last=Max("run"))["last"]
    failed = set(dialogue.findings.filter(run=latest, passed=False).values_list("check_name", flat=True))
    return failed == {MISHEARD}
