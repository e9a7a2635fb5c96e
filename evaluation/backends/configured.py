"""Models by a name of one's own: the settings tell each one's flavour, and ``backends`` knows it as any other kind."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings

from eqstudio.errors import InvalidInput, UnknownAlias
from eqstudio.net import secret
from eqstudio.registry import Registry
from evaluation.backends.base import Backend
from evaluation.backends.messages import FORM, joined, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from eqstudio.benchmarks.base import Trial
    from eqstudio.settings_models import ExamModel
    from evaluation.backends.base import Clips
    from evaluation.backends.messages import Message


class Configured(Backend):
    """A backend that is told by an entry of the settings. A flavour is a subclass; each entry makes one of that."""

    kind: ClassVar = "model"
    config: ClassVar[ExamModel]
    needs: ClassVar[tuple[str, ...]] = ("model",)
    """Fields of the entry that must not be empty."""
    key_env: ClassVar[str] = ""
    """Where the key is unless the entry says otherwise; empty: no key."""

    @classmethod
    def bound(cls, alias: str, config: ExamModel) -> type[Backend]:
        """The class of one entry."""
        told: dict[str, Any] = {"alias": alias, "config": config}
        if config.concurrency is not None:
            told["concurrency"] = config.concurrency
        if config.batch_size is not None and cls.batch_size:
            told["batch_size"] = config.batch_size
        return type(f"{cls.__name__}Of", (cls,), told)

    @property
    def model(self) -> str:
        return self.config.model or self.alias

    @property
    def key(self) -> str:
        """The environment variable with the key; empty for none."""
        return self.key_env if self.config.key_env is None else self.config.key_env

    def message(self, trial: Trial, clips: Clips, *, aloud: bool = False) -> Message:
        """The question as the evaluator puts it, its clips one by one or in one recording as the entry says."""
        found = message_of(self.exam, self.evaluator, trial, clips, aloud=aloud)
        return joined(found, trial.language) if self.config.clips == "joined" else found

    def parameters(self) -> dict[str, Any]:
        shaping = {
            "flavour",
            "base_url",
            "api_version",
            "temperature",
            "max_tokens",
            "extra",
            "revision",
            "dtype",
            "clips",
        }
        shaping |= {"speaks", "voice"} if self.config.speaks else set()
        told = self.config.model_dump(mode="json", include=shaping, exclude_defaults=True)
        return {**told, "form": FORM["en"], **self.evaluator.parameters()}

    def check(self) -> None:
        for field in self.needs:
            if not getattr(self.config, field):
                raise InvalidInput(
                    f"The model {self.alias} of EQSTUDIO_EXAM_MODELS needs {field}, which is empty.", field=field
                )
        for name in (self.key, *self.config.header_envs.values()):
            if name:
                secret(name)
        self.evaluator.check()


class Models(Registry[Backend]):
    """The kinds of respondent, and those that the settings name."""

    def __init__(self, entries: dict[str, str | type[Backend]], flavours: Registry[Backend]) -> None:
        super().__init__("model", entries)
        self.flavours = flavours

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._entries, *settings.EXAM_MODELS}))

    def __len__(self) -> int:
        return len({*self._entries, *settings.EXAM_MODELS})

    def __contains__(self, alias: object) -> bool:
        return alias in self._entries or alias in settings.EXAM_MODELS

    def get(self, alias: str) -> type[Backend]:
        entry = settings.EXAM_MODELS.get(alias)
        if entry is None:
            try:
                return super().get(alias)
            except UnknownAlias as error:
                raise UnknownAlias(kind=self.kind, alias=alias, known=list(self)) from error
        if alias in self._entries:
            raise InvalidInput(f"EQSTUDIO_EXAM_MODELS names {alias}, which is one of the studio's own.", field="model")
        return _bound(self.flavours, alias, entry.model_dump_json())


@lru_cache(maxsize=64)
def _bound(flavours: Registry[Backend], alias: str, entry: str) -> type[Backend]:
    from eqstudio.settings_models import ExamModel  # noqa: PLC0415 -- the settings read it while they are made

    config = ExamModel.model_validate_json(entry)
    flavour = flavours.get(config.flavour)
    if not issubclass(flavour, Configured):
        raise TypeError(f"{config.flavour} is no flavour")
    return flavour.bound(alias, config)
