"""One rank of a distributed run: the target's trainer as `__main__`, watched from a process that survives it.

The parent only waits and notes how the child ended: a rank that is killed or leaves through `os._exit` is seen too.
What ranks leave in the folder of the run: `pid-R`, `steps-R.jsonl` (what the trainer logs, on every rank),
`end-R.json` (how it ended, and when), `error-R.json` (the exception), `standins-R.json`, `stack-R.txt` (on request).
"""

from __future__ import annotations

import contextlib
import faulthandler
import inspect
import json
import os
import runpy
import signal
import sys
import time
from typing import Any

from .describe import describe, print_error
from .server import die_with_parent, leave


def main(path: str) -> int:
    """Run a rank; the exit code is the trainer's."""
    with open(path, encoding="utf-8") as stream:
        request = json.load(stream)
    rank = int(os.environ["RANK"])
    die_with_parent()
    child = os.fork()
    if not child:
        die_with_parent()
        code = 1
        try:
            code = _train(request, rank)
        finally:
            leave(code)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _: os.kill(child, got))
    while True:
        with contextlib.suppress(InterruptedError):
            _, status = os.waitpid(child, 0)
            break
    signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + (signalled or 0)
    _write(request["out"], f"end-{rank}.json", {"code": code, "signal": signalled, "time": time.time()})
    return code


def _train(request: dict[str, Any], rank: int) -> int:
    out = request["out"]
    _write(out, f"pid-{rank}", os.getpid())
    stack = open(os.path.join(out, f"stack-{rank}.txt"), "w", encoding="utf-8")  # noqa: SIM115  (open until the end)
    faulthandler.register(signal.SIGUSR1, file=stack, all_threads=True)
    os.chdir(request["repo"])
    used: list[str] = []
    try:
        if request["stand_ins"]:
            from .standins import group_when_needed, use_when_needed

            used = use_when_needed()
        trainer = request["trainer"]
        __import__(trainer[: -len(".py")].replace("/", "."))
        if request["stand_ins"]:
            used.extend(group_when_needed(trainer.split("/")[0]))
        _observe(trainer.split("/")[0], os.path.join(out, f"steps-{rank}.jsonl"))
        sys.argv = [trainer, request["config"]]
        runpy.run_path(os.path.join(request["repo"], trainer), run_name="__main__")
    except BaseException as error:
        if isinstance(error, SystemExit) and error.code in (0, None):
            return 0
        print_error()
        _write(out, f"error-{rank}.json", describe(error, request["repo"]))
        return error.code if isinstance(error, SystemExit) and isinstance(error.code, int) else 1
    finally:
        _write(out, f"standins-{rank}.json", used)
    return 0


def _observe(package: str, path: str) -> None:
    """Note on every rank what the trainer logs for a step: the framework prints it on the first rank alone."""
    classes: set[Any] = {
        value
        for name, module in list(sys.modules.items())
        if name.startswith(package + ".")
        for value in vars(module).values()
        if inspect.isclass(value) and "training_log" in vars(value)
    }
    for cls in classes:
        cls.training_log = _noting(cls.training_log, path)


def _noting(original: Any, path: str) -> Any:
    signature = inspect.signature(original)

    def training_log(self: Any, *args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):  # the observer never ends a run
            given = signature.bind(self, *args, **kwargs).arguments
            values = {name: _plain(value) for name, value in given.items() if name != "self"}
            with open(path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(values) + "\n")
        return original(self, *args, **kwargs)

    return training_log


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "full_tensor"):  # gathering a DTensor is a collective, which an observer must not start
        return None
    return float(value)


def _write(folder: str, name: str, value: Any) -> None:
    path = os.path.join(folder, name)
    with open(path + "+", "w", encoding="utf-8") as stream:
        json.dump(value, stream)
    os.replace(path + "+", path)
