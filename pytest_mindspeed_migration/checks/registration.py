"""`model.registration`, `data.registration`, `config.linkage`: ids, the plugins that register them, and the config."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ..analysis.calls import reachable
from ..analysis.index import Index, index_of
from ..analysis.plugins import (
    PluginEntry,
    Registration,
    TargetPlugins,
    all_registrations,
    looks_up,
    module_of,
    plugin_entry,
    plugins_of,
    unowned,
)
from ..facts.static import StaticFacts
from ..findings import Finding, Level, near
from .registry import check
from .view import TargetView

MODEL_ID = "model.model_id"
DATASET_TYPES = ("data.dataset_param.dataset_type", "data.val_dataset_param.dataset_type")
PLUGIN = "training.plugin"


@check("model.registration")
def model_is_registered(view: TargetView) -> list[Finding]:
    """The config's model_id is registered by what the plugins import, once."""
    if view.is_framework:
        return [*_tree_duplicates(view.facts, "model"), *_unregistered_packages(view.facts)]
    return [*_id_is_registered(view, "model", MODEL_ID, "error"), *_duplicates(view, "model")]


@check("data.registration")
def dataset_is_registered(view: TargetView) -> list[Finding]:
    """The config's dataset_type is registered by what the plugins import, once; a trainer of its own may ignore it."""
    if view.is_framework:
        return _tree_duplicates(view.facts, "data")
    level: Level = "error" if dataset_type_is_used(view) else "note"
    found = [finding for path in DATASET_TYPES for finding in _id_is_registered(view, "data", path, level)]
    return found + _duplicates(view, "data")


@check("config.linkage")
def plugins_are_there(view: TargetView) -> list[Finding]:
    """Every `training.plugin` entry exists, is walked as far as needed, and registers something."""
    if view.is_framework or view.config is None:
        return []
    index = index_of(view.facts)
    plugins = plugins_of(view.facts, view.target.name)
    found = []
    for number, entry in enumerate(plugins.entries):
        yaml_path = f"{PLUGIN}[{number}]"
        line = view.config.line_of(yaml_path)
        place = Finding("", {}, view.config.path, line, yaml_path, entry.entry)
        if entry.external:
            found.append(replace(place, message="linkage.plugin_external", severity="note"))
        elif not entry.exists:
            found.append(replace(place, message="linkage.plugin_missing", suggestion=_near_entry(index, entry)))
        else:
            found += _walk_findings(view, plugins, entry, place)
    return found


def _walk_findings(view: TargetView, plugins: TargetPlugins, entry: PluginEntry, place: Finding) -> Iterator[Finding]:
    wanted = {(kind, value) for kind, path in _wanted(view) if (value := _text(view, path)) is not None}
    have = {(item.kind, item.id) for item in plugins.registrations}
    unwalked = set(entry.unwalked)
    for item in all_registrations(view.facts):
        if item.module in unwalked and (item.kind, item.id) in wanted - have:
            folder = item.path.rpartition("/")[0]
            args = {"id": item.id, "file": item.path, "folder": folder}
            yield replace(place, message="linkage.not_walked", args=args, suggestion=folder)
    if not any(
        item.path.startswith(f"{entry.folder}/") or item.module == entry.module for item in plugins.registrations
    ):
        registers = any(item.module in unwalked for item in all_registrations(view.facts))
        if not registers:
            yield replace(place, message="linkage.plugin_registers_nothing", severity="note")


def _wanted(view: TargetView) -> list[tuple[str, str]]:
    return [("model", MODEL_ID), *[("data", path) for path in DATASET_TYPES]]


def _text(view: TargetView, yaml_path: str) -> str | None:
    return view.config.string(yaml_path) if view.config else None


def _id_is_registered(view: TargetView, kind: str, yaml_path: str, level: Level) -> list[Finding]:
    wanted = _text(view, yaml_path)
    if wanted is None or view.config is None:
        return []
    plugins = plugins_of(view.facts, view.target.name)
    line = view.config.line_of(yaml_path)
    place = Finding("", {}, view.config.path, line, yaml_path, wanted)
    hits = [item for item in plugins.registered(kind) if item.id == wanted]
    if hits:
        if all(item.guarded for item in hits):
            args = {"file": f"{hits[0].path}:{hits[0].line}"}
            return [replace(place, message=f"registration.{kind}_conditional", args=args, severity="note")]
        return []
    if level == "note":
        args = {"trainer": plugins.trainer}
        return [replace(place, message=f"registration.{kind}_unused", args=args, severity="note")]
    elsewhere = [item for item in all_registrations(view.facts) if item.kind == kind and item.id == wanted]
    if elsewhere:
        item = elsewhere[0]
        args = {"file": f"{item.path}:{item.line}"}
        entry = _entry_for(index_of(view.facts), item)
        return [replace(place, message=f"registration.{kind}_elsewhere", args=args, suggestion=entry)]
    reached = sorted({item.id for item in plugins.registered(kind)})
    known = sorted({item.id for item in all_registrations(view.facts) if item.kind == kind})
    suggestion = near(wanted, reached) or near(wanted, known)
    args = {"known": ", ".join(reached) or "-"}
    return [replace(place, message=f"registration.{kind}_missing", args=args, suggestion=suggestion)]


def _entry_for(index: Index, item: Registration) -> str:
    """The plugin entry that reaches a registration: the outermost plugin folder whose walk finds the module."""
    folder = item.path.rpartition("/")[0]
    best = folder
    while folder.count("/") > 2 and folder.rpartition("/")[2] not in ("models", "datasets"):
        if item.module in plugin_entry(index, folder).modules:
            best = folder
        folder = folder.rpartition("/")[0]
    return best


def _near_entry(index: Index, entry: PluginEntry) -> str | None:
    parent = entry.folder
    while parent and parent not in index.folders:
        parent = parent.rpartition("/")[0]
    depth = entry.folder.count("/")
    names = [f for f in index.folders if f.startswith(f"{parent}/") and f.count("/") == depth] or sorted(index.folders)
    hit = near(entry.folder.rpartition("/")[2], sorted({name.rpartition("/")[2] for name in names}))
    return next((name for name in sorted(names) if name.rpartition("/")[2] == hit), None)


def _duplicates(view: TargetView, kind: str) -> list[Finding]:
    """An id that two reached modules register: the second registration raises KeyError."""
    return list(_twice(plugins_of(view.facts, view.target.name).registered(kind), "error"))


def _tree_duplicates(facts: StaticFacts, kind: str) -> list[Finding]:
    """An id that is registered twice in the tree: the two plugins cannot be used together."""
    return list(_twice([item for item in all_registrations(facts) if item.kind == kind], "note"))


def _twice(items: Iterable[Registration], level: Level) -> Iterator[Finding]:
    first: dict[str, Registration] = {}
    for item in items:
        other = first.setdefault(item.id, item)
        if other is not item:
            certain = level if not (item.guarded or other.guarded) else "note"
            args = {"first": f"{other.path}:{other.line}"}
            yield Finding("registration.duplicate", args, item.path, item.line, value=item.id, severity=certain)


def _unregistered_packages(facts: StaticFacts) -> Iterator[Finding]:
    """Plugin packages that no config uses and that register nothing: no model_id leads to them."""
    prefix = f"{facts.repo.package}/fsdp/models/"
    registering = {item.path[len(prefix) :].split("/", 1)[0] for item in all_registrations(facts)}
    packages: dict[str, list[str]] = {}
    for path in sorted(unowned(facts)):
        if path.startswith(prefix) and "/" in path[len(prefix) :]:
            packages.setdefault(path[len(prefix) :].split("/", 1)[0], []).append(path)
    for name, paths in packages.items():
        if name not in registering:
            main = next((path for path in paths if "/modeling" in path), paths[0])
            yield Finding("registration.package_without", {"package": name}, main, 1, severity="note")


def dataset_type_is_used(view: TargetView) -> bool:
    """Whether the target's trainer ever looks `dataset_type` up; a task's own trainer may build its data without it."""
    plugins = plugins_of(view.facts, view.target.name)
    main = module_of(plugins.trainer)
    if not plugins.own_trainer or main not in plugins.index.modules:
        return True
    lookups = looks_up(view.facts, "data")
    if not lookups:
        return True
    provided = any("dataloader_provider" in call.keywords for call in plugins.index.calls_in(main, ""))
    frames = reachable(plugins.index, main, frozenset({"get_dataloader"}) if provided else frozenset())
    return any((frame.module, frame.function) in lookups for frame in frames)
