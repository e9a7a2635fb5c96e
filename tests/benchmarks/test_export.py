"""How fast a split leaves as Parquet, held against pyarrow alone, and how much memory that takes."""

from __future__ import annotations

from pathlib import Path

SMALL, LARGE = 1_000, 10_000
CLIPS = 8
SECONDS, RATE = 1.5, 16_000
LEAST_SHARE = 0.8
MOST_MB = 300
MOST_GROWTH = 1.15
ROWS_AT_ONCE = 20
ROOT = Path(__file__).resolve().parents[2]
