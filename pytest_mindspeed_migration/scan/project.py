"""Which Python files of the target are read, and the cache of what was read from them."""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ..facts.flow import FlowFacts
from ..facts.source import ModuleFacts, NameFacts
from .cache import ScanCache
from .flow.ahead import FlowAhead
from .repo_paths import files_below
from .stamps import FileStamps
from .text import TextProblem, read_bytes

if TYPE_CHECKING:
    from .names import UndefinedNames

MAX_BYTES = 400_000
"""A Python file above this size is generated data, not a plugin; it is reported as unreadable. Its tree takes up to 700
times as much memory; the largest of the framework has 140 kB."""


class Project:
    """The Python side of a target repo. Reads files on demand, each once, and follows imports inside the repo."""

    def __init__(
        self,
        repo: Path,
        package: str = "mindspeed_mm",
        cache: ScanCache | None = None,
        stamps: FileStamps | None = None,
    ) -> None:
        self.repo = repo
        self.package = package
        self.core = f"{package}/fsdp/"
        self.files = [path for path in files_below(repo, package) if path.endswith(".py")]
        self._file_set = set(self.files)
        self.modules: dict[str, ModuleFacts] = {}
        self.cache = cache or ScanCache(None)
        self._given_stamps = stamps
        self._ahead: dict[str, tuple[list[int], ModuleFacts]] = {}  # read before anybody asked, with the stamp
        self._fresh: dict[str, list[int]] = {}  # files read anew, with the stamp they are cached under
        self._stamps: dict[str, list[int]] = {}  # of every file read
        self._asked: list[UndefinedNames] = []  # ruff is at work on them
        self._named: set[str] = set()  # files whose undefined names are known

    @cached_property
    def stamps(self) -> FileStamps:
        """The stamps of all files, for the keys of what is kept."""
        return self._given_stamps or FileStamps(self.repo, self.package)

    @property
    def key(self) -> str:
        """What results are kept under that follow from all files; "" where nothing is kept."""
        return self.stamps.texts if self.cache.kept else ""

    def read(self, paths: Iterable[str], wait: bool = True) -> None:
        """Read these files and what they import, however indirectly, inside the FSDP2 package.

        A file outside it (the older Megatron-style stack) is read, so that names imported from it can be checked, but
        its own imports are not followed: they belong to the other stack. Without `wait`, the undefined names of the
        files are there only after `finish()`: finding them goes on in a process of its own.
        """
        pending = list(paths)
        while pending:
            path = pending.pop()
            if path in self.modules:
                continue
            facts = self._read_file(path)
            self.modules[path] = facts
            if path.startswith(self.core):
                pending.extend(self._files_of(facts.name))  # the packages above it run first
                pending.extend(self._imported_files(facts))
        self._ask_for_undefined_names()
        if wait:
            self._add_undefined_names()

    def read_beside(self, paths: Iterable[str]) -> dict[str, ModuleFacts]:
        """Read files of the other stack with the modules they name directly; they do not join `modules`."""
        found: dict[str, ModuleFacts] = {}
        for path in paths:
            found[path] = self._read_file(path)
            for imported in self._imported_files(found[path]):
                if imported not in found:
                    found[imported] = self._read_file(imported)
        for path in (self._fresh.keys() & found.keys()) - self.modules.keys():
            self.cache.keep_file(path, self._fresh.pop(path), found[path])
        return found

    def source(self, path: str) -> bytes:
        """What a file holds; nothing when it is none that would be read."""
        source = read_bytes(self.repo / path, MAX_BYTES)
        return b"" if isinstance(source, TextProblem) else source

    def below(self, folder: str) -> list[str]:
        """Every Python file below a folder of the repo."""
        prefix = folder.rstrip("/") + "/"
        return [path for path in self.files if path.startswith(prefix)]

    def stamp_of_changed(self, path: str) -> list[int] | None:
        """The stamp of a file whose facts the cache does not have."""
        try:
            stamp = _stamp(self.repo / path)
        except OSError:
            return None
        return stamp if self.cache.is_fresh(path, stamp) else None

    def take_ahead(self, found: dict[str, tuple[list[int], ModuleFacts]], named: Iterable[str]) -> None:
        """Take facts that were read before anybody asked for them.

        Args:
            found: stamp and facts by path.
            named: files whose undefined names are found by others, see `add_names`.
        """
        self._ahead.update(found)
        self._named.update(named)

    def add_names(self, names: dict[str, list[NameFacts]]) -> None:
        """Add undefined names by file; of one that cannot be parsed, nothing is known."""
        for path, items in names.items():
            if self.modules[path].syntax_error is None:
                self.modules[path].unbound.extend(items)

    def stamps_of(self, paths: Iterable[str]) -> dict[str, list[int]]:
        """The stamps of files that were read."""
        return {path: self._stamps[path] for path in paths if path in self._stamps}

    def flow(self, compute: Callable[[], FlowFacts], ahead: bool = False) -> FlowFacts:
        """What follows from all files read: as kept, or computed, if need be by a helper that works ahead."""
        stamps = sorted((path, self._stamps.get(path)) for path in self.modules)
        key = hashlib.sha256(repr(stamps).encode("utf-8", "replace")).hexdigest()
        found = self.cache.result(FlowFacts, key)
        if found is None:
            found = FlowAhead(compute) if ahead else compute()
            self.cache.keep_result(FlowFacts, key, found)
        return found

    def finish(self) -> None:
        """Close the reading: hand what is new to the cache."""
        self._add_undefined_names()
        for path, stamp in self._fresh.items():
            self.cache.keep_file(path, stamp, self.modules[path])

    def _imported_files(self, facts: ModuleFacts) -> Iterator[str]:
        for item in facts.imports:
            if item.module.split(".", 1)[0] != self.package:
                continue
            yield from self._files_of(item.module)
            if item.name and item.name != "*":
                yield from self._files_of(f"{item.module}.{item.name}", parents=False)

    def _files_of(self, module: str, parents: bool = True) -> Iterator[str]:
        """The files that importing a module runs: its own and, with `parents`, the packages above it."""
        base = module.replace(".", "/")
        for candidate in (f"{base}.py", f"{base}/__init__.py"):
            if candidate in self._file_set:
                yield candidate
        while parents and "/" in base:
            base = base.rsplit("/", 1)[0]
            if f"{base}/__init__.py" in self._file_set:
                yield f"{base}/__init__.py"

    def _read_file(self, path: str) -> ModuleFacts:
        full = self.repo / path
        try:
            stamp = _stamp(full)
        except OSError as error:
            return _unreadable(path, error.strerror or "unreadable")
        self._stamps[path] = stamp
        kept = self.cache.file(ModuleFacts, path, stamp)
        if kept is not None:
            return kept
        self._fresh[path] = stamp
        ahead = self._ahead.pop(path, None)
        return ahead[1] if ahead is not None and ahead[0] == stamp else read_module(full, path)

    def close(self) -> None:
        """End what still looks for undefined names."""
        for asked in self._asked:
            asked.close()

    def _ask_for_undefined_names(self) -> None:
        """Have ruff look at the files that were not in the cache and have not been asked about yet."""
        paths = [path for path in self._fresh if path not in self._named and self.modules[path].syntax_error is None]
        self._named.update(paths)
        if paths:
            from .names import UndefinedNames

            self._asked.append(UndefinedNames(self.repo, paths))

    def _add_undefined_names(self) -> None:
        """Take the names no scope binds from the answers."""
        while self._asked:
            self.add_names(self._asked[0].answer())
            self._asked.pop(0)


def _stamp(full: Path) -> list[int]:
    status = full.stat()
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size]  # the second cannot be set back


def module_name(path: str) -> tuple[str, bool]:
    """Dotted module name of a file, and whether it is a package's `__init__.py`."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        return ".".join(parts[:-1]), True
    return ".".join(parts), False


def read_module(full: Path, path: str) -> ModuleFacts:
    """Read one file. A file that cannot be read or parsed gives facts with `syntax_error` set."""
    source = read_bytes(full, MAX_BYTES)
    if isinstance(source, TextProblem):
        return _unreadable(path, source.detail)
    from .module_reader import ModuleReader  # not imported by runs that know every file

    name, is_package = module_name(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source, filename=path)
        reader = ModuleReader(path, name, is_package)
        facts = reader.read(tree)
        return ModuleReader(path, name, is_package, builtin_calls=True).read(tree) if reader.binds_builtins() else facts
    except SyntaxError as error:
        return _unreadable(path, error.msg or "invalid syntax", error.lineno or 1)
    except (ValueError, RecursionError, MemoryError) as error:
        return _unreadable(path, str(error) or type(error).__name__)


def _unreadable(path: str, reason: str, line: int = 1) -> ModuleFacts:
    name, is_package = module_name(path)
    return ModuleFacts(path=path, name=name, is_package=is_package, dynamic=True, syntax_error=(line, reason))
