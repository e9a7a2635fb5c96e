# `make run` starts the studio, `make test` runs everything that continuous integration runs.
PORT ?= 8000
PY := .venv/bin/python
PATHS := $(wildcard eqstudio generation annotation evaluation demo tests tools manage.py)

.PHONY: help install dev run test check bench soak loaders models vllm format messages clean

help:  ## what there is
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install:  ## everything the studio needs, into .venv
	@tools/install.sh

dev:
	@tools/install.sh --dev

run: install  ## the whole studio with the demo corpus; Ctrl-C ends it (PORT=8000)
	@exec $(PY) manage.py studio --demo --port $(PORT)

test: dev  ## checks, the suite on SQLite and on PostgreSQL with Redis, Chromium, the embedded models
	@exec $(PY) tools/test.py

check: dev  ## lint, types, import rules, templates, migrations
	@exec $(PY) tools/check.py

bench: dev  ## the few figures that must not get worse
	@exec $(PY) -m pytest --benchmarks tests/benchmarks tests/benchmarks/bench_studio.py -p no:randomly -q -s

soak: dev  ## long fault tests
	@exec $(PY) -m pytest -m soak -p no:randomly -q

models: dev  ## tiny audio models answer through torch and transformers, in .venv-models
	@exec tools/models.sh

vllm: dev  ## a tiny audio model answers through vLLM on the processor, in .venv-vllm (4 GB)
	@exec tools/vllm.sh

loaders: dev  ## Inspect and lm-eval run what is exported, in .venv-loaders
	@exec tools/loaders.sh

format: dev  ## put code and templates into their form
	@.venv/bin/ruff check --fix --quiet $(PATHS); .venv/bin/ruff format --quiet $(PATHS)
	@find templates -name '*.html' -print0 | xargs -0 -r .venv/bin/djade --target-version 5.2 || true

messages: dev  ## collect the strings of the interface, then compile the translations
	@$(PY) manage.py makemessages --locale zh_Hans --no-obsolete --no-wrap --ignore '.venv/*' --ignore 'var/*' --ignore 'tests/*'
	@$(PY) manage.py compilemessages --locale zh_Hans

clean:  ## remove what was installed and built; the data in var/ stays
	rm -rf .venv .venv-loaders .venv-models .venv-vllm .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
