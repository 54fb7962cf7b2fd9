"""Whatever a YAML holds, each contract comes to an outcome: no value breaks a check or gets into a generated suite."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mindspeed_migration.catalogue import load_catalogue
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.manifests import Manifests
from pytest_mindspeed_migration.outcomes import Judge
from pytest_mindspeed_migration.scan import assets, static
from pytest_mindspeed_migration.scan.targets import Discovery, link_targets
from pytest_mindspeed_migration.scan.yaml_tree import parse_text
from pytest_mindspeed_migration.suite import render

CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
ESCAPE = '"); import os; os.system("x"); ("'
READ_AS_NAMES = (
    "training.plugin",
    "model.model_id",
    "data.dataset_param.dataset_type",
    "data.dataset_param.basic_parameters.dataset",
    "parallel.fsdp_plan.apply_modules",
    "features.recompute_plan.apply_modules",
)
ODD = (
    [None, 3, {}, [], "..", "/", "", "a\nb", "\0", "{"],
    [{"apply_modules": ["{9-1}", "(", None]}],
    {"a": {"b": [1]}},
    10**400,
    float("inf"),
    "",
    ESCAPE,
    "'''\n\"\"\"{{ 7 }}{% raw %} %s {0} \\",
    "\x1b[31m\u202e\u2028\ud83d",
    "*" * 3000,
    "{\u00b2-\u00b3}",
    "layers." + "9" * 5000,
)


@pytest.fixture(scope="module")
def facts() -> StaticFacts:
    return static.scan(Path(demo_repo()))


def _paths(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in entries:
        yield from _paths(item, (*path, key))


def _with(data: Any, path: tuple[str | int, ...], value: Any) -> Any:
    data = copy.deepcopy(data)
    node = data
    for part in path[:-1]:
        node = node[part]
    node[path[-1]] = value
    return data


def _views(facts: StaticFacts, data: Any) -> list[TargetView]:
    config = ConfigFacts(CONFIG, data)
    parse_text(yaml.safe_dump(data, sort_keys=False), config)
    config.data = data  # an export may hold what YAML cannot
    found = Discovery(configs={CONFIG: config}, scripts=facts.scripts, docs=facts.docs)
    changed = replace(facts, configs=found.configs, targets=link_targets(found), assets={})
    assets.attach(changed, Path(demo_repo()), Manifests())
    return [TargetView(changed, target) for target in [*changed.targets, TargetFacts(FRAMEWORK, None)]]


def _broken(facts: StaticFacts, data: Any) -> list[str]:
    """The last line of the traceback of each check that broke."""
    found = []
    for view in _views(facts, data):
        judge = Judge(load_catalogue(), view, ("static",))
        verdicts = [judge.verdict(contract.id) for contract in load_catalogue().contracts]
        found += [verdict.trace.splitlines()[-1] for verdict in verdicts if verdict.trace]
        called = {
            ast.unparse(n.func) for n in ast.walk(ast.parse(render(view, load_catalogue()))) if isinstance(n, ast.Call)
        }
        assert called <= {"migration.verify", "pytest.mark.migration_target"}
    return found


@pytest.fixture(scope="module")
def data() -> Any:
    return yaml.safe_load((Path(demo_repo()) / CONFIG).read_text(encoding="utf-8"))


@pytest.mark.parametrize("value", ODD, ids=[str(number) for number in range(len(ODD))])
@pytest.mark.parametrize("path", READ_AS_NAMES)
def test_no_value_in_the_place_of_a_name_or_a_plan_breaks_a_check(
    facts: StaticFacts, data: Any, path: str, value: Any
) -> None:
    assert _broken(facts, _with(data, tuple(path.split(".")), value)) == []


@pytest.mark.parametrize("value", [None, [{"a": None}], {"a": [1]}, 3], ids=["null", "list", "mapping", "number"])
def test_no_section_breaks_a_check_when_it_is_something_else(facts: StaticFacts, data: Any, value: Any) -> None:
    sections = [path for path in _paths(data) if len(path) <= 2 or path[-1] == "apply_modules"]
    assert len(sections) > 30
    assert {str(path): broken for path in sections if (broken := _broken(facts, _with(data, path, value)))} == {}
