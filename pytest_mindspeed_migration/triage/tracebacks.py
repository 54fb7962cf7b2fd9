"""Python tracebacks in the lines of one process: chains of exceptions, the root first."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .lines import Line, is_progress

Link = Literal["direct", "during"]

HEADER = re.compile(r"Traceback \(most recent call last\)")
_NESTED = re.compile(r"Original Traceback \(most|Traceback \(most recent call last\): \(RANK \d+\)")
_DIRECT = "The above exception was the direct cause of the following exception"
_DURING = "During handling of the above exception, another exception occurred"
_RECORD = re.compile(
    r"^\[?[EWI]\d{4} \d\d:\d\d|^\[?\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d.{0,60}\b(?:INFO|WARNING|DEBUG)\b|^={20,}$|^\[W\d"
)
_FILE = re.compile(r'^\s*File "')
_MAX_MESSAGE = 60
_MAX_FRAMES = 400


@dataclass
class Raised:
    """One exception of a chain.

    Attributes:
        line: the line that names it.
        frames: lines of its traceback, outermost first.
        message: the lines that follow `line` and belong to its message.
        link: how it follows from the one before it in the chain; None for the first.
    """

    line: Line
    frames: list[Line]
    message: list[Line] = field(default_factory=list)
    link: Link | None = None

    @property
    def innermost(self) -> str:
        """The last frame: `File` line and code."""
        for index in range(len(self.frames) - 1, -1, -1):
            if _FILE.match(self.frames[index].text):
                return "\n".join(line.text for line in self.frames[index:])
        return ""


@dataclass
class Chain:
    """A traceback with all that it was chained to, root first, of one process."""

    raised: list[Raised]
    start: int
    end: int

    @property
    def uncaught(self) -> bool:
        """Whether the interpreter printed it as it ended: such a traceback goes back to the main module."""
        return any("in <module>" in line.text for line in self.raised[-1].frames[:1])

    @property
    def lines(self) -> list[Line]:
        """All its lines, in the order of the chain."""
        return [line for one in self.raised for line in (*one.frames, one.line, *one.message)]


def read_chains(lines: Sequence[Line]) -> list[Chain]:
    """The tracebacks in the lines of one process (no others in between)."""
    chains: list[Chain] = []
    index = 0
    while index < len(lines):
        if HEADER.search(lines[index].text):
            chain, index = _read_chain(lines, index)
            if chain is not None:
                chains.append(chain)
        else:
            index += 1
    return chains


def _read_chain(lines: Sequence[Line], index: int) -> tuple[Chain | None, int]:
    raised: list[Raised] = []
    start, link = lines[index].number, None
    end = start
    while True:
        one, index = _read_raised(lines, index)
        if one is None:
            break
        one.link = link
        raised.append(one)
        end = (one.message or [one.line])[-1].number
        if index < len(lines) and _NESTED.search(lines[index].text):  # what is quoted in the message is the root
            inner, index = _read_chain(lines, index)
            if inner is not None:
                raised[-1:] = [*inner.raised, one]
                one.link = "direct"
                end = inner.end
        following, link = _chained(lines, index)
        if link is None:
            break
        index = following
    return (Chain(raised, start, end) if raised else None), index


def _read_raised(lines: Sequence[Line], index: int) -> tuple[Raised | None, int]:
    """One traceback from its header on: frames are indented, the exception is not, its message may go on below."""
    first = index
    index += 1
    frames: list[Line] = []
    margin = len(lines[first].text) - len(lines[first].text.lstrip())
    while index < len(lines) and index - first < _MAX_FRAMES:
        text = lines[index].text
        indented = len(text) - len(text.lstrip()) > margin
        if text.strip() and not indented and not text.startswith("[Previous line"):
            break
        frames.append(lines[index])
        index += 1
    if index == len(lines) or index - first >= _MAX_FRAMES or not frames:
        return None, index
    one = Raised(lines[index], frames)
    index += 1
    while index < len(lines) and len(one.message) < _MAX_MESSAGE:
        text = lines[index].text
        if HEADER.search(text) or _DIRECT in text or _DURING in text or _RECORD.search(text) or is_progress(text):
            break
        one.message.append(lines[index])
        index += 1
    while one.message and not one.message[-1].text.strip():
        one.message.pop()
    return one, index


def _chained(lines: Sequence[Line], index: int) -> tuple[int, Link | None]:
    """Where the traceback begins that the one before `index` led to, and how it did."""
    link: Link | None = None
    for place in range(index, min(index + 6, len(lines))):
        text = lines[place].text
        if _DIRECT in text:
            link = "direct"
        elif _DURING in text:
            link = "during"
        elif HEADER.search(text):
            return place, link
        elif text.strip() and link is None:
            break
    return index, None
