"""A helper changes nothing but the time: results, their order and failures are those of one process."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from pytest_mindspeed_migration import helper
from pytest_mindspeed_migration.helper import END, Helper

RESULTS = ["a", {"many": "x" * 3_000_000}, None, ("b", 2)]


@pytest.fixture(params=["alone", "helped"])
def alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "helped":
        if not hasattr(os, "fork"):
            pytest.skip("no fork here")
        monkeypatch.setattr(helper, "_can_fork", lambda: True)
    return bool(request.param == "alone")


def test_results_arrive_in_order_and_end(alone: bool) -> None:
    work = Helper(lambda: iter(RESULTS), alone)
    assert work.works is not alone
    assert [work.take() for _ in RESULTS] == RESULTS
    assert work.take() is END
    assert work.take() is END
    assert not work.works


@pytest.mark.parametrize("end", [lambda: os._exit(3), lambda: 1 / 0], ids=["killed", "raises"])
def test_what_a_dying_helper_has_not_done_is_done_here(monkeypatch: pytest.MonkeyPatch, end: Any) -> None:
    monkeypatch.setattr(helper, "_can_fork", lambda: True)
    here = os.getpid()

    def job() -> Iterator[int]:
        for number in range(4):
            if number == 2 and os.getpid() != here:
                end()
            yield number

    work = Helper(job)
    assert [work.take() for _ in range(5)] == [0, 1, 2, 3, END]


def test_finish_does_what_comes_after_the_last_result(alone: bool, tmp_path: Any) -> None:
    def job() -> Iterator[int]:
        yield 1
        yield 2
        (tmp_path / "done").touch()

    work = Helper(job, alone)
    assert work.take() == 1
    work.finish()
    assert (tmp_path / "done").exists()


def test_a_closed_helper_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(helper, "_can_fork", lambda: True)

    def job() -> Iterator[int]:
        while True:
            yield 1

    work = Helper(job)
    process = work._process
    work.close()
    work.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
