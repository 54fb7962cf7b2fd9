"""Runs the tests of rendered suites without the machinery that only other tests need.

Such a test asks for the verdict on a contract that is judged from files: it prints nothing, has no fixtures to take
down and meets no warnings of its own. Its phases are reported as pytest reports them, without the hooks around each.
Whatever could tell the difference (plugins and conftests that take part in how tests run, a debugger, a test that
fails or that somebody has marked) gets the usual protocol, or the usual report.
"""

from __future__ import annotations

from functools import partial

import pytest

from .session import Session, migration_of
from .suite_items import SuiteFunction, SuiteModule, only_listens

_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_runtest_teardown",
    "pytest_runtest_makereport",
    "pytest_pyfunc_call",
    "pytest_exception_interact",
)
"""Hooks by which others take part in how a test runs; those that are told of it are called as ever."""
_OPTIONS = ("setupshow", "setuponly", "usepdb", "trace", "fulltrace")
"""Options of pytest that change what the phases of a test do, or show how they are run."""
_MARKS = frozenset(("skip", "skipif", "xfail"))


class SuiteProtocol:
    """Takes over the tests of rendered suites, as a plugin of one process."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._usual = any(session.config.getoption(name, False) for name in _OPTIONS)
        self._set_up: pytest.Collector | None = None  # of the last test that had the usual protocol
        self._unheard: dict[SuiteModule, bool] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
        """Run a test of a rendered suite, unless it needs the usual protocol.

        The last in a row of them gets the usual one, which also takes down what tests of others have left set up. One
        that got it leaves its module set up for the next, which gets it therefore, too.
        """
        if not isinstance(item, SuiteFunction) or not self._is_plain(item) or not isinstance(nextitem, SuiteFunction):
            self._set_up = item.parent
            return None
        hooks = item.ihook
        hooks.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        self._run(item)
        hooks.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _is_plain(self, item: SuiteFunction) -> bool:
        module = item.suite
        if self._usual or module is self._set_up or any(mark.name in _MARKS for mark in item.iter_markers()):
            return False
        if module not in self._unheard:
            self._unheard[module] = all(only_listens(module.ihook, name, (self, self._session)) for name in _HOOKS)
        return self._unheard[module]

    def _run(self, item: SuiteFunction) -> None:
        """The three phases of a test, each reported when it has ended."""
        log = item.ihook.pytest_runtest_logreport
        setup = pytest.TestReport.from_item_and_call(item, pytest.CallInfo.from_call(_nothing, "setup"))
        log(report=setup)
        judged = partial(self._session.outcome, item, item.suite.target, item.test.contract, item.test.stated)
        call = pytest.CallInfo.from_call(judged, "call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
        if call.excinfo is not None or call.result[0] == "failed":
            log(report=self._failed(item, call))
        else:
            report = _report(setup, item, call)
            if call.result[0] != "passed":
                report.outcome = "skipped"
            self._session.attach(item, report, item.suite.target)
            log(report=report)
        log(report=_report(setup, item, pytest.CallInfo.from_call(_nothing, "teardown")))

    def _failed(self, item: SuiteFunction, judged: pytest.CallInfo[tuple[str, str]]) -> pytest.TestReport:
        """The report of the test's own code, which fails with what has been judged already."""
        code = partial(item.obj, migration_of(item))
        call = pytest.CallInfo.from_call(code, "call", reraise=(pytest.exit.Exception, KeyboardInterrupt))
        call.start, call.duration = judged.start, judged.duration + call.duration
        report: pytest.TestReport = item.ihook.pytest_runtest_makereport(item=item, call=call)
        return report


def _nothing() -> None:
    """What setup and teardown of such a test do."""


def _report(like: pytest.TestReport, item: pytest.Item, call: pytest.CallInfo[object]) -> pytest.TestReport:
    """`TestReport.from_item_and_call` for a phase that raised nothing, from the report of another phase."""
    report = pytest.TestReport.__new__(pytest.TestReport)
    report.__dict__.update(like.__dict__, when=call.when, start=call.start, stop=call.stop, duration=call.duration)
    report.keywords, report.sections = dict(like.keywords), []
    report.user_properties = list(item.user_properties)
    return report
