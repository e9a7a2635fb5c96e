"""A misspelt name would silently leave a default in force; it stops the start instead. Read by the settings."""

from __future__ import annotations

import difflib
import os

from django.core.exceptions import ImproperlyConfigured
from dotenv import dotenv_values
from environs import Env


def names_checked(env: Env, env_file: str) -> None:
    """ImproperlyConfigured if the environment or ``env_file`` sets an EQSTUDIO_ name that ``env`` was never asked for."""
    known = {name for name in env.dump() if name.startswith("EQSTUDIO_")}
    places = {**dict.fromkeys(dotenv_values(env_file), env_file), **dict.fromkeys(os.environ, "The environment")}
    for name in sorted(set(places) - known):
        if name.startswith("EQSTUDIO_") and name.removesuffix("_FILE") not in known:
            near = difflib.get_close_matches(name, known, n=1)
            raise ImproperlyConfigured(
                f"{places[name]} sets {name}, which is no setting of the studio."
                + (f" Did you mean {near[0]}?" if near else " .env.example lists them all.")
            )
