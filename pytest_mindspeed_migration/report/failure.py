"""The text of a failed contract, as pytest shows it: findings with their places, and the way out. No traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..atomic import portable
from ..evidence.record import owner_of, recheck_command
from ..evidence.redact import redact
from ..messages import finding_line, text
from ..remedies import remedy_of
from .texts import labelled

if TYPE_CHECKING:
    from ..catalogue import Contract
    from ..options import Options
    from ..outcomes import Verdict


def failure_text(verdict: Verdict, contract: Contract, target: str, options: Options) -> str:
    """Return the lines a failed contract is shown with."""
    lang = options.lang
    owner = labelled("report.owner", text(f"owner.{owner_of(contract, verdict.findings)}", {}, lang), lang)
    values = {"contract": contract.id, "title": contract.title[lang], "severity": contract.severity, "owner": owner}
    lines = [text("report.failure_line", values, lang)]
    failing = [finding for finding in verdict.findings if finding.fails]
    fixes = [remedy_of(finding, contract, target, lang).fix for finding in failing]
    for finding, fix in zip(failing, fixes, strict=True):
        lines.append("  " + finding_line(finding, lang))
        lines += [f"    {labelled('report.fix', fix, lang)}"] if fix else []
    notes = [finding for finding in verdict.findings if not finding.fails]
    lines += [f"  {labelled('report.note', finding_line(note, lang), lang)}" for note in notes]
    if not all(fixes):
        lines += [f"  {labelled('report.fix', action, lang)}" for action in contract.fix[lang]]
    lines.append(f"  {labelled('report.recheck', recheck_command(contract, target, options), lang)}")
    return redact(str(portable("\n".join(lines))))
