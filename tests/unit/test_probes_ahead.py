"""Probes that run ahead: of which targets, in which order, and what the check that asks gets."""

from __future__ import annotations

import threading
import time

import pytest

from pytest_mindspeed_migration.checks.registry import NothingToJudge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.probes.ahead import ProbesAhead

TARGETS = [TargetFacts(name, f"{name}.yaml") for name in "abcd"]


def _view(target: TargetFacts) -> TargetView:
    return TargetView(StaticFacts(), target)


class Runs:
    """Stands for what runs probes; keeps which were begun, and how many ran beside each other."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.most = 0
        self._running = 0
        self._lock = threading.Lock()

    def __call__(self, view: TargetView, probe: str) -> ProbeFacts:
        with self._lock:
            self.begun.append(f"{view.target.name}/{probe}")
            self._running += 1
            self.most = max(self.most, self._running)
        time.sleep(0.002)
        with self._lock:
            self._running -= 1
        if probe == "batch":
            raise NothingToJudge("cpu.no_model_path")
        return ProbeFacts(f"{view.target.name}/{probe}", "done")

    def wait(self, count: int) -> list[str]:
        """What was begun, once so many were."""
        for _ in range(2000):
            if len(self.begun) >= count and not self._running:
                break
            time.sleep(0.001)
        return self.begun


@pytest.fixture
def runs() -> Runs:
    return Runs()


def test_the_probes_of_a_target_and_of_the_one_after_it_run_each_once(runs: Runs) -> None:
    ahead = ProbesAhead(runs, TARGETS, _view)
    assert ahead.facts(_view(TARGETS[1]), "plugins").probe == "b/plugins"
    begun = runs.wait(16)
    time.sleep(0.01)
    assert sorted(begun) == sorted(
        [f"{name}/{probe}" for name in "bc" for probe in ("batch", "data_errors", "model", "errors", "plugin_errors")]
        + [f"{name}/{probe}" for name in "bcd" for probe in ("environment", "plugins")]
    )
    assert begun.index("b/plugins") < begun.index("b/batch") < begun.index("c/plugins") < begun.index("b/errors")
    assert ahead.facts(_view(TARGETS[2]), "model").probe == "c/model"
    assert len(runs.wait(21)) == len(set(begun)) == 21  # now those of the last one as well
    assert runs.most == 2


def test_a_check_gets_what_running_ahead_raised_each_time_it_asks(runs: Runs) -> None:
    ahead = ProbesAhead(runs, TARGETS[:1], _view)
    for _ in range(2):
        with pytest.raises(NothingToJudge) as raised:
            ahead.facts(_view(TARGETS[0]), "batch")
        assert raised.value.key == "cpu.no_model_path"
    assert runs.begun.count("a/batch") == 1


def test_a_target_of_which_little_is_judged_runs_what_is_asked_for_and_no_more(runs: Runs) -> None:
    ahead = ProbesAhead(runs, TARGETS[:2], _view)
    assert ahead.facts(_view(TARGETS[3]), "model").probe == "d/model"
    time.sleep(0.01)
    assert runs.begun == ["d/model"]
    assert ahead.facts(_view(TARGETS[0]), "rehearsal").probe == "a/rehearsal"  # runs in the thread that asks


def test_at_the_end_nothing_more_begins_and_what_runs_has_ended() -> None:
    stopped, begun, ended = threading.Event(), threading.Semaphore(0), []

    def run(view: TargetView, probe: str) -> ProbeFacts:
        begun.release()
        stopped.wait(10)  # as one that runs until its interpreter has ended
        time.sleep(0.02)
        ended.append(probe)
        return ProbeFacts(probe, "done")

    ahead = ProbesAhead(run, TARGETS, _view)
    asking = threading.Thread(target=ahead.facts, args=(_view(TARGETS[0]), "environment"))
    asking.start()
    assert begun.acquire(timeout=5)
    assert begun.acquire(timeout=5)
    ahead.end(stopped.set)
    assert sorted(ended) == ["environment", "plugins"]
    asking.join(5)
    time.sleep(0.05)
    assert len(ended) == 2
