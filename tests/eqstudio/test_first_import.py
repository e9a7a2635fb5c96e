"""A worker looks at the template libraries before anything else of the studio is imported."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FIRST = """
import django
django.setup()
from django.template.backends.django import get_installed_libraries
get_installed_libraries()
"""


def test_template_libraries_load_before_the_pages(tmp_path):
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "eqstudio.settings", "EQSTUDIO_DATA": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", FIRST], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
