"""Everything that makes a model's answers, and its hash."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
from functools import cache
from importlib import metadata
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.parsing import PARSER_VERSION
from evaluation.models import RunSpec, Study
from evaluation.selectors import protocol_of

_PACKAGES = ("django", "openai", "httpx", "numpy", "scipy", "soundfile", "statsmodels")


@cache
def git_revision() -> str:
    """The commit this studio runs from, with ``+changes`` where files differ from it; ``unknown`` outside a checkout."""
    git = shutil.which("git")
    if git is None:
        return "unknown"
    found = _git(git, "rev-parse", "HEAD")
    if found is None:
        return "unknown"
    return f"{found}+changes" if _git(git, "status", "--porcelain", "--untracked-files=no") else found


def _git(git: str, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            [git, *arguments], cwd=settings.BASE_DIR, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def package_versions() -> dict[str, str]:
    versions = {name: metadata.version(name) for name in _PACKAGES}
    return {"python": platform.python_version(), **versions}


def run_spec_ensure(*, study: Study, backend: str, evaluator: str, model: str, parameters: dict[str, Any]) -> RunSpec:
    """The RunSpec of a run on this study, inserted on first use; equal content is one row."""
    benchmark = benchmark_get(study.benchmark)
    content = {
        "study": study.name,
        "benchmark": {"alias": benchmark.alias, "version": benchmark.version, "study_version": study.benchmark_version},
        "split": {"name": str(study.split), "manifest_hash": study.split.manifest_hash},
        "instructions_hash": study.instructions_hash,
        "seed": study.seed,
        "design": protocol_of(study).design.model_dump(mode="json", include={"history", "order", "tasks"}),
        "backend": backend,
        "evaluator": evaluator,
        "model": model,
        "parameters": parameters,
        "parser_version": PARSER_VERSION,
        "git_revision": git_revision(),
        "packages": package_versions(),
    }
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
    try:
        with transaction.atomic():
            return RunSpec.objects.get_or_create(hash=digest, defaults={"content": content})[0]
    except IntegrityError:
        return RunSpec.objects.get(hash=digest)
