"""Reads READMEs and guides: the repo files they name, what they tell the user to copy in, the versions they ask for.

Shell blocks are followed with their `cd` steps, since the same relative path means another file inside a clone of a
different project. The repo is thought to lie at `/w/MindSpeed-MM`, the name under which documents clone it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..facts.launch import CopyInstruction, DocFacts, PathReference
from . import repo_paths
from .requirements import from_pip, from_requirements_line, from_text
from .shell_words import MAX_VALUE, commands, expand, expand_text
from .text import TextProblem, read_text

MAX_DOC_BYTES = 600_000
_MAX_LINE = 4_000  # an embedded picture is one line of a megabyte
_ROOT = f"/w/{repo_paths.REPO_NAME}"
_ELSEWHERE = "/elsewhere"

_FENCE = re.compile(r"^[ \t>]*(```+|~~~+)[ \t]*([\w+-]*)")
_SHELL = frozenset({"", "bash", "shell", "sh", "console", "zsh"})
_SUFFIX = r"\.(?:yaml|yml|sh|json|py)"
_PATH = re.compile(
    rf"(?<![\w./:@$}}>*<-])(?:\./|(?:\.\./)*{repo_paths.REPO_NAME}/)?([A-Za-z_][^\s`'\"()，。；：、（）|,;]{{0,200}}?{_SUFFIX})(?![\w/*])"
)
_SUFFIXES = (".yaml", ".yml", ".sh", ".json", ".py")
_LINK = re.compile(r"\]\(([^()\s#]+)(?:#[^()\s]*)?\)")
_LINK_SUFFIXES = (".md", ".yaml", ".yml", ".sh", ".json", ".py")
_DEPENDENCY_CLONE = re.compile(r"mindspeed|megatron", re.IGNORECASE)
_COPY_WORDS = re.compile(r"拷贝|复制|放到|放置|放入|拷至|\b(?:copy|copied|place|put)\b", re.IGNORECASE)
_COPY_SIGNS = ("拷", "制", "放", "cop", "place", "put")  # in a line in lower case that `_COPY_WORDS` is found in
_FOLDER_IN_PROSE = re.compile(r"`?(?:\.?/|\$\{?\w+\}?/)?((?:mindspeed_mm|examples)/[\w./-]*)`?")
_NAME_IN_PROSE = re.compile(r"`([\w.-]+)`")
_ANCHORS = ("mindspeed_mm", "examples")
_PROSE_FOLDERS = frozenset({"mindspeed_mm", "examples", "docs", "docker", "tests", "scripts"})  # hold no user data
_TO_BE_MADE = re.compile(r"新建|新增|创建|添加|\b(?:create|add(?:ing)?|new)\b", re.IGNORECASE)
_MAKING_SIGNS = ("新", "创建", "添加", "create", "add", "new")  # likewise for `_TO_BE_MADE`
_HEADING = re.compile(r"^\s*(?:#+\s|\*\*[^*]+\*\*\s*$)")
_VERSION_TABLE = re.compile(r"版本|依赖|软件|version|package|dependenc|software|requirement", re.IGNORECASE)
_CLONE_NAME = re.compile(r"([\w.-]+?)(?:\.git)?/?$")


def read_doc(repo: Path, rel: str) -> DocFacts:
    """Read the Markdown document, requirements file or install script `rel` of `repo`; empty facts when unreadable."""
    facts = DocFacts(path=rel)
    text = read_text(repo / rel, MAX_DOC_BYTES, strict=False)
    if isinstance(text, TextProblem):
        return facts
    reader = _Reader(repo, facts)
    if rel.endswith(".md"):
        reader.markdown(text)
    elif rel.endswith(".sh"):
        reader.shell(text, 1)
        facts.references = []  # `scan.shell` reads those of scripts
    else:
        for number, line in enumerate(text.splitlines(), 1):
            reader.require(from_requirements_line(line), number)
    return facts


@dataclass
class _Reader:
    repo: Path
    facts: DocFacts
    cwd: str = _ROOT
    variables: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    block: list[str] = field(default_factory=list)  # lines of the shell block that is being followed
    block_start: int = 1
    made: set[str] = field(default_factory=set)  # repo paths that the document itself has the user make

    def markdown(self, text: str) -> None:
        block: list[str] | None = None
        fence, language, start = "", "", 0
        table_head, versions = "", False
        heading_makes = before_makes = False  # whether the heading and the line before speak of files to be made
        for number, whole in enumerate(text.splitlines(), 1):
            line = whole[:_MAX_LINE]
            match = _FENCE.match(line) if "```" in line or "~~~" in line else None
            if block is None and match:
                fence, language, block, start = match[1], match[2].lower(), [], number + 1
            elif block is not None and match and match[1].startswith(fence) and not match[2]:
                if language in _SHELL:
                    self.shell("\n".join(block), start)
                block = None
            elif block is not None:
                block.append(line)
                if language not in _SHELL and not line.lstrip().startswith(("#", "//")):
                    self._prose_paths(line, number)
            else:
                lower = line.lower()
                makes = any(sign in lower for sign in _MAKING_SIGNS) and _TO_BE_MADE.search(line) is not None
                heading_makes = makes if _HEADING.match(line) else heading_makes
                if not (heading_makes or before_makes or makes):
                    self._prose_paths(line, number)
                    self._links(line, number)
                if any(sign in lower for sign in _COPY_SIGNS):
                    self._prose_copy(line, number)
                before_makes = makes if line.strip() else before_makes
            is_row = line.lstrip().startswith("|")
            if not is_row:
                table_head, versions = "", False
            elif not table_head:
                table_head, versions = line, _VERSION_TABLE.search(line) is not None
            if versions or "==" in line:
                self.require(from_text(line, in_table=versions), number)
        self.facts.references = [ref for ref in self.facts.references if not self._is_made(ref.path)]

    def _is_made(self, path: str) -> bool:
        return any(path == made or path.startswith(f"{made}/") for made in self.made)

    def require(self, found: Iterator[tuple[str, str]], line: int) -> None:
        """Note package versions; the first place that asks for one counts."""
        for package, version in found:
            if package not in self.facts.requirements:
                self.facts.requirements[package] = version
                self.facts.requirement_lines[package] = line

    # -- shell blocks -------------------------------------------------------------------------------------------

    def shell(self, text: str, line: int) -> None:
        """Follow the commands of a shell block."""
        self.block, self.block_start = text.split("\n"), line
        if _DEPENDENCY_CLONE.search(posixpath.basename(self.cwd)):
            self.cwd = _ROOT  # after installing a dependency of the framework, documents go on in the framework
        for command in commands(text, line):
            words = list(command.words)
            while words and (assignment := words[0].assignment()):
                self.variables[assignment[0]] = expand_text(assignment[2], self.variables)[:MAX_VALUE]
                words = words[1:]
            fields = [(item, word.line) for word in words for item in expand(word, self.variables)]
            for operator, word in command.redirects:
                if ">" in operator:
                    self._make(expand_text(word, self.variables))
            if fields:
                self._command(posixpath.basename(fields[0][0]), fields)

    def _command(self, name: str, fields: list[tuple[str, int]]) -> None:
        texts = [text for text, _ in fields[1:]]
        line = fields[0][1]
        operands = [text for text in texts if not text.startswith("-")]
        if name == "sudo" and len(fields) > 1:
            self._command(posixpath.basename(fields[1][0]), fields[1:])
        elif name in ("cd", "pushd"):
            self._change_folder(operands[0] if operands else _ELSEWHERE)
        elif name == "export":
            for text in operands:
                key, _, value = text.partition("=")
                self.variables[key] = value
        elif name in ("cp", "mv", "ln") and len(operands) > 1:
            self._copy(operands[:-1], operands[-1], line)
        elif name in ("mkdir", "touch", "vi", "vim") and operands:
            for text in operands:
                self._make(text)
        elif name == "git":
            self._git(operands, line)
        elif name in ("pip", "pip3") or (name.startswith("python") and texts[:2] == ["-m", "pip"]):
            self.require(from_pip(texts), line)
        elif name not in ("rm", "ls", "echo", "tee", "unzip", "tar", "wget", "curl"):
            output = False
            for text, at in fields if "/" in fields[0][0] else fields[1:]:
                if text.startswith("-"):
                    output = re.search("save|out|dst|target|log", text) is not None
                    text = text.partition("=")[2]
                elif output:
                    output = False
                    continue
                if text:
                    self._reference(text, at)

    def _in_repo(self) -> bool:
        """Whether the reader is in a folder of the repo, as opposed to a clone of something else."""
        inside = self.cwd.startswith(f"{_ROOT}/") and self._exists(self.cwd[len(_ROOT) + 1 :])
        return inside or self.cwd == _ROOT or _DEPENDENCY_CLONE.search(posixpath.basename(self.cwd)) is not None

    def _change_folder(self, target: str) -> None:
        path = self._absolute(target) or _ELSEWHERE
        from_root = repo_paths.resolve(target, "")
        if (
            from_root
            and path.startswith(f"{_ROOT}/")
            and not self._exists(path[len(_ROOT) + 1 :])
            and self._exists(from_root)
        ):
            path = f"{_ROOT}/{from_root}"  # a new step of the document starts at the root again
        self.cwd = path if len(path) < repo_paths.MAX_PATH else _ELSEWHERE

    def _absolute(self, text: str) -> str | None:
        """The path in the imagined file system, with the last clone of the framework as the repo."""
        if text.startswith(("$", "~")):
            return self._below_anchor(text)
        path = posixpath.normpath(posixpath.join(self.cwd, text))
        rel = repo_paths.resolve(path, None)
        if rel is None:
            return self._below_anchor(path) or path
        return posixpath.normpath(f"{_ROOT}/{rel}")

    def _below_anchor(self, text: str) -> str | None:
        """`${MM_PATH}/mindspeed_mm/x`: what a variable root of the framework is followed by."""
        parts = text.split("/")
        if "$" in parts[0] or "~" in parts[0]:
            for anchor in _ANCHORS:
                if anchor in parts:
                    return posixpath.join(_ROOT, *parts[parts.index(anchor) :])
        return None

    def _relative(self, text: str) -> str | None:
        path = self._absolute(text)
        if path == _ROOT:
            return ""
        return path[len(_ROOT) + 1 :] if path is not None and path.startswith(f"{_ROOT}/") else None

    def _make(self, text: str) -> None:
        path = self._relative(text)
        if path:
            self.made.add(path)

    def _copy(self, sources: list[str], target: str, line: int) -> None:
        destination = self._relative(target)
        if destination is None:
            return
        names = [posixpath.basename(source.rstrip("/")) for source in sources]
        folder = target.endswith(("/", "/.")) or len(sources) > 1 or repo_paths.is_folder(self.repo, destination)
        if not folder:
            destination, names = posixpath.dirname(destination), [posixpath.basename(destination)]
        self.facts.copies.append(CopyInstruction(destination, names, line, sources))
        self.made.update(posixpath.join(destination, name) for name in names)

    def _git(self, operands: list[str], line: int) -> None:
        if len(operands) >= 2 and operands[0] == "clone":
            urls = [text for text in operands[1:] if "/" in text and ("://" in text or "@" in text)]
            if not urls:
                return
            name = _CLONE_NAME.search(urls[0])
            following = operands[operands.index(urls[0]) + 1 :]
            target = following[0] if following else name[1] if name else ""
            destination = self._relative(target)
            if destination:
                folder, base = posixpath.split(destination)
                self.facts.copies.append(CopyInstruction(folder, [base], line))
        elif len(operands) == 2 and operands[0] == "checkout":
            package = posixpath.basename(self.cwd)
            if self.cwd != _ROOT and re.fullmatch(r"[\w.-]+", package):
                self.require(iter([(package.lower(), f"@{operands[1]}")]), line)

    def _reference(self, text: str, line: int) -> None:
        """A file that a shell command of the document names, from the folder it is in or from the root."""
        if not re.search(_SUFFIX + "$", text) or repo_paths.is_placeholder(text, prose=True):
            return
        path = self._relative(text)
        from_root = repo_paths.resolve(text, "")
        if (
            from_root
            and from_root != path
            and (self._exists(from_root) or (path is None and self._names_folder(from_root)))
        ):
            path = from_root
        if path is not None:
            written = (n for n, content in enumerate(self.block, self.block_start) if text in content)
            self._note(path, next(written, line))

    def _exists(self, path: str) -> bool:
        return repo_paths.exists(self.repo, path)

    def _names_folder(self, path: str) -> bool:
        """Whether the repo has the folder the file should be in: then the repo is meant, not some other clone."""
        folder = posixpath.dirname(path)
        return "/" in folder and self._exists(folder)

    # -- prose --------------------------------------------------------------------------------------------------

    def _prose_paths(self, line: str, number: int) -> None:
        if "/" not in line or not any(suffix in line for suffix in _SUFFIXES):
            return
        in_repo = self._in_repo()
        for match in _PATH.finditer(line.replace("\\_", "_")):
            path = posixpath.normpath(match[1])
            if path.split("/", 1)[0] not in _PROSE_FOLDERS or repo_paths.is_placeholder(path, prose=True):
                continue
            if in_repo or self._names_folder(path):
                self._note(path, number)

    def _links(self, line: str, number: int) -> None:
        if "](" not in line:
            return
        for match in _LINK.finditer(line):
            target = match[1]
            if target.endswith(_LINK_SUFFIXES) and "://" not in target and not target.startswith("/"):
                path = posixpath.normpath(posixpath.join(posixpath.dirname(self.facts.path), target))
                if not path.startswith("..") and not repo_paths.is_placeholder(path, prose=True):
                    self._note(path, number, kind="link")

    def _prose_copy(self, line: str, number: int) -> None:
        if not _COPY_WORDS.search(line):
            return
        folder = _FOLDER_IN_PROSE.search(line)
        names = [name for name in _NAME_IN_PROSE.findall(line) if folder is None or name not in folder[1]]
        if folder and names:
            self.facts.copies.append(CopyInstruction(posixpath.normpath(folder[1]), names, number))

    def _note(self, path: str, line: int, kind: str = "") -> None:
        known = repo_paths.is_top_folder(self.repo, path.split("/", 1)[0])
        if path in self.seen or ("/" in path and not known) or ("/" not in path and kind != "link"):
            return
        self.seen.add(path)
        kind = kind or {"yaml": "config", "yml": "config", "sh": "script"}.get(path.rpartition(".")[2], "other")
        self.facts.references.append(PathReference(path, line, repo_paths.is_there(self.repo, path), kind))
