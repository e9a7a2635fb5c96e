"""Addresses of clips that tell nothing: encrypted, expiring, good for one person only, all of the same length."""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypedDict

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.urls import get_script_prefix, reverse
from django.utils.translation import gettext as _

from eqstudio.errors import NotFound, StudioError
from generation.models import Clip, Rendition

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

_SEPARATOR = "|"
_PLAIN_LENGTH = 64
"""Every token holds this many characters, so that its length says nothing."""


class ClipCard(TypedDict):
    """What a player needs to know of a clip."""

    url: str
    duration: float
    peaks: list[float]


class Served(NamedTuple):
    """The bytes that a page plays for ``clip``: its own, or those of a copy."""

    clip: Clip
    sha256: str
    media_type: str
    size: int


class SoundGone(StudioError):  # noqa: N818 -- named for what happened
    """The bytes of a clip are no longer in the store."""

    status = 410


class Ticket(NamedTuple):
    clip_uid: str
    holder: str
    original: bool = False


def clip_url(*, clip: Clip, holder: str, original: bool = False) -> str:
    """The address of ``clip`` for the person whose uid is ``holder``; it works for six hours and for nobody else.

    It leads to the copy that is as loud as the others of its line, or with ``original`` to the level it was made at.
    """
    return _address(clip.uid, holder, *(["original"] if original else []))


def _address(*parts: str) -> str:
    plain = _SEPARATOR.join(parts)
    if len(plain) > _PLAIN_LENGTH:
        raise ValueError("a holder is the uid of a person")
    token = _cipher().encrypt(plain.ljust(_PLAIN_LENGTH).encode()).decode()
    before, after = _around_token(get_script_prefix())
    return f"{before}{token.rstrip('=')}{after}"


@lru_cache(maxsize=4)
def _around_token(_prefix: str) -> tuple[str, str]:
    """What stands around the token in an address."""
    before, _token, after = reverse("media", args=["token"]).partition("token")
    return before, after


def clip_card(*, clip: Clip, holder: str, original: bool = False) -> ClipCard:
    """Address, duration and waveform peaks of what ``holder`` hears of ``clip``; one query unless renditions are prefetched."""
    if original:
        return ClipCard(url=clip_url(clip=clip, holder=holder, original=True), duration=clip.duration, peaks=clip.peaks)
    copy = next((copy for copy in clip.renditions.all() if copy.kind == Rendition.Kind.MATCHED), None)
    gain = 0.0 if copy is None else copy.parameters.get("gain_db", 0.0)
    return sound_card(uid=clip.uid, duration=clip.duration, peaks=clip.peaks, gain_db=gain, holder=holder)


def sound_card(*, uid: str, duration: float, peaks: list[float], gain_db: float, holder: str) -> ClipCard:
    """``clip_card`` of what was read of a clip. No query.

    The waveform is that at the level that is heard, ``gain_db`` above the clip's own, so that the picture does not tell
    what the sound does not.
    """
    factor = 10 ** (gain_db / 20)
    heard = [round(min(1.0, factor * peak), 3) for peak in peaks]
    return ClipCard(url=_address(uid, holder), duration=duration, peaks=heard)


def ticket_read(*, token: str, now: datetime) -> Ticket:
    """Open a token. NotFound, with one message for all cases, when it is forged, spoilt or expired."""
    try:
        plain = _cipher().decrypt_at_time(
            token + "=" * (-len(token) % 4), ttl=settings.MEDIA_TOKEN_SECONDS, current_time=int(now.timestamp())
        )
    except (InvalidToken, ValueError) as error:
        raise NotFound(_("There is no such clip, or its address has expired. Load the page again.")) from error
    uid, holder, *original = plain.decode().strip().split(_SEPARATOR)
    return Ticket(clip_uid=uid, holder=holder, original=bool(original))


SERVED_FIRST = (Rendition.Kind.MATCHED, Rendition.Kind.PLAYABLE)
"""Which copy of a clip goes before the clip itself."""


def clip_served(*, clip: Clip, original: bool = False, renditions: Iterable[Rendition] | None = None) -> Served:
    """What is played for ``clip``: the first copy it has of ``SERVED_FIRST``, else the bytes it came with.

    ``original`` leaves out the copy whose level was changed. One query, unless ``renditions`` brings its copies along.
    """
    copies = {copy.kind: copy for copy in (clip.renditions.all() if renditions is None else renditions)}
    wanted = [kind for kind in SERVED_FIRST if not (original and kind == Rendition.Kind.MATCHED)]
    found = next((copies[kind] for kind in wanted if kind in copies), clip)
    return Served(clip=clip, sha256=found.sha256, media_type=found.media_type, size=found.size)


def served_for_ticket(*, token: str, holder: str, now: datetime) -> Served:
    """What is behind a token, for the person it was made for. NotFound for anybody else."""
    ticket = ticket_read(token=token, now=now)
    clip = Clip.objects.filter(uid=ticket.clip_uid).first()
    if clip is None or not hmac.compare_digest(ticket.holder, holder):
        raise NotFound(_("There is no such clip, or its address has expired. Load the page again."))
    return clip_served(clip=clip, original=ticket.original)


def sound_gone(clip: Clip) -> SoundGone:
    """Says which dialogues are hurt, by their public ids: a title could tell what a question asks for."""
    dialogues = clip.variants.order_by().values_list("turn__dialogue__uid", flat=True).distinct()
    return SoundGone(
        _("The sound of this clip is missing from the store (dialogue %(dialogues)s). Tell whoever runs the studio.")
        % {"dialogues": ", ".join(sorted(dialogues))}
    )


def token_etag(token: str) -> str:
    """A validator made of the address alone: it repeats for the same address and says nothing about the file."""
    return f'"{hmac.new(_key("etag"), token.encode(), hashlib.sha256).hexdigest()[:32]}"'


def _cipher() -> Fernet:
    return _fernet(_key("clip"))


@lru_cache(maxsize=2)
def _fernet(key: bytes) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(key))


def _key(purpose: str) -> bytes:
    return hmac.new(settings.SECRET_KEY.encode(), f"media-{purpose}".encode(), hashlib.sha256).digest()
