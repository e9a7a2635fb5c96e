"""Names of things as a page says them, in the reader's language."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _

from eqstudio.benchmarks import benchmark_get, benchmarks
from generation.domain.lifecycle import DialogueState
from generation.domain.sayings import IN_LINE, IN_PAIR, NAMED, SAYINGS

S = DialogueState

STATE_LABELS: dict[str, Any] = {
    S.BRIEFED: _("waits for its script"),
    S.SCRIPTED: _("waits for its voices"),
    S.VOICED: _("waits for its check"),
    S.READY: _("ready"),
    S.FLAGGED: _("flagged"),
    S.IN_REVIEW: _("in review"),
    S.KEPT: _("kept"),
    S.REJECTED: _("rejected"),
    S.DISPUTED: _("disputed"),
    S.FROZEN: _("frozen"),
    S.FAILED: _("failed"),
}

STATE_CHIPS: dict[str, str] = {
    S.READY: "good",
    S.KEPT: "good",
    S.FROZEN: "good",
    S.FLAGGED: "warn",
    S.DISPUTED: "warn",
    S.FAILED: "bad",
    S.REJECTED: "bad",
    S.IN_REVIEW: "info",
}

STAGE_LABELS: dict[str, Any] = {S.BRIEFED: _("written"), S.SCRIPTED: _("spoken"), S.VOICED: _("checked")}
"""What a dialogue is once it has left the state."""

ROLE_LABELS: dict[str, Any] = {
    "context": _("context"),
    "critical": _("to be judged: same words, several deliveries"),
    "response": _("to be judged: several replies"),
}

VARIANT_LABELS: dict[str, Any] = {
    "only": _("the only version"),
    "high": _("high"),
    "low": _("low"),
    "target": _("target"),
    "neutral": _("neutral"),
    "alternative": _("alternative"),
}
"""What the benchmarks call the versions of a line; intended grades stand as they are."""

CHECK_LABELS: dict[str, Any] = {
    "decodable": _("can be decoded"),
    "duration": _("length"),
    "silence": _("silence"),
    "clipping": _("clipping"),
    "tail": _("cut off at the end"),
    "language": _("language"),
    "transcript": _("words heard"),
    "voice": _("speaker's voice"),
    "distinctiveness": _("deliveries differ"),
    "loudness match": _("loudness as made"),
    "matched loudness": _("loudness as heard"),
    "text gives away": _("words give the key away"),
}


DRAW_LABELS: dict[str, Any] = {
    "cell": _("mood and setting"),
    "topic": _("topic"),
    "roles": _("roles"),
    "genders": _("genders"),
    "name": _("name"),
    "archetype": _("who lacks the skill"),
    "plan": _("plan"),
}
"""What was drawn for a dialogue."""


PROVIDER_LINES: dict[tuple[str, str], Any] = {
    ("text", "openai"): _("OpenAI, or any service that is spoken to like it; its address, model and key are settings"),
    ("text", "azure"): _("a model of OpenAI's that your organisation runs in Microsoft's cloud"),
    ("text", "qwen"): _("Alibaba's models in its cloud"),
    ("text", "deepseek"): _("DeepSeek's models at its own service"),
    ("text", "anthropic"): _("Claude, at Anthropic's service"),
    ("text", "portkey"): _("a gateway that passes the question on to any vendor and keeps the accounts"),
    ("text", "vllm"): _("a large open model on a machine of your own with an accelerator"),
    ("text", "llamacpp"): _("a small open model on a machine of your own"),
    ("text", "local"): _("a very small model inside the studio: for trying out, not for good scripts"),
    ("text", "demo"): _("the studio's own few scripts, written by people"),
    ("text", "fake"): _("fills in the form of a script, for tests; not let into production"),
    ("voice", "openai"): _("OpenAI's voices, or any service like it that follows instructions on tone"),
    ("voice", "speech-server"): _("a speech program on a machine of your own"),
    ("voice", "qwen3-tts"): _("Alibaba's open voices, on a machine of your own with an accelerator"),
    ("voice", "local"): _("voices inside the studio; their mood is set by pitch, pace and loudness"),
    ("voice", "fake"): _("tones instead of speech, for tests; not let into production"),
    ("transcriber", "openai"): _("OpenAI's transcription, or any service that is spoken to like it"),
    ("transcriber", "transcript-server"): _("a transcription program on a machine of your own"),
    ("transcriber", "whisper-large-v3"): _("the transcriber of the published checks, on a machine with an accelerator"),
    ("transcriber", "local"): _("a small transcriber inside the studio; it mishears more, above all Chinese"),
    ("transcriber", "fake"): _("says what was to be said, for tests; not let into production"),
}
"""What each provider is, for whoever never heard its name."""


def text_here(text: Mapping[str, str]) -> str:
    """The text in the language of the page."""
    language = "zh" if (get_language() or "en").startswith("zh") else "en"
    return text.get(language) or text.get("en", "")


def finding_words(message: str, detail: Mapping[str, Any]) -> str:
    """What a check found, in the language of the page; rows from before their sentences had names stay in English."""
    said, where = detail.get("said"), detail.get("where") or {}
    if said not in SAYINGS:
        return message
    figures = {
        name: gettext(value) if name in NAMED else value for name, value in (detail.get("figures") or {}).items()
    }
    words = gettext(SAYINGS[said]) % figures
    if not where:
        return words
    pattern = IN_PAIR if "first" in where else IN_LINE
    return gettext(pattern) % {**where, "said": words}


def category_label(benchmark: str, category: str) -> str:
    """``Group: category`` in the language of the page; the key itself where the taxonomy does not know it."""
    found = _categories(benchmark).get(category)
    return f"{text_here(found.group_label)}: {text_here(found.label)}" if found else category


def benchmark_title(alias: str) -> str:
    return benchmark_get(alias).title if alias in benchmarks else alias


@cache
def _categories(benchmark: str) -> dict[str, Any]:
    if benchmark not in benchmarks:
        return {}
    return {category.key: category for category in benchmark_get(benchmark).categories}


RULE_LABELS: dict[str, Any] = {
    "quieter": _("always the quieter one"),
    "louder": _("always the louder one"),
    "shorter": _("always the shorter one"),
    "longer": _("always the longer one"),
    "lower pitch": _("always the one with the lower pitch"),
    "higher pitch": _("always the one with the higher pitch"),
    "darker": _("always the darker one"),
    "brighter": _("always the brighter one"),
    "together": _("a model that knows all four measures, tried on dialogues it has not seen"),
}
