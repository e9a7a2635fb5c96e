"""Rounds, corpora and splits by the names that people type in a shell."""

from __future__ import annotations

import re

from annotation.models import Round, Split
from eqstudio.errors import NotFound
from generation.models import Corpus

_VERSIONED = re.compile(r"(?P<name>.+)-v(?P<version>\d+)")


def round_named(name: str) -> Round:
    """A round by name or public id."""
    found = Round.objects.filter(name=name).first() or Round.objects.filter(uid=name).first()
    if found is None:
        raise NotFound(f"There is no round called {name!r}.", field="round")
    return found


def corpus_named(name: str) -> Corpus:
    """A corpus by name or public id."""
    found = Corpus.objects.filter(name=name).first() or Corpus.objects.filter(uid=name).first()
    if found is None:
        raise NotFound(f"There is no corpus called {name!r}.", field="corpus")
    return found


def split_named(name: str) -> Split:
    """The latest version of a split, or one version as ``name-v2``, or one by its public id."""
    found = Split.objects.filter(name=name).order_by("-version").first()
    versioned = _VERSIONED.fullmatch(name)
    if found is None and versioned:
        found = Split.objects.filter(name=versioned["name"], version=int(versioned["version"])).first()
    found = found or Split.objects.filter(uid=name).first()
    if found is None:
        raise NotFound(f"There is no split called {name!r}.", field="split")
    return found
