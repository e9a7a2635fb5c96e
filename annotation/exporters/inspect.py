"""A task file for Inspect that points at the split beside it."""

from __future__ import annotations

from annotation.exporters.base import Work, shipped
from annotation.exporters.questions import QuestionsExporter


class InspectExporter(QuestionsExporter):
    alias = "inspect"
    opening = """\
```sh
cd path/to/this/folder
inspect eval task.py --model openai/gpt-4o-audio-preview
```

It asks the side `test`; `-T side=dev` asks another one and `-T side=all` everything. `questions.jsonl` holds the questions
with what is read and heard, in order; earlier questions of a dialogue count as answered right."""

    def tasks(self, work: Work) -> None:
        work.sink.put("task.py", shipped("inspect_task.py"))
