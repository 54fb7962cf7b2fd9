"""From the steps of probes to facts, findings, and the contract that judges a step."""

from __future__ import annotations

from typing import Any

from ...facts.runtime import ProbeFacts, Raised, StepFacts
from ...findings import Finding
from ..registry import Blocked, NothingAtAll
from ..view import TargetView

OWNER = {
    "boot": "preflight.environment",
    "config": "config.parse",
    "plugins": "model.imports",
    "model.build": "model.build",
    "model.modules": "config.apply_modules",
    "shrink": "model.build",
    "rows": "data.sample_schema",
    "trainer": "model.from_pretrained",
    "from_pretrained": "model.from_pretrained",
    "dataset": "data.fields",
    "loader": "data.collate",
    "samples": "data.fields",
    "batches": "data.collate",
    "forward": "model.forward_loss",
    "sound": "data.fields",
}
"""The contract that judges a step's failure: whatever comes after it in the same probe is blocked by that one."""


def data_of(view: TargetView, probe: str, step: str) -> dict[str, Any]:
    """The facts of a step that another contract judges.

    Raises:
        Blocked: when the step failed, or the probe ended before or in it.
        NothingToJudge: when that was for want of the model folder.
    """
    found = view.probe(probe)
    facts = found.steps.get(step)
    if facts is None or facts.status != "ok":
        raise _stopped(view, found)
    return facts.data


def judged_step(view: TargetView, probe: str, step: str) -> StepFacts:
    """The step that the calling contract itself judges; its `status` is "ok", "error", or "open" when it was not left.

    Raises:
        Blocked: when the probe did not come to it.
        NothingToJudge: when it failed, or what comes before it did, for want of the model folder.
    """
    found = view.probe(probe)
    if step not in found.steps:
        raise _stopped(view, found)
    need_folder(view, found.steps[step].error)
    return found.steps[step]


def need_folder(view: TargetView, error: Raised | None) -> None:
    """Go on unless an exception names the target's model folder, and that is not on this machine.

    Raises:
        NothingToJudge: the target may be right or wrong; only its folder tells.
    """
    path = view.absent_model_folder
    texts = [] if error is None else [error.message, *(str(one.get("message")) for one in error.chain)]
    if path is not None and any(path.removeprefix("./") in text for text in texts):
        raise NothingAtAll("cpu.no_model_folder", path=path)


def failure(view: TargetView, probe: str, step: StepFacts, what: str) -> list[Finding]:
    """Findings for a step that did not end well; none for one that did.

    Args:
        view: the target.
        probe: whose step it is.
        step: the step.
        what: what the step does, as the sentence names it: code such as `ModelHub.build`.
    """
    if step.status == "ok":
        return []
    if step.error is None:
        return [ended(view.probe(probe), what)]
    return [finding_of(step.error, what)]


def finding_of(error: Raised, what: str) -> Finding:
    """The finding for an exception of the target: its root cause, and the last line of the target's own code."""
    path, line = place_of(error)
    root = error.root
    if root.missing is not None and not _is_own(root.missing):
        args = {"what": what, "package": root.missing.split(".")[0]}
        return Finding("cpu.package_missing", args, path=path, line=line, value=root.missing)
    args = {"what": what, "error": error.type, "text": first_line(error.message)}
    if root is error or (root.type, root.message) == (error.type, error.message):
        return Finding("cpu.raised", args, path=path, line=line)
    return Finding(
        "cpu.raised_from", {**args, "root": root.type, "root_text": first_line(root.message)}, path=path, line=line
    )


def place_of(error: Raised) -> tuple[str | None, int | None]:
    """File and line of the last frame in the target repo, of the root cause where it has one."""
    for frames in (error.root.frames, error.frames):
        own = [frame for frame in frames if _is_own(frame["file"].replace("/", "."))]
        if own:
            return own[-1]["file"], own[-1]["line"]
    return None, None


def ended(probe: ProbeFacts, what: str) -> Finding:
    """The finding for a probe that ended in a step instead of after it."""
    how = {
        "exited": ("cpu.how_exited", {"code": probe.exit_code}),
        "signalled": ("cpu.how_signalled", {"signal": probe.signal}),
        "timeout": ("cpu.how_timeout", {"seconds": round(probe.duration)}),
    }.get(probe.outcome, (f"cpu.how_{probe.outcome}", {}))
    words = last_line(probe.log) if probe.outcome == "interpreter" else None
    return Finding("cpu.ended", {"what": what, "how": {"key": how[0], "args": how[1]}}, value=words)


def first_line(text: str) -> str:
    """The first line of a message that says something; of one that begins with a module's repr, its end as well."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith("("):
        return f"{lines[0]}... {lines[-1]}"
    return lines[0] if lines else text.strip()


def last_line(text: str) -> str | None:
    """The last line of a log that says something."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), None)


def _stopped(view: TargetView, probe: ProbeFacts) -> Blocked:
    """What blocks a contract whose step the probe did not come to: the last step that failed, or in which it ended.

    Raises:
        NothingToJudge: see `need_folder`.
    """
    stopped = [facts for facts in probe.steps.values() if facts.status != "ok" and facts.name in OWNER]
    if not stopped:
        return Blocked(OWNER["boot"])
    need_folder(view, stopped[-1].error)
    return Blocked(OWNER[stopped[-1].name])


def _is_own(dotted: str) -> bool:
    return dotted.split(".")[0] == "mindspeed_mm"
