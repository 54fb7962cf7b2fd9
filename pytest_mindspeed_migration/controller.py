"""The controlling process: reads facts, writes suites, collects evidence, publishes reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .error_dictionary import error_dictionary
from .errors import UsageProblem
from .evidence.collector import Collector
from .evidence.record import record_of
from .evidence.redact import redact_all
from .facts.codec import to_json
from .facts.target import FRAMEWORK, RepoFacts, TargetFacts
from .helper import END, Helper
from .messages import text
from .outcomes import Judge, Reason, Status, Verdict, facts_stated
from .scan.checkout import repo_facts
from .scan.stamps import FileStamps
from .session import Session, own_folder, remove_folder
from .suite import SuiteFile, digest, find_suites, suites_as_kept, write_suites

if TYPE_CHECKING:
    from .catalogue import Contract
    from .evidence.document import TargetResult
    from .facts.static import StaticFacts
    from .memory import Memory
    from .probes.progress import ProgressShown
    from .probes.warm import WarmInterpreter
    from .publication import Publication
    from .target_repo import Loaded

_PHASES = ("setup", "call", "teardown")


class Controller(Session):
    """Prepares the run and is the only process that writes its results."""

    def __init__(self, config: pytest.Config, options: Any) -> None:
        super().__init__(config, options)
        self.notes: list[str] = []
        self.results: list[TargetResult] = []
        self.out = options.out
        self._collector = Collector(options.out)
        self._temporary: list[Path] = []
        self._problem: str | None = None
        self._stopped = False
        self._finishing: pytest.Session | None = None  # the session that has ended and is not published yet
        self._warm: WarmInterpreter | None = None
        self._progress: ProgressShown | None = None
        self.repo = RepoFacts()
        self._asked = options
        self._facts_folder = Path()
        self._loaded: Loaded | None = None  # what has to be written for the next run
        self._stamps: FileStamps | None = None  # of the checkout, from one walk for all who keep something of it
        self._ahead: Helper | None = None
        self._reported: str | None = None  # the target of the last record
        self._finished: Counter[str] = Counter()  # tests that gave records, by target
        self._contracts = {subject: self.catalogue.of_subject(subject) for subject in ("target", "framework")}

    def prepare(self) -> bool:
        """Find out what runs and make pytest collect it. False when nothing asks for a contract to be judged.

        Raises:
            UsageProblem: for a mistake of the user.
        """
        from . import target_repo

        given = self._given_paths()
        named = find_suites(given)
        if not self.options.targets and not named:
            if not self._asked_on_command_line():
                return False
            self.options = target_repo.judging_the_announced(self.options)
            if not self.options.targets:
                raise UsageProblem("usage.no_target")
        self._prepare_probes()
        if self.options.errors is not None or self._probe_run is not None:
            error_dictionary(self.options)  # a mistake in it is told before anything runs
        folder = self._folder("migrate-suite")
        kept = [suite for suite in named if folder not in suite.path.parents]  # what was rendered before is renewed
        self._load(named)
        if self.options.suite is not None:
            kept += [suite for suite in find_suites([self.options.suite]) if suite.target in self.selected]
        self._warn_outdated(kept)
        missing = [target for target in self.targets if target.name not in {suite.target for suite in kept}]
        if self._loaded is not None and not self._judges_itself():
            self._loaded.keep()
        elif self._loaded is not None and not self._loaded.helped:
            self._ahead = Helper(self._judge_ahead)
        written = self._write(folder, missing)
        self.rendered = frozenset(suite.path for suite in written)
        args = [str(path) for path in self.config.getoption("file_or_dir")]
        inside = any(folder in path.parents for path in given)
        fresh = [] if inside else written
        listed = {suite.path for suite in kept if not any(_within(suite.path, path) for path in given)}
        self.use_suites([*kept, *written], [*args, *sorted(map(str, listed)), *(str(suite.path) for suite in fresh)])
        if self.config.pluginmanager.hasplugin("xdist"):
            from .distribution import HandOver

            self.config.pluginmanager.register(HandOver(self), "mindspeed_migration_xdist")
        return True

    def hand_over(self) -> dict[str, Any]:
        """What a worker needs to judge the same targets on the same facts, as plain JSON."""
        from .facts import store

        if self._facts_file is None:
            folder, temporary = own_folder(self.config, "migrate-facts")
            if temporary:
                self._temporary.append(folder)
            self._facts_file = folder / "run.json"
            store.save(self.facts, self._facts_file)
        return {
            "facts": str(self._facts_file),
            "manifests": to_json(self.manifests),
            "targets": [to_json(target) for target in self.targets],
            "selected": self.selected,
            "levels": list(self.options.levels),
            "probes": self._probe_run.to_json() if self._probe_run is not None else None,
            "suites": [[str(s.path), s.target, s.config, s.catalogue, s.inputs] for s in self.suites],
            "memory": str(self.memory.path) if self.memory is not None and self.memory.holds else None,
            "rendered": [str(path) for path in self.rendered],
            "args": list(self.config.args),
        }

    def discard(self) -> None:
        """Remove the temporary folders of this run, and end its helper and the interpreter that ran its probes."""
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
        if self._warm is not None:
            if self._probes_ahead is not None:
                self._probes_ahead.end(self._warm.end)  # nobody writes into its folder while that is removed
            self._warm.stop()
            self._warm = None
        if self._loaded is not None:
            self._loaded.keep_derived()
            if self._ahead is not None and len(self._judges) == len(self.targets):
                self._ahead.finish()
            else:
                if self._ahead is not None:
                    self._ahead.close()
                self._loaded.keep_files()
            self._loaded = self._ahead = None
        for folder in self._temporary:
            remove_folder(folder)

    def pytest_report_header(self) -> list[str]:
        """Name what is judged, and warn of what the user should know."""
        lang = self.options.lang
        repo = self.repo
        head = text(
            "session.header",
            {
                "targets": len(self.selected),
                "level": ", ".join(self.options.levels),
                "repo": self.options.repo_typed or str(self.options.facts or self.options.repo),
                "commit": f"{repo.commit[:10]}{'+' if repo.dirty else ''}" if repo.commit else "?",
            },
            lang,
        )
        return [head, *self.notes]

    def pytest_runtestloop(self) -> None:
        """From here on, training runs show how far they are."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if self._probe_run is not None and reporter is not None:
            from .probes.progress import ProgressShown

            self._progress = ProgressShown(self._probe_run.folder, reporter, self.options.lang)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the evidence off a test report."""
        records = getattr(report, "migration", None)
        recalled = getattr(report, "migration_recalled", None)
        if records is None and report.when not in _PHASES and report.failed:
            records = self._records_of_crash(report)
        try:
            if recalled is not None and self.memory is not None:
                self._collector.add_stored(self.memory.stored(*recalled))
                self._reported = recalled[0]
            for record in records or []:
                stored = self._collector.add(record)
                self._reported = record["target"]
                shown = getattr(report, "migration_shown", None)
                if shown is not None and self.memory is not None:
                    self.memory.keep(stored, shown)
        except OSError as error:
            self._problem = text("session.cannot_write", {"path": str(self.out), "error": str(error)}, "en")

    def pytest_runtest_logfinish(self) -> None:
        """Publish a target when its tests are through: this process would wait for the next one in that time.

        After the last one there is nothing to wait for: it is published once its failures are shown.
        """
        name, self._reported = self._reported, None
        if name is None:
            return
        self._finished[name] += 1
        if self._finished[name] != self._collected[name] or name == self.targets[-1].name:
            return
        with self._telling_of_errors():
            self._publication.target(next(one for one in self.targets if one.name == name), self._complete(name))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, None, None]:
        """Have everybody finish and show what failed first: nobody has to wait for the reports to read that."""
        self._finishing = session
        try:
            return (yield)
        finally:
            self._conclude()  # where no summary is shown
            self.discard()

    def _conclude(self) -> None:
        """Publish evidence and reports of what was judged, once."""
        session, self._finishing = self._finishing, None
        if session is None or self.config.option.collectonly:
            return
        self._stopped = bool(session.shouldstop or session.shouldfail) or session.exitstatus == 2
        if not self._collector.empty:
            try:
                self._publish()
            except KeyboardInterrupt:  # the journal of what was not yet published stays
                self._problem = text("session.interrupted", {"path": str(self.out)}, self.options.lang)
                session.exitstatus = 2
        counted = [result for result in self.results if result.target.name != FRAMEWORK]
        accepted = bool(self.results) and all(result.acceptance.accepted for result in counted)
        if self._problem or (self.options.require_accepted and not accepted):
            session.exitstatus = session.exitstatus or 1

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Publish, now that pytest has shown the failures, and show the checklist."""
        self._conclude()
        if self._problem:
            terminalreporter.write_line(self._problem, red=True)
        if self.results:
            from .report.terminal import write_checklist

            write_checklist(terminalreporter, self.results, self.catalogue, self.options, self.notes)

    @cached_property
    def _publication(self) -> Publication:
        from .publication import Publication

        return Publication(self, self._collector, self._asked.targets, self._facts_folder)

    def _publish(self) -> None:
        with self._telling_of_errors():
            for target in self.targets:
                if target.name in self.selected and self._collector.records(target.name):
                    self.results.append(self._publication.target(target, self._complete(target.name)))
            self._publication.overview(self.results)
            self._publication.for_ci(self.results)
            if self.memory is not None:
                self.memory.save()

    @contextmanager
    def _telling_of_errors(self) -> Iterator[None]:
        """Have the summary tell what could not be written."""
        try:
            yield
        except OSError as error:
            self._problem = text(
                "session.cannot_write", {"path": str(self.out), "error": str(error)}, self.options.lang
            )

    def _complete(self, target: str) -> list[dict[str, Any]]:
        """Records of all contracts of a target in catalogue order: what did not run says so."""
        have = self._collector.records(target)
        reason = Reason("outcome.interrupted" if self._stopped else "outcome.not_selected")
        return [
            have.get(contract.id)
            or redact_all(record_of(Verdict(contract.id, "not_run", reason=reason), contract, target, self.options))
            for contract in self._contracts_of(target)
        ]

    def _contracts_of(self, target: str) -> Sequence[Contract]:
        return self._contracts["framework" if target == FRAMEWORK else "target"]

    def _records_of_crash(self, report: pytest.TestReport) -> list[dict[str, Any]]:
        """A worker died while it ran this test: its contract was not proven."""
        path, _, name = report.nodeid.partition("::")
        suite = self._by_path.get((self.config.rootpath / path).resolve())
        contract = self.contract_of(name)
        if suite is None or contract is None:
            return []
        status: Status = "unproven"
        verdict = Verdict(contract.id, status, reason=Reason("outcome.worker_died"))
        return [record_of(verdict, contract, suite.target, self.options)]

    def _prepare_probes(self) -> None:
        """Decide the levels of this run and start what runs code of the target. Raises UsageProblem."""
        from .probes.begin import begin

        begun = begin(self.options, self.config.invocation_params.dir, self.config.option.collectonly)
        self.options = replace(self.options, levels=begun.levels)
        self._warm, self._probe_run = begun.warm, begun.run

    def _load(self, kept: list[SuiteFile]) -> None:
        from . import target_repo

        self.manifests = target_repo.manifests_of(self.options)
        self._asked = replace(self.options, targets=self.options.targets or tuple(suite.target for suite in kept))
        self._facts_folder = self._folder("migrate-facts")
        self.memory = self._remembered()
        targets = self.memory.targets if self.memory is not None else []
        if targets:
            repo = target_repo.repo_path(self.options)
            self.repo = repo_facts(repo) if repo is not None else RepoFacts()
            self.repo.changes = target_repo.changes(self.options, repo) if repo is not None else None
        else:
            loaded = self._scan()
            self._facts, targets, self.repo = loaded.facts, loaded.targets, loaded.facts.repo
            self._loaded = loaded
        present = {target.name for target in targets}
        gone = [suite for suite in kept if suite.target not in present and not self.options.targets]
        self.targets = [*targets, *(TargetFacts(suite.target, suite.config) for suite in gone)]
        self.selected = [target.name for target in self.targets]
        if self.memory is not None and self._facts is not None:
            self._keep(loaded)
        if self.options.export_facts is not None:
            target_repo.export(self.facts, self.options.export_facts)

    def _scan(self) -> Loaded:
        from . import target_repo

        lenient = not self.options.targets
        return target_repo.load(self._asked, self.manifests, self._facts_folder, lenient, self._stamps)

    def _load_facts(self) -> StaticFacts:
        loaded = self._scan()
        loaded.keep()
        return loaded.facts

    def _judges_itself(self) -> bool:
        """Whether all judging is from files and happens in this process, so that a helper may begin with it."""
        alone = self.config.getoption("dist", "no") == "no" and not self.config.option.collectonly
        return alone and self.options.facts is None and tuple(self.options.levels) == ("static",)

    def judge(self, target: str) -> Judge:
        """The judge of a target, who knows what the helper has judged; KeyError when this run has no such target."""
        while self._ahead is not None and target not in self._judges:
            result = self._ahead.take()
            if result is END:
                break
            name, verdicts = result
            super().judge(name).know(verdicts)
        return super().judge(target)

    def _judge_ahead(self) -> Iterator[tuple[str, dict[str, Verdict]]]:
        """Judge the targets in the order of their tests, then keep what was read."""
        for target in self.targets:
            judge = Judge(self.catalogue, self.view(target), self.options.levels)
            contracts = self._contracts_of(target.name)
            yield target.name, {contract.id: judge.verdict(contract.id) for contract in contracts}
        if self._loaded is not None:
            self._loaded.keep_files()

    def _remembered(self) -> Memory | None:
        """The memory of this run; None when nothing may be kept."""
        from . import target_repo
        from .memory import memory_of

        repo = target_repo.repo_path(self.options)
        if repo is None or self._facts_folder in self._temporary:
            return None
        self._stamps = FileStamps(repo)
        lenient, levels = not self.options.targets, self.options.levels
        return memory_of(self._asked, self.manifests, repo, self._facts_folder, levels, lenient, self._stamps)

    def _keep(self, loaded: Loaded) -> None:
        assert self.memory is not None
        stated = {target.name: facts_stated(self.view(target)) for target in loaded.targets}
        self.memory.keep_targets(loaded, stated)

    def _write(self, folder: Path, targets: list[TargetFacts]) -> list[SuiteFile]:
        try:
            if self.memory is not None and self._facts is None:
                written = suites_as_kept(folder, targets, self.memory.content.suites, self.catalogue)
                if written is not None:
                    return written
            written = write_suites(folder, [self.view(target) for target in targets], self.catalogue, own=True)
        except OSError as error:
            raise UsageProblem("usage.cannot_write", path=str(folder), error=str(error)) from error
        if self.memory is not None:
            self.memory.keep_suites({suite.target: digest(suite.path) for suite in written})
        return written

    def _warn_outdated(self, kept: list[SuiteFile]) -> None:
        for suite in kept:
            if suite.catalogue != self.catalogue.digest:
                values = {"path": str(suite.path), "target": suite.target}
                self.notes.append(text("session.suite_outdated", values, self.options.lang))

    def _folder(self, name: str) -> Path:
        folder, temporary = own_folder(self.config, name)
        if temporary:
            self._temporary.append(folder)
        return folder

    def _given_paths(self) -> list[Path]:
        base = self.config.invocation_params.dir
        return [(base / str(arg).split("::")[0]).resolve() for arg in self.config.getoption("file_or_dir")]

    def _asked_on_command_line(self) -> bool:
        return any(key.startswith("migrate_") and value is not None for key, value in vars(self.config.option).items())


def _within(path: Path, folder: Path) -> bool:
    path = path.resolve()
    return path == folder or folder in path.parents
