"""Words that rows and the pure domain keep in English, and pages show in the reader's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

VERBS: dict[str, Any] = {
    "API access ended": _("ended their API token"),
    "API access renewed": _("made a new API token"),
    "account switched off": _("switched the account off"),
    "account switched on": _("switched the account on"),
    "adjudicated": _("decided"),
    "asked for export": _("asked for an export"),
    "budget set": _("set the budget"),
    "budget used up": _("stopped: the budget is used up"),
    "cancelled": _("called off"),
    "closed": _("closed"),
    "created": _("created"),
    "froze": _("froze"),
    "imported": _("imported"),
    "uploaded": _("uploaded"),
    "imported ratings": _("imported ratings"),
    "judged": _("judged"),
    "moved": _("moved"),
    "person changed": _("changed name, e-mail or language"),
    "person invited": _("invited"),
    "released": _("gave back"),
    "reopened": _("opened again"),
    "responses_import": _("imported answers"),
    "retracted": _("took a judgement back"),
    "roles set": _("set the roles"),
    "set to closed": _("closed"),
    "set to open": _("opened"),
    "set to paused": _("paused"),
    "sign-in link made": _("made a sign-in link"),
    "sitting_cancel": _("stopped"),
    "sitting_resume": _("let go on"),
    "study_close": _("closed"),
    "study_create": _("created"),
    "study_run": _("started a run"),
    "transcript put right": _("put the transcript right"),
    "topped up": _("took in what is ready"),
}

ENTITIES: dict[str, Any] = {
    "adjudication": _("decision"),
    "assignment": _("reservation"),
    "batch": _("batch"),
    "upload": _("upload"),
    "brief": _("brief"),
    "clip": _("clip"),
    "corpus": _("corpus"),
    "dialogue": _("dialogue"),
    "export": _("export"),
    "judgement": _("judgement"),
    "respondent": _("respondent"),
    "response": _("answer"),
    "round": _("round"),
    "rounditem": _("item"),
    "sitting": _("sitting"),
    "split": _("split"),
    "study": _("study"),
    "trialrecord": _("question"),
    "user": _("person"),
    "variant": _("version"),
}

STATES: dict[str, Any] = {
    "briefed": _("waits for its script"),
    "scripted": _("waits for its voices"),
    "voiced": _("waits for its check"),
    "ready": _("ready"),
    "flagged": _("flagged"),
    "in_review": _("in review"),
    "kept": _("kept"),
    "rejected": _("rejected"),
    "disputed": _("disputed"),
    "frozen": _("frozen"),
    "failed": _("failed"),
}
"""Of a dialogue; a test holds them against the app that they belong to."""

DETAILS: dict[str, Any] = {
    "before": _("before"),
    "after": _("after"),
    "reason": _("because"),
    "corpus": _("corpus"),
    "created": _("taken in"),
    "skipped": _("there already"),
    "refused": _("turned away"),
    "format": _("laid out as"),
    "files": _("files"),
    "dialogues": _("dialogues"),
    "transcriber": _("transcript checked by"),
}
"""What stands beside an event, where its name alone says little."""

REASONS: dict[str, Any] = {
    "a ratio scale has no values below zero": _("a ratio scale has no values below zero"),
    "a model needs pairs of at least two dialogues": _("a model needs pairs of at least two dialogues"),
    "chance does not speak": _("chance does not speak"),
    "fewer than two raters": _("fewer than two raters"),
    "guessing has no fixed figure here": _("guessing has no fixed figure here"),
    "no item has two ratings": _("no item has two ratings"),
    "no item passes": _("no item passes"),
    "no item was answered by both": _("no item was answered by both"),
    "no pair differs in any measure": _("no pair differs in any measure"),
    "no pair differs in this measure": _("no pair differs in this measure"),
    "no ratings": _("no ratings"),
    "no two items were rated by everybody": _("no two items were rated by everybody"),
    "no variation": _("no variation"),
    "nobody has answered": _("nobody has answered"),
    "nothing was asked": _("nothing was asked"),
    "pairs of raters have too few items in common": _("pairs of raters have too few items in common"),
    "the scale is nominal, without order or distance": _("the scale is nominal, without order or distance"),
    "the values are words, without order or distance": _("the values are words, without order or distance"),
}
"""Why a statistic is undefined. The domain says it in English; JSON keeps that, pages translate it."""
