"""`model.imports`: every import that the target's plugins and trainer run finds its module and its name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import PurePosixPath

from ..analysis.definitions import definitions_of
from ..analysis.index import Index, index_of
from ..analysis.memo import per_facts
from ..analysis.plugins import in_plugin_space, module_of, plugins_of, unowned
from ..analysis.reach import Certainty
from ..facts.launch import DocFacts
from ..facts.source import ImportFacts, ModuleFacts
from ..facts.static import StaticFacts
from ..findings import Finding, Level, near
from .registry import check
from .view import TargetView

_NEAR = 0.82
"""Module names of one package look alike by convention; only a slip of the pen is worth a "did you mean"."""

_TRANSFORMERS = {
    "activations", "cache_utils", "configuration_utils", "generation", "image_processing_utils", "image_utils",
    "integrations", "masking_utils", "modeling_attn_mask_utils", "modeling_flash_attention_utils", "modeling_layers",
    "modeling_outputs", "modeling_rope_utils", "modeling_utils", "processing_utils", "pytorch_utils",
    "tokenization_utils", "tokenization_utils_base", "tokenization_utils_fast", "video_utils",
}  # fmt: skip
"""Modules at the top of Transformers that every model there imports by a relative import."""


@check("model.imports")
def imports_resolve(view: TargetView) -> list[Finding]:
    """Missing modules and names, and files that do not parse."""
    index = index_of(view.facts)
    expected = _Expected(view.facts, view.facts.docs.values() if view.is_framework else view.docs)
    found: list[Finding] = []
    for path, demote in _judged(view):
        facts = view.facts.modules[path]
        if facts.syntax_error is not None:
            line, reason = facts.syntax_error
            found.append(Finding("imports.syntax_error", {"reason": reason}, path, line))
        elsewhere = expected.belongs_to(facts)
        for item in _unresolved(view.facts, path):
            finding = _finding(view, index, expected, facts, item)
            if elsewhere is not None and finding.fails:
                finding = replace(finding, message="imports.copied_elsewhere", args={**finding.args, "doc": elsewhere})
                demote = True
            found.append(_as_note(finding) if demote else finding)
    return found


def expected_files(view: TargetView) -> dict[str, str]:
    """Modules that the target imports and that a README, or code that reports them missing, has the user bring.

    Returns:
        By module, the place that says so.
    """
    expected = _Expected(view.facts, view.docs)
    found = {}
    for path, _ in _judged(view):
        for item in _unresolved(view.facts, path):
            doc = expected.told_by(item.module)
            if doc is not None:
                found[item.module] = doc
    return found


@check("model.imports")
def source_repo_is_not_needed(view: TargetView) -> list[Finding]:
    """The migrated code does not import the package of the repo it was migrated from."""
    names = _source_packages(view)
    if view.is_framework or not names:
        return []
    plugins = plugins_of(view.facts, view.target.name)
    found = []
    for path in sorted(plugins.owned):
        for item in view.facts.modules[path].imports:
            package = item.module.split(".", 1)[0]
            if package in names and item.scope != "type_checking":
                level: Level = "note" if item.tolerated else "error"
                found.append(
                    Finding(
                        "imports.source_repo", {"package": package}, path, item.line, value=item.module, severity=level
                    )
                )
    return found


def _judged(view: TargetView) -> Iterator[tuple[str, bool]]:
    """(file, only a note) of everything that is judged for this target."""
    facts = view.facts
    if view.is_framework:
        yield from ((path, False) for path in sorted(unowned(facts)))
        return
    plugins = plugins_of(facts, view.target.name)
    for path in facts.modules:
        runs = plugins.reach.runs(module_of(path))
        if path in plugins.owned:
            yield path, runs is None
        elif runs is Certainty.ALWAYS and path.startswith(f"{facts.repo.package}/"):
            yield path, False


@per_facts
def _unresolved(facts: StaticFacts, path: str) -> list[ImportFacts]:
    """The imports of a file that lead nowhere, each once a line."""
    index = index_of(facts)
    found: dict[tuple[int, str], ImportFacts] = {}
    for item in facts.modules[path].imports:
        if not index.in_repo(item.module) or item.scope == "type_checking":
            continue
        if not index.module_exists(item.module):
            key = (item.line, item.module)
        elif item.name not in (None, "*") and index.imported(item).kind == "missing":
            key = (item.line, f"{item.module}.{item.name}")
        else:
            continue
        found.setdefault(key, item)
    return list(found.values())


def _finding(view: TargetView, index: Index, expected: _Expected, facts: ModuleFacts, item: ImportFacts) -> Finding:
    if not index.module_exists(item.module):
        doc = expected.told_by(item.module)
        if doc is not None:
            args = {"module": item.module, "doc": doc}
            return Finding("imports.expected_file", args, facts.path, item.line, severity="note")
        suggestion = _near_module(index, item.module) or _in_transformers(index, facts, item.module)
        if suggestion is None and _of_framework(view, facts.path, item.module):
            package, _, name = item.module.rpartition(".")
            return _lacking(name, package, facts, item)
        finding = Finding(
            "imports.module_missing", {"module": item.module}, facts.path, item.line, suggestion=suggestion
        )
    else:
        name = str(item.name)
        defined = index.modules.get(item.module)
        elsewhere = definitions_of(view.facts).get(name, [])
        suggestion = f"{elsewhere[0]}.{name}" if elsewhere else near(name, defined.names if defined else [], _NEAR)
        args = {"module": item.module, "name": name}
        home = _in_transformers(index, facts, item.module)
        suggestion = suggestion or (f"{home}.{name}" if home is not None else None)
        if suggestion is None and _of_framework(view, facts.path, item.module):
            return _lacking(name, item.module, facts, item)
        finding = Finding("imports.name_missing", args, facts.path, item.line, suggestion=suggestion)
    return _as_note(finding) if item.tolerated else finding


def _of_framework(view: TargetView, path: str, module: str) -> bool:
    """Whether a plugin of the checkout asks the framework, and not itself or another plugin, for a module.

    In a migration it is the plugin that has to do with the framework as it is.
    """
    package = view.facts.repo.package
    asked = f"{module.replace('.', '/')}.py"
    return view.is_framework and in_plugin_space(path, package) and not in_plugin_space(asked, package)


def _lacking(name: str, module: str, facts: ModuleFacts, item: ImportFacts) -> Finding:
    finding = Finding("imports.framework_lacks", {"name": name, "module": module}, facts.path, item.line)
    return _as_note(finding) if item.tolerated else finding


def _as_note(finding: Finding) -> Finding:
    return replace(finding, severity="note")


def _in_transformers(index: Index, facts: ModuleFacts, module: str) -> str | None:
    """Where Transformers has a module, if the file was copied from there with its relative imports.

    `from ...activations import ACT2FN` then asks the framework for what Transformers has at that place.
    """
    core = f"{index.package}.fsdp."
    asked = [item.module for item in facts.imports if item.module.startswith(core)]
    copied = any(
        name.removeprefix(core).split(".")[0] in _TRANSFORMERS and not index.module_exists(name) for name in asked
    )
    if not copied or module not in asked or in_plugin_space(f"{module.replace('.', '/')}.py", index.package):
        return None
    return f"transformers.{module.removeprefix(core)}"


def _near_module(index: Index, module: str) -> str | None:
    """The only other module of that name in the FSDP2 package, else a sibling whose name is nearly the same."""
    package, _, name = module.rpartition(".")
    core = f"{index.package}.fsdp."
    existing = [module_of(path) for path in index.all_files]
    same = [other for other in existing if other.rpartition(".")[2] == name and other.startswith(core)]
    if len(same) == 1:
        return same[0]
    hit = near(name, (other.rpartition(".")[2] for other in existing if other.rpartition(".")[0] == package), _NEAR)
    return f"{package}.{hit}" if hit else None


class _Expected:
    """Files that are not in the repo because a README, or code that reports them missing, has the user bring them."""

    def __init__(self, facts: StaticFacts, docs: Iterable[DocFacts]) -> None:
        index = index_of(facts)
        self._copies: dict[str, str] = {}
        self._taken: dict[str, str] = {}  # file as written -> where a README has it copied into another project
        self._imported = _imported(facts)
        for doc in docs:
            for copy in doc.copies:
                if copy.destination and not copy.destination.startswith(index.package):
                    self._taken.update(dict.fromkeys(copy.sources, f"{doc.path}:{copy.line}"))
                for name in copy.names:
                    target = (PurePosixPath(copy.destination) / name).as_posix()
                    self._copies[target.removesuffix(".py")] = f"{doc.path}:{copy.line}"
        self._named = _named(facts)

    def belongs_to(self, facts: ModuleFacts) -> str | None:
        """Where the user is told to copy this file into another project, if nothing here imports it."""
        if facts.name in self._imported:
            return None
        return next((place for source, place in self._taken.items() if source.endswith(f"/{facts.path}")), None)

    def told_by(self, module: str) -> str | None:
        """Where the user is told to bring the file of a module, or a folder that holds it."""
        parts = module.split(".")
        for count in range(len(parts), 1, -1):
            found = self._copies.get("/".join(parts[:count])) or self._named.get(".".join(parts[:count]))
            if found is not None:
                return found
        return None


@per_facts
def _imported(facts: StaticFacts) -> frozenset[str]:
    """All modules that some import names."""
    return frozenset(item.module for module in facts.modules.values() for item in module.imports)


@per_facts
def _named(facts: StaticFacts) -> dict[str, str]:
    """Module -> the file that names it as a text."""
    return {
        name: module.path
        for module in facts.modules.values()
        for name in module.named_modules
        if not any(item.dynamic and item.module == name for item in module.imports)
    }


def _source_packages(view: TargetView) -> set[str]:
    """Top-level packages of the source repo as far as the manifest tells, without those the framework itself uses."""
    manifest = view.manifest or {}
    entrypoints = manifest.get("source_entrypoints")
    texts = [manifest.get("source_repo_path"), *(entrypoints.values() if isinstance(entrypoints, dict) else [])]
    names: set[str] = set()
    if not any(isinstance(text, str) for text in texts):
        return names
    for number, text in enumerate(texts):
        parts = PurePosixPath(text).parts if isinstance(text, str) else ()
        if parts:
            name = parts[-1] if number == 0 else parts[0]
            names |= {name.lower().replace("-", "_"), name.replace("-", "_")}
    used = {item.module.split(".", 1)[0] for path in unowned(view.facts) for item in view.facts.modules[path].imports}
    return names - used - {view.facts.repo.package}
