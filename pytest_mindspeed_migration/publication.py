"""Writes what a run says: evidence, reports and artifacts of each target, and the files over all of them.

Files that are there already, as they would be written, stay.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .evidence.document import TargetResult, publish
from .evidence.since import previous, unchanged
from .facts.target import FRAMEWORK, TargetFacts
from .report.files import EVIDENCE, FAILED, OVERVIEW, REPORT, write_overview, write_reports
from .target_repo import ALL, facts_of

if TYPE_CHECKING:
    from .controller import Controller
    from .evidence.collector import Collector

_ALL_TARGETS = "*"  # in place of a target's name, for the files over all targets


class Publication:
    """The files of one run."""

    def __init__(self, run: Controller, collector: Collector, asked: Sequence[str], cache: Path) -> None:
        """Prepare to write.

        Args:
            run: whose results these are.
            collector: has the records, and knows the folders.
            asked: the targets as they were asked for: artifacts are written of those that were named.
            cache: where facts are kept between runs.
        """
        self._run, self._collector, self._cache = run, collector, cache
        self._named = ALL not in asked
        self._before: dict[str, Mapping[str, Any] | None] = {}  # the evidence of the run before, of each target
        self._written: dict[str, tuple[Sequence[dict[str, Any]], TargetResult]] = {}
        self._digests: dict[str, str] = {}

    def target(self, target: TargetFacts, records: Sequence[dict[str, Any]]) -> TargetResult:
        """Write the files of a target, unless these records have been written already. Raises OSError."""
        written = self._written.get(target.name)
        if written is None or written[0] != records:
            written = self._written[target.name] = (records, self._write(target, records))
        self._collector.close(target.name)
        return written[1]

    def _write(self, target: TargetFacts, records: Sequence[dict[str, Any]]) -> TargetResult:
        run, folder = self._run, self._collector.folder(target.name)
        made = (target, run.repo, records, run.catalogue, run.notes, run.options)
        result = TargetResult.of(*made)
        digest = result.digest()
        self._digests[target.name] = digest
        if run.memory is not None and run.memory.is_published(target.name, digest, folder):
            result = replace(result, since=unchanged(records))
        else:
            if target.name not in self._before:
                self._before[target.name] = previous(folder / EVIDENCE, target.name)
            result = TargetResult.of(*made, before=self._before[target.name])
            publish(result, folder)
            write_reports(result, folder, run.catalogue, run.options)
            artifacts = self._write_artifacts(result, folder)
            if run.memory is not None:
                run.memory.keep_published(target.name, digest, folder, (EVIDENCE, REPORT, FAILED, *artifacts))
        return result

    def overview(self, results: Sequence[TargetResult]) -> None:
        """Write the files over all targets, when there are several. Raises OSError."""
        run, inputs = self._run, " ".join(self._digests[result.target.name] for result in results)
        if len(results) < 2 or (run.memory is not None and run.memory.is_published(_ALL_TARGETS, inputs, run.out)):
            return
        write_overview(results, run.out, run.options)
        if run.memory is not None:
            run.memory.keep_published(_ALL_TARGETS, inputs, run.out, OVERVIEW)

    def for_ci(self, results: Sequence[TargetResult]) -> None:
        """Write what CI systems show: SARIF where it was asked for, and the job's summary. Raises OSError."""
        run = self._run
        if run.options.sarif is not None:
            from .report.sarif import write_sarif

            write_sarif(results, run.catalogue, run.options.lang, run.options.sarif)
        summary = os.environ.get("GITHUB_STEP_SUMMARY")
        if summary and results:
            from .report.job_summary import append_summary

            append_summary(results, run.options.lang, Path(summary))

    def _write_artifacts(self, result: TargetResult, folder: Path) -> Sequence[str]:
        """Write the artifacts of a target that was named, else remove those of an earlier run; their names."""
        from .artifacts.names import ARTIFACTS

        run, target = self._run, result.target
        if not self._named or target.name == FRAMEWORK:
            for name in ARTIFACTS:  # never beside the evidence of another run
                (folder / name).unlink(missing_ok=True)
            return ARTIFACTS
        from .artifacts.material import Material
        from .artifacts.write import write_artifacts

        view = run.view(target)
        material = Material(
            result,
            view,
            run.catalogue,
            run.options.lang,
            read=lambda names: facts_of(run.options, names, self._cache),
            source_folder=view.manifest_folder,
        )
        write_artifacts(material, folder)
        return ARTIFACTS
