# `make demo` and `make test` do all their own set-up, in .venv.

PYTHON ?= python3
# Tests start many processes: what one has compiled to bytecode, others load, whatever the environment says.
export PYTHONDONTWRITEBYTECODE :=
VENV := .venv
RUN := $(VENV)/bin/python -m
# Python compiles a module when it is first imported; most never are.
PIP_OPTIONS := --quiet --disable-pip-version-check --no-compile
INSTALL := $(RUN) pip install $(PIP_OPTIONS)
METADATA := pyproject.toml hatch_build.py thresholds/_version.py
# A worker that is done takes work from another, so that none waits for the last tests of a slow one.
WORKERS := -n auto --dist worksteal
READING_TESTS := tests/data/test_unknown.py  # those of Polars skip without it
CONSTRAINTS := tests/integrations/constraints.txt
OLDEST := .venv-oldest
OLDEST_TESTS := docs/inputs.md $(addprefix tests/,fitting/test_empirical.py rule/test_rule.py rule/test_rule_files.py \
	bad_inputs/test_arguments.py bad_inputs/test_files.py data/test_sparse_input.py project/test_oldest.py \
	sklearn/test_sklearn.py plots report) \
	$(addprefix tests/integrations/test_,libraries.py label_list_columns.py arrow_files.py bad_tables.py)

N ?= 20000
SEED ?= 1

.PHONY: help demo test style types cases soak test-without-compilation test-integrations test-engines test-oldest fuzz experiments clean

help:
	@echo "make demo   set up .venv, then show every rule and the platypus effect on embedded data"
	@echo "make test   set up .venv, then check style, types, import floors, and run the tests"
	@echo "make soak   every test there is, those of test-integrations included, and what make test leaves out"
	@echo "make test-without-compilation  every kernel, and fits of each kind, as Python: equal to the compiled ones"
	@echo "make test-integrations  set up .venv with PyTorch, JAX, Polars, Dask, ..., and run the tests that need them"
	@echo "make test-engines  set up .venv with Dask, Polars, DuckDB, Ray and Spark, and run the recipes of docs/scale.md"
	@echo "make test-oldest  set up .venv-oldest with the oldest versions stated, and run core tests (Python 3.11 or 3.12)"
	@echo "make fuzz   run N mutated files (20000) from a SEED (1) through every command: make fuzz N=1000 SEED=7"
	@echo "make experiments  run every claim of the paper, and write experiments/README.md; FILES and HEADINGS name scores"
	@echo "make clean  remove .venv, .venv-oldest and caches"

demo: $(VENV)/.installed
	$(RUN) thresholds demo

test: $(VENV)/.installed-test
	$(MAKE) --no-print-directory --jobs=3 style types cases

style:
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(VENV)/bin/lint-imports --no-logo

types:
	$(RUN) mypy

cases:
	$(RUN) pytest $(WORKERS) -q

soak: $(VENV)/.installed-integrations
	$(RUN) pytest $(WORKERS) -q --soak

test-without-compilation: $(VENV)/.installed-test
	NUMBA_DISABLE_JIT=1 $(RUN) pytest -q --soak tests/kernels/test_without_compilation.py

test-integrations: $(VENV)/.installed-integrations
	$(RUN) pytest $(WORKERS) -q tests/integrations $(READING_TESTS)
	$(RUN) pytest $(WORKERS) -q --slow -m slow tests

# Ray and Spark take longer to install, and to start, than all tests with Dask, Polars and DuckDB. Spark needs Java.
test-engines: $(VENV)/.installed-engines
	$(RUN) pytest -q --slow tests/integrations/test_engines.py tests/integrations/test_lazy.py

# Kernels in a folder of their own: Numba would replace those that the newest version compiled.
test-oldest: $(OLDEST)/.installed
	NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/kernels OMP_NUM_THREADS=1 \
		$(OLDEST)/bin/python -m pytest -q --doctest-glob='*.md' $(OLDEST_TESTS)

fuzz: $(VENV)/.installed-integrations
	$(RUN) tests.bad_inputs.fuzz $(N) $(SEED)

experiments: $(VENV)/.installed-experiments
	$(VENV)/bin/python experiments/paper/run_all.py --files $(FILES) --headings $(HEADINGS)

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV) \
		|| { echo "Python's venv module does not work; on Debian: apt install python3-venv"; exit 1; }
	@touch $@

$(VENV)/.installed: $(VENV)/.created $(METADATA)
	$(INSTALL) --editable .
	@touch $@

$(VENV)/.installed-test: $(VENV)/.created $(METADATA)
	$(INSTALL) --editable '.[test]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-integrations: $(VENV)/.created $(METADATA) $(CONSTRAINTS)
	$(INSTALL) --constraint $(CONSTRAINTS) --editable '.[test,integrations,engines]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

$(VENV)/.installed-engines: $(VENV)/.created $(METADATA)
	$(INSTALL) --editable '.[test,engines,clusters]'
	@touch $@ $(VENV)/.installed-test $(VENV)/.installed

$(VENV)/.installed-experiments: $(VENV)/.created $(METADATA)
	$(INSTALL) --editable '.[experiments]'
	@touch $@ $(VENV)/.installed

$(OLDEST)/.installed: $(METADATA) tests/oldest.txt
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))' \
		|| { echo "The oldest versions are for Python 3.11 or 3.12; name one with: make PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install $(PIP_OPTIONS) --requirement tests/oldest.txt --editable .
	@touch $@

clean:
	rm -rf $(VENV) $(OLDEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find thresholds tests -name __pycache__ -prune -exec rm -rf {} +
