# make demo and make test need Python 3.11 or later, and nothing else: each makes .venv and installs into it.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test lint bench fuzz nightly clean

demo: .venv/installed
	$(BIN)/trustcal demo

test: .venv/installed-dev
	$(BIN)/pytest --numprocesses=auto --dist=loadfile

lint: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks.decision
	$(BIN)/python -m benchmarks.smooth
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.after_noise
	$(BIN)/python -m benchmarks.eps_sweep
	$(BIN)/python -m benchmarks.inference
	$(BIN)/python -m benchmarks.auditing
	$(BIN)/python -m benchmarks.comparing
	$(BIN)/python -m benchmarks.worst
	$(BIN)/python -m benchmarks.monitor
	$(BIN)/python -m benchmarks.online
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.noise_map

fuzz: .venv/installed-dev
	$(BIN)/python -m tests.fuzz

# Where the statements of the paper and the exact measures are held against definitions and oracles.
NIGHTLY := theorems guarantees online_exact worst envelope decisions measures_decision smoothing smoothed noise
nightly: .venv/installed-dev
	$(BIN)/pytest --numprocesses=auto --hypothesis-profile=nightly $(NIGHTLY:%=tests/test_%.py)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "trustcal needs Python 3.11 or later: make PYTHON=python3.11")'
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

.venv/installed-dev: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

.venv/installed-bench: .venv/bin/python pyproject.toml
	$(BIN)/python -m pip install --quiet --editable '.[dev,bench]'
	touch $@
