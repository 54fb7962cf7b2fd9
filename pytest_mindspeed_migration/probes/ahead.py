"""Probes that run before a check asks for them: those of the target that is judged, then those of the one after it."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..checks.view import TargetView
    from ..facts.runtime import ProbeFacts
    from ..facts.target import TargetFacts

_AT_ONCE = 2  # probes: each computes with one thread and takes up to some GB
_END_SECONDS = 2
_TICK = 0.25  # seconds between looks at what else happens
_FIRST = ("environment", "plugins")
_OTHERS = ("data_errors", "model", "errors", "plugin_errors")  # all but the longest one, `batch`

Run = Callable[["TargetView", str], "ProbeFacts"]


class ProbesAhead:
    """Runs the probes of targets that most contracts are judged of.

    Args:
        run: runs a probe of a target.
        targets: those targets, in the order in which they are judged.
        view_of: the view of a target.
    """

    def __init__(self, run: Run, targets: Sequence[TargetFacts], view_of: Callable[[TargetFacts], TargetView]) -> None:
        self._run = run
        self._targets = list(targets)
        self._names = [target.name for target in targets]
        self._view_of = view_of
        self._begun: set[int] = set()
        self._futures: dict[tuple[str, str], Future[ProbeFacts]] = {}
        self._waiting: queue.SimpleQueue[tuple[TargetView, str] | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._ended = threading.Event()

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """The facts of a probe: of the one that runs ahead where there is one.

        Raises:
            Exception: whatever running it raises.
        """
        if view.target.name in self._names:
            self._reach(self._names.index(view.target.name))
        future = self._futures.get((view.target.name, probe))
        if future is None:
            return self._run(view, probe)
        while not wait([future], _TICK).done:  # Ctrl-C just before a wait without an end would not end it
            pass
        return future.result()

    def end(self, stop: Callable[[], None]) -> None:
        """Begin no more probes, and wait until what runs has ended.

        Args:
            stop: ends the interpreter, and so what runs.
        """
        self._ended.set()
        stop()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(_END_SECONDS)

    def _reach(self, place: int) -> None:
        """Have the probes of a target and of the one after it run."""
        if not self._begun:
            self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(_AT_ONCE)]
            for thread in self._threads:
                thread.start()
        for each in range(place, min(place + 2, len(self._targets))):
            if each not in self._begun:
                self._begun.add(each)
                self._begin(each, *_FIRST, "batch")
                self._begin(each + 1, *_FIRST)  # they are imported by the time its other probes begin
                self._begin(each, *_OTHERS)

    def _begin(self, place: int, *probes: str) -> None:
        if place == len(self._targets):
            return
        view = self._view_of(self._targets[place])
        for probe in probes:
            if (view.target.name, probe) not in self._futures:
                self._futures[view.target.name, probe] = Future()
                self._waiting.put((view, probe))

    def _work(self) -> None:
        while (waiting := self._waiting.get()) is not None and not self._ended.is_set():
            view, probe = waiting
            future = self._futures[view.target.name, probe]
            try:
                future.set_result(self._run(view, probe))
            except BaseException as error:  # raised again to the check that asks
                future.set_exception(error)
