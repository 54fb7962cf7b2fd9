"""What a distributed run of the trainer proves: verdicts that hold for the rehearsal and for the run on devices."""

from __future__ import annotations

import math
import re
import signal
from collections.abc import Iterator

from ...facts.training import RankSeen, StepSeen, TrainingSeen
from ...findings import Finding
from .steps import finding_of, last_line

_AGREE = 1e-3
"""Relative difference of an averaged loss between ranks that rounding explains."""

_CONSTANT_STEPS = 3
_RAISED = re.compile(r"^(?P<text>[A-Za-z_][\w.]*(?:Error|Exception|Timeout): .+)$", re.MULTILINE)
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')

# What a rank says when another one is gone; sources: gloo, HCCL and torch.distributed.
_PEER_GONE = re.compile(
    r"Connection (?:closed|reset)|closed by (?:the )?(?:remote )?peer|Broken pipe|EI0006|ChildFailedError"
    r"|Socket Timeout|connectFullMesh|Timed out waiting \d+ms|HCCL.*(?:remote|timeout)|called asynchronously",
    re.IGNORECASE,
)


def verdict_of(run: TrainingSeen, package: str) -> list[Finding]:
    """Findings about a run: what ended it first, and what is wrong with the steps it made."""
    if run.stopped == "output":
        return [Finding("training.output")]
    if run.stopped is None and run.exit_code and not any(rank.began for rank in run.ranks):
        return [_not_started(run)]
    first = first_to_end(run)
    if first is not None:
        return [_ended(run, first)]
    if run.stopped == "hang":
        return list(_hang(run, package))
    return [*_steps_made(run), *(list(_values(run)) or _ranks_differ(run))]


def first_to_end(run: TrainingSeen) -> RankSeen | None:
    """The rank whose end explains that of the others; None when all of them made their steps and left well."""
    over = run.ranks if run.stopped is None else [rank for rank in run.ranks if rank.ended is not None]
    ends = [rank for rank in over if rank.code != 0 or (run.observed and len(rank.steps) < run.expected)]
    if run.stopped is None and all(rank.code == 0 and len(rank.steps) == _most(run) for rank in run.ranks):
        return None  # they agreed on where to end; that there were too few steps is said of the run
    causes = [rank for rank in ends if not _consequence(rank)]
    ordered = sorted(causes or ends, key=lambda rank: rank.ended if rank.ended is not None else math.inf)
    return ordered[0] if ordered else None


def _most(run: TrainingSeen) -> int:
    return max((len(rank.steps) for rank in run.ranks), default=0)


def _consequence(rank: RankSeen) -> bool:
    """Whether a rank ended because another one did, or because torchrun told it to."""
    if rank.signal == signal.SIGTERM or (rank.code is None and rank.signal is None):
        return True
    return rank.error is not None and any(
        _PEER_GONE.search(text) for text in (rank.error.message, *(str(item["message"]) for item in rank.error.chain))
    )


def _not_started(run: TrainingSeen) -> Finding:
    """torchrun ended before any rank: by the first exception it printed, which the others were raised from."""
    raised = _RAISED.search(run.launcher)
    text = raised["text"].strip() if raised else last_line(run.launcher) or "?"
    return Finding("training.not_started", {"code": run.exit_code, "text": text})


def _ended(run: TrainingSeen, rank: RankSeen) -> Finding:
    args: dict[str, object] = {"rank": rank.rank, "step": len(rank.steps), "expected": run.expected}
    if rank.error is not None:
        cause = finding_of(rank.error, f"rank {rank.rank}")
        how = {"key": cause.message, "args": {**cause.args, "value": cause.value}}
        return Finding("training.raised", {**args, "how": how}, path=cause.path, line=cause.line)
    if rank.signal is not None:
        return Finding("training.signalled", {**args, "signal": rank.signal})
    if rank.code == 0:
        return Finding("training.left_early", args)
    return Finding("training.exited", {**args, "code": rank.code if rank.code is not None else "?"})


def _hang(run: TrainingSeen, package: str) -> Iterator[Finding]:
    """Where each rank stands: the innermost line of the target's code, and of torch below it."""
    for rank in run.ranks:
        frames = list(_FRAME.finditer(rank.stack))
        own = [frame for frame in frames if f"/{package}/" in frame["file"]]
        path = own[0]["file"].partition(f"/{package}/")[2] if own else None
        args = {
            "rank": rank.rank,
            "step": len(rank.steps),
            "seconds": round(run.step_seconds),
            "where": frames[0]["function"] if frames else "?",
        }
        place = f"{package}/{path}" if path is not None else None
        yield Finding("training.hang", args, path=place, line=int(own[0]["line"]) if own else None)


def _steps_made(run: TrainingSeen) -> Iterator[Finding]:
    made = len(run.steps)
    if made == 0:
        yield Finding("training.no_step", {"expected": run.expected})
    elif made < run.expected:
        yield Finding("training.too_few", {"step": made, "expected": run.expected})


def _values(run: TrainingSeen) -> Iterator[Finding]:
    steps = run.steps
    losses = [step.loss for step in steps if step.loss is not None]
    if steps and not losses:
        yield Finding("training.no_loss")
        return
    for name, read in (("loss", _loss), ("grad norm", _grad_norm)):
        bad = [step for step in steps if (value := read(step)) is not None and not math.isfinite(value)]
        if bad:
            args = {"name": name, "step": bad[0].iteration}
            yield Finding("training.not_finite", args, value=str(read(bad[0])))
            return
    if losses and all(loss == 0 for loss in losses):
        yield Finding("training.zero", value="0.0")
    norms = [step.grad_norm for step in steps if step.grad_norm is not None]
    if len(losses) >= _CONSTANT_STEPS and len(set(losses)) == 1 and losses[0] != 0 and len(set(norms)) <= 1:
        # in bf16 a loss may look the same for some steps while its gradients differ
        yield Finding("training.constant", {"steps": len(losses)}, value=str(losses[0]))
    if norms and all(norm == 0 for norm in norms):
        yield Finding("training.no_gradient", value="0.0")


def _ranks_differ(run: TrainingSeen) -> Iterator[Finding]:
    """The framework averages the loss over ranks and norms gradients over all: each rank has the same number."""
    by_rank = {rank.rank: {step.iteration: step for step in rank.steps} for rank in run.ranks}
    first = by_rank.pop(0, {})
    for rank, steps in by_rank.items():
        for iteration, step in steps.items():
            other = first.get(iteration)
            if other is None:
                continue
            for name, read in (("loss", _loss), ("grad norm", _grad_norm)):
                one, two = read(other), read(step)
                if one is not None and two is not None and not math.isclose(one, two, rel_tol=_AGREE, abs_tol=1e-6):
                    args = {"name": name, "step": iteration, "rank": rank}
                    yield Finding("training.ranks_differ", args, value=f"{two:.6g}", expected=f"{one:.6g}")
                    return


def _loss(step: StepSeen) -> float | None:
    return step.loss


def _grad_norm(step: StepSeen) -> float | None:
    return step.grad_norm
