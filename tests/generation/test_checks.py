"""No fake makes anything in production."""

from __future__ import annotations

import pytest
from django.core.checks import Tags, run_checks
from django.utils import timezone

from generation.checks import fake_aliases, no_fakes_in_production, real_aliases
from generation.domain.lifecycle import DialogueState
from generation.models import Batch, Brief, Corpus, Dialogue
from generation.providers import text_providers

pytestmark = pytest.mark.django_db


def brief(*, text: str, state: DialogueState = DialogueState.BRIEFED) -> Brief:
    corpus, _new = Corpus.objects.get_or_create(name="checks")
    made = Brief.objects.create(
        batch=Batch.objects.create(corpus=corpus),
        benchmark="speecheq",
        category="empathy",
        text_provider=text,
        voice_provider="local",
        transcriber="local",
    )
    Dialogue.objects.create(
        corpus=corpus, brief=made, benchmark="speecheq", category="empathy", language="en", state=state.value
    )
    return made


def problems() -> list[str]:
    return [problem.msg for problem in no_fakes_in_production(databases=["default"])]


def test_an_unfinished_brief_with_a_fake_is_an_error_in_production(settings):
    brief(text="fake")
    settings.PRODUCTION = True
    assert problems() == ["1 unfinished brief(s) name the fake text provider 'fake' in production."]


def test_the_hint_names_the_real_ones(settings):
    brief(text="fake")
    settings.PRODUCTION = True
    (problem,) = [
        found for found in run_checks(tags=[Tags.database], databases=["default"]) if found.id == "generation.E001"
    ]
    assert problem.hint.endswith(
        "one of: anthropic, azure, deepseek, demo, llamacpp, local, openai, portkey, qwen, vllm."
    )


def test_a_development_studio_may_use_fakes(settings):
    brief(text="fake")
    settings.PRODUCTION = False
    assert problems() == []


def test_real_finished_and_cancelled_ones_do_not_matter(settings):
    brief(text="openai")
    brief(text="fake", state=DialogueState.READY)
    cancelled = brief(text="fake").batch
    cancelled.cancelled_at = timezone.now()
    cancelled.save(update_fields=["cancelled_at"])
    settings.PRODUCTION = True
    assert problems() == []


def test_aliases_are_told_apart():
    assert fake_aliases(text_providers) == ["fake"]
    assert real_aliases(text_providers) == [alias for alias in text_providers if alias != "fake"]
    assert {"demo", "local", "openai"} < set(real_aliases(text_providers))
