"""What a started web process holds in memory: nothing that only some pages and jobs need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from statsmodels.stats.proportion import proportion_confint

from eqstudio.estimates import wilson

ROOT = Path(__file__).resolve().parents[2]
HEAVY = (
    "pandas",
    "statsmodels",
    "pyarrow",
    "scipy.stats",
    "sklearn",
    "krippendorff",
    "huggingface_hub",
    "torch",
    "altair",
)
START = """
import json, sys, warnings
warnings.simplefilter("ignore")
import eqstudio.wsgi
from annotation.domain.quality import share, slot_bias
share([True, False])
slot_bias([(0, 2)] * 30)
sys.stdout.write(json.dumps(sorted(sys.modules)))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The modules of a process that has started as gunicorn starts it and has looked at gold and at a run of answers."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("EQSTUDIO_")}
    env |= {
        "DJANGO_SETTINGS_MODULE": "eqstudio.settings",
        "EQSTUDIO_DATA": str(tmp_path_factory.mktemp("data")),
        "EQSTUDIO_ENV_FILE": os.devnull,
    }
    done = subprocess.run([sys.executable, "-c", START], cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


@pytest.mark.parametrize("heavy", HEAVY)
def test_a_web_process_starts_without(loaded, heavy):
    assert [name for name in loaded if name == heavy or name.startswith(f"{heavy}.")] == []


@pytest.mark.parametrize(("hits", "n"), [(0, 1), (0, 20), (7, 10), (19, 20), (20, 20), (512, 1000)])
def test_wilson_is_the_published_interval(hits, n):
    lo, hi = proportion_confint(hits, n, alpha=0.05, method="wilson")
    assert wilson(hits, n) == pytest.approx((lo, hi), abs=1e-12)
