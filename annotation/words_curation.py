"""Words of recipes, gates and audits, as pages show them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from generation.words import RULE_LABELS

CONSENSUS_LABELS: dict[str, Any] = {
    "round": _("the round and its experts"),
    "majority": _("most of the votes"),
    "share": _("a share of the votes"),
    "unanimous": _("all votes"),
}
BALANCED_LABELS: dict[str, Any] = {
    "category": _("category"),
    "grade": _("grade"),
    "language": _("language"),
    "valence": _("valence"),
    "voice": _("voice"),
    "source": _("source"),
    "topic": _("topic"),
}
GROUP_LABELS: dict[str, Any] = {
    "template": _("template"),
    "scenario": _("scenario"),
    "brief": _("brief"),
    "voice": _("voice"),
    "speaker": _("speaker"),
    "topic": _("topic"),
}
MEASURE_LABELS: dict[str, Any] = {
    "alpha_ordinal": _("Krippendorff's alpha, ordinal"),
    "alpha_interval": _("Krippendorff's alpha, interval"),
    "alpha_nominal": _("Krippendorff's alpha, nominal"),
    "ac1": _("Gwet's AC1"),
    "percent_agreement": _("share of pairs of people who agree"),
}
GATE_LABELS: dict[str, Any] = {
    "agreement": _("Agreement"),
    "audit": _("Audit"),
    "licence": _("Licence"),
    "consent": _("Consent"),
}
STEP_LABELS: dict[str, Any] = {
    "offered": _("on offer"),
    "outcome": _("with this outcome"),
    "kind": _("of this benchmark, language, source, valence and category, and not withdrawn"),
    "people": _("judged by enough people"),
    "agreement": _("on which people agree enough"),
    "spread": _("that tell versions apart"),
    "item_rest": _("that go with the rest"),
    "difficulty": _("within the band of difficulty"),
    "sides": _("whose groups are all on one side"),
    "targets": _("within the targets"),
    "topics": _("within the share of a topic"),
    "size": _("within the size"),
}
SHORT_LABELS: dict[str, Any] = {
    **BALANCED_LABELS,
    "size": _("size"),
    "largest_topic_share": _("largest topic"),
    "topic_entropy": _("evenness of topics"),
}
SIDE_LABELS: dict[str, Any] = {"test": _("test"), "dev": _("development"), "train": _("training")}
CHECK_LABELS: dict[str, Any] = {
    "clip": _("Dialogues that contain the same recording"),
    "text": _("Dialogues with the same words"),
    "recording": _("Dialogues with a recording that sounds the same, re-encoded or cut"),
    "near": _("Dialogues with nearly the same words"),
    "skeleton": _("Dialogues that differ only in names and numbers"),
    "title": _("Dialogues with the same title"),
    "names": _("Dialogues whose speakers bear the same names"),
    "template": _("Sides that share a template"),
    "scenario": _("Sides that share a scenario"),
    "topic": _("Sides that share a topic"),
    "speaker": _("Sides that share a speaker"),
    "voice": _("Sides that share a voice"),
}
KIND_LABELS: dict[str, Any] = {
    "clip": _("the same recording"),
    "text": _("the same words"),
    "recording": _("the same sound"),
    "near": _("nearly the same words"),
    "skeleton": _("the same skeleton"),
    "template": _("a template"),
    "scenario": _("a scenario"),
    "title": _("a title"),
    "names": _("the names of speakers"),
    "topic": _("a topic"),
    "speaker": _("a speaker"),
    "voice": _("a voice"),
}
SHUT_LABELS: dict[str, Any] = {
    "clips": CHECK_LABELS["clip"],
    "texts": CHECK_LABELS["text"],
    "recordings": CHECK_LABELS["recording"],
    "near": CHECK_LABELS["near"],
    "templates": CHECK_LABELS["template"],
    "scenarios": CHECK_LABELS["scenario"],
    "text only": _("the words alone give the key away"),
    "judges who answered": _("judges who also sat the exam"),
    "unreadable": _("recordings that could not be read"),
    **{f"shortcut: {cue}": label for cue, label in RULE_LABELS.items()},
}
"""What shuts the gate of an audit, by the names that reports give it."""


def shut_words(name: str) -> str:
    """A reason of a report in words; one that is about another split names it."""
    found, _in, other = name.partition(" in ")
    label = str(SHUT_LABELS.get(found, found))
    return gettext("%(found)s (with %(other)s)") % {"found": label, "other": other} if other else label
