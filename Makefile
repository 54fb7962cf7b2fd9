# make demo   judge the built-in demo migration
# make test   run the test suite; TORCH= leaves out what needs torch
# make lint   ruff and mypy
# Each works on a fresh machine with python3 (3.10 or newer) and installs what it needs into .venv.

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# The interpreter that stands for the target's in the tests of level cpu.
TORCH ?= torch==2.13.0
TARGET := .venv-target/bin/python
TARGET_PACKAGES := $(TORCH) transformers accelerate pydantic pillow pyyaml numpy coverage

.PHONY: demo test lint clean

demo: .venv/.plugin
	$(BIN)/pytest --migrate-target=internvl3_5 --migrate-repo=demo -rfE

test: .venv/.dev $(if $(TORCH),.venv-target/.installed)
	$(if $(TORCH),MIGRATE_DEMO_PYTHON=$(CURDIR)/$(TARGET)) $(BIN)/pytest $(ARGS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv .venv-target build dist migration-report .pytest_cache .mypy_cache .ruff_cache

$(BIN)/python:
	$(PYTHON) -m venv .venv

.venv-target/.installed: Makefile
	$(PYTHON) -m venv .venv-target
	$(TARGET) -m pip install --quiet --disable-pip-version-check $(TARGET_PACKAGES)
	@touch $@

.venv/.plugin: pyproject.toml | $(BIN)/python
	$(PIP) --editable .
	@touch $@

.venv/.dev: pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]'
	@touch $@ .venv/.plugin
