"""What the plugin does in a pytest run: prepares suites, judges contracts, carries evidence."""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from . import options as option_module
from .catalogue import Contract, load_catalogue
from .errors import UsageProblem
from .evidence.record import record_of, require_plain
from .facts.codec import from_json
from .facts.target import FRAMEWORK, TargetFacts
from .findings import Finding
from .manifests import Manifests
from .messages import text
from .outcomes import Judge, Reason, Status, Verdict
from .report.failure import failure_text
from .suite import SuiteFile
from .suite_items import SuiteFunction, SuiteModule

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from .checks.view import TargetView
    from .evidence.collector import Stored
    from .facts.static import StaticFacts
    from .memory import Memory
    from .probes.ahead import ProbesAhead
    from .probes.run import ProbeRun, TargetProbes

KEY = pytest.StashKey["Session"]()
_VERDICTS = pytest.StashKey[dict[str, Verdict]]()  # by contract
_SHOWN = pytest.StashKey[str]()  # what a test of a rendered suite is shown with
_RECALLED = pytest.StashKey["Stored"]()  # its record of an earlier run


def activate(config: pytest.Config) -> None:
    """Start the plugin in this process: as the controller, or as an xdist worker that the controller has prepared.

    Raises:
        pytest.UsageError: for a mistake of the user.
    """
    config.addinivalue_line("markers", "migration_target(name): the migration target a generated suite judges")
    for level in ("static", "cpu", "npu", "distributed"):
        config.addinivalue_line("markers", f"{level}: migration contracts that can be judged at this level")
    lang = "en"
    try:
        options = option_module.read(config)
        lang = options.lang
        handed = getattr(config, "workerinput", {}).get("migrate")
        if hasattr(config, "workerinput"):
            if handed is None:
                return
            session: Session = Session(config, options)
            session.take(json.loads(handed))
        else:
            from .controller import Controller

            session = controller = Controller(config, options)
            config.add_cleanup(controller.discard)  # whatever ends this run, a second Ctrl-C included
            if not controller.prepare():
                return
    except UsageProblem as problem:
        raise pytest.UsageError(problem.render(lang)) from None
    config.stash[KEY] = session
    config.pluginmanager.register(session, "mindspeed_migration_session")
    if session.options.levels == ("static",):
        from .suite_protocol import SuiteProtocol

        config.pluginmanager.register(SuiteProtocol(session), "mindspeed_migration_protocol")


class Session:
    """One process of a run: knows its targets and judges their contracts on demand."""

    def __init__(self, config: pytest.Config, options: option_module.Options) -> None:
        self.config = config
        self.options = options
        self.catalogue = load_catalogue()
        self.suites: list[SuiteFile] = []
        self.targets: list[TargetFacts] = []
        self.manifests = Manifests()
        self.selected: list[str] = []
        self.rendered: frozenset[Path] = frozenset()
        self.memory: Memory | None = None
        self._facts: StaticFacts | None = None
        self._facts_file: Path | None = None
        self._judges: dict[str, Judge] = {}
        self._probe_run: ProbeRun | None = None
        self._probes_ahead: ProbesAhead | None = None
        self._whole: tuple[str, ...] = ()
        self._collected: Counter[str] = Counter()  # tests of this process, by target
        self._by_path: dict[Path, SuiteFile] = {}
        self._modules: dict[Path, pytest.Module] = {}

    def take(self, handed: dict[str, Any]) -> None:
        """Take over what the controller prepared."""
        self._facts_file = Path(handed["facts"])
        self.manifests = from_json(Manifests, handed["manifests"])
        self.targets = [from_json(TargetFacts, target) for target in handed["targets"]]
        self.selected = handed["selected"]
        self.options = replace(self.options, levels=tuple(handed["levels"]))
        if handed["probes"] is not None:
            from .probes.run import ProbeRun

            self._probe_run = ProbeRun.from_json(handed["probes"])
        self.rendered = frozenset(map(Path, handed["rendered"]))
        if handed["memory"] is not None:
            from .memory import Memory

            self.memory = Memory(Path(handed["memory"]))
        self.use_suites([SuiteFile(Path(path), *rest) for path, *rest in handed["suites"]], handed["args"])

    def use_suites(self, suites: list[SuiteFile], args: list[str]) -> None:
        """Make pytest collect `args`, in which `suites` are."""
        self.suites = suites
        self._by_path = {suite.path.resolve(): suite for suite in suites}
        self.config.args = args
        source = getattr(type(self.config), "ArgsSource", None)
        if source is not None:  # keeps the header from naming the testpaths that were replaced
            self.config.args_source = source.ARGS

    @property
    def facts(self) -> StaticFacts:
        """The facts of the repo; they are loaded when the first contract is judged."""
        if self._facts is None:
            self._facts = self._load_facts()
        return self._facts

    def _load_facts(self) -> StaticFacts:
        from .facts import store

        assert self._facts_file is not None
        return store.load(self._facts_file, own=True)

    def view(self, target: TargetFacts) -> TargetView:
        """What checks see of a target."""
        from .target_repo import view_of

        real = [one for one in self.targets if one.name != FRAMEWORK]
        return view_of(self.facts, target, self.manifests, alone=len(real) == 1)

    def judge(self, target: str) -> Judge:
        """The judge of a target; KeyError when this run has no such target."""
        if target not in self._judges:
            facts = self._target(target)
            self._judges[target] = Judge(self.catalogue, self.view(facts), self.options.levels, self._probes(facts))
        return self._judges[target]

    def _target(self, name: str) -> TargetFacts:
        return {one.name: one for one in self.targets}[name]

    def _probes(self, target: TargetFacts) -> TargetProbes | None:
        if self._probe_run is None or target.name == FRAMEWORK:
            return None
        from .probes.ahead import ProbesAhead
        from .probes.run import TargetProbes

        if self._probes_ahead is None:
            whole = [self._target(name) for name in self._whole]
            self._probes_ahead = ProbesAhead(self._probe_run.facts, whole, self.view)
        return TargetProbes(self._probes_ahead.facts)

    def recall(self, item: pytest.Item, target: str, contract: str, stated: Mapping[str, Any]) -> str | None:
        """The text a test of a rendered suite is shown with, when an earlier run has judged its contract."""
        if self.memory is None or not _is_rendered(item):
            return None
        recalled = self.memory.recall(target, contract, stated)
        if recalled is None:
            return None
        item.stash[_RECALLED] = recalled[0]
        return recalled[1]

    def suite_of(self, item: pytest.Item) -> SuiteFile | None:
        """The generated suite a test comes from, None for a test of somebody else."""
        return self._by_path.get(item.path) or self._by_path.get(item.path.resolve())

    def contract_of(self, test_name: str) -> Contract | None:
        """The contract a generated test of that name judges."""
        return self.catalogue.by_test_name.get(test_name.partition("[")[0])

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        """Take the tests of a suite that was rendered for this run from its text."""
        if module_path not in self.rendered:
            return None
        known = self._modules.get(module_path)  # pytest asks for all files of the folder, for each that it was given
        if known is None or known.parent is not parent:
            self._modules[module_path] = known = SuiteModule.from_parent(parent, path=module_path)
        return known

    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Drop tests of targets that were not asked for, and mark the others by level."""
        dropped = []
        for item in items:
            suite = self.suite_of(item)
            if suite is None:
                continue
            if suite.target not in self.selected:
                dropped.append(item)
            elif contract := self.contract_of(item.name):
                for level in contract.levels:
                    item.add_marker(level)
                if contract.distributed:
                    item.add_marker("distributed")
        if dropped:
            config.hook.pytest_deselected(items=dropped)
            items[:] = [item for item in items if item not in dropped]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the targets that most contracts are judged of, once -k and the like have had their say."""
        self._collected.update(suite.target for item in session.items if (suite := self.suite_of(item)) is not None)
        contracts = len(self.catalogue.of_subject("target"))
        self._whole = tuple(target for target, count in self._collected.items() if 2 * count > contracts)
        gc.freeze()  # spares the collector of garbage what lives until the end anyway: facts, records and items

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the evidence of a contract on its test report; a green test without evidence is turned red."""
        report = yield
        suite = self.suite_of(item)
        if suite is not None and (report.when == "call" or (report.when == "setup" and not report.passed)):
            self.attach(item, report, suite.target)
        return report

    def outcome(self, item: pytest.Item, target: str, contract: str, stated: Mapping[str, Any]) -> tuple[Status, str]:
        """Judge a contract for a test: its status, and the text the test is shown with.

        Args:
            item: the test, which takes the evidence along.
            target: name of the target.
            contract: id of the contract.
            stated: facts the test was written for; the contract fails when the target no longer has them.
        """
        shown = self.recall(item, target, contract, stated)
        if shown is not None:
            return item.stash[_RECALLED].record["status"], shown
        verdict = self.judge(target).compare(contract, stated)
        item.stash.setdefault(_VERDICTS, {})[contract] = verdict
        shown = ""
        if verdict.status in ("blocked", "not_run"):
            assert verdict.reason is not None
            shown = text(verdict.reason.key, verdict.reason.values, self.options.lang)
        if verdict.status == "failed":
            shown = failure_text(verdict, self.catalogue.by_id[contract], target, self.options)
        item.stash[_SHOWN] = shown
        return verdict.status, shown

    def attach(self, item: pytest.Item, report: pytest.TestReport, target: str) -> None:
        """Put the evidence of the contracts that a test has judged on its report."""
        recalled = item.stash.get(_RECALLED, None)
        if recalled is not None:
            if report.failed == (recalled.record["status"] == "failed") or hasattr(report, "wasxfail"):
                _attach_recalled(item, report, recalled)
                return
            # something else has failed the test: the contract is judged anew to say so
            contract_id = recalled.record["id"]
            item.stash[_VERDICTS] = {contract_id: self.judge(target).verdict(contract_id)}
        verdicts = list(item.stash.get(_VERDICTS, {}).values())
        if not verdicts and (contract := self.contract_of(item.name)):
            verdicts = [_verdict_without_evidence(contract.id, report)]
        elif verdicts and report.failed and all(verdict.status != "failed" for verdict in verdicts):
            verdicts = [_failed_by_the_test(verdict, report) for verdict in verdicts]
        elif verdicts and _is_rendered(item) and verdicts[0].trace is None:
            report.__dict__["migration_shown"] = item.stash.get(_SHOWN, "")
        if report.passed and (not verdicts or verdicts[0].status == "unproven"):
            report.outcome = "failed"
            report.longrepr = text("outcome.unproven", {}, self.options.lang)
        if report.skipped and verdicts and verdicts[0].reason and not hasattr(report, "wasxfail"):
            path, line, _ = item.location
            reason = text(verdicts[0].reason.key, verdicts[0].reason.values, self.options.lang)
            report.longrepr = (path, (line or 0) + 1, f"Skipped: {verdicts[0].contract}: {reason}")
        records = []
        for verdict in verdicts:
            contract = self.catalogue.by_id[verdict.contract]
            record = record_of(verdict, contract, target, self.options)
            require_plain(record)
            records.append(record)
            item.user_properties.extend(
                [("target", target), ("contract", contract.id)]
                + [(key, record[key]) for key in ("owner", "severity", "gate", "status")]
            )
        report.__dict__["migration"] = records  # an attribute of our own, which xdist carries along


def _attach_recalled(item: pytest.Item, report: pytest.TestReport, recalled: Stored) -> None:
    """Put on a report what `Session._attach` would, from the record of an earlier run."""
    record = recalled.record
    if report.skipped and record["reason"] and not hasattr(report, "wasxfail"):
        path, line, _ = item.location
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {record['id']}: {record['reason']}")
    item.user_properties.extend([("target", record["target"]), ("contract", record["id"])])
    item.user_properties.extend((key, record[key]) for key in ("owner", "severity", "gate", "status"))
    report.__dict__["migration_recalled"] = (record["target"], record["id"])


class Migration:
    """What the `migration` fixture hands to a generated test."""

    def __init__(self, session: Session, item: pytest.Item, target: str) -> None:
        self._session = session
        self._item = item
        self._target = target

    def verify(self, contract: str, **stated: Any) -> None:
        """Judge a contract of the target: return when it passed, else fail or skip the test with the reason.

        Args:
            contract: id of the contract.
            stated: facts the test was written for; the contract fails when the target no longer has them.
        """
        session = self._session
        if contract not in session.catalogue.by_id:
            from .commands import unknown_contract

            pytest.fail(unknown_contract(contract).render(session.options.lang), pytrace=False)
        status, shown = session.outcome(self._item, self._target, contract, stated)
        if status in ("blocked", "not_run"):
            pytest.skip(shown)
        if status == "failed":
            if self._target == FRAMEWORK and FRAMEWORK not in session.options.targets:
                # Findings on the framework are shown with `all`, and do not count against a migration.
                raise pytest.xfail.Exception(shown, pytrace=False)
            pytest.fail(shown, pytrace=False)


def migration_of(item: pytest.Item) -> Migration:
    """What a test of a generated suite gets as `migration`; the test fails when this run judges nothing for it."""
    session = item.config.stash.get(KEY, None)
    marker = item.get_closest_marker("migration_target")
    if session is None or marker is None or not marker.args:
        pytest.fail(text("session.no_target", {}), pytrace=False)
    return Migration(session, item, marker.args[0])


def _is_rendered(item: pytest.Item) -> bool:
    """Whether the test is just what the template says: it judges one contract and does nothing else."""
    return isinstance(item, SuiteFunction)


def _verdict_without_evidence(contract: str, report: pytest.TestReport) -> Verdict:
    if report.passed:
        return Verdict(contract, "unproven", reason=Reason("outcome.unproven"))
    if report.skipped:
        return Verdict(contract, "not_run", reason=Reason("outcome.skipped_by_suite"))
    return Verdict(contract, "failed", (_test_error(report),))


def _failed_by_the_test(verdict: Verdict, report: pytest.TestReport) -> Verdict:
    return Verdict(
        verdict.contract,
        "failed",
        (_test_error(report), *verdict.findings),
        level=verdict.level,
        started=verdict.started,
        duration=verdict.duration,
        trace=str(report.longrepr),
    )


def _test_error(report: pytest.TestReport) -> Finding:
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    return Finding("suite.test_error", {"error": lines[-1].strip() if lines else "?"})


def own_folder(config: pytest.Config, name: str) -> tuple[Path, bool]:
    """A folder of pytest's cache, or a temporary one (then True) where there is no usable cache."""
    cache = getattr(config, "cache", None)
    if cache is not None and not config.getoption("cacheclear", False):  # workers would clear it once more
        try:
            folder = Path(cache.mkdir(name))
            with tempfile.TemporaryFile(dir=folder):
                return folder, False
        except OSError:
            pass
    return Path(tempfile.mkdtemp(prefix=f"pytest-{name}-")), True


def remove_folder(folder: Path) -> None:
    """Remove a temporary folder; what cannot be removed stays."""
    shutil.rmtree(folder, ignore_errors=True)
