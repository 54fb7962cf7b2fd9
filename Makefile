# make demo   judge the built-in demo migration
# make test   run the test suite
# make lint   ruff and mypy
# Each works on a fresh machine with python3 (3.10 or newer) and installs what it needs into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test lint clean

demo: .venv/.plugin
	$(BIN)/pytest --migrate-target=internvl3_5 --migrate-repo=demo -rfE

test: .venv/.dev
	$(BIN)/pytest $(ARGS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv build dist migration-report .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv/.plugin: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

.venv/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ .venv/.plugin
