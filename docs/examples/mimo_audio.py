"""MiMo-Audio from its own repository as a respondent: `python mimo_audio.py MODEL_FOLDER TOKENIZER_FOLDER`, run in the repository.

The model takes one recording with a question, so its entry says `clips = "joined"`. docs/models.md tells the protocol.
"""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from typing import Any

PROTOCOL = 1


def answer(model: Any, asked: dict[str, Any]) -> str:
    """Put the question: the texts in order, the one recording beside them."""
    sounds = [part["audio"] for part in asked["parts"] if "audio" in part]
    text = "\n".join([asked["system"], *(part["text"] for part in asked["parts"] if "text" in part)])
    if len(sounds) > 1:
        raise ValueError('MiMo-Audio takes one recording: set clips = "joined"')
    if not sounds:
        return str(model.text_dialogue_sft(text))
    return str(model.audio_understanding_sft(sounds[0], text))


def main() -> None:
    """Answer until the input ends. What the repository prints goes to standard error, so that answers stand alone."""
    out = sys.stdout
    with redirect_stdout(sys.stderr):
        from src.mimo_audio.mimo_audio import MimoAudio  # noqa: PLC0415 -- the repository's own, slow import

        model: Any = None
        for line in sys.stdin:
            asked = json.loads(line)
            said: dict[str, Any] = {"id": asked["id"]}
            try:
                if asked["type"] == "hello":
                    model = MimoAudio(sys.argv[1], sys.argv[2])
                    said |= {"protocol": PROTOCOL, "model": asked["model"], "device": str(model.device)}
                else:
                    said["text"] = answer(model, asked)
            except (RuntimeError, ValueError, OSError) as error:
                said["error"] = f"{type(error).__name__}: {error}"
            out.write(json.dumps(said, ensure_ascii=False) + "\n")
            out.flush()


if __name__ == "__main__":
    main()
