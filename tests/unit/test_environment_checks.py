"""What `preflight.environment` says of interpreters that cannot run the target, on errors as they raised them."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_mindspeed_migration.checks.registry import judge
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.launch import DocFacts
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, StepFacts, raised_from
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.messages import finding_line

TRAINER = "mindspeed_mm.fsdp.train.trainer"
WRAPPER = (
    "Failed to load the backend extension: torch_npu. "
    "You can disable extension auto-loading with TORCH_DEVICE_BACKEND_AUTOLOAD=0."
)
SHARD = "mindspeed_mm/fsdp/ops/fully_shard/fully_shard.py"


def _error(kind: str, message: str, *chain: dict[str, Any], file: str = "torch/__init__.py") -> dict[str, Any]:
    frames = [{"file": file, "line": 7, "function": "<module>"}]
    return {"type": kind, "message": message, "frames": frames, "chain": list(chain)}


class Interpreter:
    """Answers for the probe `environment`."""

    def __init__(self, packages: dict[str, str], npu: dict[str, Any] | None = None, **imports: Any) -> None:
        pins = [{"package": "torch", "specifier": "==2.7.1", "file": "pyproject.toml", "line": 19}]
        found = {name: {"error": error, "seconds": 1.0} for name, error in imports.items()}
        self._steps = {
            "boot": StepFacts("boot", "ok", data={"imports": found}),
            "interpreter": StepFacts("interpreter", "ok", data={"packages": packages, "requirements": pins}),
        }
        if npu is not None:
            self._steps["torch_npu"] = StepFacts("torch_npu", "error", error=raised_from(npu))

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        assert probe == "environment"
        return ProbeFacts(probe, "done", dict(self._steps))


def _lines(interpreter: Interpreter, **asked: str) -> list[str]:
    doc = DocFacts("examples/x/README.md", requirements=asked, requirement_lines=dict.fromkeys(asked, 3))
    target = TargetFacts("x", "examples/x/x.yaml", docs=[doc.path])
    view = TargetView(StaticFacts(docs={doc.path: doc}), target, probes=interpreter)
    return [finding_line(finding) for finding in judge("preflight.environment", view, "cpu")]


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("libhccl.so: cannot open shared object file: No such file or directory", "libhccl.so"),
        ("/x/libtorch_npu.so: undefined symbol: _ZNK3c1010TensorImpl20is_contiguous_customE", "_ZNK3c1010TensorImpl"),
    ],
    ids=["no CANN", "another build"],
)
def test_a_backend_that_does_not_load_is_explained_by_its_cause_and_not_by_the_wrapper(cause: str, said: str) -> None:
    wrapped = _error("RuntimeError", WRAPPER, _error("ImportError", cause))
    (line,) = _lines(Interpreter({"torch": "2.7.1"}, torch=wrapped))
    assert said in line
    assert "You can disable extension auto-loading" not in line


def test_a_backend_of_another_torch_is_named_with_the_pair() -> None:
    npu = _error("ImportError", "/x/libtorch_npu.so: undefined symbol: _ZN3c10")
    pair, cause = _lines(Interpreter({"torch": "2.7.1+cpu", "torch-npu": "2.6.0"}, npu, torch=None))
    assert "value: 2.6.0" in pair
    assert "expected: 2.7.1" in pair
    assert "undefined symbol" in cause


def test_a_framework_written_for_another_torch_names_what_is_gone_and_the_version_it_asks_for() -> None:
    message = "cannot import name 'compiled_autograd_enabled' from 'torch.distributed.fsdp._fully_shard._fsdp_common'"
    error = _error("ImportError", message, file=SHARD)
    gone, _ = _lines(Interpreter({"torch": "2.13.0"}, torch=None, **{TRAINER: error}))
    assert gone.startswith(f"{SHARD}:7")
    assert "compiled_autograd_enabled" in gone
    assert "value: 2.13.0" in gone
    assert "torch==2.7.1 (pyproject.toml:19)" in gone


@pytest.mark.parametrize(
    ("have", "asked", "severity"),
    [
        ("5.2.0", "==5.2.0", None),
        ("4.57.1", "==4.57.0", "note"),
        ("4.57.1", "==5.2.0", "error"),
        ("5.3.0", "@7a833d1", None),
    ],
)
def test_the_targets_own_documents_decide_on_the_version(have: str, asked: str, severity: str | None) -> None:
    doc = DocFacts("README.md", requirements={"transformers": asked}, requirement_lines={"transformers": 3})
    target = TargetFacts("x", "x.yaml", docs=[doc.path])
    view = TargetView(StaticFacts(docs={doc.path: doc}), target, probes=Interpreter({"transformers": have}, torch=None))
    found = judge("preflight.environment", view, "cpu")
    assert [finding.severity for finding in found] == ([] if severity is None else [severity])
