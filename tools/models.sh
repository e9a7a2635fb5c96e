#!/usr/bin/env bash
# Has tiny audio models with random weights answer through the transformers backend, in .venv-models. The first call installs torch.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-models stamp=.venv-models/.installed
wanted=$(cat requirements.txt requirements-models.txt tools/models.sh | sha256sum)
pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --quiet "$@"; }
if ! [ -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    printf 'Installing requirements-models.txt into %s (a minute where torch is at hand, else some) ...\n' "$venv" >&2
    .venv/bin/python -m venv --clear "$venv"
    # Without an accelerator the small build of torch is enough: from where pip looks, else from its own index, else the whole one.
    torch=$(grep '^torch==' requirements-models.txt)
    pip "$torch+cpu" 2>/dev/null || pip "$torch+cpu" --index-url https://download.pytorch.org/whl/cpu 2>/dev/null || pip "$torch"
    pip -c <(sed 's/\[.*\]//' requirements.txt) -r <(grep -v '^torch==' requirements-models.txt)
    # The studio's own packages are those of .venv; what is installed here goes before them.
    .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/studio.pth"
    printf '%s' "$wanted" >"$stamp"
fi
export OMP_NUM_THREADS=1 HF_HUB_OFFLINE=1
exec "$venv/bin/python" -m pytest -q -m models --no-migrations tests/models "$@"
