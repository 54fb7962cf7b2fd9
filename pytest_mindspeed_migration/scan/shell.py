"""Reads launch scripts: their variables, exported environment, launch commands, and the files of the repo they name.

Statements are followed from top to bottom, each branch as if it ran. What depends on the machine or on arguments stays
symbolic (`${NAME}`, `$(date ...)`), so that two uses of the same unknown still compare equal.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ..facts.launch import CommandFacts, PathReference, ScriptFacts
from . import repo_paths
from .shell_words import HARD_SPACE, MAX_VALUE, Command, Word, commands, expand, expand_text, substitutions
from .text import TextProblem, read_text

MAX_SCRIPT_BYTES = 300_000
_MAX_NESTING = 5
_MAX_BLOCK = 100  # lines of a quoted list of arguments
_USED = re.compile(r"\$\{?([A-Za-z_]\w*)")

_PACKAGE = "mindspeed_mm"
_KEYWORDS = frozenset({"if", "then", "elif", "else", "fi", "do", "done", "while", "until", "!", "{", "}", "esac"})
_WRAPPERS = frozenset(
    {
        "nohup",
        "exec",
        "sudo",
        "time",
        "env",
        "command",
        "stdbuf",
        "numactl",
        "taskset",
        "timeout",
        "nice",
        "setsid",
        "srun",
    }
)
_DECLARERS = frozenset({"export", "local", "declare", "readonly", "typeset"})
_LAUNCHERS = frozenset({"torchrun", "msrun", "deepspeed", "mpirun", "accelerate"})
_PYTHON = re.compile(r"python[\d.]*")
_SILENT = frozenset(
    {"echo", "printf", "[", "[[", "test", "mkdir", "rm", "touch", "chmod", "ls", "find", "mv", "for", "case"}
)
_READERS = frozenset({"grep", "egrep", "fgrep", "awk", "sed", "cat", "tail", "head"})
_OUTPUT_NAME = re.compile(r"save|out|log|result|dst|dest|target|des_dir|cache|record|dump", re.IGNORECASE)
_CHECKED_SUFFIXES = (".py", ".yaml", ".yml", ".json", ".sh")
_FLAGS = frozenset(
    {"--standalone", "--no_python", "--run_path", "--multi_gpu", "--use_deepspeed", "--use_fsdp", "--main"}
)
_CD_STEP = re.compile(r"(?:\bcd\s+|\)[\"']?/)(\.\.?(?:/[\w./-]*)?)")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)


def read_script(repo: Path, rel: str) -> ScriptFacts:
    """Read the shell script `rel` of `repo`. What cannot be read is said in `ScriptFacts.problem`."""
    facts = ScriptFacts(path=rel)
    text = read_text(repo / rel, MAX_SCRIPT_BYTES, strict=False)
    if isinstance(text, TextProblem):
        facts.problem = text.kind
        return facts
    _Reader(repo, facts, text).read()
    return facts


@dataclass
class _Reader:
    repo: Path
    facts: ScriptFacts
    text: str
    cwd: str | None = ""
    variables: dict[str, str] = field(default_factory=dict)
    named: dict[str, PathReference] = field(default_factory=dict)
    written: set[str] = field(default_factory=set)  # repo paths the script itself makes
    mentioned: list[str] = field(default_factory=list)  # every field of a program's arguments

    def __post_init__(self) -> None:
        self.lines = self.text.splitlines()
        self.used = set(_USED.findall(self.text))

    def read(self) -> None:
        self._run(commands(self.text), 0)
        facts = self.facts
        facts.variables = {name: _shown(value) for name, value in self.variables.items()}
        facts.references = [ref for ref in self.named.values() if ref.path not in self.written]
        suffixes = {posixpath.splitext(path)[1] for path in facts.log_writes}
        facts.log_reads = {
            path: line
            for path, line in facts.log_reads.items()
            if posixpath.splitext(path)[1] in suffixes and not any(path in argument for argument in self.mentioned)
        }
        facts.external = _PACKAGE not in self.text and not any(ref.exists for ref in facts.references)

    # -- statements ---------------------------------------------------------------------------------------------

    def _run(self, sequence: Iterator[Command], nesting: int) -> None:
        for command in sequence:
            for name, words in command.arrays.items():
                self._assign(name, " ".join(field for word in words for field in expand(word, self.variables)), False)
            for word in command.words:
                self._substitutions(word, nesting)
            self._redirects(command)
            words = self._assignments(command)
            if words:
                self._command(command, words)

    def _substitutions(self, word: Word, nesting: int) -> None:
        if nesting < _MAX_NESTING:
            for text, line in substitutions(word):
                cwd = self.cwd
                self._run(commands(text, line), nesting + 1)
                self.cwd = cwd

    def _redirects(self, command: Command) -> None:
        for operator, word in command.redirects:
            target = expand_text(word, self.variables)
            if ">" in operator:
                self._writes(target, word.line)
            elif operator == "<":
                self._reads(target, word.line)

    def _assignments(self, command: Command) -> list[Word]:
        """Take the leading assignments of a command; return the words that are left."""
        words = command.words
        while words and words[0].literal in _KEYWORDS:
            words = words[1:]
        prefix: dict[str, str] = {}
        while words and (assignment := words[0].assignment()):
            name, appends, value_word = assignment
            value = self._self_path(expand_text(value_word, self.variables))
            self._assign(name, value, appends)
            self._value_references(name, value, words[0].line)
            prefix[name] = _shown(value)
            words = words[1:]
        if words:
            self.facts.environment.update(prefix)
        return words

    def _assign(self, name: str, value: str, appends: bool) -> None:
        self.variables[name] = ((self.variables.get(name, "") if appends else "") + value)[:MAX_VALUE]

    def _self_path(self, value: str) -> str:
        """Replace `$(dirname $0)` and its longer forms by the folder of this script, written from the repo's root."""
        if "dirname" in value and ("$0" in value or "BASH_SOURCE" in value or "${0}" in value):
            inside, _, rest = value.rpartition(")")
            steps = _CD_STEP.findall(inside.replace(HARD_SPACE, " "))
            folder = posixpath.normpath(posixpath.join(posixpath.dirname(self.facts.path), *steps))
            return f"/{repo_paths.REPO_NAME}/{folder}{rest}"
        return value

    def _command(self, command: Command, words: list[Word]) -> None:
        fields = [(self._self_path(text), word.line) for word in words for text in expand(word, self.variables)]
        fields = self._unwrapped(fields)
        if not fields:
            return
        name = posixpath.basename(fields[0][0])
        arguments = fields[1:]
        if name in _DECLARERS:
            self._declare(words[1:], exported=name == "export")
        elif name in ("cd", "pushd"):
            self._change_folder(arguments)
        elif name == "popd":
            self.cwd = None
        elif name in ("for", "read", "getopts", "select", "mapfile", "readarray"):
            filled = [text for text, _ in arguments if text.isidentifier()]
            for variable in filled[:1] if name in ("for", "select") else filled:
                self.variables.pop(variable, None)
                self.facts.filled.append(variable)
        elif name == "tee":
            for text, line in arguments:
                if not text.startswith("-"):
                    self._writes(text, line)
        elif name in ("cp", "ln", "mv", "touch") and arguments:
            self._copy(name, arguments)
        elif name in _READERS:
            for text, line in _files_read(name, arguments):
                self._reads(text, line)
        elif name in _LAUNCHERS or _PYTHON.fullmatch(name):
            self._launch(name, arguments, command.line)
            return
        self._run_by_path(*fields[0])
        if name not in _SILENT and name not in ("cp", "ln", "cd", "pushd", *_DECLARERS):
            self._argument_references([(fields[0]), *arguments] if "/" in fields[0][0] else arguments)

    def _run_by_path(self, text: str, line: int) -> None:
        """A command that is a file of the repo needs the bit that makes it executable."""
        path = repo_paths.resolve(text, self.cwd) if "/" in text else None
        if path is not None and path not in self.written and repo_paths.lacks_execute_bit(self.repo, path):
            self.facts.not_executable.setdefault(path, line)

    def _unwrapped(self, fields: list[tuple[str, int]]) -> list[tuple[str, int]]:
        """The command behind `env X=1`, `nohup`, `stdbuf -oL`, ...: from the launcher on, when there is one."""
        if not fields or fields[0][0] not in _WRAPPERS:
            return fields
        names = [posixpath.basename(text) for text, _ in fields]
        start = next((n for n, name in enumerate(names) if name in _LAUNCHERS or _PYTHON.fullmatch(name)), 1)
        for text, _ in fields[:start]:
            if match := _ASSIGNED.fullmatch(text):
                self.facts.environment[match[1]] = _shown(match[2])
        return fields[start:]

    def _declare(self, words: list[Word], exported: bool) -> None:
        for word in words:
            assignment = word.assignment()
            if assignment is None:
                name = word.literal
                if exported and name in self.variables:
                    self.facts.environment[name] = _shown(self.variables[name])
                continue
            name, appends, value_word = assignment
            value = self._self_path(expand_text(value_word, self.variables))
            self._assign(name, value, appends)
            self._value_references(name, value, word.line)
            if exported:
                self.facts.environment[name] = _shown(self.variables[name])

    def _change_folder(self, arguments: list[tuple[str, int]]) -> None:
        target = next((text for text, _ in arguments if not text.startswith("-")), "")
        self.cwd = None if repo_paths.is_placeholder(target) else repo_paths.resolve(target, self.cwd)

    def _copy(self, name: str, arguments: list[tuple[str, int]]) -> None:
        operands = [item for item in arguments if not item[0].startswith("-")]
        made = operands if name == "touch" else operands[-1:]
        sources = [] if name == "touch" else operands[:-1]
        for text, _ in made:
            path = repo_paths.resolve(text, self.cwd)
            if path is not None:
                self.written.add(path)
                self.written.update(posixpath.join(path, posixpath.basename(source)) for source, _ in sources)
        if name != "mv":
            self._argument_references(sources)

    # -- launch commands ----------------------------------------------------------------------------------------

    def _launch(self, launcher: str, arguments: list[tuple[str, int]], line: int) -> None:
        if launcher == "accelerate":
            if not arguments or arguments[0][0] != "launch":
                return
            arguments = arguments[1:]
        if _PYTHON.fullmatch(launcher) and arguments and arguments[0][0] in ("-c", "-"):
            return
        facts = CommandFacts(line=line, launcher=launcher, program=None, config=None)
        values: dict[str, list[str]] = {}
        at = 0
        while at < len(arguments):
            text = arguments[at][0]
            if not text.startswith("-"):
                facts.program = text
                at += 1
                break
            option, has_value, value = text.partition("=")
            option = option.replace("-", "_") if not option.startswith("--") else "--" + option[2:].replace("-", "_")
            at += 1
            if option in ("_m", "--module") and at < len(arguments):
                module = arguments[at][0]
                at += 1
                if module in ("torch.distributed.run", "torch.distributed.launch"):
                    facts.launcher = "torchrun"
                    continue
                facts.program = module.replace(".", "/") + ".py" if module.startswith(f"{_PACKAGE}.") else None
                break
            if not has_value and option not in _FLAGS and option.startswith("--") and at < len(arguments):
                following = arguments[at][0]
                if not following.startswith("-") and not following.endswith(".py"):
                    value = following
                    at += 1
            values.setdefault(option, []).append(_shown(value))
        facts.options = {option: given[-1] for option, given in values.items()}
        facts.repeated_options = {option: given for option, given in values.items() if len(given) > 1}
        rest = arguments[at:]
        facts.arguments = [_shown(text) for text, _ in rest]
        self.mentioned.extend(text for text, _ in rest)
        config = next((item for item in rest if item[0].endswith((".yaml", ".yml"))), None)
        if facts.program is not None:
            program_line = arguments[at - 1][1]
            facts.program = self._reference(facts.program, program_line, "trainer") or _shown(facts.program)
        if config is not None:
            facts.config = self._reference(config[0], config[1], "config") or _shown(config[0])
        self._argument_references([item for item in rest if item is not config])
        self.facts.commands.append(facts)

    # -- files --------------------------------------------------------------------------------------------------

    def _reference(self, text: str, line: int, kind: str) -> str | None:
        """Note that the script names this file; the repo path it means, None when that cannot be known."""
        if not text.endswith(_CHECKED_SUFFIXES) or (repo_paths.is_placeholder(text) and "$" in text):
            return None
        path = repo_paths.resolve(text, self.cwd)
        if path is None or repo_paths.is_placeholder(path):
            return None
        if path not in self.named:
            self.named[path] = PathReference(path, line, repo_paths.is_there(self.repo, path), kind)
        return path

    def _argument_references(self, fields: list[tuple[str, int]]) -> None:
        option = ""
        for text, line in fields:
            if text.startswith("-"):
                option, _, text = text.partition("=")
                if not text:
                    continue
            if not _OUTPUT_NAME.search(option) and self._in_repo_folder(text):
                self._reference(text, line, _kind(text))
            option = ""

    def _value_references(self, name: str, value: str, line: int) -> None:
        """Files named in the value of a variable that is used somewhere, at the line where they stand."""
        if "/" not in value or _OUTPUT_NAME.search(name) or name not in self.used:
            return
        fields = value.split()
        for number, text in enumerate(fields):
            if not self._in_repo_folder(text) or (number and _OUTPUT_NAME.search(fields[number - 1])):
                continue
            block = enumerate(self.lines[line - 1 : line + _MAX_BLOCK], line)
            at = next((n for n, content in block if text in content), line)
            self._reference(text, at, _kind(text))

    def _in_repo_folder(self, text: str) -> bool:
        """Whether a path starts in a folder the repo has: others (data, checkpoints) are the user's own."""
        if "/" not in text:
            return False
        path = repo_paths.resolve(text, self.cwd)
        return path is not None and "/" in path and repo_paths.is_top_folder(self.repo, path.split("/", 1)[0])

    def _writes(self, target: str, line: int) -> None:
        path = _clean(target)
        if path.startswith("/dev/"):
            return
        self.facts.log_writes.setdefault(_shown(path), line)
        inside = repo_paths.resolve(path, self.cwd)
        if inside is not None:
            self.written.add(inside)

    def _reads(self, target: str, line: int) -> None:
        path = _shown(_clean(target))
        if posixpath.splitext(path)[1] and not any(mark in path for mark in "*?["):
            self.facts.log_reads.setdefault(path, line)


def _files_read(name: str, arguments: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The operands of a reading command that are files."""
    takes_value = {"awk": ("-F", "-v", "-f"), "tail": ("-n", "-c"), "head": ("-n", "-c")}.get(
        name, ("-e", "-f", "-m", "-A", "-B", "-C", "--include")
    )
    operands: list[tuple[str, int]] = []
    skip = False
    has_script = name in ("cat", "tail", "head")
    for text, line in arguments:
        if skip:
            skip = False
        elif text.startswith("-") and len(text) > 1:
            skip = text in takes_value
            has_script = has_script or text in ("-e", "-f")
        else:
            operands.append((text, line))
    return operands if has_script else operands[1:]


def _kind(text: str) -> str:
    if text.endswith((".yaml", ".yml")):
        return "config"
    return "script" if text.endswith(".sh") else "data" if text.endswith(".json") else "other"


def _clean(path: str) -> str:
    path = path.strip()
    return path[2:] if path.startswith("./") else path


def _shown(text: str) -> str:
    return text.replace(HARD_SPACE, " ")
