"""Any model that a program of one's own can ask, in an environment of its own: JSON lines in, JSON lines out.

The protocol is told in docs/models.md; the version stands in the first line.
"""

from __future__ import annotations

import base64
import hashlib
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from eqstudio.benchmarks.base import Trial, TrialKind
from eqstudio.errors import GiveUp, ProviderError
from evaluation.backends.base import Answer, Clips
from evaluation.backends.command_process import Program
from evaluation.backends.configured import Configured
from evaluation.backends.messages import Part, sound_of
from evaluation.backends.sounds import wav_of

if TYPE_CHECKING:
    from evaluation.backends.messages import Message

PROTOCOL = 1
START_S = 1800.0
"""How long weights may take to load."""
SOUND_MAX_BYTES = 64 * 1024 * 1024


class CommandBackend(Configured):
    """One question a line. The program stays between questions; when it dies it is started anew with the next try."""

    alias: ClassVar = "command"
    queue: ClassVar = "gpu"
    needs: ClassVar = ("command",)
    _program: Program | None = None
    _sounds: tempfile.TemporaryDirectory[str] | None = None
    _ready: dict[str, Any] | None = None

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "command": list(self.config.command), "protocol": PROTOCOL}

    def load(self) -> None:
        """Start the program and wait until it says that it is ready."""
        if self._program is not None and self._program.alive:
            return
        self.close()
        folder = Path(self.config.folder) if self.config.folder else Path.cwd()
        if not folder.is_dir():
            raise ProviderError(f"The folder {folder} of {self.alias} is not there.", cause="client", decision=GiveUp())
        hello = {
            "id": "hello",
            "type": "hello",
            "protocol": PROTOCOL,
            "model": self.config.model,
            "revision": self.config.revision,
            "extra": self.config.extra,
        }
        self._sounds = tempfile.TemporaryDirectory(prefix="eqstudio-exam-")
        try:
            self._program = Program(self.config.command, folder=folder, env=self.config.env)
            ready = self._program.ask(hello, timeout_s=START_S)
        except ProviderError:
            self.close()
            raise
        if ready.get("protocol") != PROTOCOL or ready.get("error"):
            self.close()
            said = ready.get("error") or f"it speaks protocol {ready.get('protocol')!r}, not {PROTOCOL}"
            raise ProviderError(f"{self.alias} is not ready: {said}", cause="client", decision=GiveUp())
        self._ready = ready

    def close(self) -> None:
        if self._program is not None:
            self._program.end()
            self._program = None
        if self._sounds is not None:
            self._sounds.cleanup()
            self._sounds = None

    def answer(self, trial: Trial, clips: Clips) -> Answer:
        self.load()
        aloud = self.config.speaks and trial.kind is TrialKind.REPLY
        message = self.message(trial, clips, aloud=aloud)
        began = time.monotonic()
        if self._program is None:
            raise RuntimeError("load starts the program")
        said = self._program.ask(self._line(message, trial, aloud=aloud), timeout_s=self.config.timeout_s)
        return self._read(said, round((time.monotonic() - began) * 1000))

    def _line(self, message: Message, trial: Trial, *, aloud: bool) -> dict[str, Any]:
        parts = [{"text": part.text} if part.audio is None else self._sound(part) for part in message.parts]
        identity = hashlib.sha256(f"{message.system}{parts}{self.exam.seed}{time.monotonic_ns()}".encode()).hexdigest()
        return {
            "id": identity[:16],
            "type": "ask",
            "kind": trial.kind.value,
            "language": trial.language,
            "system": message.system,
            "parts": parts,
            "speak": aloud,
            "voice": self.config.voice if aloud else "",
            "temperature": self.config.temperature,
            "max_tokens": self.config.max_tokens,
            "seed": self.exam.seed % 2**31,
        }

    def _sound(self, part: Part) -> dict[str, str]:
        """A clip as a WAV file named by the hash of its bytes, which tells nothing of what it is."""
        if part.audio is None or self._sounds is None:
            raise RuntimeError("there is no clip, or no folder for it")
        data, form = sound_of(part.audio)
        wav = data if form == "wav" else wav_of(data)
        digest = hashlib.sha256(wav).hexdigest()
        path = Path(self._sounds.name) / f"{digest}.wav"
        if not path.exists():
            path.write_bytes(wav)
        return {"audio": str(path), "sha256": digest}

    def _read(self, said: dict[str, Any], latency_ms: int) -> Answer:
        ready = self._ready or {}
        paradata: dict[str, Any] = {
            "model": str(said.get("model") or ready.get("model") or self.model),
            "latency_ms": latency_ms,
            "tokens_in": _number(said.get("tokens_in")),
            "tokens_out": _number(said.get("tokens_out")),
        }
        paradata |= {name: ready[name] for name in ("revision", "packages", "device") if name in ready}
        if said.get("error"):
            raise ProviderError(f"{self.alias}: {str(said['error'])[:500]}", cause="program", decision=GiveUp())
        text = said.get("text")
        if not isinstance(text, str):
            raise ProviderError(
                f"{self.alias} answered without a text: {str(said)[:200]}", cause="unreadable", decision=GiveUp()
            )
        if said.get("refused"):
            return Answer(raw=text, failure="refused", error=str(said["refused"])[:500], paradata=paradata)
        sound, trouble = _sound_of(str(said["audio"])) if said.get("audio") else ("", {})
        return Answer(raw=text, paradata={**paradata, **trouble}, sound=sound)


def _sound_of(path: str) -> tuple[str, dict[str, Any]]:
    """The sound that a program wrote to a file, in base64; where it cannot be read the paradata say so."""
    try:
        if Path(path).stat().st_size > SOUND_MAX_BYTES:
            return "", {"reply_clip_error": f"The sound of the reply is larger than {SOUND_MAX_BYTES} bytes."}
        return base64.b64encode(Path(path).read_bytes()).decode("ascii"), {}
    except OSError as error:
        return "", {"reply_clip_error": f"The sound of the reply cannot be read: {error.strerror}"}


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
