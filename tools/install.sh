#!/usr/bin/env bash
# Puts the studio's packages into .venv: tools/install.sh [--dev]. A second call with nothing changed ends at once.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=.venv
say() { printf '%s\n' "$*" >&2; }

# A Python from 3.11 to 3.14 that really runs (a version manager's shim may not).
suits() { "$1" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1; }
find_python() {
    local name
    for name in ${PYTHON:+"$PYTHON"} python3 python3.12 python3.13 python3.11 python3.14; do
        if command -v "$name" >/dev/null 2>&1 && suits "$name"; then echo "$name"; return; fi
    done
    say "No Python from 3.11 to 3.14 was found. Install one, or name it: make install PYTHON=/path/to/python3.12"
    exit 1
}

# Debian splits venv and pip off: install them as root, else say what to do. A half-made folder is removed.
make_venv() {
    local python version
    python=$(find_python)
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    say "Making $venv with $python ($version) ..."
    if "$python" -m venv --clear "$venv" >/dev/null 2>&1 && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then return; fi
    rm -rf "$venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        apt-get update -qq
        apt-get install -y -qq "python$version-venv" >/dev/null
        "$python" -m venv --clear "$venv" && return
        rm -rf "$venv"
    fi
    say "$python cannot make a virtual environment with pip in it. On Debian or Ubuntu: sudo apt-get install python$version-venv"
    exit 1
}

digest() { "$venv/bin/python" -c 'import hashlib, sys; print(hashlib.sha256(b"".join(open(f, "rb").read() for f in sys.argv[1:])).hexdigest())' "$@"; }

# What pip is at, one line for each step instead of one for each package.
told() {
    local line found=0
    while IFS= read -r line; do
        case $line in
            "Collecting "*) found=$((found + 1)); if [ $((found % 25)) = 0 ]; then say "  $found packages found"; fi ;;
            *Downloading*MB*) say "  fetching ${line#*Downloading }" ;;
            "Building wheel"*) say "  building a package from its source" ;;
            "Installing collected packages"*) say "  unpacking them; the last step, about a minute" ;;
        esac
    done
}
pip() { "$venv/bin/python" -m pip --disable-pip-version-check install --progress-bar off "$@" | told; }

# install NAME FILE...: once per content of the files.
install() {
    local stamp="$venv/.installed-$1" wanted
    shift
    wanted=$(digest "$@" tools/install.sh)
    if [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then return; fi
    local file options=() bare=()
    for file in "$@"; do
        if [[ $file == *nodeps* ]]; then bare+=(-r "$file"); else options+=(-r "$file"); fi
    done
    say "Installing $* (a few minutes the first time) ..."
    pip "${options[@]}"
    if [ ${#bare[@]} -gt 0 ]; then pip --no-deps --ignore-requires-python "${bare[@]}"; fi
    printf '%s' "$wanted" >"$stamp"
    say "  done"
}

if ! { [ -x "$venv/bin/python" ] && suits "$venv/bin/python"; }; then make_venv; fi
install studio requirements.txt requirements-local.txt requirements-local-nodeps.txt
if [ "${1:-}" = --dev ]; then install dev requirements-dev.txt; fi
