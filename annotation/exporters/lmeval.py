"""A task file for the language model evaluation harness (lm-eval) that points at the split beside it."""

from __future__ import annotations

from annotation.exporters.base import Work, shipped
from annotation.exporters.questions import QuestionsExporter
from annotation.exporters.rows import split_places

TESTED = "test"
"""The side that is asked; where nothing is on it, the first one."""


class LmEvalExporter(QuestionsExporter):
    alias = "lmeval"
    opening = """\
```sh
lm_eval --include_path path/to/this/folder --tasks TASK --model hf-audiolm-qwen
```

TASK is named in `task.yaml`, which asks the side `test`; the others can be named there, too. `questions.jsonl` holds the
questions with what is read and heard, in order; earlier questions of a dialogue count as answered right."""

    def tasks(self, work: Work) -> None:
        name = str(work.split).replace("-", "_")
        side = max(split_places(work.split), key=lambda name: name == TESTED)
        text = shipped("lmeval_task.yaml").decode().format(task=name, manifest=work.split.manifest_hash, side=side)
        work.sink.put("task.yaml", text.encode())
        work.sink.put("utils.py", shipped("lmeval_utils.py"))
