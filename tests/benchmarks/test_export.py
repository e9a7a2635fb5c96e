"""How fast a split leaves as Parquet, held against pyarrow alone, and how much memory that takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from annotation.exporters.huggingface import schema, writer_options
from annotation.exporters.rows import split_records
from annotation.models import Split
from eqstudio.blobs import blob_put, blob_read
from generation.models import Clip, Corpus, Dialogue, Turn, Variant
from tests.audio import speechlike, wav

SMALL, LARGE = 1_000, 10_000
CLIPS = 8
SECONDS, RATE = 1.5, 16_000
LEAST_SHARE = 0.8
MOST_MB = 300
MOST_GROWTH = 1.15
ROWS_AT_ONCE = 20
ROOT = Path(__file__).resolve().parents[2]
