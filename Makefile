# Two commands matter: `make run` and `make test`. Both set everything up first; the environment is .venv.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
WORKERS ?= 2
AREA ?= kernel
LINT := src tests benchmarks docs/build.py

.PHONY: setup setup-test run test soak torture check types lint docs cases bench lock clean

setup: .setup-run

.setup-run: requirements.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "error: Python 3.11 or newer is needed"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "installing limnos into .venv" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

setup-test: .setup-test

.setup-test: .setup-run requirements-dev.txt tests/packages.txt
	@echo "installing what the tests need" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --requirement requirements-dev.txt
	@bash tests/install_packages.sh
	@$(BIN)/limnos model get qwen2.5-coder-0.5b --yes >&2
	@touch $@

# make run TASK="..." does one task; without TASK it is the chat
run: setup
ifdef TASK
	@$(BIN)/limnos run --yes "$$TASK"
else
	@$(BIN)/limnos --yes
endif

export TASK

test: setup-test
	@$(BIN)/python -m pytest -n $(WORKERS) tests

soak: setup-test
	@$(BIN)/python -m pytest -n $(WORKERS) -m soak $(if $(AREA),$(wildcard tests/soak/$(AREA) tests/$(AREA)),tests)

torture: setup-test
	@$(BIN)/python -m pytest -n $(WORKERS) -m torture tests

lint: setup-test
	@$(BIN)/ruff check $(LINT)
	@$(BIN)/ruff format --check $(LINT)

types: setup-test
	@$(BIN)/pyright

docs: setup-test
	@$(BIN)/python docs/build.py --check

cases: setup-test
	@for kind in $$($(BIN)/python -m limnos.testing.cases --kinds); do \
	  echo "cases $$kind"; \
	  $(BIN)/python -m limnos.testing.cases $$kind ../shared/cases/$$kind.jsonl || exit 1; \
	done

check: lint types docs cases

bench: setup-test
	@$(BIN)/python benchmarks/run.py $(ARGS)

# Write the locks anew: versions with hashes, and no address of a registry
lock:
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group build pyproject.toml --output-file requirements.txt
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group build --group dev pyproject.toml --output-file requirements-dev.txt
	@$(BIN)/uv pip compile --quiet --generate-hashes --no-emit-index-url --no-header --python-version 3.11 \
	  --group pyproject.toml:bench --output-file benchmarks/requirements.txt

clean:
	rm -rf .venv .setup-run .setup-test build dist
