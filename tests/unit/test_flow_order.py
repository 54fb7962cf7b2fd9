"""The same checkout gives the same facts in every run, whatever order sets come in."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import pytest_mindspeed_migration
from pytest_mindspeed_migration import helper
from pytest_mindspeed_migration.analysis.index import Ref
from pytest_mindspeed_migration.facts.codec import to_json
from pytest_mindspeed_migration.facts.flow import FlowFacts
from pytest_mindspeed_migration.scan.flow.ahead import FlowAhead
from pytest_mindspeed_migration.scan.flow.state import State
from pytest_mindspeed_migration.scan.flow.values import Instance, Mapping, Node
from pytest_mindspeed_migration.scan.static import scan

DEMO = Path(pytest_mindspeed_migration.__file__).parent / "demo" / "repo"
EXPORT = """
import sys
from pathlib import Path
from pytest_mindspeed_migration.scan.static import scan
print(scan(Path(sys.argv[1])).flow)
"""


def test_flow_facts_do_not_depend_on_the_order_of_sets() -> None:
    printed = set[str]()
    for seed in ("0", "1", "2"):
        command = [sys.executable, "-c", EXPORT, str(DEMO)]
        done = subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True)
        assert "reads=[KeyRead(" in done.stdout, done.stderr
        printed.add(done.stdout)
    assert len(printed) == 1


@pytest.mark.parametrize("forks", [True, False])
def test_flow_facts_that_are_waited_for_are_those_of_a_scan_that_waits_for_all(
    forks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(helper, "_can_fork", lambda: forks and hasattr(os, "fork"))
    names = ["internvl3_5"]
    here, ahead = scan(DEMO, names), scan(DEMO, names, alone=False)
    assert isinstance(ahead.flow, FlowAhead)
    assert ahead.flow.works is (forks and hasattr(os, "fork"))
    assert to_json(ahead) == to_json(here)
    assert ahead == here


def test_who_was_handed_an_object_looks_again_when_it_comes_to_hold_configuration() -> None:
    state, reader, cls = State(), Ref("function", "load", "load"), Ref("class", "state", "ModelState")
    handed = frozenset([Mapping("load.py:1:0")])
    state.put(Mapping("load.py:1:0"), "model", frozenset([Instance(cls)]))
    assert not state.carries(handed, reader)
    state.set_attribute(cls, "config", frozenset([Node("model")]))
    assert state.next() == reader
    assert state.carries(handed, reader)
    assert state.carriers == [cls]


def test_who_has_looked_into_a_mapping_looks_again_when_it_gets_another_key() -> None:
    state, reader = State(), Ref("function", "load", "load")
    assert state.entries(Mapping("load.py:1:0"), reader) == {}
    state.put(Mapping("load.py:1:0"), "model", frozenset([Node("model")]))
    assert state.next() == reader
    assert state.entries(Mapping("load.py:1:0"), reader) == {"model": frozenset([Node("model")])}


def test_objects_that_hold_each_other_are_followed_to_an_end() -> None:
    state, first, second = State(), Ref("class", "a", "A"), Ref("class", "b", "B")
    state.set_attribute(first, "other", frozenset([Instance(second)]))
    state.set_attribute(second, "other", frozenset([Instance(first)]))
    assert not state.carries(frozenset([Instance(first)]), None)


def test_threads_that_wait_for_flow_facts_together_all_get_them() -> None:
    def compute() -> FlowFacts:
        time.sleep(0.2)
        return FlowFacts(untyped={"key": {"x.py": 1}})

    flow, seen = FlowAhead(compute), list[object]()
    threads = [threading.Thread(target=lambda: seen.append(flow.untyped)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert seen == [{"key": {"x.py": 1}}] * 4
