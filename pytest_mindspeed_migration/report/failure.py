"""The text of a failed contract, as pytest shows it: findings with their places, and the way out. No traceback."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..evidence.record import owner_of, recheck_command
from ..evidence.redact import redact
from ..messages import finding_line, text

if TYPE_CHECKING:
    from ..catalogue import Contract
    from ..options import Options
    from ..outcomes import Verdict


def failure_text(verdict: Verdict, contract: Contract, target: str, options: Options) -> str:
    """Return the lines a failed contract is shown with."""
    lang = options.lang
    owner = owner_of(contract, verdict.findings)
    lines = [f"{contract.id}: {contract.title[lang]} [{contract.severity}, {text('report.owner', {}, lang)}: {owner}]"]
    lines += ["  " + finding_line(finding, lang) for finding in verdict.findings if finding.fails]
    notes = [finding for finding in verdict.findings if not finding.fails]
    lines += [f"  {text('report.note', {}, lang)}: {finding_line(note, lang)}" for note in notes]
    lines += [f"  {text('report.fix', {}, lang)}: {action}" for action in contract.fix[lang]]
    lines.append(f"  {text('report.recheck', {}, lang)}: {recheck_command(contract, target, options)}")
    return redact("\n".join(lines))
