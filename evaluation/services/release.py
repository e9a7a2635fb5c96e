"""What leaves the studio with a comparison: every answer under pseudonyms, the codebook, the figures, and a script that
works them out again from the answers with nothing but Python's standard library.
"""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings

from eqstudio.benchmarks import benchmark_get
from eqstudio.benchmarks.base import Benchmark, Trial
from evaluation.models import Response, Study
from evaluation.models.respondents import RUNS
from evaluation.selectors import counting, in_the_middle, item_facts, weights_of
from evaluation.services.asked import is_control
from evaluation.services.comparisons import comparison_build
from evaluation.services.release_replies import JUDGEMENTS, REPLIES, replies_tables
from evaluation.services.scoring import score_that_counts

SCRIPTS = ("recompute.py", "formulas.py", "judged.py")
COLUMNS = {
    "respondent": "pseudonym of a person, or name of a system",
    "kind": "person, model, rule or imported",
    "key_access": "1 where the person could read the key: not part of the human baseline",
    "control": "1 where a model was not asked the plain exam (silence, another's sound, words alone, a role): in no norm of SEQ",
    "expert": "1 where the person has the skill 'expert'",
    "run": "pass through the exam, from 0",
    "item": "public id of the dialogue",
    "category": "leaf of the taxonomy",
    "language": "language of the dialogue",
    "source": "synthetic, recorded or imported",
    "cluster": "items of one prompt or script share it; resampled together",
    "weight": "how many items of the split this one stands for in a sample whose items were not equally likely; else 1",
    "trial": "which question about the item",
    "order": "the options in the order shown, as ids of versions or texts, joined by |",
    "outcome": "answered, unparsed, refused, error or not_heard",
    "value": "what was read from the answer: a letter, a grade or a text",
    "rule": "by which rule of the parser it was read; imported: the verdict of the file",
    "correct": "1 right, 0 wrong, empty where there is no right answer or nothing was read",
    "number": "the answer as a number: a grade, or the error rate of a transcript",
    "gold": "what the number is held against; for a closed question what guessing gives",
    "active_ms": "milliseconds somebody was active on the page",
    "latency_ms": "milliseconds a model took",
    "raw": "the answer as it was given",
}


def release_build(*, study: Study) -> bytes:
    """A zip: answers.csv, codebook.md, comparison.json, recompute.py with its formulas, README.md; replies.csv and judgements.csv
    where open replies were given. Reads only.

    No name, account or address of a person is in it; a person is a pseudonym of this study.
    """
    benchmark = benchmark_get(study.benchmark)
    result = comparison_build(study=study, by="category")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "comparison.json", json.dumps(_settled(result), ensure_ascii=False, indent=1))
        with archive.open(_entry("answers.csv"), "w") as handle, io.TextIOWrapper(handle, "utf-8", newline="") as text:
            writer = csv.DictWriter(text, list(COLUMNS))
            writer.writeheader()
            writer.writerows(_answers(study, benchmark))
        tables = replies_tables(study)
        for name, table in tables.items():
            _write(archive, name, table)
        _write(
            archive,
            "codebook.md",
            _codebook(study, {"replies.csv": REPLIES, "judgements.csv": JUDGEMENTS} if tables else {}),
        )
        for name in SCRIPTS:
            script = Path(settings.BASE_DIR) / "templates" / "evaluation" / "release" / name
            _write(archive, name, script.read_text(encoding="utf-8"))
        _write(
            archive, "README.md", README.format(study=study.name, split=study.split, manifest=study.split.manifest_hash)
        )
    return buffer.getvalue()


def _settled(found: Any) -> Any:
    """Figures to twelve digits. The digits after them are those of the library that multiplies matrices: they differ with the
    processor and with how many threads it had at that moment, and the same data should give the same bytes.
    """
    if isinstance(found, float):
        return float(f"{found:.12g}")
    if isinstance(found, Mapping):
        return {name: _settled(value) for name, value in found.items()}
    return [_settled(value) for value in found] if isinstance(found, list | tuple) else found


def _entry(name: str) -> zipfile.ZipInfo:
    """An entry whose date says nothing, so that the same data give the same bytes."""
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _write(archive: zipfile.ZipFile, name: str, text: str) -> None:
    archive.writestr(_entry(name), text)


def _answers(study: Study, benchmark: Benchmark) -> Iterator[dict[str, Any]]:
    """One line an answer that the comparison counts."""
    facts, weights = item_facts(study=study, benchmark=benchmark), weights_of(study)
    unfinished = in_the_middle(study)
    controls = {one.pk for one in study.respondents.select_related("run_spec") if is_control(one)}
    found = (
        Response.objects.filter(counting(study))
        .select_related("trial__sitting__respondent__user", "trial__dialogue")
        .prefetch_related("scores")
        .order_by("pk")
    )
    for answer in found.iterator(chunk_size=500):
        record = answer.trial
        if (record.sitting_id, record.dialogue_id) in unfinished or record.dialogue_id not in facts:
            continue
        yield {
            **_answer(answer, facts[record.dialogue_id]),
            "control": int(record.sitting.respondent_id in controls),
            "weight": repr(weights.get(record.dialogue_id, 1.0)),
        }


def _answer(answer: Response, fact: Any) -> dict[str, Any]:
    record, score = answer.trial, score_that_counts(answer.scores.all())
    respondent = record.sitting.respondent
    trial = Trial.from_dict(record.shown)
    skills = respondent.user.skills if respondent.user else []
    return {
        "respondent": respondent.name,
        "kind": respondent.kind,
        "key_access": int(record.sitting.key_access),
        "expert": int("expert" in skills),
        "run": record.sitting.run % RUNS,
        "item": record.dialogue.uid,
        "category": fact.category,
        "language": fact.language,
        "source": fact.source,
        "cluster": fact.cluster,
        "trial": record.key,
        "order": "|".join(option.variant or option.text or "" for option in trial.options),
        "outcome": score.outcome if score else "",
        "value": score.value if score else "",
        "rule": score.rule if score else "",
        "correct": "" if score is None or score.correct is None else int(score.correct),
        "number": "" if score is None or score.number is None else repr(score.number),
        "gold": "" if score is None or score.gold is None else repr(score.gold),
        "active_ms": answer.paradata.get("active_ms", ""),
        "latency_ms": answer.paradata.get("latency_ms", ""),
        "raw": answer.raw,
    }


def _codebook(study: Study, more: Mapping[str, Mapping[str, str]]) -> str:
    lines = [f"# Codebook of {study.name}"]
    for table, columns in {"answers.csv": COLUMNS, **more}.items():
        lines += ["", f"## {table}", "", "| column | meaning |", "|---|---|"]
        lines += [f"| `{name}` | {meaning} |" for name, meaning in columns.items()]
    lines += ["", "## Instructions as people and models had them", ""]
    for language, text in study.instructions.items():
        lines += [f"### {language}", "", text, ""]
    return "\n".join(lines) + "\n"


README = """# {study}

Answers of people and systems to the items of {split} (manifest {manifest}).

- `answers.csv`: one line an answer; `codebook.md` says what the columns mean.
- `replies.csv` and `judgements.csv`, where open replies were given: each reply, and each grade that was given to one.
- `comparison.json`: the figures as the studio shows them.
- `recompute.py`: `python3 recompute.py` works every figure out again from these tables and says where it differs. It needs
  nothing but Python. Intervals that are resampled come from another generator here, so they are held to within their own noise;
  everything else must agree to the last digit that is printed.
"""
