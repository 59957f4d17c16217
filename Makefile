# `make help` lists the targets. Everything is installed into .venv; nothing else is touched.
# The versions are those of constraints.txt; `make test-latest` tries the newest ones.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=
comma := ,
BENCH := .venv-bench
ANALYSTS := .venv-tools
TOOLS ?= dev
SEEDS ?= seeds.txt
RUNNER ?= local
WHAT ?= posts
COMMAND := $(BIN)/weibo-crawler
CONSTRAINTS ?= constraints.txt
# Most of what is installed is never imported: Python compiles what is, once. Of what pip says only errors count.
PIP_INSTALL = -m pip install -qq --disable-pip-version-check --no-compile $(if $(CONSTRAINTS),-c $(CONSTRAINTS))
# The pip that Python brings reads the index of each package for as long as all else takes.
PIP_UPGRADE = $(PIP_INSTALL) --upgrade pip
# Where UV names uv, as in CI, it makes the environments, in a quarter of the processor time; where it cannot, and
# everywhere else, pip does, whose settings uv does not read.
UV ?=
make_venv = { [ -x "$(UV)" ] && $(UV) venv -q --seed --clear -p $(PYTHON) $(1) 2>/dev/null; } || \
	{ $(PYTHON) -m venv --clear $(1) && $(1)/bin/python $(PIP_UPGRADE); }
install = { [ -x "$(UV)" ] && $(UV) pip install -q $(if $(CONSTRAINTS),-c $(CONSTRAINTS)) -p $(1)/bin/python \
	-e '.$(2)' 2>/dev/null; } || $(1)/bin/python $(PIP_INSTALL) -e '.$(2)'
# Where this is set each Python that starts compiles the whole program anew, which takes as long as all else.
export PYTHONDONTWRITEBYTECODE :=
# More than there are processors: many tests wait. By itself xdist counts hyperthreads once.
WORKERS ?= $(shell echo $$(($$(nproc 2>/dev/null || echo 2) * 3 / 2)))
PYTEST := $(BIN)/python -m pytest
# One worker would be a second process that collects all tests as well.
MANY := $(if $(filter 1,$(WORKERS)),-p no:xdist,-n $(WORKERS) --dist worksteal)
APART := --ignore=tests/tools --ignore=tests/foreign --ignore=tests/laws/test_laws.py

# a virtual environment that does not run any more is no environment: make looks at the stamps early
_ := $(shell $(BIN)/python -c '' 2>/dev/null || rm -f $(VENV)/.ready*)

.DEFAULT_GOAL := help
.PHONY: help demo init seed harvest import posts scan report status test test-one test-long test-latest test-foreign \
	test-tools test-laws test-all lint format check mutants bench bench-whole bench-smoke bench-compare bench-polite \
	bench-revisits bench-economy bench-allowed bench-archive bench-fields bench-nodes bench-deaths wheel \
	stack-up stack-status stack-stop stack-kill stack-start stack-down stack-clean \
	test-stack constraints clean FORCE

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

NAMED = $(PYTHON) stack/stack.py $(@:stack-%=%) $(or $(NAME),$(error say which: make $@ NAME=node3))

stack-up: ## start it; says what it starts and where the logs are: make stack-up NODES=8; KERBEROS=1: with a KDC
	@$(PYTHON) stack/stack.py up $(if $(NODES),--nodes $(NODES)) $(if $(KERBEROS),--kerberos)

stack-status: ## what of it runs
	@$(PYTHON) stack/stack.py status

stack-stop: ## end one daemon in order, by the name that stack-status tells: make stack-stop NAME=node3
	@$(NAMED)

stack-kill: ## end one as a power cut does, a node with all that runs on it
	@$(NAMED)

stack-start: ## bring one back
	@$(NAMED)

stack-down: ## stop it; the data stays
	@$(PYTHON) stack/stack.py down

stack-clean: ## stop it and delete its data
	@$(PYTHON) stack/stack.py clean

# Those that kill daemons (test_end_to_end.py) have the cluster to themselves; of the others many wait.
STACK_TESTS := WEIBO_STACK_TESTS=1 $(PYTEST)
test-stack: $(VENV)/.ready-dev ## the tests that need it; where it does not run it is started, and stopped again
	@ran=; $(PYTHON) stack/stack.py status >/dev/null && ran=yes || $(PYTHON) stack/stack.py up; code=0; \
	$(STACK_TESTS) -n 3 --dist loadfile tests/stack --ignore=tests/stack/test_end_to_end.py $(ARGS) && \
		$(STACK_TESTS) -p no:xdist tests/stack/test_end_to_end.py $(ARGS) || code=$$?; \
	[ -n "$$ran" ] || $(PYTHON) stack/stack.py down; exit $$code

# -- for developers

# The worlds of tests/laws/test_laws.py take minutes and are the same on every Python: `make test-laws` alone runs
# them, CI with SEEDS=20.
test: $(VENV)/.ready-$(TOOLS) ## run the tests
	@$(PYTEST) $(MANY) $(APART) $(LEFT_OUT) $(ARGS)

test-one: $(VENV)/.ready-dev ## one test in a few seconds: make test-one T=tests/test_walls.py::test_name
	@$(PYTEST) -p no:xdist -p no:cacheprovider $(or $(T),$(error say which: make test-one T=path::name)) $(ARGS)

test-long: $(VENV)/.ready-dev ## the tests with ten times as many examples, drawn anew each time
	@HYPOTHESIS_PROFILE=long $(PYTEST) $(MANY) --timeout=1200 $(APART) $(ARGS)

test-latest: ## the tests with the newest versions of all that they use, and of all that we use
	@rm -rf .venv-latest; $(MAKE) --no-print-directory test VENV=.venv-latest CONSTRAINTS=

test-foreign: $(VENV)/.ready-dev ## the whole way on worlds by another hand (nginx; WEIBO_FOREIGN), in some minutes
	@$(PYTEST) $(MANY) tests/foreign $(ARGS)

test-tools: $(ANALYSTS)/.ready-tools ## Spark, Hive and a notebook over a dataset (JDK 17, Maven; 1 GB)
	@$(ANALYSTS)/bin/python -m pytest tests/tools $(ARGS)

# The Python of $(VENV) comes first, with all tests; the others get what hangs on the Python: tests/rest.py says which
# tests they leave out. They draw a tenth of the examples. In CI none may be missing. They run side by side, with
# half of the workers each: every worker collects all tests, and compiles them the first time. Installing writes into
# the checkout, so that is done before.
PYTHONS := 3.11 3.12 3.13
test-all: $(VENV)/.ready-dev ## run the tests on every Python 3.11 to 3.13 that is at hand; whole crawls on one
	@ours=$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	echo "Python $$ours"; $(MAKE) --no-print-directory test || exit 1; \
	others=$$(printf 'test-on-%s\n' $(PYTHONS) | grep -vxF "test-on-$$ours"); \
	$(MAKE) --no-print-directory $$others INSTALL=only && \
	$(MAKE) --no-print-directory -k -j2 --output-sync=target $$others WORKERS=$$((($(WORKERS) + 1) / 2))

test-on-%: FORCE
	@python=$$(for each in python$* "$$HOME"/.pyenv/versions/$**/bin/python; do \
		"$$each" -c 'import sys; print(sys.executable)' 2>/dev/null && break; done); \
	if [ -z "$$python" ]; then echo "Python $*: not at hand, not tested"; [ -z "$$CI" ]; exit; fi; \
	echo "Python $*: $$python"; \
	$(MAKE) --no-print-directory $(if $(INSTALL),.venv-$*/.ready-test,test) PYTHON="$$python" VENV=.venv-$* TOOLS=test \
		HYPOTHESIS_PROFILE=brief LEFT_OUT=--rest

test-laws: $(VENV)/.ready-dev ## whole crawls of worlds whose rules are drawn: make test-laws SEEDS=200, or 40-60,71
	@LAWS_SEEDS=$(if $(filter seeds.txt,$(SEEDS)),200,$(SEEDS)) $(PYTEST) $(MANY) tests/laws $(ARGS)

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
	@$(PYTEST) $(MANY) --cov --cov-report=term-missing:skip-covered $(APART) $(ARGS)

bench: $(BENCH)/.ready-bench ## how fast each part is, beside its peers, in nine minutes: ARGS='seen start' for parts
	@$(BENCH)/bin/python -m benchmarks.speed $(ARGS)

bench-whole: $(BENCH)/.ready-bench ## the same at the sizes that aims name, in some forty minutes
	@$(BENCH)/bin/python -m benchmarks.speed --whole $(ARGS)

bench-smoke: $(BENCH)/.ready-bench ## whether the benchmarks run and are right, in a minute
	@$(BENCH)/bin/python -m benchmarks.speed --smoke $(ARGS)

bench-compare: $(BENCH)/.ready-bench ## bench, and what moved against benchmarks/baseline.json
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

bench-fields: $(VENV)/.ready-dev ## completeness by field beside the truth, on drawn and foreign sites (nginx): ARGS='--laws 20'
	@$(BIN)/python -m benchmarks.fields $(ARGS)

bench-nodes: $(VENV)/.ready-dev ## pages by minute on 1 to 8 nodes of the stack (stack-up NODES=8): ARGS='--minutes 10'
	@$(BIN)/python -m benchmarks.nodes $(ARGS)

bench-deaths: $(VENV)/.ready-dev ## a posts job on eight nodes while everything dies in turn: ARGS='--minutes 60'
	@$(BIN)/python -m benchmarks.deaths $(ARGS)

wheel: $(VENV)/.ready-dev ## build the wheel into dist/
	@$(BIN)/python -m pip wheel -q --no-deps -w dist .

clean: ## remove what make made; data stays
	rm -rf .venv .venv-* build dist *.egg-info .coverage .hypothesis .mypy_cache .pytest_cache \
		.ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# -- the virtual environment; a stamp is written last, so an interrupted installation starts again

$(VENV)/bin/python: FORCE
	@$@ -c '' 2>/dev/null || { \
		$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
			{ echo "weibo-crawler needs Python 3.11 or newer: make PYTHON=python3.11 ..."; exit 1; }; \
		rm -f $(VENV)/.ready*; \
		echo "making a virtual environment in $(VENV)"; \
		$(call make_venv,$(VENV)); }

$(VENV)/.ready: setup.cfg pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/python
	@echo "installing weibo-crawler into $(VENV)"
	@$(call install,$(VENV))
	@touch $@

$(VENV)/.ready-test $(VENV)/.ready-dev: setup.cfg pyproject.toml $(CONSTRAINTS) | $(VENV)/bin/python
	@echo "installing weibo-crawler with what $(@:$(VENV)/.ready-%=%) needs into $(VENV)"
	@$(call install,$(VENV),[$(@:$(VENV)/.ready-%=%)])
	@touch $@ $(VENV)/.ready

# of their own: what peers bring would change us (pygal takes lxml where it is, which Scrapy brings), and Spark is large
$(BENCH)/.ready-bench $(ANALYSTS)/.ready-tools: setup.cfg pyproject.toml $(CONSTRAINTS)
	@echo "installing weibo-crawler and what it is measured beside or read by into $(@D)"
	@$(call make_venv,$(@D))
	@$(call install,$(@D),$(if $(filter $(BENCH)/%,$@),[bench],[test$(comma)tools]))
	@touch $@

constraints: ## write constraints.txt: the newest versions that go together
	@rm -rf .venv-latest; $(MAKE) --no-print-directory .venv-latest/.ready-dev VENV=.venv-latest CONSTRAINTS=
	@.venv-latest/bin/python -m pip install -q --no-compile -e '.[bench,tools]'
	@(sed -n '/^#/p' constraints.txt; .venv-latest/bin/python -m pip freeze --all --exclude-editable; \
		sed -n '/python_version/p' constraints.txt) >constraints.new
	@mv constraints.new constraints.txt; rm -rf .venv-latest

FORCE:
