"""The protocol of a study: saved in versions, locked before the first answer that counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from eqstudio.errors import Conflict, InvalidInput
from eqstudio.events import event_record
from eqstudio.models import User
from evaluation.domain.protocol import Protocol, ProtocolError, protocol_hash, protocol_read
from evaluation.models import ProtocolVersion, Response, Study
from evaluation.selectors.plans import specials_named
from evaluation.selectors.protocols import answers_counted, protocol_latest, protocol_of, sample_stands
from evaluation.services.instructions import instructions_hash, instructions_of
from evaluation.services.provenance import git_revision
from evaluation.services.sampling import sample_ensure
from evaluation.services.specials import specials_check

ASKED = ("design", "sampling")
"""Blocks that decide what is asked: they stand from the first answer that counts."""


def protocol_parse(*, content: Mapping[str, Any]) -> Protocol:
    """A protocol from a file or a form. InvalidInput names the field by its dotted name and what it should be."""
    try:
        return protocol_read(content)
    except ProtocolError as error:
        raise InvalidInput(
            _("The protocol cannot be read. %(field)s: %(expected)s.")
            % {"field": error.field, "expected": error.expected},
            field=error.field,
        ) from error


def protocol_save(*, study: Study, content: Protocol | Mapping[str, Any], actor: User | None = None) -> ProtocolVersion:
    """Add a version; the same content again adds none and returns the latest. Inserts one ProtocolVersion, writes the
    instructions and the listening gate into the study, writes one Event.

    Conflict after a lock, and for what is asked once an answer counts. InvalidInput names the field.
    """
    wanted = content if isinstance(content, Protocol) else protocol_parse(content=content)
    protocol_check(study=study, protocol=wanted)
    if study.locked_at is not None:
        raise Conflict(_("The protocol is locked; it takes no new version. Make a new study to change it."))
    plain = wanted.model_dump(mode="json")
    latest = protocol_latest(study)
    if latest is not None and latest.content == plain:
        return latest
    before = protocol_of(study)
    _same_questions(study, before, wanted)
    number = 1 if latest is None else latest.number + 1
    try:
        with transaction.atomic():
            version = ProtocolVersion.objects.create(
                study=study, number=number, hash=protocol_hash(plain), content=plain, created_by=actor
            )
            _apply(study, before, wanted)
            event_record(actor=actor, verb="protocol_save", entity=study, number=number, hash=version.hash)
    except IntegrityError as error:
        raise Conflict(
            _("Somebody else saved version %(number)s of this protocol just now. Look at it, then save again.")
            % {"number": number}
        ) from error
    return version


def protocol_lock(*, study: Study, actor: User | None = None) -> ProtocolVersion:
    """Close the line of versions: what is declared now is what the results are held against. Writes one Event.

    Saves the default first where no version was saved, and draws the sample. One conditional UPDATE: Conflict when it is locked already or an answer
    outside a pilot exists; InvalidInput while the protocol still says pilot, or asks for practice or attention items that are not
    chosen.
    """
    with transaction.atomic():
        protocol = protocol_of(study)
        if protocol.execution.pilot:
            raise InvalidInput(
                _("The protocol still says pilot. Take that out first: in a pilot nothing counts."),
                field="execution.pilot",
            )
        version = protocol_latest(study) or protocol_save(study=study, content=protocol, actor=actor)
        counted = Response.objects.filter(trial__sitting__respondent__study=OuterRef("pk"), trial__sitting__pilot=False)
        moved = Study.objects.filter(~Exists(counted), pk=study.pk, locked_at=None).update(
            locked_at=timezone.now(), locked_by=actor
        )
        if moved:
            specials_check(study=study, protocol=protocol)
        study.refresh_from_db(fields=["locked_at", "locked_by"])
        if not moved:
            raise Conflict(
                _("The protocol is locked already.")
                if study.locked_at
                else _(
                    "Somebody has answered already, so nothing can be declared beforehand any more. Make a new study."
                )
            )
        sample_ensure(study=study, sampling=protocol.sampling, actor=actor)
        event_record(
            actor=actor,
            verb="protocol_lock",
            entity=study,
            number=version.number,
            hash=version.hash,
            revision=git_revision(),
            specials=specials_named(study),
        )
    return version


def protocol_check(*, study: Study, protocol: Protocol) -> None:
    """What the protocol says must fit the study's benchmark and split; InvalidInput names the field."""
    benchmark = benchmark_get(study.benchmark)
    metrics = [metric.name for metric in benchmark.metrics]
    if protocol.analysis.primary_metric and protocol.analysis.primary_metric not in metrics:
        raise InvalidInput(
            _("analysis.primary_metric: %(given)s is no figure of %(benchmark)s; known: %(known)s.")
            % {"given": protocol.analysis.primary_metric, "benchmark": benchmark.title, "known": ", ".join(metrics)},
            field="analysis.primary_metric",
        )
    tasks = sorted(benchmark.tasks)
    for task in protocol.design.tasks:
        if task not in tasks:
            raise InvalidInput(
                _("design.tasks: %(given)s is no task of %(benchmark)s; known: %(known)s.")
                % {"given": task, "benchmark": benchmark.title, "known": ", ".join(tasks) or "–"},
                field="design.tasks",
            )
    strange = [language for language in protocol.execution.instructions if language not in benchmark.languages]
    if strange:
        raise InvalidInput(
            _("execution.instructions: %(given)s is no language of %(benchmark)s; known: %(known)s.")
            % {"given": strange[0], "benchmark": benchmark.title, "known": ", ".join(benchmark.languages)},
            field="execution.instructions",
        )
    sampling, items = protocol.sampling, study.split.item_count
    if sampling.plan != "full" and sampling.size is None:
        raise InvalidInput(_("sampling.size: a sample needs a number of items."), field="sampling.size")
    if sampling.plan == "full" and sampling.size is not None:
        raise InvalidInput(_("sampling.size: the full plan asks every item, so it has no size."), field="sampling.size")
    if sampling.size is not None and sampling.size > items:
        raise InvalidInput(
            _("sampling.size: %(size)s items are more than the %(items)s of the split.")
            % {"size": sampling.size, "items": items},
            field="sampling.size",
        )


def _same_questions(study: Study, before: Protocol, wanted: Protocol) -> None:
    if before.sampling != wanted.sampling and sample_stands(study):
        raise Conflict(
            _("The items of this study have been drawn, so sampling cannot change any more. Make a new study."),
            field="sampling",
        )
    if not answers_counted(study):
        return
    changed = [name for name in ASKED if getattr(before, name) != getattr(wanted, name)]
    if before.execution.instructions != wanted.execution.instructions:
        changed.append("execution.instructions")
    if before.execution.gate_share != wanted.execution.gate_share:
        changed.append("execution.gate_share")
    if changed:
        raise Conflict(
            _(
                "Somebody has answered already, so %(fields)s cannot change any more. Everything else can; or make a new study."
            )
            % {"fields": ", ".join(changed)},
            field=changed[0],
        )


def _apply(study: Study, before: Protocol, wanted: Protocol) -> None:
    """The study holds what page and prompt read. A text that the protocol does not touch stays as the study was made with."""
    study.gate_share = wanted.execution.gate_share
    if before.execution.instructions != wanted.execution.instructions:
        study.instructions = instructions_of(study, wanted)
        study.instructions_hash = instructions_hash(study.instructions)
    study.save(update_fields=["gate_share", "instructions", "instructions_hash"])
