"""What an earlier run over the same targets has judged, kept under everything it follows from.

Judging is a pure function of facts, and facts follow from files. While no file of the target repo, no file the configs
name, nothing the user asked for and nothing of this package has changed, a contract that was judged need not be judged
again: its record is published with the time it was judged at, and the test ends as it did then.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .evidence.collector import Stored
from .facts.codec import from_json, to_json
from .facts.target import TargetFacts
from .resources import resource_dir
from .scan.repo_paths import same_answers

if TYPE_CHECKING:
    from .manifests import Manifests
    from .options import Options
    from .scan.stamps import FileStamps
    from .target_repo import Loaded

KEPT = 8
"""Runs that are kept: one for each choice of targets and options that was asked for lately."""


@dataclass
class Content:
    """The JSON of one kept run.

    Attributes:
        key: digest of what the run follows from, as far as it is known beforehand.
        asked: other files of the repo it depends on, see `repo_paths.questions`.
        assets: paths it has looked up (`scan.assets.Question`), each with the answer.
        targets: the targets, as `TargetFacts`.
        stated: `facts_stated` of each target.
        suites: `suite.digest` of the rendered suite of each target.
        verdicts: by target and contract: `record`, `log`, and the text `shown` with the test.
        published: digests of the reports of each target: of what they follow from, and of the files.
    """

    key: str
    asked: dict[str, int] = field(default_factory=dict)
    assets: list[tuple[dict[str, Any], Any]] = field(default_factory=list)
    targets: list[Any] = field(default_factory=list)
    stated: dict[str, dict[str, Any]] = field(default_factory=dict)
    suites: dict[str, str] = field(default_factory=dict)
    verdicts: dict[str, dict[str, dict[str, Any]]] = field(default_factory=dict)
    published: dict[str, dict[str, Any]] = field(default_factory=dict)


class Memory:
    """The kept run that belongs to this one; empty when there is none."""

    def __init__(self, path: Path, key: str | None = None, repo: Path | None = None) -> None:
        """Open the file of a kept run.

        Args:
            path: the file.
            key: digest of what this run follows from; None when somebody else has looked whether the file holds.
            repo: the checkout, to look whether the file holds.
        """
        self.path = path
        found = _read(path)
        if found is not None and (key is None or (found.key == key and repo is not None and _holds(found, repo))):
            self.content, self.holds = found, True
        else:  # the file, if there is one, is of another state of the checkout
            self.content, self.holds = Content(key or ""), False
        self.changed = False

    @property
    def targets(self) -> list[TargetFacts]:
        """The targets of the kept run; none when there is no such run."""
        return [from_json(TargetFacts, target) for target in self.content.targets]

    def recall(self, target: str, contract: str, stated: Mapping[str, Any]) -> tuple[Stored, str] | None:
        """The record of a contract and the text shown with its test; None when it has to be judged.

        Args:
            target: name of the target.
            contract: id of the contract.
            stated: facts the test states; all of them have to be those of the target.
        """
        kept = self.content.verdicts.get(target, {}).get(contract)
        now = self.content.stated.get(target, {})
        if kept is None or any(name not in now or now[name] != value for name, value in stated.items()):
            return None
        return Stored(kept["record"], kept["log"]), kept["shown"]

    def stored(self, target: str, contract: str) -> Stored:
        """The kept record of a contract; KeyError when there is none."""
        kept = self.content.verdicts[target][contract]
        return Stored(kept["record"], kept["log"])

    def keep_targets(self, loaded: Loaded, stated: dict[str, Any]) -> None:
        """Keep what was read.

        Args:
            loaded: the facts of the repo, and the targets of the run.
            stated: `facts_stated` of each target.
        """
        content = self.content
        content.asked = loaded.asked
        content.targets = [to_json(target) for target in loaded.targets]
        content.assets = [(asdict(one), to_json(loaded.facts.assets[one.key])) for one in loaded.named]
        content.stated = stated
        self.changed = True

    def keep_suites(self, suites: Mapping[str, str]) -> None:
        """Keep the digests of the rendered suites."""
        self.content.suites = dict(suites)
        self.changed = True

    def keep(self, stored: Stored, shown: str) -> None:
        """Keep the record of a contract that was judged."""
        of_target = self.content.verdicts.setdefault(stored.record["target"], {})
        of_target[stored.record["id"]] = {"record": stored.record, "log": stored.log, "shown": shown}
        self.changed = True

    def is_published(self, name: str, inputs: str, folder: Path) -> bool:
        """Whether the files in `folder` are those that were written for these inputs."""
        kept = self.content.published.get(name)
        return kept is not None and kept["inputs"] == inputs and kept["files"] == _digests(folder, kept["files"])

    def keep_published(self, name: str, inputs: str, folder: Path, files: Sequence[str]) -> None:
        """Keep that these files in `folder` were written for these inputs; one that is missing stays missing."""
        self.content.published[name] = {"inputs": inputs, "files": _digests(folder, files)}
        self.changed = True

    def save(self) -> None:
        """Write the file when something new is in it, and forget the runs that were asked for longest ago."""
        if not self.changed or not self.content.targets:
            return
        temporary = self.path.with_suffix(f".{os.getpid()}.tmp")
        try:
            temporary.write_text(json.dumps(vars(self.content), separators=(",", ":")), encoding="ascii")
            temporary.replace(self.path)
            kept = sorted(self.path.parent.glob("run-*.json"), key=lambda path: path.stat().st_mtime)
            for path in kept[:-KEPT]:
                path.unlink()
        except OSError:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def memory_of(
    options: Options,
    manifests: Manifests,
    repo: Path,
    folder: Path,
    levels: Sequence[str],
    lenient: bool,
    stamps: FileStamps,
) -> Memory | None:
    """The memory of a run; None for one whose outcomes follow from more than files.

    Args:
        options: what the user asked for, with the targets.
        manifests: what `target_repo.manifests_of` returned.
        repo: the checkout.
        folder: where memories are.
        levels: the levels of the run; only `static` follows from files alone.
        lenient: whether names that match no target are left out.
        stamps: of the files of the checkout.

    Raises:
        UsageProblem: when git does not know the base revision.
    """
    from . import target_repo

    checks = sys.modules.get(f"{__package__}.checks.registry")
    if options.facts is not None or tuple(levels) != ("static",) or (checks is not None and checks._CHECKS):
        return None  # the last: somebody has added checks of their own
    asked = [str(repo), options.targets, to_json(manifests), options.lang, options.typed, lenient]
    name = hashlib.sha256(json.dumps(asked, default=str).encode()).hexdigest()
    changes = target_repo.changes(options, repo)
    changed = to_json(changes) if changes is not None else None
    inputs = [name, changed, _tool_stamp(), sys.version, stamps.all]
    key = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()
    return Memory(folder / f"run-{name[:12]}.json", key, repo)


def _read(path: Path) -> Content | None:
    try:
        if not path.is_file():  # reading a pipe would wait for somebody to write it
            return None
        return Content(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _holds(content: Content, repo: Path) -> bool:
    from .scan.lookup import Question

    return same_answers(repo, content.asked) and all(
        to_json(Question(**question).answer()) == answer for question, answer in content.assets
    )


def _digests(folder: Path, names: Iterable[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for name in names:
        try:
            found[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        except OSError:
            found[name] = None
    return found


def _tool_stamp() -> list[list[Any]]:
    """Identity of everything of this package that a verdict, its texts and its reports follow from."""
    package = Path(__file__).resolve().parent
    stamps = []
    for root in (package, resource_dir("contracts"), resource_dir("generators")):
        for folder, folders, names in os.walk(root):
            folders[:] = sorted(name for name in folders if name not in ("__pycache__", "repo"))
            for name in sorted(names):
                status = os.stat(os.path.join(folder, name))
                stamps.append([name, status.st_size, status.st_mtime_ns])
    return stamps
