"""Which interpreter a run uses for probes, in which environment, and whether it can judge at level cpu."""

from __future__ import annotations

import glob
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import UsageProblem
from ..messages import text
from .limits import Limits, default_memory
from .warm import Interpreter, last_words

if TYPE_CHECKING:
    from ..options import Options

TRAINER = "fsdp/train/trainer.py"
_ASK_SECONDS = 60
_ASK = (
    "import sys\n"
    "if sys.version_info < (3, 9): sys.exit(8)\n"
    "import importlib.util\n"
    "sys.exit(0 if importlib.util.find_spec('torch') else 9)"
)
_ANSWERS = {8: "probe.old_python", 9: "probe.without_torch"}

# What a run of one process without an accelerator needs; sources: the launch scripts of examples/, torch, transformers.
_FIXED = {
    "NON_MEGATRON": "true",
    "RANK": "0",
    "LOCAL_RANK": "0",
    "WORLD_SIZE": "1",
    "MASTER_ADDR": "localhost",
    "MASTER_PORT": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",  # a probe shows what is on this machine, and never waits for a download
    "HF_DATASETS_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
}
_WITHOUT_NPU = {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "CUDA_VISIBLE_DEVICES": ""}


def interpreter_of(options: Options, asked: dict[str, Any], repo: Path, package: str) -> Interpreter:
    """The interpreter that options and manifests name (default: the running one) and its environment.

    Args:
        options: what the user asked for.
        asked: `environment` of the manifests.
        repo: the checkout.
        package: of the framework, as a folder.
    """
    python = options.python or asked.get("python") or sys.executable
    folders = [str(repo), *map(str, options.pythonpath), *_listed(asked.get("pythonpath"))]
    shown = {
        **_FIXED,
        **({} if has_npu() else _WITHOUT_NPU),
        "PYTHONPATH": os.pathsep.join([*folders, *filter(None, [os.environ.get("PYTHONPATH")])]),
        **{str(name): _variable(value) for name, value in (asked.get("env") or {}).items()},
    }
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_", "VIRTUAL_ENV"))
    }
    boot = {
        "repo": str(repo),
        "modules": ["torch", "transformers", f"{package}/{TRAINER}"[: -len(".py")].replace("/", ".")],
    }
    return Interpreter(_resolved(str(python)), {**inherited, **shown}, shown, boot)


def reach(options: Options, interpreter: Interpreter | None) -> tuple[str, ...]:
    """The levels this run judges at.

    Raises:
        UsageProblem: when the level or the interpreter that was asked for by name is not available.
    """
    if options.level == "static":
        return ("static",)
    possible = interpreter is not None and hasattr(os, "fork")
    demanded = options.level in ("cpu", "npu") or (options.python is not None and possible)
    devices = has_npu() or options.device == "cpu"
    if options.level == "npu" and not devices:
        raise UsageProblem("usage.no_device")
    if not possible:
        if demanded:
            raise UsageProblem("usage.cpu_needs_repo")
        return ("static",)
    assert interpreter is not None
    problem = _torch_problem(interpreter, bool(options.pythonpath), options.lang)
    if problem is None:
        further = options.level == "npu" or (options.level == "auto" and has_npu())
        return ("static", "cpu", "npu") if further else ("static", "cpu")
    if demanded:
        raise UsageProblem("usage.no_torch", python=interpreter.python, problem=problem)
    return ("static",)


def limits_of(options: Options) -> Limits:
    """What one probe of this run may use."""
    return Limits(seconds=options.timeout, memory=default_memory())


def has_npu() -> bool:
    """Whether this machine has an Ascend device; source: the device files of the Ascend driver."""
    return bool(glob.glob("/dev/davinci[0-9]*"))


def _torch_problem(interpreter: Interpreter, more_folders: bool, lang: str) -> str | None:
    """Why the interpreter cannot run probes: it does not start, or has no torch. Whether torch loads, a probe tells."""
    if os.path.abspath(interpreter.python) == os.path.abspath(sys.executable) and not more_folders:
        return None if importlib.util.find_spec("torch") else text("probe.without_torch", {}, lang)
    try:
        done = subprocess.run(
            [interpreter.python, "-c", _ASK],
            env=interpreter.environment,
            capture_output=True,
            text=True,
            errors="backslashreplace",
            timeout=_ASK_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return text("probe.silent", {"seconds": _ASK_SECONDS}, lang)
    except (OSError, ValueError) as error:  # ValueError: a name or value that no environment can hold
        return str(error)
    if done.returncode == 0:
        return None
    if done.returncode in _ANSWERS:
        return text(_ANSWERS[done.returncode], {}, lang)
    return last_words(done.stderr or done.stdout) or text("cpu.how_exited", {"code": done.returncode}, lang)


def _resolved(python: str) -> str:
    """A name without a slash is looked up as a shell would; a link stays a link, since a venv is known by it."""
    found = shutil.which(os.path.expanduser(python))
    return os.path.abspath(found) if found else os.path.expanduser(python)


def _listed(value: Any) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else [str(item) for item in value]


def _variable(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
