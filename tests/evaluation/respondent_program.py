"""A respondent that runs as a program of its own, as docs/models.md tells; its first argument says how it behaves."""

import json
import os
import sys
import time
import wave
from pathlib import Path


def say(**line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def seconds(path):
    with wave.open(path) as sound:
        return sound.getnframes() / sound.getframerate()


def answer(asked, manner, count):
    if manner == "dies" and count == 1:
        sys.stderr.write("CUDA error: device-side assert\n")
        sys.stderr.flush()
        os._exit(3)
    if manner == "silent" and count == 1:
        time.sleep(60)
    if manner == "wrong":
        say(id=asked["id"], error="the clip is too long for this model")
        return
    if manner == "empty":
        say(id=asked["id"], answer="A")
        return
    if manner == "refuses":
        say(id=asked["id"], text="I would rather not.", refused="policy")
        return
    if manner == "chatty":
        sys.stdout.write("Generating... 100%\n")
        say(id="somebody else", text="not this")
    heard = [round(seconds(part["audio"]), 2) for part in asked["parts"] if "audio" in part]
    names = [Path(part["audio"]).name for part in asked["parts"] if "audio" in part]
    more = {"audio": next(part["audio"] for part in asked["parts"] if "audio" in part)} if asked["speak"] else {}
    text = json.dumps(
        {"answer": "B", "heard": heard, "names": names, "env": sorted(os.environ), "cwd": str(Path.cwd())}
    )
    say(id=asked["id"], text=text, tokens_in=11, tokens_out=3, **more)


def main(manner):
    stamp = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["type"] == "hello":
            protocol = 7 if manner == "newer" else asked["protocol"]
            say(id="hello", protocol=protocol, model=f"{asked['model']}@abc", device="cpu")
            continue
        count = 1
        if stamp:
            count = len(stamp.read_text()) + 1 if stamp.exists() else 1
            stamp.write_text("x" * count)
        answer(asked, manner, count)


if __name__ == "__main__":
    main(sys.argv[1])
