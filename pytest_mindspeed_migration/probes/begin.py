"""Starts what a pytest run needs to run code of the target: levels, interpreter, and where its facts go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import target_repo
from ..errors import UsageProblem
from ..facts.target import RepoFacts
from ..messages import text

if TYPE_CHECKING:
    from ..options import Options
    from .run import ProbeRun
    from .warm import WarmInterpreter


@dataclass(frozen=True)
class Begun:
    """The levels of a run; with level cpu also the interpreter, which imports in the background, and its probes."""

    levels: tuple[str, ...]
    warm: WarmInterpreter | None = None
    run: ProbeRun | None = None


def begin(options: Options, base: Path, collect_only: bool) -> Begun:
    """Decide how far this run goes, and start the interpreter for probes: it imports while the repo is read.

    Args:
        options: what the user asked for.
        base: folder that pytest was started in.
        collect_only: whether no contract is going to be judged.

    Raises:
        UsageProblem: when the level or the interpreter asked for is not available.
    """
    repo = None if options.facts is not None else target_repo.repo_path(options)
    if options.level == "static":
        return Begun(("static",))
    from . import settings  # what a run at level static need not import

    if repo is None:
        return Begun(settings.reach(options, None))
    repo = repo.resolve()  # as Python and the system name its files: what is in the checkout is known by its path
    asked = target_repo.manifests_of(options).environment()
    interpreter = settings.interpreter_of(options, asked, repo, RepoFacts().package)
    levels = settings.reach(options, interpreter)
    if levels == ("static",) or collect_only:
        return Begun(levels)
    from .run import ProbeRun
    from .training_request import Training
    from .warm import InterpreterError, WarmInterpreter

    try:
        warm = WarmInterpreter(interpreter)
    except OSError as error:
        raise UsageProblem("usage.cannot_write", path=error.filename or "TMPDIR", error=error.strerror) from error
    try:
        warm.start()
    except InterpreterError as error:
        warm.stop()
        problem = error.said or text("cpu.how_exited", {"code": error.code}, options.lang)
        raise UsageProblem("usage.no_torch", python=interpreter.python, problem=problem) from error
    except BaseException:
        warm.stop()
        raise
    run = ProbeRun(
        interpreter=interpreter,
        limits=settings.limits_of(options),
        folder=warm.folder,
        address=warm.address,
        repo=repo,
        evidence=_shown(options.out, base),
        assets_base=base,
        training=Training(options.nproc, options.steps, options.device, options.timeout),
        lang=options.lang,
    )
    return Begun(levels, warm, run)


def _shown(path: Path, base: Path) -> str:
    """A path as it may be typed in `base`: relative where that is shorter."""
    return path.relative_to(base).as_posix() if base in path.parents else str(path)
