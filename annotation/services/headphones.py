"""The headphone check: made from a seed that only the server can read, scored here."""

from __future__ import annotations

import base64
import hmac
import io
from collections.abc import Sequence
from datetime import datetime, timedelta
from secrets import randbits

import soundfile
from cryptography.fernet import Fernet, InvalidToken
from django.db import transaction
from django.urls import reverse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotation.domain.headphones import PASS, RATE, TONES, TRIALS, right_answers, sound_of
from annotation.models import HeadphoneCheck
from eqstudio.errors import Conflict, InvalidInput, NotFound
from eqstudio.events import event_record
from eqstudio.models import User

GOOD_FOR_S = 1800
"""A page is to be answered within half an hour."""
TRIES_AN_HOUR = 6
_PLAIN_LENGTH = 64
_SEED_BITS = 60


def check_token(*, annotator: User, now: datetime, seed: int | None = None) -> str:
    """A new check for this person, or the one of ``seed``: all that the page needs to hold."""
    chosen = randbits(_SEED_BITS) if seed is None else seed
    return _seal(f"{chosen}||{annotator.uid}", now)


def sound_addresses(*, token: str, annotator: User, now: datetime) -> list[str]:
    """One address a trial, all of the same length; they tell neither the trial nor the answer."""
    seed, _trial = token_open(token, annotator, now)
    return [reverse("headphone_sound", args=[_seal(f"{seed}|{trial}|{annotator.uid}", now)]) for trial in range(TRIALS)]


def sound_bytes(*, token: str, annotator: User, now: datetime) -> bytes:
    """The stereo WAV behind an address. NotFound when it is forged, expired or somebody else's."""
    seed, trial = token_open(token, annotator, now)
    if trial is None:
        raise _gone()
    buffer = io.BytesIO()
    soundfile.write(buffer, sound_of(seed, trial), RATE, format="WAV", subtype="PCM_16")
    return buffer.getvalue()


@transaction.atomic
def headphone_check(*, annotator: User, token: str, answers: Sequence[int], now: datetime) -> HeadphoneCheck:
    """Score the answers (0, 1 or 2, one a trial) and keep them as one row with one Event.

    InvalidInput when an answer is missing, Conflict when this check was answered before or the tries of an hour are used.
    """
    seed, _trial = token_open(token, annotator, now)
    if len(answers) != TRIALS or any(answer not in range(TONES) for answer in answers):
        raise InvalidInput(_("Choose the quietest tone in every part."), field="answers")
    User.objects.select_for_update(no_key=True).only("pk").get(pk=annotator.pk)
    mine = HeadphoneCheck.objects.filter(annotator=annotator)
    if mine.filter(seed=seed).exists():
        raise Conflict(_("This check was answered already. Begin a new one; its sounds are others."))
    if mine.filter(created__gt=now - timedelta(hours=1)).count() >= TRIES_AN_HOUR:
        raise Conflict(_("That was the last try for this hour. Look at your headphones, and try again later."))
    right = right_answers(seed, answers)
    made = HeadphoneCheck.objects.create(
        annotator=annotator, seed=seed, answers=list(answers), right=right, asked=TRIALS, passed=right >= PASS
    )
    event_record(actor=annotator, verb="checked headphones", entity=made, passed=made.passed)
    return made


def _seal(plain: str, now: datetime) -> str:
    sealed = _cipher().encrypt_at_time(plain.ljust(_PLAIN_LENGTH).encode(), int(now.timestamp()))
    return sealed.decode().rstrip("=")


def token_open(token: str, annotator: User, now: datetime) -> tuple[int, int | None]:
    """Seed and trial, None for a whole check."""
    try:
        padded = token + "=" * (-len(token) % 4)
        plain = _cipher().decrypt_at_time(padded, ttl=GOOD_FOR_S, current_time=int(now.timestamp())).decode()
    except (InvalidToken, ValueError) as error:
        raise _gone() from error
    seed, trial, holder = plain.strip().split("|")
    if not hmac.compare_digest(holder, annotator.uid):
        raise _gone()
    return int(seed), int(trial) if trial else None


def _gone() -> NotFound:
    return NotFound(_("This headphone check has expired. Load the page again; a new one begins."))


def _cipher() -> Fernet:
    return Fernet(base64.urlsafe_b64encode(salted_hmac("annotation.headphones", "key", algorithm="sha256").digest()))
