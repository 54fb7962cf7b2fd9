"""Finds the migration targets of a repo: every example YAML of the FSDP2 stack, its scripts and READMEs.

What reads a kind of file is imported when one has to be read: most runs know most files from an earlier one.
"""

from __future__ import annotations

import codecs
import os
import posixpath
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..errors import UsageProblem
from ..facts.config import ConfigFacts
from ..facts.launch import DocFacts, ScriptFacts
from ..facts.static import TargetFacts
from ..facts.target import FRAMEWORK
from ..findings import near
from .repo_paths import files_below
from .stamps import FOLDERS_OF_DOCS

EXAMPLES = "examples"
ALL = "all"

_SNIFF = 1_000_000  # bytes of a file that are looked at before it is parsed
_MARKS = (("parallel", "fsdp_plan"), ("training", "plugin"))
"""Section and key of which an FSDP2 config has at least one: the plan has defaults, and plugins are imported by it."""
_REQUIREMENTS = re.compile(r"requirements[\w.-]*\.txt")


@dataclass
class Discovery:
    """What `discover` finds: the parts of `StaticFacts` that configs, scripts and documents fill."""

    targets: list[TargetFacts] = field(default_factory=list)
    configs: dict[str, ConfigFacts] = field(default_factory=dict)
    scripts: dict[str, ScriptFacts] = field(default_factory=dict)
    docs: dict[str, DocFacts] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)  # files elsewhere that it depends on: `repo_paths.questions`
    stamps: dict[str, str] = field(default_factory=dict)  # of the files it was made from


def discover(repo: Path, stamps: dict[str, str] | None = None, before: Discovery | None = None) -> Discovery:
    """Find all targets of `repo` with their configs, launch scripts and documents.

    A YAML that cannot be read or parsed is a target when its text has the keys of one (`_MARKS`): its faults are in
    its `ConfigFacts.problems`, and the other targets are found all the same.

    Args:
        repo: the checkout.
        stamps: of the files below `EXAMPLES`.
        before: what was found when the repo had the same files; those with the same stamp are not read again.
    """
    found = Discovery(stamps=stamps or {}, asked=dict(before.asked) if before is not None else {})
    files = list(files_below(repo, EXAMPLES))
    before = before or Discovery()
    same = {rel for rel, stamp in before.stamps.items() if found.stamps.get(rel) == stamp}
    for rel in files:
        if rel.endswith((".yaml", ".yml")):
            config = before.configs.get(rel) if rel in same else _target_config(repo, rel)
            if config is not None:
                found.configs[rel] = config
    if found.configs.keys() != before.configs.keys():  # scripts and documents are those beside the configs
        same = set()
    folders = {posixpath.dirname(rel) for rel in found.configs}
    names = [os.fsencode(posixpath.basename(rel)) for rel in found.configs]
    for rel in files:
        if rel.endswith(".sh"):
            script = before.scripts.get(rel) if rel in same else _launch_script(repo, rel, folders, names)
            if script is not None:
                found.scripts[rel] = script
    for rel in files:
        name = posixpath.basename(rel)
        if posixpath.dirname(rel) in folders and (_is_document(name) or re.fullmatch(r"install\w*\.sh", name)):
            found.docs[rel] = before.docs[rel] if rel in same else _document(repo, rel)
    found.targets = link_targets(found)
    return found


def discover_framework_files(repo: Path) -> Discovery:
    """Read every launch script and document of `repo` that is not the copy of another project's."""
    from .docs import read_doc
    from .shell import read_script

    found = Discovery()
    for folder in FOLDERS_OF_DOCS:
        for rel in files_below(repo, folder):
            if rel.endswith(".sh") and folder in (EXAMPLES, "tests"):
                found.scripts[rel] = read_script(repo, rel)
            elif rel.endswith(".md"):
                found.docs[rel] = read_doc(repo, rel)
    for rel in _listing(repo, ""):
        if rel.endswith(".md"):
            found.docs[rel] = read_doc(repo, rel)
    return found


def match(name: str, targets: Sequence[TargetFacts]) -> TargetFacts:
    """Return the target a user means by `name`: its own name, its folder, the stem of its YAML, or its `model_id`.

    Case and the difference between `.`, `-` and `_` do not matter.

    Raises:
        UsageProblem: when no target answers to the name, several do, or the name is a path.
    """
    if "/" in name or "\\" in name:
        raise UsageProblem("usage.target_is_path", name=name)
    wanted = _folded(name)
    own = [target for target in targets if _folded(target.name) == wanted]
    hits = own or [target for target in targets if wanted in map(_folded, aliases(target))]
    if len(hits) == 1:
        return hits[0]
    if hits:
        raise UsageProblem("usage.target_ambiguous", name=name, candidates=", ".join(target.name for target in hits))
    known = {_folded(alias): target.name for target in targets for alias in (target.name, *aliases(target))}
    close = near(wanted, known)
    if close is None:
        raise UsageProblem("usage.target_unknown", name=name)
    raise UsageProblem("usage.target_unknown_near", name=name, suggestion=known[close])


def aliases(target: TargetFacts) -> list[str]:
    """The names a target answers to besides its own."""
    names = [posixpath.basename(target.folder)] if target.folder else []
    if target.config is not None:
        stem = posixpath.splitext(posixpath.basename(target.config))[0]
        names += [stem, re.sub(r"[._-]config$", "", stem)]
    if target.model_id is not None:
        names.append(target.model_id)
    return names


def _folded(name: str) -> str:
    return re.sub(r"[._-]+", "_", name.strip().casefold())


# -- files --------------------------------------------------------------------------------------------------------


def _listing(repo: Path, folder: str) -> list[str]:
    try:
        return sorted(posixpath.join(folder, entry.name) for entry in os.scandir(repo / folder) if entry.is_file())
    except OSError:
        return []


def _head(repo: Path, rel: str) -> bytes:
    path = repo / rel
    try:
        if not path.is_file():  # a pipe would block
            return b""
        with path.open("rb") as stream:
            return stream.read(_SNIFF)
    except OSError:
        return b""


def _target_config(repo: Path, rel: str) -> ConfigFacts | None:
    """What a YAML says that is the config of a target, or a broken one; None of any other."""
    if not _may_be_target(repo, rel):
        return None
    from .yaml_tree import read_config

    config = read_config(repo, rel)
    is_target = config.data is None or any(config.has(f"{section}.{key}") for section, key in _MARKS)
    return config if is_target else None


def _may_be_target(repo: Path, rel: str) -> bool:
    """A quick look at the text, so that the many other YAML files are not parsed; one that nobody may read passes."""
    if os.path.isfile(repo / rel) and not os.access(repo / rel, os.R_OK):
        return True
    head = _as_utf8(_head(repo, rel))
    return any(_may_have(head, section.encode(), key.encode()) for section, key in _MARKS)


def _may_have(head: bytes, section: bytes, key: bytes) -> bool:
    """Whether the key stands somewhere below the section, or in a YAML that is written as one flow mapping."""
    last = head.rfind(key)
    if last < 0:
        return False
    found = re.search(rb"^[\"']?" + section + rb"[\"']?[ \t]*:", head, re.MULTILINE)
    return (found is not None and found.start() < last) or head.lstrip().startswith(b"{")


def _as_utf8(head: bytes) -> bytes:
    """The bytes without the byte order mark an editor has put there; UTF-16, which is reported later, as UTF-8."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return head.decode("utf-16", "ignore").encode("utf-8", "ignore")
    return head.removeprefix(codecs.BOM_UTF8)


def _is_document(name: str) -> bool:
    return (name.lower().startswith("readme") and name.endswith(".md")) or _REQUIREMENTS.fullmatch(name) is not None


# -- scripts ------------------------------------------------------------------------------------------------------


def _launch_script(repo: Path, rel: str, folders: set[str], names: Sequence[bytes]) -> ScriptFacts | None:
    """What a script says that is beside a config, or elsewhere and names one; None of any other."""
    if posixpath.dirname(rel) not in folders:
        head = _head(repo, rel)
        if not any(name in head for name in names):
            return None
    from .shell import read_script

    return read_script(repo, rel)


def _document(repo: Path, rel: str) -> DocFacts:
    from .docs import read_doc

    return read_doc(repo, rel)


def link_targets(found: Discovery) -> list[TargetFacts]:
    """The targets of what was found: names, launch scripts and documents put to each config."""
    targets = []
    names = _names(list(found.configs))
    starts = _starts(found)
    for rel, config in found.configs.items():
        folder = posixpath.dirname(rel)
        model_id = config.get("model.model_id")
        target = TargetFacts(
            name=names[rel], config=rel, folder=folder, model_id=model_id if isinstance(model_id, str) else None
        )
        target.scripts = sorted(starts.get(rel, {}))
        target.trainer = next((starts[rel][path] for path in target.scripts if starts[rel][path]), None)
        target.docs = [path for path in found.docs if posixpath.dirname(path) == folder]
        targets.append(target)
    return sorted(targets, key=lambda target: target.name)


def _starts(found: Discovery) -> dict[str, dict[str, str | None]]:
    """Config -> script that starts it -> program. A script whose YAML is missing goes to the nearest config."""
    out: dict[str, dict[str, str | None]] = {}
    for path, script in found.scripts.items():
        for command in script.commands:
            if command.config is None:
                continue
            config: str | None = command.config
            if config not in found.configs:
                missing = any(ref.path == config and ref.exists is False for ref in script.references)
                config = _nearest(config, path, found.configs) if missing and config else None
            if config is not None:
                out.setdefault(config, {}).setdefault(path, command.program)
    return out


def _nearest(missing: str, script: str, configs: Iterable[str]) -> str | None:
    """The config that a script with a wrong path most likely means: the only one beside it, or the nearest name."""
    beside = {posixpath.basename(rel): rel for rel in configs if posixpath.dirname(rel) == posixpath.dirname(script)}
    if len(beside) == 1:
        return next(iter(beside.values()))
    name = near(posixpath.basename(missing), beside)
    return beside[name] if name else None


# -- names --------------------------------------------------------------------------------------------------------


def _names(configs: Sequence[str]) -> dict[str, str]:
    """A unique name for each config: its folder, its stem where a folder holds several, its path as a last resort."""
    per_folder = Counter(posixpath.dirname(rel) for rel in configs)
    names = {}
    for rel in configs:
        folder, file = posixpath.split(rel)
        names[rel] = _safe(posixpath.splitext(file)[0] if per_folder[folder] > 1 else posixpath.basename(folder))
    for longer in (_stem_with_folder, _whole_path):
        count = Counter(_folded(name) for name in names.values())
        for rel, name in names.items():
            if count[_folded(name)] > 1 or _folded(name) in (ALL, FRAMEWORK):
                names[rel] = _safe(longer(rel))
    return names


def _stem_with_folder(rel: str) -> str:
    folder, file = posixpath.split(rel)
    return f"{posixpath.basename(folder)}-{posixpath.splitext(file)[0]}"


def _whole_path(rel: str) -> str:
    return rel.removeprefix(f"{EXAMPLES}/").replace("/", "-")


def _safe(name: str) -> str:
    """The name as it may stand in a file name and on a command line."""
    return re.sub(r"[^\w.-]", "_", name).strip(".") or "target"
