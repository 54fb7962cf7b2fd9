"""The static scan: a target repo in, `StaticFacts` out. Reads files, runs nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..atomic import encode
from ..facts.flow import FlowFacts
from ..facts.static import StaticFacts, TargetFacts
from ..facts.target import FRAMEWORK
from .cache import ScanCache
from .checkout import repo_facts
from .project import Project
from .targets import Discovery, discover

if TYPE_CHECKING:
    from .ahead import Ahead

ENTRY = "mindspeed_mm/fsdp/train/trainer.py"
"""The trainer of the FSDP2 stack: where a target without a launch script starts."""


def scan(
    repo: Path,
    names: Sequence[str] | None = None,
    cache: ScanCache | None = None,
    found: Discovery | None = None,
    project: Project | None = None,
    ahead: Ahead | None = None,
    alone: bool = True,
) -> StaticFacts:
    """Scan a target repo.

    Args:
        repo: the checkout.
        names: exact names of the targets whose plugins are read; None reads all, with the framework's own files.
        cache: what earlier runs have read; None reads everything anew.
        found: what `discover` returned for this repo, when the caller has it already.
        project: the Python side of the repo, when the caller has it already.
        ahead: who reads the files of the framework already.
        alone: whether all is done here and now; else the caller writes the cache, and has helpers work ahead.
    """
    found = found or discover(repo)
    facts = StaticFacts(
        repo=repo_facts(repo),
        targets=found.targets,
        configs=found.configs,
        scripts=dict(found.scripts),  # more of them are added; what was found is kept for the next run
        docs=dict(found.docs),
    )
    project = project or Project(repo, facts.repo.package, cache)
    facts.files = project.files
    everything = names is None or FRAMEWORK in names
    chosen = found.targets if everything else [target for target in found.targets if target.name in (names or ())]
    if everything:
        if ahead is not None:
            ahead.modules()
        project.read(project.below(project.core), wait=False)
    project.read([path for target in chosen for path in entry_files(facts, project, target)], wait=False)
    project.read(_registered_elsewhere(facts, project, chosen), wait=False)
    facts.modules = dict(sorted(project.modules.items()))
    ahead_of_use = not alone and not everything  # with everything, helpers are at work already
    facts.flow = project.flow(lambda: _flow(facts, project), ahead_of_use)
    if everything:
        from .framework_files import framework_files

        more = framework_files(project, facts.scripts, ahead)
        facts.scripts.update(more.scripts)
        facts.docs.update(more.docs)
        facts.other_configs, facts.other_modules = more.other_configs, more.other_modules
        if ahead is not None:
            ahead.names()
    project.finish()
    if alone:
        project.cache.save()
    return facts


def _flow(facts: StaticFacts, project: Project) -> FlowFacts:
    from .flow.run import follow_configuration

    return follow_configuration(project.repo, facts, project.core)


def _registered_elsewhere(facts: StaticFacts, project: Project, chosen: list[TargetFacts]) -> list[str]:
    """Files that name an id which nothing read so far registers: a plugin entry may be missing for them."""
    known = {item.id for module in project.modules.values() for item in module.registrations}
    configs = [facts.configs[target.config] for target in chosen if target.config in facts.configs]
    wanted = {config.string(key) for config in configs for key in ("model.model_id", "data.dataset_param.dataset_type")}
    names = [encode(name) for name in wanted - known if name]
    found = []
    for path in project.below(project.core) if names else ():
        source = project.source(path)
        if b".register(" in source and any(name in source for name in names):
            found.append(path)
    return found


def entry_files(facts: StaticFacts, project: Project, target: TargetFacts) -> list[str]:
    """The files a target starts from: its trainer and everything below its plugin entries."""
    known = set(project.files)
    paths = [path for path in (target.trainer, ENTRY) if path in known]
    config = facts.configs.get(target.config) if target.config else None
    plugins = config.get("training.plugin") if config else None
    for entry in plugins if isinstance(plugins, list) else [plugins]:
        if isinstance(entry, str):
            folder = entry.replace(".", "/") if "/" not in entry else entry
            folder = folder.strip("/.").removesuffix("/")
            paths.extend(project.below(folder))
            paths.extend(path for path in (f"{folder}.py", f"{folder.removesuffix('/py')}.py") if path in known)
    return paths
