"""Who can sit the exam besides people. A new kind is one new file and one line."""

from eqstudio.registry import Registry
from evaluation.backends.base import Answer, Backend, ClipAudio, Evaluator

backends: Registry[Backend] = Registry(
    "model",
    {
        "fake": "evaluation.backends.fake:FakeBackend",
        "first": "evaluation.backends.blind:FirstBackend",
        "openai": "evaluation.backends.openai:OpenAIBackend",
        "random": "evaluation.backends.blind:RandomBackend",
        "rule-longer": "evaluation.backends.acoustic:LongerBackend",
        "rule-lower": "evaluation.backends.acoustic:LowerBackend",
        "rule-quieter": "evaluation.backends.acoustic:QuieterBackend",
    },
)

evaluators: Registry[Evaluator] = Registry(
    "evaluator",
    {
        "mcq": "evaluation.backends.modalities:Mcq",
        "silence": "evaluation.backends.modalities:Silence",
        "text": "evaluation.backends.modalities:TextOnly",
    },
)

__all__ = ["Answer", "Backend", "ClipAudio", "Evaluator", "backends", "evaluators"]
