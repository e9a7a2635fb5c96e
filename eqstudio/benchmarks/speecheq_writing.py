"""SpeechEQ in stages: scenario and personas, six lines, directions, three deliveries of each critical line, the pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eqstudio.benchmarks.base import Assembled
from eqstudio.benchmarks.speecheq_deliveries import DIRECTED, DIRECTIONS, PAIRS
from eqstudio.benchmarks.speecheq_scene import LINES, SCENE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eqstudio.benchmarks.stages import Written

STAGES = (SCENE, LINES, DIRECTIONS, PAIRS)


def assemble(results: Mapping[str, Written]) -> Assembled:
    """One script out of the four parts: the persona of the chosen dissonant deliveries becomes the low one."""
    scene = results["scene"].value.model_dump()
    lines = results["lines"].value.model_dump()
    directions = results["directions"].value.model_dump()
    deliveries = results["deliveries"].value.model_dump()
    low = next(key.split(".")[1] for key in results["deliveries"].chosen if ".dissonant_" in key)
    subject = scene["speaker2"]
    personas = {f"persona_{number}": subject.pop(f"persona_{number}") for number in (1, 2, 3)}
    script: dict[str, Any] = {
        "scenario": {
            "title": scene["title"],
            "context": scene["context"],
            "speaker1": scene["speaker1"],
            "speaker2": {
                **subject,
                "persona_high": personas["persona_1"],
                "persona_low": personas[low.replace("dissonant", "persona")],
            },
        },
    }
    for key, text in lines.items():
        if key in DIRECTED:
            script[key] = {"text": text, "tone": directions[key]}
        else:
            script[key] = {"text": text, "high": deliveries[key]["resonant"], "low": deliveries[key][low]}
    more = {f"speaker2_{key}": persona for key, persona in personas.items()}
    return Assembled(script, {"target_social_intent": scene["target_social_intent"], **more})
