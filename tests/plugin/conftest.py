"""Fixtures of the plugin's tests: a project to run in, and the ways a run can be distributed."""

from __future__ import annotations

import pytest
from plugin_project import Project


@pytest.fixture(autouse=True)
def _no_job_summary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs under test do not write into the summary of the CI job that runs the tests."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def project(pytester: pytest.Pytester) -> Project:
    """A folder with fake checks; call `facts()` before `run()`."""
    return Project(pytester)


@pytest.fixture(params=[("-p", "no:xdist"), ("-n0",), ("-n2",)], ids=["no-xdist", "n0", "n2"])
def mode(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """The ways a run can be distributed."""
    way: tuple[str, ...] = request.param
    if way != ("-p", "no:xdist"):
        pytest.importorskip("xdist")
    return way
