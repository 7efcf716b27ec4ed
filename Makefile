# Every target sets up its own virtual environment first, once, and again when
# pyproject.toml changes. Needs Python 3.11 or newer, make, and a package index.

PYTHON ?= python3
DATA ?= ../shared/data
OUT ?= out
WORKERS ?= 2

VENV := .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
DOCS_READY := $(VENV)/.docs-ready
OLDEST := build/oldest

.DEFAULT_GOAL := help
.PHONY: help demo test quick test-oldest lint docs bench clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo "  Variables: PYTHON=$(PYTHON) DATA=$(DATA) OUT=$(OUT) WORKERS=$(WORKERS)"

demo: $(READY) ## few labels, many unlabelled rows: a table, and a picture in OUT
	@$(RUN) examples/demo.py $(OUT)

# Each worker has one thread of BLAS and OpenMP: together they have the cores.
test quick test-oldest: export OMP_NUM_THREADS ?= 1

test: $(READY) ## run all tests in WORKERS processes
	@$(RUN) -m pytest -q -n $(WORKERS) --dist worksteal

quick: $(READY) ## run the tests of single parts only, for the loop of a change
	@$(RUN) -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

test-oldest: $(OLDEST)/.ready ## run the same with the lowest versions that pyproject.toml names
	@$(OLDEST)/bin/python -m pytest -q -n $(WORKERS) --dist worksteal -m "not slow"

lint: $(READY) ## check style, format, types and spelling
	@$(RUN) -m ruff check
	@$(RUN) -m ruff format --check
	@$(RUN) -m mypy
	@$(RUN) -m codespell_lib

docs: $(DOCS_READY) ## build the guide and the API reference in build/docs
	@for script in examples/*.py; do $(RUN) $$script build/examples > /dev/null || exit 1; done
	@PYTHONPATH=. $(RUN) docs/paper_figures.py build/papers
	@$(RUN) tests/labelling_pictures.py docs/images
	@$(RUN) -m sphinx -q -W --keep-going docs build/docs
	@echo "Guide: build/docs/index.html"

bench: $(READY) ## run the benchmarks on the data sets in DATA
	@$(RUN) -m benchmarks all --data $(DATA)

clean: ## remove the environment, caches and everything built
	@rm -rf $(VENV) out build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@find src tests benchmarks papers examples docs -type d -name __pycache__ -prune -exec rm -rf {} +

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed, this is " \
		+ sys.version.split()[0] + "; try make PYTHON=python3.12" \
		if sys.version_info < (3, 11) else 0)'
	@echo "Setting up $(VENV) (once; takes a minute or two)"
	@$(PYTHON) -m venv $(VENV)
	@$(RUN) -m pip install -qq --upgrade "pip>=25.1"
	@$(RUN) -m pip install -qq --editable '.[all]' --group dev
	@touch $@

$(OLDEST)/.ready: pyproject.toml packaging/oldest.py
	@echo "Setting up $(OLDEST) (once; takes a minute or two)"
	@$(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install -qq --upgrade "pip>=25.1"
	@$(OLDEST)/bin/python packaging/oldest.py > $(OLDEST)/lowest.txt
	@$(OLDEST)/bin/python -m pip install -qq --constraint $(OLDEST)/lowest.txt --editable '.[all]' --group dev
	@touch $@

$(DOCS_READY): $(READY)
	@echo "Adding what the documentation needs to $(VENV) (once)"
	@$(RUN) -m pip install -qq --group docs
	@touch $@
