"""The models that may sit an exam by a name of one's own: read from TOML or JSON, checked before anything starts.

Read by the settings. Model names change faster than code: which model, where it answers and what it costs is all told here.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Annotated, Any, Literal

from django.core.exceptions import ImproperlyConfigured
from environs import Env
from pydantic import BaseModel, ConfigDict, Field, ValidationError

NAME = "EQSTUDIO_EXAM_MODELS"
_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
EnvName = Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")]


class ExamModel(BaseModel):
    """One model: which flavour of backend asks it, and with what. Keys are named, never told."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    flavour: str
    model: str = Field(default="", description="as the provider names it; for weights a name on the hub or a folder")
    base_url: str = ""
    key_env: EnvName | None = Field(default=None, description="variable with the key; empty for none")
    headers: dict[str, str] = {}
    header_envs: dict[str, EnvName] = Field(default={}, description="headers whose values are secrets")
    api_version: str = Field(default="", description="of Azure's dated addresses")
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="none: it is not sent")
    max_tokens: int = Field(default=1024, ge=1)
    extra: dict[str, Any] = Field(default={}, description="more fields of the request, or of the model's constructor")
    clips: Literal["each", "joined"] = Field(default="each", description="joined: all in one recording")
    speaks: bool = Field(default=False, description="open replies are asked for as speech")
    voice: str = "alloy"
    concurrency: int | None = Field(default=None, ge=1, le=256)
    batch_size: int | None = Field(default=None, ge=1, le=1024)
    timeout_s: float = Field(default=120.0, gt=0, le=3600)
    price: dict[Literal["in", "out", "minute", "characters"], Annotated[float, Field(ge=0)]] = {}
    revision: str = Field(default="", description="of the weights: a commit or a tag")
    device: str = Field(default="", description="cuda, cpu, ...; empty: what there is")
    dtype: str = Field(default="", description="bfloat16, float32, ...; empty: what the weights have")
    command: tuple[str, ...] = Field(default=(), description="program and arguments, run without a shell")
    folder: str = Field(default="", description="where the command runs")
    env: tuple[str, ...] = Field(default=(), description="variables that the command may see besides PATH, HOME, LANG")


def models_of(env: Env) -> dict[str, ExamModel]:
    """The models that the environment names."""
    return models_read(env.str("EQSTUDIO_EXAM_MODELS", ""))


def recogniser_of(env: Env) -> tuple[str, str]:
    """Which kind of recogniser hears for models that cannot, and its weights."""
    weights = env.str("EQSTUDIO_EXAM_RECOGNISER_MODEL", "audeering/wav2vec2-large-robust-12-ft-emotion-msp-dim")
    return env.str("EQSTUDIO_EXAM_RECOGNISER", "dimensions"), weights


def models_read(text: str) -> dict[str, ExamModel]:
    """By alias, from ``{"alias": {...}}`` in JSON or ``[alias]`` tables in TOML. ImproperlyConfigured names what is wrong."""
    table = _table(text)
    if not isinstance(table, dict) or not all(isinstance(entry, dict) for entry in table.values()):
        raise ImproperlyConfigured(
            f'{NAME} must hold one table for each model: {{"alias": {{"flavour": "openai", ...}}}}.'
        )
    return {alias: _entry(alias, entry) for alias, entry in table.items()}


def prices_with(prices: dict[str, dict[str, float]], models: dict[str, ExamModel]) -> dict[str, dict[str, float]]:
    """The prices by model; one told with a model stands where the table of prices has none."""
    told = {entry.model: {str(unit): value for unit, value in entry.price.items()} for entry in models.values()}
    return {**{model: price for model, price in told.items() if price and model}, **prices}


def _table(text: str) -> Any:
    if not text.strip():
        return {}
    try:
        return json.loads(text) if text.lstrip().startswith(("{", '"')) else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise ImproperlyConfigured(f"{NAME} is neither JSON nor TOML: {error}") from error


def _entry(alias: str, entry: dict[str, Any]) -> ExamModel:
    if not _ALIAS.fullmatch(alias):
        raise ImproperlyConfigured(
            f"{NAME}: {alias!r} is no alias; it has up to 40 letters, digits, dots, dashes and underscores."
        )
    try:
        return ExamModel.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise ImproperlyConfigured(f"{NAME}: {alias}, {field}: {first['msg']}.") from error
