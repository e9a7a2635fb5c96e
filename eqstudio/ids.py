"""Public ids: random, short, safe in URLs and in speech."""

import secrets

_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
UID_LENGTH = 16


def uid() -> str:
    """Return a random public id of 16 characters (about 78 bits), without look-alike letters."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(UID_LENGTH))
