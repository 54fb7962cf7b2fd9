"""A framework of a few lines whose trainer does what a test wants: probes run on it without torch."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_mindspeed_migration.facts.runtime import ProbeFacts
from pytest_mindspeed_migration.probes.client import run_probe
from pytest_mindspeed_migration.probes.limits import Limits
from pytest_mindspeed_migration.probes.warm import Interpreter, WarmInterpreter

TRAINER = """
import sys
from mindspeed_mm.fsdp.utils.register import import_plugin

class Arguments:
    def __init__(self, path):
        self.training = type("Training", (), {"plugin": PLUGINS})()

class Trainer:
    def __init__(self, args):
        raise SystemExit("a probe must not start the training")
    def get_model(self): ...
    def train(self): ...

PLUGINS = []

if __name__ == "__main__":
    args = Arguments(sys.argv[1])
    # FAULT
    Trainer(args=args).train()
"""

REGISTER = """
import importlib, pkgutil

class Register:
    def __init__(self):
        self._registry = {}
    def register(self, name):
        return lambda found: self._registry.setdefault(name, found)

model_register = Register()

def import_plugin(names):
    for name in names:
        try:
            package = importlib.import_module(name.replace("/", "."))
        except ModuleNotFoundError as error:
            print(error)
            continue
        for _, module, is_package in pkgutil.walk_packages(getattr(package, "__path__", []), package.__name__ + "."):
            if not is_package:
                importlib.import_module(module)
"""


class FakeRepo:
    """A checkout with that framework, and a warm interpreter of this Python for it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("mindspeed_mm/fsdp/train/trainer.py", TRAINER)
        self.write("mindspeed_mm/fsdp/utils/register.py", REGISTER)
        self.write("examples/x/x.yaml", "model: {}\n")

    def write(self, path: str, text: str) -> None:
        """Write a file of the checkout."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def fault(self, code: str, plugins: tuple[str, ...] = ()) -> None:
        """Make the trainer's start-up code run `code` after it has its arguments."""
        text = TRAINER.replace("PLUGINS = []", f"PLUGINS = {list(plugins)!r}").replace("# FAULT", code)
        self.write("mindspeed_mm/fsdp/train/trainer.py", text)

    @contextmanager
    def interpreter(self, modules: tuple[str, ...] = ("mindspeed_mm.fsdp.train.trainer",)) -> Iterator[Runner]:
        """A warm interpreter that has imported `modules`."""
        environment = {**os.environ, "PYTHONPATH": str(self.root)}
        boot = {"repo": str(self.root), "modules": list(modules)}
        warm = WarmInterpreter(Interpreter(sys.executable, environment, {"PYTHONPATH": str(self.root)}, boot))
        warm.start()
        try:
            yield Runner(self, warm, boot)
        finally:
            warm.stop()


class Runner:
    """Runs probes in a warm interpreter."""

    def __init__(self, repo: FakeRepo, warm: WarmInterpreter, boot: dict[str, Any]) -> None:
        self.warm = warm
        self._repo = repo
        self._boot = boot

    def request(self, probe: str = "plugins") -> dict[str, Any]:
        """What a run asks of a probe."""
        return {
            "probe": probe,
            "repo": str(self._repo.root),
            "config": "examples/x/x.yaml",
            "boot": self._boot,
            "file": f"x/probes/{probe}.json",
            "log": str(self.warm.folder / f"{probe}.log"),
        }

    def run(
        self, probe: str = "plugins", seconds: float = 30, memory: int = 1 << 40, output: int = 1 << 30
    ) -> ProbeFacts:
        """Run a probe within limits."""
        interpreter = self.warm._interpreter
        limits = Limits(seconds, memory, output)
        return run_probe(self.request(probe), self.warm.address, interpreter, limits, self.warm.log_path, "out")
