"""The checklist at the end of a run: what is to be done next, and how to check it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..checks.view import FRAMEWORK
from ..evidence.collector import folder_name
from ..messages import text
from .files import REPORT
from .texts import counts, first_line

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
        reporter.write_line("")
    for result in results:
        if full or _fails(result):
            _write_target(reporter, result, catalogue, options, full)
    reporter.write_line(text("report.written", {"path": _report_path(results, options)}, lang))


def _write_target(reporter: Any, result: TargetResult, catalogue: Catalogue, options: Options, full: bool) -> None:
    lang = options.lang
    reporter.write_line(f"{result.target.name}: {first_line(result, lang)}", bold=True)
    not_run = []
    for record in result.records:
        if record["status"] == "not_run":
            not_run.append(record["id"])
        elif record["status"] != "passed" and (full or record["status"] != "blocked"):
            for line in _lines(record, catalogue, lang, full):
                reporter.write_line(line)
    if full:
        reporter.write_line(f"  {text('report.counts', counts(result.records), lang)}")
        if not_run:
            values = {"count": len(not_run), "contracts": ", ".join(not_run)}
            reporter.write_line(f"  {text('report.not_run_line', values, lang)}")


def _lines(record: dict[str, Any], catalogue: Catalogue, lang: str, full: bool) -> Iterator[str]:
    status = text(f"status.{record['status']}", {}, lang)
    contract = catalogue.by_id[record["id"]]
    owner = text(f"owner.{record['owner']}", {}, lang)
    yield f"  [{status}] {record['id']} ({record['severity']}, {owner}): {record['reason'] or contract.title[lang]}"
    errors = [item for item in record["findings"] if item["severity"] == "error"]
    for item in errors[: _SHOWN[full]]:
        yield f"      {item['line_text']}"
    if len(errors) > _SHOWN[full]:
        path = f"{folder_name(record['target'])}/{REPORT}"
        yield f"      {text('report.more', {'count': len(errors) - _SHOWN[full], 'path': path}, lang)}"
    if record["fix_actions"] and full:
        yield f"      {text('report.next', {}, lang)}: {record['fix_actions'][0]}"
    if record["status"] in ("failed", "unproven"):
        yield f"      {text('report.recheck', {}, lang)}: {record['recheck_command']}"


def _fails(result: TargetResult) -> bool:
    return any(record["status"] in ("failed", "unproven") for record in result.records)


def _report_path(results: Sequence[TargetResult], options: Options) -> str:
    if len(results) == 1:
        return str(options.out / folder_name(results[0].target.name) / REPORT)
    return str(options.out / "*" / REPORT)
