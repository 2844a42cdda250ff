# memorybase: `make help` lists what can be done.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first Python of these that runs and fits; or say PYTHON=/path/to/python3.11.
PYTHON ?= $(shell for python in python3.11 python3.12 python3; do \
	"$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null \
	&& echo "$$python" && break; done)
# The CPU build of torch saves 3 GB: TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
# What `make test` and `make test-slow` run: T=tests/unit, T="tests/unit -k chunk".
T ?=
# What `make up` serves, and what `make demo` writes.
HOST ?= 127.0.0.1
PORT ?= 8000
DATA_DIR ?= memorybase-data
# What `make chaos` does: seconds of faults, the seed that chooses them (empty: a new one), sqlite or postgresql,
# messages a second that the clients aim at.
DURATION ?= 60
SEED ?=
DATABASE ?= sqlite
RATE ?= 50

# What `make bench` measures, besides all of it on made texts: DATA=file ARGS="--only bulk".
DATA ?=
ARGS ?=

VENV := .venv
PEERS := .venv-peers
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev

.PHONY: help demo test test-slow chaos up doctor lint types format bench bench-appends bench-context bench-history bench-peers bench-recall bench-scores migrate pictures clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: PYTHON, TORCH_INDEX (the CPU build of torch), T (tests to run), HOST, PORT, DATA_DIR, DURATION, SEED, DATABASE, RATE"

demo: $(INSTALLED) ## capture a conversation, kill the worker in the middle, count that nothing was lost
	$(BIN)/memorybase demo --data-dir $(DATA_DIR)/demo

up: $(INSTALLED) ## the whole stack on this machine, until Ctrl-C
	$(BIN)/memorybase up --host $(HOST) --port $(PORT) --data-dir $(DATA_DIR)

doctor: $(INSTALLED) ## what works and what does not, with the command that helps
	$(BIN)/memorybase doctor --data-dir $(DATA_DIR)

test: $(INSTALLED_DEV) ## all tests but the slow ones, in five minutes; with T=path all tests of that path
	$(BIN)/python -m pytest $(if $(T),$(T),-m "not slow")

test-slow: $(INSTALLED_DEV) ## the slow tests, in half an hour: faults on real processes, long property runs, fuzzing
	$(BIN)/python -m pytest -m slow $(T)

chaos: $(INSTALLED_DEV) ## kill, freeze and restart everything at random, then count what was lost: DURATION=600 SEED=7
	PYTHONPATH=tests $(BIN)/python -m harness.chaos --duration $(DURATION) $(if $(SEED),--seed $(SEED)) --database $(DATABASE) --rate $(RATE)

pictures: $(INSTALLED_DEV) ## the pages of the web page, for docs/images, in the machine's Chromium
	PYTHONPATH=tests $(BIN)/python -m harness.pictures docs/images

lint: $(INSTALLED_DEV) ## ruff: rules and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED_DEV) ## mypy, strict
	$(BIN)/mypy

format: $(INSTALLED_DEV) ## let ruff mend and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED) ## how fast, beside the peers: DATA=a file in LoCoMo's format, ARGS="--only bulk,tens --json FILE"
	$(BIN)/python bench/ingest.py $(DATA) --peers $(PEERS) $(ARGS)

bench-peers: ## install what `make bench` compares with, in an environment of its own (1.5 GB with the CPU build of torch)
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or 3.12 is needed; say PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(PEERS)
	$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -r bench/peers-requirements.txt \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))

bench-recall: $(INSTALLED) ## what a search finds: DATA="LoCoMo and chat files", FIT=1 fits the weights, NAIVE=1 compares
	$(BIN)/python bench/recall.py $(DATA) $(if $(FIT),--fit) $(if $(NAIVE),--naive) $(ARGS)

bench-scores: $(INSTALLED) ## what a score is worth in small and large stores: DATA="LoCoMo and chat files", ARGS="--large 20000"
	$(BIN)/python bench/scores.py $(DATA) $(ARGS)

bench-context: $(INSTALLED) ## what a context brings of what answers: DATA="LoCoMo and chat files", ARGS="--budgets 4000"
	$(BIN)/python bench/context.py $(DATA) $(ARGS)

bench-appends: $(INSTALLED) ## whether several processes that append to one node memory lose anything: ARGS="--appends 1000"
	$(BIN)/python bench/appends.py $(ARGS)

bench-history: $(INSTALLED) ## what a view of a conversation costs, whatever the length of its history: ARGS="--sizes 100,10000"
	$(BIN)/python bench/history.py $(ARGS)

migrate: $(INSTALLED) ## bring the database to this version's schema
	$(BIN)/memorybase migrate --data-dir $(DATA_DIR)

clean: ## remove what was built; the data stay
	rm -rf $(VENV) $(PEERS) build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "error: Python 3.11 or 3.12 is needed; say PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV) || { \
		echo "error: the environment could not be made; on Debian: apt install python3-venv"; rm -rf $(VENV); exit 1; }

$(INSTALLED): $(BIN)/python pyproject.toml constraints.txt
	@echo "installing into $(VENV) (once; one to three minutes)"
	$(INSTALL) -e .
	@touch $@

$(INSTALLED_DEV): $(INSTALLED)
	$(INSTALL) -e '.[dev]'
	@touch $@
