"""Who is told what when a wrong config ends in an error that does not name the mistake."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from runtime_facts import Shown, said

import pytest_mindspeed_migration
from pytest_mindspeed_migration.checks.registry import NothingToJudge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.findings import Finding

INSIDE = Path(pytest_mindspeed_migration.__file__).parent / "probes" / "inside"
sys.path.insert(0, str(INSIDE))
from migration_probe.warned import warned  # noqa: E402

PATH = "model.model_name_or_path"
WRONG = "/no_such/folder"
PLUGIN = "mindspeed_mm/fsdp/models/qwen3omni/modeling_qwen3_omni_moe.py"
HUB = {"file": "mindspeed_mm/fsdp/models/modelhub.py", "line": 124}


class Given(Shown):
    """A target to which one of the probes gives a mistake; the other one has none to give."""

    idle = "plugin_errors"

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        """What a check asks for."""
        if probe == self.idle:
            raise NothingToJudge("cpu.no_config")
        return super().facts(view, probe)


def _judged(text: str, idle: str = "plugin_errors", **more: Any) -> list[Finding]:
    shown = Given("qwen3_omni_moe")
    shown.idle = idle
    frame = {"file": PLUGIN, "line": 2012, "function": "overwrite"}
    error = {"type": "AttributeError", "message": text, "frames": [frame], "chain": []}
    case = {"name": "model_path", "overrides": {PATH: WRONG}, "until": "model", "wrong": WRONG}
    plugins = {"name": "plugins", "status": "ok", "data": {"entries": [], "after": {}}}
    step = {"case": case, "result": {"value": {"error": error, "hidden": [], "warned": [], **more}}}
    shown.steps = {"plugins": plugins, "model_path": {"name": "model_path", "status": "ok", "data": step}}
    return shown.judge("verify.bad_config_errors")


def test_an_error_of_the_plugin_that_does_not_name_the_mistake_fails() -> None:
    found = _judged("no attribute 'thinker_config'")
    assert said(found) == [("error", "bad_config.unclear", PATH)]
    assert found[0].path == PLUGIN


def test_mistakes_are_judged_whichever_probe_gives_them() -> None:
    assert said(_judged("no attribute", idle="errors")) == [("error", "bad_config.unclear", PATH)]


def test_an_error_that_names_the_mistake_passes() -> None:
    assert _judged(f"{WRONG} is no folder") == []


def test_what_the_framework_only_warned_of_is_its_matter() -> None:
    found = _judged(
        "no attribute 'thinker_config'", warned=[{"text": f"failed for '{WRONG}'; falling back", "by": HUB}]
    )
    assert said(found) == [("note", "bad_config.warned", PATH)]
    assert found[0].where == "mindspeed_mm/fsdp/models/modelhub.py:124"


def test_warnings_of_the_target_are_kept_with_their_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "hub_that_warns.py").write_text(
        "import logging\n\n"
        "def build(say):\n    logging.info('loading')\n    say(logging.warning, 'failed for %s', '/no')\n",
        encoding="utf-8",
    )
    import hub_that_warns  # type: ignore[import-not-found]

    factory = logging.getLogRecordFactory()
    with warned(str(tmp_path)) as kept:
        logging.getLogger("other").warning("not from the target")
        hub_that_warns.build(lambda log, *args: log(*args))
    assert kept == [{"text": "failed for /no", "by": {"file": "hub_that_warns.py", "line": 5}}]
    assert logging.getLogRecordFactory() is factory
