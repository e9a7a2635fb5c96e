"""Every test of generation meets fakes that behave."""

import pytest

from generation.providers.text.fake import FakeText
from generation.providers.transcriber.fake import FakeTranscriber
from generation.providers.voice.fake import FakeVoice


@pytest.fixture(autouse=True)
def _fakes_behave():
    fakes = (FakeText, FakeVoice, FakeTranscriber)
    for fake in fakes:
        fake.reset()
    yield
    for fake in fakes:
        fake.reset()
