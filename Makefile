# Everything runs in .venv, which the first target makes and the others reuse.
# Paths are relative throughout, so a checkout may live in a folder with spaces.

# The Python that makes .venv; override with `make PYTHON=/path/to/python3.11 test`.
PYTHON ?= $(shell for p in python3.11 python3 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN := .venv/bin
READY := .venv/.ready

unexport PYTHONPATH PYTHONHOME
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Read by pip's own build steps too, which `-c` does not reach.
export PIP_CONSTRAINT := constraints.txt

# Spark needs Java 17 or newer: found, installed from Debian where that is possible, or explained.
JAVA = sh scripts/java.sh

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench soak clean uncompiled kernels

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-6s  %s\n", $$1, $$2 }' Makefile

demo: $(READY) ## real flights, live on Spark: exact, then a tenth of the memory and of the comparisons
	@$(JAVA) || { echo "Or without Spark: $(BIN)/bankfull demo --engine embedded" >&2; exit 1; }
	@$(BIN)/bankfull demo

test: $(READY) ## lint, then every test
	@$(JAVA)
	@$(MAKE) --no-print-directory -j3 -O lint uncompiled kernels
	@echo "tests, compiler on"
	@$(BIN)/python -m pytest -q -n 2 -m "not soak"

# Beside each other: each of the three leaves a core idle for a while.
uncompiled: $(READY)
	@echo "tests, compiler off"
	@NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -n 2 -m uncompiled \
		$$(grep -rl --include='test_*.py' 'mark\.uncompiled' tests)

kernels: $(READY)
	@echo "compiling kernels"
	@$(BIN)/python tests/compile_kernels.py

lint: $(READY) ## ruff, mypy and the layer law
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

bench: $(READY) ## measure the embedded runtime on this machine
	@$(BIN)/bankfull bench embedded

soak: $(READY) ## the tests again, with many more generated cases, and the long ones
	@HYPOTHESIS_PROFILE=soak $(BIN)/python -m pytest -q -n 2

clean: ## remove .venv and every cache
	@rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis build src/*.egg-info
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp holds the folder it was made in. An editable install remembers that folder, so a moved
# or copied checkout starts afresh rather than run the code it came from.
ifneq ($(shell cat $(READY) 2>/dev/null),$(CURDIR))
.PHONY: $(READY)
endif

$(READY): pyproject.toml constraints.txt
	@test -n "$(PYTHON)" && "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "bankfull needs Python 3.11 or newer, found: $(or $(PYTHON),none). Try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' || \
		{ echo "$(PYTHON) cannot make virtual environments: install its venv package (on Debian: python3-venv)" >&2; exit 1; }
	@test "$$(cat $@ 2>/dev/null)" = "$(CURDIR)" || \
		{ echo "making .venv (once)"; "$(PYTHON)" -m venv --clear .venv; }
	@echo "installing bankfull and its tools into .venv"
	@$(BIN)/python -m pip install -qq -c constraints.txt -e ".[dev]"
	@echo "$(CURDIR)" > $@
