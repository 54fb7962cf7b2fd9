"""From contracts and facts to outcomes: what passed, what failed, what could not be judged and why."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Literal

from .findings import Finding

if TYPE_CHECKING:
    from .catalogue import Catalogue, Contract
    from .checks.view import TargetView
    from .facts.runtime import ProbeFacts
    from .probes.run import TargetProbes

MAX_FINDINGS = 500
"""Findings of one contract that are kept: errors come first, and nobody works through more."""

Status = Literal["passed", "failed", "blocked", "not_run", "unproven"]


@dataclass(frozen=True)
class Reason:
    """Why a contract was not judged: a text of the message catalogue and its values."""

    key: str
    values: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """The outcome of one contract on one target, with how and when it was reached."""

    contract: str
    status: Status
    findings: tuple[Finding, ...] = ()
    reason: Reason | None = None
    blocked_by: tuple[str, ...] = ()
    level: str | None = None  # where it was judged; None when it was not
    started: str | None = None
    duration: float = 0.0
    trace: str | None = None  # traceback of a check that broke
    probes: tuple[ProbeFacts, ...] = ()  # what it was judged by, at a level that runs code
    details: dict[str, Any] | None = None  # what the report shows beside it


class Judge:
    """Judges the contracts of one target, prerequisites first and each once.

    Judging is a pure function of facts and cheap, so a process that runs one contract judges its prerequisites itself:
    outcomes do not depend on the order of tests or on what another worker saw. Each probe runs once in a run.
    """

    def __init__(
        self, catalogue: Catalogue, view: TargetView, levels: Sequence[str], probes: TargetProbes | None = None
    ) -> None:
        self._contracts = catalogue.by_id
        self._view = replace(view, probes=probes, judged=self.verdict)
        self._probes = probes
        self._levels = levels
        self._subject = "framework" if view.is_framework else "target"
        self._verdicts: dict[str, Verdict] = {}

    def verdict(self, contract_id: str) -> Verdict:
        """The outcome of a contract; KeyError for an id the catalogue does not have."""
        if contract_id not in self._verdicts:
            self._verdicts[contract_id] = self._judge(self._contracts[contract_id])
        return self._verdicts[contract_id]

    def know(self, verdicts: Mapping[str, Verdict]) -> None:
        """Take outcomes, by contract, that were reached elsewhere from the same facts."""
        self._verdicts.update(verdicts)

    def compare(self, contract_id: str, stated: Mapping[str, Any]) -> Verdict:
        """The outcome of a contract in a suite that states facts literally: facts that changed since fail it."""
        verdict = self.verdict(contract_id)
        if not stated or verdict.status not in ("passed", "failed"):
            return verdict
        moved = moved_facts(facts_stated(self._view), stated)
        if not moved:
            return verdict
        return Verdict(
            contract=contract_id,
            status="failed",
            findings=(*moved, *verdict.findings),
            level=verdict.level,
            started=verdict.started,
            duration=verdict.duration,
            trace=verdict.trace,
        )

    def _judge(self, contract: Contract) -> Verdict:
        from .checks import registry

        if self._subject not in contract.subjects:
            return Verdict(contract.id, "not_run", reason=Reason("outcome.other_subject"))
        reached = [level for level in contract.levels if level in self._levels]
        if not reached:
            values = {"levels": ", ".join(contract.levels), "reached": self._levels[-1]}
            return Verdict(contract.id, "not_run", reason=Reason("outcome.level", values))
        levels = [level for level in reached if registry.checks_of(contract.id, level)]
        if not levels:
            return Verdict(contract.id, "not_run", reason=Reason("outcome.no_check", {"levels": ", ".join(reached)}))
        if blockers := self._blockers(contract):
            return _blocked(contract.id, blockers)
        verdict = self._run(contract.id, levels[0])
        for level in levels[1:]:
            if verdict.status == "failed":
                break
            verdict = _further(verdict, self._run(contract.id, level), level)
        return verdict

    def _blockers(self, contract: Contract) -> tuple[str, ...]:
        if self._view.is_framework:  # a contract covers many plugins there: one that fails says nothing of the others
            required = [name for name in contract.requires if name.startswith("preflight.")]
        else:
            required = list(contract.requires)
        blockers = [name for name in required if self.verdict(name).status != "passed"]
        unread = self._view.config is None or self._view.config.data is None
        if "config" in contract.needs and unread and not self._view.is_framework and "config.parse" not in blockers:
            blockers.append("config.parse")
        return tuple(blockers)

    def _run(self, contract_id: str, level: str) -> Verdict:
        from .checks import registry

        started = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        clock = time.perf_counter()
        trace = None
        if self._probes is not None:
            self._probes.looked_at.clear()
        try:
            findings = tuple(registry.judge(contract_id, self._view, level))
        except registry.NothingToJudge as idle:
            return Verdict(contract_id, "not_run", reason=Reason(idle.key, idle.values))
        except registry.Blocked as blocked:
            return _blocked(contract_id, blocked.contracts)
        except OSError as error:  # checks are pure: it is the folder of this run that cannot be used
            trace = traceback.format_exc()
            findings = (Finding("outcome.system_error", {"error": str(error)}),)
        except Exception as error:  # a broken check is that contract's failure, not the run's
            trace = traceback.format_exc()
            findings = (Finding("outcome.internal_error", {"error": f"{type(error).__name__}: {error}"}),)
        failed = any(finding.fails for finding in findings)
        if len(findings) > MAX_FINDINGS:
            more = Finding("outcome.more_findings", {"count": len(findings) - MAX_FINDINGS}, severity="note")
            findings = (*findings[:MAX_FINDINGS], more)
        return Verdict(
            contract=contract_id,
            status="failed" if failed else "passed",
            findings=findings,
            level=level,
            started=started,
            duration=time.perf_counter() - clock,
            trace=trace,
            probes=tuple(self._probes.looked_at) if self._probes is not None else (),
            details=registry.details_of(contract_id, self._view) if level != "static" and trace is None else None,
        )


def _blocked(contract: str, blockers: tuple[str, ...]) -> Verdict:
    reason = Reason("outcome.blocked", {"contracts": ", ".join(blockers)})
    return Verdict(contract, "blocked", reason=reason, blocked_by=blockers)


def _further(lower: Verdict, higher: Verdict, level: str) -> Verdict:
    """One verdict of two levels: the higher one counts; where it says nothing, the lower one stands, and says why."""
    if lower.level is None:
        return higher
    from .checks.registry import superseded

    old = superseded(lower.contract) if higher.level is not None else frozenset()
    said = [replace(item, severity="note") for item in higher.findings]
    notes = tuple(item for item in lower.findings if item not in said and item.message not in old)
    if higher.level is None:
        assert higher.reason is not None
        key = "outcome.blocked_at_level" if higher.status == "blocked" else higher.reason.key
        why = Finding(key, {**higher.reason.values, "level": level}, severity="note")
        return replace(lower, findings=(*lower.findings, why))
    return replace(higher, findings=(*higher.findings, *notes), duration=lower.duration + higher.duration)


def facts_stated(view: TargetView) -> dict[str, Any]:
    """The facts of a target that generated tests write down literally."""
    config = view.config
    return {
        "config": view.target.config,
        "model_id": plain(config.get("model.model_id")) if config else None,
        "dataset_type": plain(config.get("data.dataset_param.dataset_type")) if config else None,
        "plugins": list(view.plugins),
        "scripts": list(view.target.scripts),
        "apply_modules": plain(config.get("parallel.fsdp_plan.apply_modules")) if config else None,
    }


def moved_facts(now: Mapping[str, Any], stated: Mapping[str, Any]) -> list[Finding]:
    """Findings for stated facts that are not what the target says now (`facts_stated`)."""
    return [
        Finding(
            "suite.fact_moved",
            {"fact": name},
            path=now["config"],
            value=str(now.get(name)),
            expected=str(value),
        )
        for name, value in stated.items()
        if now.get(name) != value
    ]


def plain(value: Any) -> Any:
    """A YAML value as something that can be written as a Python literal and compared."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return str(value)
