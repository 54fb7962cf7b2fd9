"""The checklist at the end of a run: what is to be done next, and how to check it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..evidence.collector import folder_name
from ..facts.target import FRAMEWORK
from ..messages import text
from .files import REPORT
from .texts import (
    counts,
    diagnosis_line,
    finding_cause,
    first_line,
    joined,
    labelled,
    routing_line,
    since_lines,
    since_title,
)

if TYPE_CHECKING:
    from ..catalogue import Catalogue
    from ..evidence.document import TargetResult
    from ..options import Options

FEW_TARGETS = 3
"""Up to so many targets are shown in full; more get a line each, with what failed."""
_SHOWN = {True: 5, False: 2}  # findings of one contract, in full and in short


def write_checklist(
    reporter: Any, results: Sequence[TargetResult], catalogue: Catalogue, options: Options, notes: Sequence[str]
) -> None:
    """Write the section through pytest's terminal reporter."""
    lang = options.lang
    reporter.section(text("report.checklist", {}, lang))
    for note in notes:
        reporter.write_line(note, yellow=True)
    real = [result for result in results if result.target.name != FRAMEWORK]
    full = len(real) <= FEW_TARGETS
    if not full:
        width = max(len(result.target.name) for result in results)
        for result in real:
            line = f"{result.target.name.ljust(width)}  {text('report.counts', counts(result.records), lang)}"
            reporter.write_line(line, red=_fails(result))
            for kind, contracts in result.since.news.items() if result.since is not None else ():
                reporter.write_line(f"  {labelled(f'since.{kind}', ', '.join(contracts), lang)}")
        reporter.write_line("")
    for result in results:
        if full or _fails(result):
            _write_target(reporter, result, catalogue, options, full)
    reporter.write_line(text("report.written", {"path": _report_path(results, options)}, lang))


def _write_target(reporter: Any, result: TargetResult, catalogue: Catalogue, options: Options, full: bool) -> None:
    lang = options.lang
    reporter.write_line(joined(result.target.name, first_line(result, lang), lang), bold=True)
    for record in result.records:
        if record["status"] in ("failed", "unproven"):
            for line in _lines(record, catalogue, lang, full):
                reporter.write_line(line)
    if full:
        for line in [*_blocked(result.records, lang), *_notes(result.records, lang)]:
            reporter.write_line(f"  {line}")
        reporter.write_line(f"  {text('report.counts', counts(result.records), lang)}")
        for line in _not_run(result.records, lang):
            reporter.write_line(f"  {line}")
        if result.since is not None:
            reporter.write_line(f"  {since_title(result.since, lang)}")
            for line in since_lines(result.since, lang):
                reporter.write_line(f"    {line}")


def _lines(record: dict[str, Any], catalogue: Catalogue, lang: str, full: bool) -> Iterator[str]:
    status = text(f"status.{record['status']}", {}, lang)
    contract = catalogue.by_id[record["id"]]
    owner = text(f"owner.{record['owner']}", {}, lang)
    values = {"status": status, "contract": record["id"], "severity": record["severity"], "owner": owner}
    yield f"  {text('report.contract_line', {**values, 'text': record['reason'] or contract.title[lang]}, lang)}"
    errors = [item for item in record["findings"] if item["severity"] == "error"]
    for item in errors[: _SHOWN[full]]:
        yield f"      {item['line_text']}"
    if len(errors) > _SHOWN[full]:
        yield f"      {_more(len(errors) - _SHOWN[full], record['target'], lang)}"
    yield from (f"      {line}" for line in _cause(record, lang))
    for action in record["fix_actions"] if full else ():
        yield f"      {labelled('report.next', action, lang)}"
    yield f"      {labelled('report.recheck', record['recheck_command'], lang)}"


def _cause(record: dict[str, Any], lang: str) -> Iterator[str]:
    """What triage or the first error says is behind it, and the stage it goes to where not the contract's own."""
    if "diagnosis" in record:
        yield labelled("diagnosis.root_cause", diagnosis_line(record["diagnosis"], lang), lang)
    elif (cause := finding_cause(record)) is not None:
        yield labelled("diagnosis.root_cause", cause, lang)
    if record["routing"]["stage"] != record["owner"]:
        yield labelled("routing.to", routing_line(record, lang), lang)


def _blocked(records: Sequence[dict[str, Any]], lang: str) -> Iterator[str]:
    """One line for all that the same failures hold up: of a chain of blocked contracts, the failures it starts from."""
    blocked_by = {record["id"]: record["blocked_by"] for record in records if record["status"] == "blocked"}

    def causes(contract: str) -> dict[str, None]:
        if contract not in blocked_by:
            return {contract: None}
        return {cause: None for blocker in blocked_by[contract] for cause in causes(blocker)}

    held_up: dict[tuple[str, ...], list[str]] = {}
    for contract in blocked_by:
        held_up.setdefault(tuple(causes(contract)), []).append(contract)
    for blockers, contracts in held_up.items():
        values = {"count": len(contracts), "blockers": ", ".join(blockers), "contracts": ", ".join(contracts)}
        yield f"[{text('status.blocked', {}, lang)}] {text('report.blocked_line', values, lang)}"


def _notes(records: Sequence[dict[str, Any]], lang: str) -> Iterator[str]:
    """The first note of each contract, and how many more it has: the report has them all."""
    for record in records:
        notes = [item["line_text"] for item in record["findings"] if item["severity"] == "note"]
        if notes:
            more = text("report.and_more", {"count": len(notes) - 1}, lang) if notes[1:] else ""
            yield f"[{text('report.note', {}, lang)}] {record['id']}: {notes[0]}{more}"


def _not_run(records: Sequence[dict[str, Any]], lang: str) -> Iterator[str]:
    """What this installation cannot judge, by name; what was only not selected (a recheck with -k), as a number."""
    not_selected = text("outcome.not_selected", {}, lang)
    not_run = [record for record in records if record["status"] == "not_run"]
    named = [record["id"] for record in not_run if record["reason"] != not_selected]
    if named:
        yield text("report.not_run_line", {"count": len(named), "contracts": ", ".join(named)}, lang)
    if len(named) < len(not_run):
        yield text("report.not_selected_line", {"count": len(not_run) - len(named)}, lang)


def _more(count: int, target: str, lang: str) -> str:
    return text("report.more", {"count": count, "path": f"{folder_name(target)}/{REPORT}"}, lang)


def _fails(result: TargetResult) -> bool:
    return any(record["status"] in ("failed", "unproven") for record in result.records)


def _report_path(results: Sequence[TargetResult], options: Options) -> str:
    if len(results) == 1:
        return str(options.out / folder_name(results[0].target.name) / REPORT)
    return str(options.out / "*" / REPORT)
