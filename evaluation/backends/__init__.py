"""Who can sit the exam besides people. A new kind is one new file and one line."""

from eqstudio.registry import Registry
from evaluation.backends.base import Answer, Backend, ClipAudio, Evaluator
from evaluation.backends.configured import Models
from evaluation.backends.recogniser import Recogniser

flavours: Registry[Backend] = Registry(
    "flavour",
    {
        "azure": "evaluation.backends.chat_flavours:Azure",
        "command": "evaluation.backends.command:CommandBackend",
        "dashscope": "evaluation.backends.dashscope:DashScope",
        "gemini": "evaluation.backends.chat_flavours:Gemini",
        "openai": "evaluation.backends.chat_flavours:ChatFlavour",
        "portkey": "evaluation.backends.chat_flavours:Portkey",
        "transformers": "evaluation.backends.transformers_models:TransformersBackend",
        "vllm": "evaluation.backends.vllm_models:VllmBackend",
        "vllm-omni": "evaluation.backends.chat_flavours:VllmOmni",
        "vllm-server": "evaluation.backends.chat_flavours:VllmServer",
    },
)

backends = Models(
    {
        "fake": "evaluation.backends.fake:FakeBackend",
        "first": "evaluation.backends.blind:FirstBackend",
        "openai": "evaluation.backends.openai:OpenAIBackend",
        "random": "evaluation.backends.blind:RandomBackend",
        "rule-longer": "evaluation.backends.acoustic:LongerBackend",
        "rule-lower": "evaluation.backends.acoustic:LowerBackend",
        "rule-quieter": "evaluation.backends.acoustic:QuieterBackend",
    },
    flavours,
)

evaluators: Registry[Evaluator] = Registry(
    "evaluator",
    {
        "mcq": "evaluation.backends.modalities:Mcq",
        "multiturn-direct": "evaluation.backends.history:Direct",
        "multiturn-gold": "evaluation.backends.history:TeacherForced",
        "persona": "evaluation.backends.persona:Persona",
        "ser_llm": "evaluation.backends.emotion:InWords",
        "ser_raw_llm": "evaluation.backends.emotion:InNumbers",
        "shuffled": "evaluation.backends.modalities:Shuffled",
        "silence": "evaluation.backends.modalities:Silence",
        "swapped": "evaluation.backends.modalities:Swapped",
        "text": "evaluation.backends.modalities:TextOnly",
        "tone": "evaluation.backends.history:Tone",
    },
)

recognisers: Registry[Recogniser] = Registry(
    "recogniser",
    {
        "dimensions": "evaluation.backends.recogniser:Dimensions",
        "fake": "evaluation.backends.recogniser:FakeRecogniser",
        "labels": "evaluation.backends.recogniser:Labels",
    },
)

__all__ = ["Answer", "Backend", "ClipAudio", "Evaluator", "backends", "evaluators", "flavours", "recognisers"]
