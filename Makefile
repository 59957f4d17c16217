# `make help` lists the targets. Everything is installed into .venv; nothing else is touched.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
SEEDS ?= seeds.txt
RUNNER ?= local
WHAT ?= posts
COMMAND := $(BIN)/weibo-crawler
BENCH := .venv-bench
# Whole crawls take most of the time, and hardly depend on the Python.
WHOLE := --ignore=tests/cli --ignore=tests/benchmarks --ignore=tests/test_forget.py \
	--ignore=tests/harvest/test_silence.py --ignore=tests/harvest/test_edges.py \
	--ignore=tests/planning/test_worlds.py
APART := --ignore=tests/tools --ignore=tests/foreign --ignore=tests/laws/test_laws.py

# a virtual environment that does not run any more is no environment: make looks at the stamps early
_ := $(shell $(BIN)/python -c '' 2>/dev/null || rm -f $(VENV)/.ready $(VENV)/.ready-dev)

.DEFAULT_GOAL := help
.PHONY: help demo init seed harvest import posts scan report status test test-foreign test-tools test-laws test-all lint format \
	check mutants bench bench-whole bench-smoke bench-compare bench-polite bench-revisits bench-economy bench-allowed bench-archive wheel stack-up stack-status stack-down stack-clean test-stack clean FORCE

help: ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' Makefile

# -- the crawler

demo: $(VENV)/.ready ## the whole way on a simulated site, offline
	@$(COMMAND) demo $(ARGS)

init: $(VENV)/.ready ## create the stores and conf/crawler.toml
	@$(COMMAND) init $(ARGS)

seed: $(VENV)/.ready ## store seeds: make seed SEEDS=seeds.txt
	@$(COMMAND) seed $(SEEDS) $(ARGS)

harvest: $(VENV)/.ready ## walk the fan lists
	@$(COMMAND) harvest $(ARGS)

import: $(VENV)/.ready ## copy new users into the tables
	@$(COMMAND) import $(ARGS)

posts: $(VENV)/.ready ## run the map job: make posts RUNNER=local ARGS=--refresh
	@$(COMMAND) posts --runner $(RUNNER) $(ARGS)

scan: $(VENV)/.ready ## print users or posts: make scan WHAT=users ARGS='--limit 10'
	@$(COMMAND) scan $(WHAT) $(ARGS)

report: $(VENV)/.ready ## write report.html
	@$(COMMAND) report $(ARGS)

status: $(VENV)/.ready ## where the crawl stands
	@$(COMMAND) status $(ARGS)

# -- a real one-machine cluster (JDK 17, Maven): HDFS, YARN, HBase, its Thrift server, MariaDB

stack-up: ## start it; says what it starts and where the logs are
	@$(PYTHON) stack/stack.py up

stack-status: ## what of it runs
	@$(PYTHON) stack/stack.py status

stack-down: ## stop it; the data stays
	@$(PYTHON) stack/stack.py down

stack-clean: ## stop it and delete its data
	@$(PYTHON) stack/stack.py clean

test-stack: $(VENV)/.ready-dev ## the tests that need it; they start it where it does not run
	@WEIBO_STACK_TESTS=1 $(BIN)/python -m pytest -p no:xdist tests/stack $(wildcard tests/store/test_mysql*.py) $(ARGS)

# -- for developers

# The worlds of tests/laws/test_laws.py take minutes and are the same on every Python: `make test-laws` alone runs
# them, CI with SEEDS=20.
test: $(VENV)/.ready-dev ## run the tests
	@$(BIN)/python -m pytest -n auto --dist worksteal $(APART) $(LEFT_OUT) $(ARGS)

test-foreign: $(VENV)/.ready-dev ## the whole way on worlds by another hand (nginx; WEIBO_FOREIGN), in four minutes
	@$(BIN)/python -m pytest -n 2 --dist worksteal tests/foreign $(ARGS)

test-tools: $(VENV)/.ready-dev ## Spark over a dataset (JDK 17)
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev,spark]' && $(BIN)/python -m pytest tests/tools $(ARGS)

test-all: ## run the tests on every Python 3.11 to 3.13 that is at hand; whole crawls on the first one
	@left_out=; for version in 3.11 3.12 3.13; do \
		python=$$(for each in python$$version "$$HOME"/.pyenv/versions/$$version*/bin/python; do \
			"$$each" -c 'import sys; print(sys.executable)' 2>/dev/null && break; done); \
		if [ -z "$$python" ]; then echo "Python $$version: not at hand, not tested"; continue; fi; \
		echo "Python $$version: $$python"; \
		$(MAKE) --no-print-directory test PYTHON="$$python" VENV=.venv-$$version \
			LEFT_OUT="$$left_out" || exit 1; \
		left_out="$(WHOLE)"; \
	done

test-laws: $(VENV)/.ready-dev ## whole crawls of worlds whose rules are drawn: make test-laws SEEDS=200, or 40-60,71
	@LAWS_SEEDS=$(if $(filter seeds.txt,$(SEEDS)),200,$(SEEDS)) \
		$(BIN)/python -m pytest -n auto --dist worksteal tests/laws $(ARGS)

mutants: $(VENV)/.ready-dev ## make small wrong changes, one at a time, and say which no test sees: ARGS='owner lease'
	@$(BIN)/python -m tests.mutants $(ARGS)

lint: $(VENV)/.ready-dev ## format check, lint, types, rooms
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(VENV)/.ready-dev ## format the code
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .

check: lint ## lint, and the tests with coverage
	@$(BIN)/python -m pytest -n auto --dist worksteal --cov --cov-report=term-missing:skip-covered \
		$(APART) $(ARGS)

bench: $(BENCH)/.ready ## how fast each part is, beside its peers, in nine minutes: ARGS='seen start' for parts
	@$(BENCH)/bin/python -m benchmarks.speed $(ARGS)

bench-whole: $(BENCH)/.ready ## the same at the sizes that aims name, in some forty minutes
	@$(BENCH)/bin/python -m benchmarks.speed --whole $(ARGS)

bench-smoke: $(BENCH)/.ready ## whether the benchmarks run and are right, in a minute
	@$(BENCH)/bin/python -m benchmarks.speed --smoke $(ARGS)

bench-compare: $(BENCH)/.ready ## bench, and what moved against benchmarks/baseline.json
	@$(BENCH)/bin/python -m benchmarks.speed --compare $(ARGS)

bench-polite: $(VENV)/.ready-dev ## a site that says no, in figures: make bench-polite ARGS=--quick
	@$(BIN)/python -m benchmarks.polite $(ARGS)

bench-revisits: $(VENV)/.ready-dev ## posts caught by coming back, by ways to choose when, in virtual time
	@$(BIN)/python -m benchmarks.revisits $(ARGS)

bench-economy: $(VENV)/.ready-dev ## requests sent over requests needed, by the sites' own logs: ARGS='--users 8000'
	@$(BIN)/python -m benchmarks.economy $(ARGS)

bench-allowed: $(VENV)/.ready-dev ## how much of what a foreign site allows is used: ARGS='--mix half-bad --seconds 600'
	@$(BIN)/python -m benchmarks.allowed $(ARGS)

bench-archive: $(VENV)/.ready-dev ## what keeping every answer costs in processor time: ARGS='--users 8000'
	@$(BIN)/python -m benchmarks.archiving $(ARGS)

wheel: $(VENV)/.ready-dev ## build the wheel into dist/
	@$(BIN)/python -m pip wheel -q --no-deps -w dist .

clean: ## remove what make made; data stays
	rm -rf .venv .venv-3.* .venv-bench build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache \
		.ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the virtual environment; a stamp is written last, so an interrupted installation starts again

$(VENV)/bin/python: FORCE
	@$@ -c '' 2>/dev/null || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
			{ echo "weibo-crawler needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }; \
		rm -f $(VENV)/.ready $(VENV)/.ready-dev; \
		echo "making a virtual environment in $(VENV)"; \
		$(PYTHON) -m venv --clear $(VENV); }

$(VENV)/.ready: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "installing weibo-crawler into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(VENV)/.ready-dev: setup.cfg pyproject.toml | $(VENV)/bin/python
	@echo "installing weibo-crawler and its tools into $(VENV)"
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@ $(VENV)/.ready

$(BENCH)/.ready: setup.cfg pyproject.toml
	@echo "installing weibo-crawler and its peers into $(BENCH)"
	@$(PYTHON) -m venv --clear $(BENCH)
	@$(BENCH)/bin/python -m pip install -q --disable-pip-version-check -e '.[bench]'
	@touch $@

FORCE:
