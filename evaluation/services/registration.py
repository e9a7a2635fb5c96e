"""The pre-registration of a study: everything that was settled before the first answer, in one document with a hash.

The hash is SHA-256 over the canonical JSON of what stands under ``registration`` (sorted keys, no spaces, UTF-8), so whoever has
the file can work it out again.
"""

from __future__ import annotations

import json
from typing import Any

from django.utils.translation import gettext as _

from eqstudio.benchmarks import benchmark_get
from eqstudio.models import Event
from evaluation.domain.protocol import Protocol, protocol_hash
from evaluation.models import ProtocolVersion, Study
from evaluation.selectors import protocol_latest, protocol_of, sample_of
from evaluation.selectors.plans import specials_named
from evaluation.services.provenance import git_revision
from evaluation.words_protocol import benchmark_names, protocol_told

RECOMPUTE = (
    "python3 -c \"import hashlib, json, sys; r = json.load(open(sys.argv[1], encoding='utf-8'))['registration']; "
    "print(hashlib.sha256(json.dumps(r, sort_keys=True, ensure_ascii=False, separators=(',', ':')).encode()).hexdigest())\" FILE"
)


def registration_build(*, study: Study) -> dict[str, Any]:
    """The document; reads only. A locked study always gives the same one, whatever code runs later: the revision is that of the
    lock. Before the lock it is a draft without a time.
    """
    protocol, version = protocol_of(study), protocol_latest(study)
    locked = Event.objects.filter(verb="protocol_lock", entity="study", entity_uid=study.uid).first()
    sample = sample_of(study=study, sampling=protocol.sampling)
    registration = {
        "study": {"name": study.name, "id": study.uid, "seed": study.seed},
        "state": "locked" if study.locked_at else "draft",
        "locked_at": study.locked_at.isoformat() if study.locked_at else None,
        "version": version.number if version else 0,
        "protocol": _content(protocol, version),
        "protocol_hash": version.hash if version else protocol_hash(_content(protocol, version)),
        "benchmark": {"name": study.benchmark, "version": study.benchmark_version},
        "split": {
            "name": str(study.split),
            "manifest_hash": study.split.manifest_hash,
            "items": study.split.item_count,
        },
        "items": {
            "plan": sample.plan,
            "count": sample.items,
            "hash": sample.hash,
            "strata": [{"name": one.name, "size": one.size, "drawn": one.drawn} for one in sample.strata],
        },
        "instructions": study.instructions,
        "instructions_hash": study.instructions_hash,
        "code_revision": locked.detail.get("revision", "unknown") if locked else git_revision(),
    }
    specials = locked.detail.get("specials") if locked else specials_named(study)
    if specials is not None:  # a lock from before they were registered keeps its hash
        registration["specials"] = specials
    return {"registration": registration, "hash": protocol_hash(registration), "recompute": RECOMPUTE}


def _codes(told: dict[str, Any], purpose: str) -> str:
    return ", ".join(f"`{uid}`" for uid in told.get("specials", {}).get(purpose, [])) or "–"


def _content(protocol: Protocol, version: ProtocolVersion | None) -> dict[str, Any]:
    content: dict[str, Any] = version.content if version else protocol.model_dump(mode="json")
    return content


def registration_json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def registration_markdown(*, study: Study, document: dict[str, Any]) -> str:
    """The document to be read, in the language of the page; the JSON that the hash is taken over stands at its end."""
    told = document["registration"]
    lines = [f"# {_('Pre-registration: %(study)s') % {'study': study.name}}", ""]
    lines += [
        f"- {label}: {value}"
        for label, value in (
            (_("State"), _("locked") if told["locked_at"] else _("draft: not locked yet")),
            (_("Locked"), told["locked_at"] or "–"),
            (_("Version"), told["version"]),
            (_("Hash of this registration"), f"`{document['hash']}`"),
            (_("Hash of the protocol"), f"`{told['protocol_hash']}`"),
            (_("Benchmark"), f"{told['benchmark']['name']} {told['benchmark']['version']}"),
            (_("Split"), f"{told['split']['name']}, `{told['split']['manifest_hash']}`"),
            (_("Items"), f"{told['items']['count']}, `{told['items']['hash']}`"),
            (_("Items to practise on"), _codes(told, "practice")),
            (_("Attention items"), _codes(told, "attention")),
            (_("Code revision"), f"`{told['code_revision']}`"),
        )
    ]
    for _name, title, rows in protocol_told(
        Protocol.model_validate(told["protocol"]), benchmark_names(benchmark_get(study.benchmark))
    ):
        lines += ["", f"## {title}", ""]
        lines += [f"- **{label}**: {words or _('not reported')}" for _field, label, words in rows]
    lines += ["", f"## {_('Instructions, as people read them and models are given them')}", ""]
    for language, text in told["instructions"].items():
        lines += [f"### {language}", "", text, ""]
    lines += [f"## {_('How to work the hash out again')}", ""]
    lines += [_("Save the block below as a file and run this on it:"), "", "```", RECOMPUTE, "```", ""]
    lines += ["```json", registration_json(document).rstrip(), "```", ""]
    return "\n".join(lines)
