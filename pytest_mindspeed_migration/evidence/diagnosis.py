"""What broke in a probe that failed a contract: its exceptions and its log, read by triage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..facts.runtime import ProbeFacts, Raised, raised_from
from ..triage import read_text

if TYPE_CHECKING:
    from ..outcomes import Verdict
    from ..triage import Diagnosis, Dictionary

_DIRECT = "The above exception was the direct cause of the following exception:"
_MOST_ALTERNATIVES = 3
_ORDER = ("cause", "consequence", "unknown")
_UNKNOWN: dict[str, Any] = {
    "status": "unknown", "entry": None, "symptom": "", "cause": "", "owner": None, "stage": None, "confidence": "low",
    "seen": "", "rank": None, "fix": [], "could_be": [],
}  # fmt: skip


def diagnosis_of(verdict: Verdict, dictionary: Dictionary, lang: str) -> dict[str, Any] | None:
    """The diagnosis of a contract that failed because code of the target raised or ended; None for any other.

    A finding that is no exception says its cause itself. The exceptions that the contract judges are read first, since
    they are what failed it; the log of the probe is read when the dictionary knows none of them.

    Returns:
        Plain JSON with texts in `lang`. `status` is "unknown" when nothing fits, and then nothing is guessed.
    """
    if verdict.status != "failed" or verdict.level not in ("cpu", "npu"):
        return None
    texts = _texts(verdict)
    found = [one for text in texts if (one := read_text(text, dictionary)) is not None]
    if found:
        return _in_language(min(found, key=lambda one: _ORDER.index(one.status)), lang)
    ended = any(probe.outcome != "done" for probe in verdict.probes)
    return dict(_UNKNOWN) if ended or _raised(verdict) else None


def _in_language(found: Diagnosis, lang: str) -> dict[str, Any]:
    return {
        "status": found.status,
        "entry": found.entry,
        "symptom": found.symptom.get(lang, ""),
        "cause": found.cause.get(lang, ""),
        "owner": found.owner,
        "stage": found.stage if found.owner else None,
        "confidence": found.confidence,
        "seen": found.place.text.strip(),
        "rank": found.place.rank,
        "fix": list(found.fix.get(lang, ())),
        "could_be": [
            {
                "entry": other.entry,
                "owner": other.owner,
                "text": other.text.get(lang, ""),
                "if": other.tell.get(lang, ""),
            }
            for other in found.alternatives[:_MOST_ALTERNATIVES]
        ],
    }


def _texts(verdict: Verdict) -> list[str]:
    """What there is to read: the exceptions, and the logs of the probes that something is wrong with."""
    errors = {id(probe): _errors(probe, verdict.contract) for probe in verdict.probes}
    raised = ["\n".join(map(_traceback, found)) for found in errors.values() if found]
    logs = [
        probe.log
        for probe in verdict.probes
        if errors[id(probe)] or probe.outcome != "done" or any("ranks" in step.data for step in probe.steps.values())
    ]
    return [*raised, *filter(None, logs)]


def _raised(verdict: Verdict) -> bool:
    return any(_errors(probe, verdict.contract) for probe in verdict.probes)


def _errors(probe: ProbeFacts, contract: str) -> list[Raised]:
    """Exceptions of the steps that the contract judges, and those that ended ranks, the first to end first."""
    from ..checks.cpu.steps import OWNER

    steps = [step for step in probe.steps.values() if OWNER.get(step.name, contract) == contract]
    ranks = [rank for step in steps for rank in step.data.get("ranks") or [] if rank.get("error")]
    ranks.sort(key=lambda rank: (rank.get("end") or {}).get("time") or float("inf"))
    return [*(step.error for step in steps if step.error), *(raised_from(rank["error"]) for rank in ranks)]


def _traceback(error: Raised) -> str:
    """An exception as Python prints it, the root first."""
    chain = [error, *map(raised_from, error.chain)]
    return f"\n\n{_DIRECT}\n\n".join(_one(item) for item in reversed(chain))


def _one(error: Raised) -> str:
    frames = [f'  File "{f["file"]}", line {f["line"]}, in {f["function"]}' for f in error.frames]
    return "\n".join(["Traceback (most recent call last):", *frames, f"{error.type}: {error.message}"])
