"""Which modules a `training.plugin` entry imports, and which names that registers.

The rules are those of the framework's `import_plugin` (`fsdp/utils/register.py`, the same in all generations): the
entry is imported as a module, "/" read as "."; below a package, `pkgutil.walk_packages` finds the modules. It descends
into folders with an `__init__.py` only; the entry itself may be a folder without one (a namespace package).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..facts.source import ModuleFacts
from ..facts.static import StaticFacts, TargetFacts
from .index import Index, index_of
from .memo import per_facts
from .reach import Certainty, Reach, graph_of

ENTRY = "fsdp/train/trainer.py"
"""The standard trainer below the package."""


@dataclass(frozen=True)
class Registration:
    """One id in one register. `kind`: model, data or collator."""

    kind: str
    id: str
    module: str
    path: str
    line: int
    object: str
    guarded: bool


@dataclass
class PluginEntry:
    """One `training.plugin` entry under the import rules."""

    entry: str
    module: str
    exists: bool
    external: bool = False  # not below the target's package: nothing is known about it
    folder: str = ""
    modules: list[str] = field(default_factory=list)  # imported one after the other
    unwalked: list[str] = field(default_factory=list)  # modules below the folder that the walk does not find


def plugin_entry(index: Index, entry: str) -> PluginEntry:
    """Apply the import rules to one entry as written in the config."""
    module = entry.replace("/", ".").strip(".")
    folder = module.replace(".", "/")
    if not index.in_repo(module):
        return PluginEntry(entry, module, exists=False, external=True)
    found = PluginEntry(entry, module, exists=index.module_exists(module), folder=folder)
    if not found.exists:
        return found
    found.modules = [module]
    below = index.below(folder)
    walked = {folder}
    for path in sorted(below, key=lambda path: (path.count("/"), path)):
        parent, _, name = path.rpartition("/")
        if name == "__init__.py" and parent != folder and parent.rpartition("/")[0] in walked:
            walked.add(parent)
            found.modules.append(parent.replace("/", "."))
    for path in below:
        parent, _, name = path.rpartition("/")
        if name != "__init__.py":
            (found.modules if parent in walked else found.unwalked).append(path.removesuffix(".py").replace("/", "."))
    return found


def registrations_of(index: Index, facts: ModuleFacts) -> list[Registration]:
    """The registrations of one module; the kind follows from what the name of the register means."""
    return [
        Registration(kind, item.id, facts.name, facts.path, item.line, item.object, item.guarded)
        for item in facts.registrations
        if (kind := _kind(index, facts.name, item.register)) is not None
    ]


def _kind(index: Index, module: str, register: str) -> str | None:
    """The kind of a register, from the name it has where it is defined."""
    ref = index.resolve(module, register)
    if ref is None:
        return None
    name = (ref.qualname or ref.module).rsplit(".", 1)[-1].lower()
    return next((kind for kind in ("collator", "model", "data") if kind in name), None)


@per_facts
def all_registrations(facts: StaticFacts) -> list[Registration]:
    """Every registration of the repo."""
    index = index_of(facts)
    return [found for module in facts.modules.values() for found in registrations_of(index, module)]


@per_facts
def baseline(facts: StaticFacts) -> Reach:
    """What the standard trainer runs at import, before any plugin."""
    return Reach(graph_of(facts), [module_of(f"{facts.repo.package}/{ENTRY}")])


class TargetPlugins:
    """The plugins of one target: its entries, what they import, what that registers, and which files are its own."""

    def __init__(self, facts: StaticFacts, target: TargetFacts, entries: Iterable[str]) -> None:
        self.index = index_of(facts)
        self.package = facts.repo.package
        self.entries = [plugin_entry(self.index, entry) for entry in entries]
        self.trainer = target.trainer or f"{self.package}/{ENTRY}"
        if facts.files and self.trainer.startswith(f"{self.package}/") and self.trainer not in facts.files:
            self.trainer = f"{self.package}/{ENTRY}"  # the launch script is wrong: the rest is judged all the same
        self.own_trainer = not self.trainer.endswith(f"/{ENTRY}")
        self.roots = [module for entry in self.entries for module in entry.modules]
        self.reach = Reach(graph_of(facts), [*self.roots, module_of(self.trainer)])
        order = {module: place for place, module in enumerate(self.reach.modules(Certainty.MAYBE))}
        reached = [item for item in all_registrations(facts) if item.module in order]
        self.registrations = sorted(reached, key=lambda item: (order[item.module], item.line))

    def registered(self, kind: str) -> list[Registration]:
        """What is registered under a kind once the trainer and the plugins are imported."""
        return [item for item in self.registrations if item.kind == kind]

    def owns(self, path: str) -> bool:
        """Whether a file is the target's own."""
        return path in self.owned

    @cached_property
    def owned(self) -> frozenset[str]:
        """The target's own files: below its plugin entries, of its own trainer, or of plugins that these import."""
        folders = [f"{entry.folder}/" for entry in self.entries if entry.exists]
        if self.own_trainer:
            folders.append(self.trainer.rpartition("/")[0] + "/")
        starts, files = tuple(folders), {f"{entry.folder}.py" for entry in self.entries}
        return frozenset(
            module.path
            for module in self.index.modules.values()
            if module.path.startswith(starts)
            or module.path in files
            or (in_plugin_space(module.path, self.package) and self.reach.runs(module.name) is not None)
        )


def module_of(path: str) -> str:
    """Dotted module name of a file."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def in_plugin_space(path: str, package: str) -> bool:
    """Whether a file belongs to a plugin (a sub-folder of models, datasets or tasks) and not to the framework."""
    for area in ("models", "data/datasets", "tasks"):
        prefix = f"{package}/fsdp/{area}/"
        if path.startswith(prefix):
            return "/" in path[len(prefix) :]
    return False


@per_facts
def plugins_of(facts: StaticFacts, name: str) -> TargetPlugins:
    """The plugins of the target of that name."""
    target = facts.target(name)
    config = facts.configs.get(target.config) if target.config else None
    return TargetPlugins(facts, target, plugin_list(config.get("training.plugin") if config else None))


def plugin_list(value: object) -> list[str]:
    """`training.plugin` as a list of texts, whatever the YAML holds."""
    return [entry for entry in (value if isinstance(value, list) else [value]) if isinstance(entry, str) and entry]


@per_facts
def unowned(facts: StaticFacts) -> frozenset[str]:
    """Files of the FSDP2 package that no target owns: the framework itself, and plugins without a config."""
    core = f"{facts.repo.package}/fsdp/"
    owned = [plugins_of(facts, target.name).owned for target in facts.targets if target.config]
    return frozenset(path for path in facts.modules if path.startswith(core)).difference(*owned)


@per_facts
def looks_up(facts: StaticFacts, kind: str) -> frozenset[tuple[str, str]]:
    """(module, function) of every function that gets something from the model or data register by its id."""
    index = index_of(facts)
    return frozenset(
        (module.name, call.scope)
        for module in facts.modules.values()
        for call in module.calls
        if call.callee.endswith("register.get") and kind == _kind(index, module.name, call.callee.removesuffix(".get"))
    )
