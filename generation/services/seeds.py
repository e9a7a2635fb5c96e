"""One seed per dialogue, drawn from its brief's, so that a run can be told again."""

from __future__ import annotations

import hashlib

from generation.models import Dialogue


def dialogue_seed(dialogue: Dialogue, purpose: str = "") -> int:
    """31 bits (what every provider takes) from the brief's seed, what is asked for and the dialogue's number."""
    brief = dialogue.brief
    start = brief.seed if brief else 0
    again = f":{dialogue.takes}" if dialogue.takes else ""
    text = f"{start}:{dialogue.benchmark}:{dialogue.category}:{dialogue.language}:{dialogue.ordinal}:{purpose}{again}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4]) >> 1
