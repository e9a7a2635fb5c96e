"""Formats of answers given elsewhere. A new format is one new file and one line."""

from eqstudio.registry import Registry
from evaluation.importers.base import AnswerImporter, GivenAnswer

answer_importers: Registry[AnswerImporter] = Registry(
    "answer format",
    {
        "csv": "evaluation.importers.csv_file:CsvAnswers",
        "echomind": "evaluation.importers.echomind:EchoMindAnswers",
        "inspect": "evaluation.importers.inspect:InspectAnswers",
        "lmeval": "evaluation.importers.lmeval:LmEvalAnswers",
        "speecheq": "evaluation.importers.speecheq:SpeechEQAnswers",
    },
)

__all__ = ["AnswerImporter", "GivenAnswer", "answer_importers"]
