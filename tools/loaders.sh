#!/usr/bin/env bash
# Has Inspect and lm-eval run what the studio exports, in .venv-loaders. The first call installs them, which takes minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-loaders stamp=.venv-loaders/.installed
wanted=$(cat requirements.txt requirements-loaders.txt | sha256sum)
if ! [ -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    printf 'Installing requirements-loaders.txt into %s (a few minutes the first time) ...\n' "$venv" >&2
    .venv/bin/python -m venv "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet --requirement requirements-loaders.txt
    printf '%s' "$wanted" >"$stamp"
fi
"$venv/bin/python" -c 'import inspect_ai, lm_eval' # the tests would skip what is not there
exec "$venv/bin/python" -m pytest -q tests/annotation/test_export_loaders.py -k 'inspect_runs or lm_eval_runs'
