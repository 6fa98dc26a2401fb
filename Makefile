# driveflow: every target explains itself; `make help` lists them.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
WORKERS ?= 2

.PHONY: help setup demo test check bench peers lock clean

help: ## List the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## Make .venv with everything that is pinned in requirements.lock

$(STAMP): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=24"
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	$(BIN)/python deploy/warm_up.py || echo 'Not compiled ahead: what is compiled will be at its first use.'
	@touch $(STAMP)

demo: setup ## Run the main job: sample drives, curate, annotate, retrain twice, report
	$(BIN)/python examples/demo.py

test: setup ## Run every test, WORKERS files at a time
	$(BIN)/python -m pytest --numprocesses $(WORKERS) --dist loadfile

check: setup ## Format, lint, types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: setup ## Measure our speed beside the peers', in one run
	$(BIN)/python -m benchmarks

peers: setup ## Make environments for the peers that `make bench` compares with
	$(BIN)/python -m benchmarks.peers

lock: ## Write requirements.lock anew from what .venv has
	$(BIN)/python -m pip freeze --exclude-editable | grep -v '^driveflow' | sed 's/+cpu$$//' > requirements.lock

clean: ## Remove what the targets above made
	rm -rf $(VENV) .peers demo build *.egg-info
