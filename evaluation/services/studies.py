"""Studies: the exam as it will be asked."""

from __future__ import annotations

from django.core.validators import slug_re
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotation.models import Split
from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.models import Study
from evaluation.services.instructions import instructions_hash

LONGEST_NAME = 80
"""As many as the column takes; the form asks for no more either."""


def study_create(
    *,
    name: str,
    split: Split,
    benchmark: str | None = None,
    seed: int = 0,
    actor: User | None = None,
    is_demo: bool = False,
    gate_share: float = 0.9,
) -> Study:
    """Freeze a split, a benchmark version, a seed and the instructions into an exam. Writes one Event.

    Raises InvalidInput when the name will not do in addresses or the split's items belong to another benchmark, Conflict when
    the name is taken.
    """
    _name_check(name)
    alias = benchmark or split.benchmark
    chosen = benchmark_get(alias)
    _one_benchmark(split, alias)
    instructions = {language: chosen.instructions(language) for language in chosen.languages}
    try:
        with transaction.atomic():
            study = Study.objects.create(
                name=name,
                split=split,
                benchmark=alias,
                benchmark_version=chosen.version,
                seed=seed,
                instructions=instructions,
                instructions_hash=instructions_hash(instructions),
                gate_share=gate_share,
                is_demo=is_demo,
                created_by=actor,
            )
            event_record(actor=actor, verb="study_create", entity=study, split=str(split), benchmark=alias)
    except IntegrityError as error:
        raise Conflict(f"There is already a study named {name}. Choose another name.", field="name") from error
    return study


def _name_check(name: str) -> None:
    """The command takes any words; the name also stands in addresses and file names."""
    if len(name) > LONGEST_NAME or not slug_re.fullmatch(name):
        told = _(
            "%(name)r is no name for a study: letters, digits, hyphens and underscores, at most %(longest)d of them."
        )
        raise InvalidInput(told % {"name": name[:LONGEST_NAME], "longest": LONGEST_NAME}, field="name")


def _one_benchmark(split: Split, alias: str) -> None:
    others = split.items.exclude(dialogue__benchmark=alias).count()
    if others:
        raise InvalidInput(
            f"The split {split} holds {others} items that are not of {alias}; a study asks one benchmark.",
            field="benchmark",
        )


def study_close(*, study: Study, actor: User | None = None) -> Study:
    """Nobody may begin or go on sitting it. Writes one Event."""
    study.is_open = False
    study.save(update_fields=["is_open"])
    event_record(actor=actor, verb="study_close", entity=study)
    return study
