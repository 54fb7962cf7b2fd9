"""A small reader of POSIX shell text: commands, words and quoting. It runs nothing and never fails: what it does not
understand (control flow, unusual expansions) comes out as plain commands or as an unexpanded `${...}`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

HARD_SPACE = "\x1f"  # a blank inside `$(...)`: word splitting must not break the text there

_TOKEN = re.compile(
    r"""(?P<text>(?![0-9]+[<>])[^\s\\'"$`;&|<>()]+)
      | (?P<blank>[ \t\r]+|\\\r?\n)
      | (?P<newline>\n)
      | (?P<heredoc><<-?(?!<)[ \t]*(?P<quote>['"]?)(?P<end>[\w.]+)(?P=quote))
      | (?P<dup>[0-9]*[<>]&[0-9-]+)
      | (?P<redirect>(?:&|[0-9]+(?=[<>]))?(?:>>|>\||>|<<<|<)&?)
      | (?P<separator>&&|\|\||\|&?|;;?|&|\(|\))
      | (?P<single>'[^']*(?:'|\Z))
      | (?P<double>")
      | (?P<dollar>\$|`)
      | (?P<escape>\\(?:.|\Z))""",
    re.VERBOSE | re.DOTALL,
)
_DOUBLE_TEXT = re.compile(r'[^"\\$`]+')
_NAME = re.compile(r"[A-Za-z_]\w*|[0-9@*#?$!-]")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?=)")
_BLANKS = re.compile(r"[ \t\n]+")
_DEFAULT = re.compile(r"([A-Za-z_]\w*):?([-=])(.*)", re.DOTALL)
_ARITHMETIC = re.compile(r"[\d\s+\-*/%()]{1,200}")


@dataclass(slots=True)
class Part:
    """A piece of a word: literal text, a `${...}`, a `$(...)` or a `$((...))`."""

    kind: str  # "text", "variable", "command", "arithmetic"
    text: str
    quoted: bool
    line: int


@dataclass(slots=True)
class Word:
    """A shell word before expansion."""

    line: int
    parts: list[Part] = field(default_factory=list)

    @property
    def literal(self) -> str:
        """The text, as far as it is literal from the start."""
        out = ""
        for part in self.parts:
            if part.kind != "text":
                break
            out += part.text
        return out

    def assignment(self) -> tuple[str, bool, Word] | None:
        """`NAME=value` as name, whether it appends, and the value; None for another word."""
        if not self.parts or self.parts[0].kind != "text" or self.parts[0].quoted:
            return None
        first = self.parts[0]
        match = _ASSIGNMENT.match(first.text) if "=" in first.text else None
        if match is None:
            return None
        rest = Part("text", first.text[match.end() :], False, first.line)
        return match[1], match[2] == "+=", Word(self.line, [rest, *self.parts[1:]])


@dataclass(slots=True)
class Command:
    """One simple command. `redirects` are pairs of operator and target; `piped` means it reads the one before."""

    line: int
    words: list[Word] = field(default_factory=list)
    redirects: list[tuple[str, Word]] = field(default_factory=list)
    arrays: dict[str, list[Word]] = field(default_factory=dict)
    piped: bool = False


MAX_VALUE = 4_000
"""Longest value of a variable that a reader should keep: `A=$A$A` doubles."""


def commands(text: str, line: int = 1) -> Iterator[Command]:
    """The simple commands of a shell text, in the order they are written; keywords come as ordinary words."""
    return _Lexer(text, line).commands()


def expand(word: Word, variables: Mapping[str, str]) -> list[str]:
    """The fields a word expands to. An unknown variable stays as `${NAME}`, a command substitution as `$(...)`."""
    if len(word.parts) == 1 and word.parts[0].kind == "text":
        text = word.parts[0].text
        return [text] if text or word.parts[0].quoted else []
    fields: list[str] = [""]
    quoted = False
    for part in word.parts:
        value = _part_value(part, variables)
        quoted = quoted or part.quoted
        if part.kind == "variable" and not part.quoted:
            first, *others = _BLANKS.split(value)
            fields[-1] += first
            fields.extend(others)
        else:
            fields[-1] += value
    return [item for item in fields if item or (quoted and len(fields) == 1)]


def expand_text(word: Word, variables: Mapping[str, str]) -> str:
    """The word as one text, as in an assignment."""
    return "".join(_part_value(part, variables) for part in word.parts)


def substitutions(word: Word) -> Iterator[tuple[str, int]]:
    """The texts of the command substitutions in a word, with their lines."""
    for part in word.parts:
        if part.kind == "command":
            yield part.text, part.line


def _part_value(part: Part, variables: Mapping[str, str]) -> str:
    if part.kind == "text":
        return part.text
    if part.kind == "variable":
        return _variable(part.text, variables)
    if part.kind == "arithmetic":
        value = arithmetic(part.text, variables)
        return f"$(({part.text}))" if value is None else str(value)
    return "$(" + re.sub(r"\s", HARD_SPACE, part.text) + ")"


def _variable(text: str, variables: Mapping[str, str]) -> str:
    name = text.removesuffix("[@]").removesuffix("[*]")
    if name in variables:
        return variables[name]
    match = _DEFAULT.fullmatch(text)
    if match:
        if match[1] in variables:
            return variables[match[1]]
        if "$" not in match[3]:
            return match[3].strip("\"'")
    return "${" + re.sub(r"\s", HARD_SPACE, text) + "}"


def arithmetic(text: str, variables: Mapping[str, str]) -> int | None:
    """The value of a `$((...))` of whole numbers and known variables, None when it is more than that."""
    for _ in range(5):
        replaced = re.sub(r"\$?\{?([A-Za-z_]\w*)\}?", lambda match: f"({variables.get(match[1], '?')})", text)
        if replaced == text:
            break
        text = replaced
        if len(text) > 200:
            return None
    if not _ARITHMETIC.fullmatch(text) or "**" in text:
        return None
    try:
        return _fold(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError, MemoryError):
        return None


def _fold(node: ast.expr) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_fold(node.operand)
    if isinstance(node, ast.BinOp):
        left, right = _fold(node.left), _fold(node.right)
        if isinstance(node.op, ast.Add):
            return left + right
        if isinstance(node.op, ast.Sub):
            return left - right
        if isinstance(node.op, ast.Mult):
            return left * right
        if isinstance(node.op, (ast.Div, ast.FloorDiv)):
            return left // right
        if isinstance(node.op, ast.Mod):
            return left % right
    raise ValueError("not simple arithmetic")


class _Lexer:
    def __init__(self, text: str, line: int, arrays: bool = True) -> None:
        self.text = text
        self.line = line
        self.at = 0
        self.arrays = arrays  # arrays do not nest

    def commands(self) -> Iterator[Command]:
        command = Command(self.line)
        word: Word | None = None
        redirect: str | None = None
        heredocs: list[str] = []

        def end_word() -> None:
            nonlocal word, redirect
            if word is None:
                return
            if not command.words and not command.redirects:
                command.line = word.line
            if redirect is None:
                command.words.append(word)
            else:
                command.redirects.append((redirect, word))
            word, redirect = None, None

        text, end_of_text, token_at = self.text, len(self.text), _TOKEN.match
        while self.at < end_of_text:
            match = token_at(text, self.at)
            if match is None:  # cannot happen: every character has an alternative; a guard against looping
                self.at += 1
                continue
            kind, token, start_line = match.lastgroup, match[0], self.line
            if kind == "text":
                if word is None:
                    if token[0] == "#":
                        self._skip_comment()
                        continue
                    word = Word(start_line)
                word.parts.append(Part("text", token, False, start_line))
                self.at = match.end()
                continue
            if kind == "double" or kind == "dollar":
                if word is None:
                    word = Word(start_line)
                if kind == "double":
                    self._double(word)
                else:
                    self._dollar(word, quoted=False)
                continue
            self.at = match.end()
            if "\n" in token:
                self.line += token.count("\n")
            if kind == "blank":
                if token[0] != "\\":
                    end_word()
            elif kind == "single" or kind == "escape":
                if word is None:
                    word = Word(start_line)
                token = token[1:].removesuffix("'") if kind == "single" else token[1:]
                word.parts.append(Part("text", token, True, start_line))
            elif kind == "redirect":
                end_word()
                redirect = token
            elif kind == "dup":
                end_word()
            elif kind == "heredoc":
                end_word()
                heredocs.append(match["end"])
            elif (
                self.arrays
                and token == "("
                and word is not None
                and word.literal.endswith("=")
                and len(word.parts) == 1
            ):
                name = word.literal.rstrip("+=")
                command.arrays[name] = self._array()
                word = None
            else:
                end_word()
                if command.words or command.redirects or command.arrays:
                    yield command
                command = Command(self.line, piped=token in ("|", "|&"))
                redirect = None
                if kind == "newline":
                    for end in heredocs:
                        self._skip_heredoc(end)
                    heredocs.clear()
        end_word()
        if command.words or command.redirects or command.arrays:
            yield command

    def _skip_comment(self) -> None:
        end = self.text.find("\n", self.at)
        self.at = len(self.text) if end < 0 else end

    def _skip_heredoc(self, end: str) -> None:
        match = re.compile(rf"^[ \t]*{re.escape(end)}[ \t\r]*$", re.MULTILINE).search(self.text, self.at)
        stop = len(self.text) if match is None else match.end()
        self.line += self.text.count("\n", self.at, stop)
        self.at = stop

    def _array(self) -> list[Word]:
        start, line = self.at, self.line
        end = _closing(self.text, start, "(", ")")
        self.line += self.text.count("\n", start, end)
        self.at = min(end + 1, len(self.text))
        inner = _Lexer(self.text[start:end], line, arrays=False)
        return [word for command in inner.commands() for word in command.words]

    def _double(self, word: Word) -> None:
        self.at += 1
        if self.text.startswith('"', self.at):
            word.parts.append(Part("text", "", True, self.line))
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.at += 1
                return
            if char in "$`":
                self._dollar(word, quoted=True)
                continue
            if char == "\\":
                token = self.text[self.at : self.at + 2]
                value = "" if token == "\\\n" else token[1:] if token[1:] in ("$", "`", '"', "\\") else token
            else:
                match = _DOUBLE_TEXT.match(self.text, self.at)
                token = value = match[0] if match else char
            word.parts.append(Part("text", value, True, self.line))
            self.at += len(token)
            self.line += token.count("\n")

    def _dollar(self, word: Word, quoted: bool) -> None:
        text, start, line = self.text, self.at, self.line
        if text[start] == "`":
            end = text.find("`", start + 1)
            end = len(text) if end < 0 else end
            part, stop = Part("command", text[start + 1 : end], quoted, line), end + 1
        elif text.startswith("$((", start) and (end := _closing(text, start + 2, "(", ")")) < len(text):
            inner_end = _closing(text, start + 3, "(", ")")
            part = Part("arithmetic", text[start + 3 : inner_end], quoted, line)
            stop = end + 1
        elif text.startswith("$(", start):
            end = _closing(text, start + 2, "(", ")")
            part, stop = Part("command", text[start + 2 : end], quoted, line), end + 1
        elif text.startswith("${", start):
            end = _closing(text, start + 2, "{", "}")
            part, stop = Part("variable", text[start + 2 : end], quoted, line), end + 1
        elif match := _NAME.match(text, start + 1):
            part, stop = Part("variable", match[0], quoted, line), match.end()
        else:
            part, stop = Part("text", "$", quoted, line), start + 1
        word.parts.append(part)
        stop = min(stop, len(text))
        self.line += text.count("\n", start, stop)
        self.at = stop


def _closing(text: str, start: int, opening: str, closing: str) -> int:
    """Index of the bracket that closes what began before `start`, minding quotes; the end of the text without one."""
    depth, at = 1, start
    while at < len(text):
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "'" and closing == ")":
            at = text.find("'", at + 1)
            if at < 0:
                return len(text)
        elif char == opening:
            depth += 1
        elif char == closing:
            depth -= 1
            if depth == 0:
                return at
        at += 1
    return len(text)
