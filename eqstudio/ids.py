"""Public ids: random, short, safe in URLs and in speech."""

import os

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
UID_LENGTH = 16
_FAIR = 256 - 256 % len(_ALPHABET)
_DRAWN = UID_LENGTH + 8
_LETTERS = bytes(_ALPHABET[value % len(_ALPHABET)].encode()[0] for value in range(256))
_UNFAIR = bytes(range(_FAIR, 256))
"""Bytes that would make the first letters of the alphabet likelier than the others."""


def uid() -> str:
    """Return a random public id of 16 characters (about 78 bits), without look-alike letters."""
    found = b""
    while len(found) < UID_LENGTH:
        found += os.urandom(_DRAWN).translate(_LETTERS, _UNFAIR)
    return found[:UID_LENGTH].decode()
