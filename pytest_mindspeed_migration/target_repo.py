"""Where the facts of a run come from: a scan, the cache of a scan, or an export."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import UsageProblem
from .facts.target import FRAMEWORK, ChangeFacts, TargetFacts
from .garbage import without_collection
from .manifests import Manifests, read_manifests

if TYPE_CHECKING:
    from .checks.view import TargetView
    from .facts.static import StaticFacts
    from .options import Options
    from .scan.lookup import Question
    from .scan.stamps import FileStamps

ALL = "all"


@dataclass(frozen=True)
class Loaded:
    """Facts, and the targets of this run in them.

    Attributes:
        named: paths that were looked up, whose answers are in `facts.assets`.
        asked: files of the repo the facts depend on though nobody reads them, see `scan.repo_paths.questions`.
        keep_files: writes what was read of each file for the next run; nothing of this run waits for it.
        keep_derived: likewise what follows from all of them; another process may write it meanwhile.
        helped: whether a helper is at work on these facts.
    """

    facts: StaticFacts
    targets: list[TargetFacts]
    named: list[Question] = field(default_factory=list)
    asked: dict[str, int] = field(default_factory=dict)
    keep_files: Callable[[], None] = lambda: None
    keep_derived: Callable[[], None] = lambda: None
    helped: bool = False

    def keep(self) -> None:
        """Write both."""
        self.keep_files()
        self.keep_derived()


def load(
    options: Options,
    manifests: Manifests,
    cache: Path | None,
    lenient: bool = False,
    stamps: FileStamps | None = None,
) -> Loaded:
    """Return the facts the options ask for and the targets they name (all, when they name none).

    Args:
        options: what the user asked for.
        manifests: what `manifests_of` returned.
        cache: folder that keeps what was read from Python files between runs; None when nothing may be kept.
        lenient: leave out names that match no target instead of refusing them.
        stamps: of the files of the checkout, when the caller has them already.

    Raises:
        UsageProblem: when there is no repo or export to read, it cannot be read, or a name matches no target.
    """
    repo = repo_path(options)
    names = options.targets or (ALL,)
    if options.facts is not None:
        from .facts import store

        facts = store.load(options.facts)
        if repo is not None and (options.repo_typed or options.demo):
            from .scan.overlay import overlay

            facts = overlay(facts, repo)
            facts.repo.changes = changes(options, repo)
        return Loaded(facts, select(facts.targets, names, manifests, options, lenient))
    if repo is None:
        raise UsageProblem("usage.repo_missing")
    from .scan import assets, static, tree
    from .scan.cache import ScanCache
    from .scan.flow.ahead import FlowAhead
    from .scan.project import Project
    from .scan.repo_paths import questions
    from .scan.stamps import outside

    with without_collection(), questions() as asked:
        kept = ScanCache(_cache_file(repo, cache))
        project = Project(repo, cache=kept, stamps=stamps)
        whole = ALL in names or FRAMEWORK in names
        ahead: Ahead | None = None
        if whole:
            from .scan.ahead import Ahead

            ahead = Ahead(project)
        search = tree.Search(project, ahead=not whole)
        try:
            if search.helped:
                project.read([static.ENTRY] if static.ENTRY in project.files else [], wait=False)
            found = search.result()
            chosen = select(found.targets, names, manifests, options, lenient)
            chosen_names = [target.name for target in chosen]
            facts = static.scan(repo, chosen_names, kept, found, project, ahead, alone=False)
        finally:
            search.close()
            project.close()
            if ahead is not None:
                ahead.close()
        named = assets.attach(facts, repo, manifests)
    facts.repo.changes = changes(options, repo)
    helped = isinstance(facts.flow, FlowAhead) and facts.flow.works
    return Loaded(facts, chosen, named, outside(asked), kept.save_files, kept.save_derived, helped)


def facts_of(options: Options, names: Sequence[str], cache: Path | None) -> StaticFacts:
    """Facts with the plugins of these targets, to compare a target with them; see `load`."""
    loaded = load(replace(options, targets=tuple(names), manifests=()), Manifests(), cache, lenient=True)
    loaded.keep()
    return loaded.facts


def repo_path(options: Options) -> Path | None:
    """The folder of the target repo, None when there is none.

    Raises:
        UsageProblem: when the path does not exist.
    """
    if options.demo:
        from .demo import demo_repo

        return Path(demo_repo())
    if options.repo is not None and not os.path.isdir(options.repo):
        raise UsageProblem("usage.repo_not_found", path=str(options.repo))
    return options.repo


def changes(options: Options, repo: Path) -> ChangeFacts | None:
    """What differs from the base revision; None when none is named.

    Raises:
        UsageProblem: when git does not know the revision.
    """
    if options.base is None:
        return None
    from .scan.changes import changes_since, inside

    own = inside(repo, (options.out, *options.manifests, options.suite))
    return changes_since(repo, options.base, (".pytest_cache", *own))


def select(
    known: list[TargetFacts],
    names: tuple[str, ...],
    manifests: Manifests,
    options: Options,
    lenient: bool = False,
) -> list[TargetFacts]:
    """The targets the user named, in the order of the facts; `all` adds the pseudo-target `framework` at the end.

    Raises:
        UsageProblem: when two manifests name the same target; unless `lenient`, when a name matches none or several.
    """
    from .scan import targets

    known = [target for target in known if target.name != FRAMEWORK]
    for manifest in manifests.given:
        if manifest.name and manifest.shown:
            known = _announce(known, manifest.name, manifest.shown)
    chosen: list[str] = []
    for name in names:
        if name == ALL:
            chosen.extend(target.name for target in known)
        elif name != FRAMEWORK:
            try:
                chosen.append(targets.match(name, known).name)
            except UsageProblem:
                if not lenient:
                    raise
    ordered = [target for target in known if target.name in chosen]
    if ALL in names and not ordered:
        raise UsageProblem("usage.no_targets", place=str(options.facts or repo_path(options)))
    if ALL in names or FRAMEWORK in names:
        ordered.append(TargetFacts(name=FRAMEWORK, config=None))
    return ordered


def judging_the_announced(options: Options) -> Options:
    """The options with the targets their manifests name, when they name none themselves.

    Raises:
        UsageProblem: when a manifest cannot be read or is not valid.
    """
    names = () if options.targets else manifests_of(options).names
    return replace(options, targets=names) if names else options


def _announce(known: list[TargetFacts], name: str, manifest: str) -> list[TargetFacts]:
    """A target a manifest names exists even before it has a YAML: that is a migration at its start."""
    from .scan import targets

    try:
        found = targets.match(name, known)
    except UsageProblem as problem:
        if problem.key == "usage.target_ambiguous":
            raise
        return [*known, TargetFacts(name=name, config=None, manifest=manifest)]
    if found.manifest is not None:
        raise UsageProblem("usage.manifests_same_target", name=found.name, first=found.manifest, second=manifest)
    return [replace(target, manifest=manifest) if target is found else target for target in known]


def view_of(facts: StaticFacts, target: TargetFacts, manifests: Manifests, alone: bool) -> TargetView:
    """What checks see of a target, with the manifest that belongs to it; see `Manifests.of`."""
    from .checks.view import TargetView

    manifest = None if target.name == FRAMEWORK else manifests.of(target, alone)
    if manifest is None:
        return TargetView(facts, target)
    return TargetView(facts, target, manifest.data, manifest_key=manifest.key, manifest_folder=manifest.folder)


def manifests_of(options: Options) -> Manifests:
    """The manifests of a run, with the paths of the command line on top.

    Raises:
        UsageProblem: see `read_manifests`; when the checkout that is judged because pytest was started in it is not
            the one they are for.
    """
    repo = repo_path(options) if options.manifests else None
    found = read_manifests(options.manifests, options.assets, repo)
    for one in found.given:
        if repo is not None and options.repo_typed is None and one.is_for_other_than(repo):
            named = str(one.data["target_repo_path"])
            raise UsageProblem("usage.manifest_repo", manifest=one.shown, named=named, repo=str(repo))
    return found


def export(facts: StaticFacts, path: Path) -> None:
    """Write an export.

    Raises:
        UsageProblem: when the file cannot be written.
    """
    from .facts import store

    try:
        store.save(facts, path)
    except OSError as error:
        raise UsageProblem("usage.cannot_write", path=str(path), error=str(error)) from error


def _cache_file(repo: Path, cache: Path | None) -> Path | None:
    """One file a repo, so that checkouts judged in turn do not push each other out."""
    if cache is None:
        return None
    return cache / f"{hashlib.sha256(str(repo.resolve()).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}.json"
