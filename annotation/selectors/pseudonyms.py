"""What people are called in what leaves the studio."""

from __future__ import annotations

from django.utils.crypto import salted_hmac

from annotation.models import Split


def pseudonym(*, split: Split, person: int) -> str:
    """The same for a person all through one split, another one in the next; nobody outside can turn it back."""
    return f"rater-{salted_hmac(f'annotation.split.{split.uid}', str(person), algorithm='sha256').hexdigest()[:10]}"
