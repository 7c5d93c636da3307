# make demo and make test need Python 3.11 or later, and nothing else: each makes .venv and installs into it.
PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test test-slow coverage lint docs docs-browser pictures package minimum audit-dependencies bench fuzz nightly clean

demo: .venv/installed
	$(BIN)/trustcal demo

# Each worker of pytest has a core to itself: threads of BLAS only compete for it.
test test-slow coverage nightly: export OMP_NUM_THREADS := 1

# The same result on every run: Hypothesis tries the same examples.
test: .venv/installed-dev
	$(BIN)/pytest --numprocesses=auto --dist=loadfile -m "not slow"

# What `make test` leaves out: the slow tests, and the full number of examples for every property.
test-slow: .venv/installed-dev
	$(BIN)/pytest --numprocesses=auto --dist=loadgroup -m "slow or hypothesis" --hypothesis-profile=full

# The lines that `make test` runs: the total, and the modules below 90 %.
coverage:
	$(MAKE) test PYTEST_ADDOPTS='--cov --cov-report='
	$(BIN)/coverage report | awk 'NR < 3 || /^TOTAL/ || $$NF + 0 < 90'

lint: .venv/installed-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# The site, in build/site: no network needed to build or to read it.
docs: export NO_MKDOCS_2_WARNING := 1
docs: .venv/installed-dev
	$(BIN)/mkdocs build --strict --quiet

# Look at the site with Chromium: no error, no request to another host, search works.
docs-browser: docs
	$(BIN)/python -m tests.browser.site

# The pictures of the README; CI checks that they are current.
pictures: .venv/installed-dev
	$(BIN)/python -m examples.make_pictures

# The wheel and the sdist, in build/dist, and the wheel tested in a clean environment.
package: .venv/installed-dev
	rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist
	$(BIN)/python -m tests.installed build/dist/*.whl

# The core on the oldest versions that pyproject.toml declares, in an environment of its own.
minimum: export MINIMUM = $(shell $(PYTHON) .ci/oldest.py)
minimum: export PYTHONPATH := src
minimum:
	$(PYTHON) -m venv build/minimum
	build/minimum/bin/python -m pip install --quiet $(MINIMUM) pytest hypothesis
	build/minimum/bin/python -m pytest --quiet --override-ini=addopts= -W ignore -p no:cacheprovider tests/test_minimum.py

# Known vulnerabilities of what an installation brings along; needs the network.  Strict: what is not known to be fine fails.
audit-dependencies: .venv/installed
	$(BIN)/python -m pip install --quiet 'pip-audit>=2.9'
	mkdir -p build
	$(BIN)/python -m pip freeze --exclude-editable > build/installed.txt
	$(BIN)/pip-audit --strict --disable-pip --no-deps --progress-spinner=off --requirement build/installed.txt

bench: .venv/installed-bench
	$(BIN)/python -m benchmarks.decision
	$(BIN)/python -m benchmarks.bin_free
	$(BIN)/python -m benchmarks.smooth
	$(BIN)/python -m benchmarks.noise
	$(BIN)/python -m benchmarks.after_noise
	$(BIN)/python -m benchmarks.eps_sweep
	$(BIN)/python -m benchmarks.inference
	$(BIN)/python -m benchmarks.auditing
	$(BIN)/python -m benchmarks.worst
	$(BIN)/python -m benchmarks.monitor
	$(BIN)/python -m benchmarks.online
	$(BIN)/python -m benchmarks.engines
	$(BIN)/python -m benchmarks.noise_map
	$(BIN)/python -m benchmarks.edge_cases
	$(BIN)/python -m benchmarks.first_minute

fuzz: .venv/installed-dev
	$(BIN)/python -m tests.fuzz

# Where the statements of the paper and of theory.md, and the exact measures, are held against definitions and oracles.
NIGHTLY := smoothed smoothing noise forecasters combining minimax_cdl tightness per_prediction theorems relations guarantees \
	corrections online_exact worst envelope decisions bin_free decision_bounds atb_floor measures_decision
nightly: export KILLS := 30
nightly: test-slow
	$(BIN)/pytest --numprocesses=auto --dist=worksteal --durations=20 -m hypothesis --hypothesis-profile=nightly \
		--override-ini=faulthandler_timeout=7200 $(NIGHTLY:%=tests/test_%.py)

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage

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
