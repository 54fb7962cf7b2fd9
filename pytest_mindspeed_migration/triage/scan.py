"""One pass over a log of any size in bounded memory: where lines of the dictionary and tracebacks stand."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import BinaryIO

from .dictionary import Dictionary, Entry
from .lines import Line, read_line
from .literals import options_of

BLOCK = 1 << 18
"""Bytes read at a time: all gates run over a block while it is in the processor's cache."""

COMMON = ("rror", "ailed", " not ")
"""Fragments of failure messages, searched in each block. An exception or error record without one of them is found by
the traceback above it; other lines, if an entry takes them, by literals of that entry. Few on purpose: each search
costs a quarter to half a nanosecond a byte."""

EXCEPTION = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): ")
_NAMED = re.compile(rb"Error: |Exception: ")
_TRACEBACK = b"Traceback (most recent call last)"
_LAST = 4
_LONG = 11
_LINE = re.compile(rb"[^\r\n]+")
_KEPT = 2  # first and last occurrences that are kept of each kind and process
_MAX_SLOTS = 20_000
_MAX_SHAPES = 20_000
_MAX_SHAPE = 2_000
_MANY = 5_000  # lines of one shape that match: of more, most are only counted
_SAMPLE = 64
_DIGITS = bytes(ord("0") if chr(code).isdigit() and code < 128 else code for code in range(256))
_ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Hit:
    """A line that some entries match.

    Attributes:
        offset: where its raw line begins in the file, in bytes.
        line: the line.
        entries: what matches it, the most particular first.
    """

    offset: int
    line: Line
    entries: tuple[Entry, ...]


@dataclass
class Slot:
    """What one process wrote of one kind: the first and last occurrences, and how many there were."""

    first: list[Hit] = field(default_factory=list)
    last: list[Hit] = field(default_factory=list)
    count: int = 0

    def add(self, hit: Hit) -> None:
        """Keep the occurrence if it is among the first or last."""
        self.count += 1
        if len(self.first) < _KEPT:
            self.first.append(hit)
        else:
            self.last = [*self.last, hit][-_KEPT:]

    @property
    def hits(self) -> list[Hit]:
        """The occurrences that were kept."""
        return [*self.first, *self.last]


@dataclass
class Shape:
    """What lines that differ in digits only have in common.

    Attributes:
        entries: what may match them: a literal is there, and the kind of line counts.
        header: whether it begins a traceback; `named`: whether it names an exception.
        seen: how many there were; `slot`: where the last one was kept.
    """

    entries: tuple[Entry, ...]
    header: bool
    named: bool
    seen: int = 0
    slot: Slot | None = None

    @property
    def matters(self) -> bool:
        """Whether such a line has to be looked at."""
        return self.header or self.named or bool(self.entries)


@dataclass
class Scan:
    """What one pass has found.

    Attributes:
        slots: by entry and rank.
        tracebacks: headers of tracebacks by rank; their hits have no entries.
        exceptions: lines by rank that name an exception and that no entry takes; no entries either.
        size: bytes of the log; `lines`: how many line ends it has.
    """

    slots: dict[tuple[str, int | None], Slot] = field(default_factory=dict)
    tracebacks: dict[int | None, Slot] = field(default_factory=dict)
    exceptions: dict[int | None, Slot] = field(default_factory=dict)
    size: int = 0
    lines: int = 0


class Scanner:
    """Finds the lines of a dictionary in logs; build it once for several logs."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._entries = dictionary.entries
        self._shapes: dict[bytes, Shape] = {}

    @cached_property
    def gates(self) -> tuple[re.Pattern[bytes], ...]:
        """What is searched in each block: every line that an entry can match contains one of them."""
        own: dict[bytes, None] = {}
        for entry in self._entries:
            if entry.gate is not None:
                own[entry.gate.encode()] = None
            elif entry.source != "raised" and not self._is_common(entry):
                for text in entry.literals:
                    if not any(common in text for common in COMMON):
                        own.update(dict.fromkeys(re.escape(form) for form in _forms(text)))
        gates = dict.fromkeys([*(common.encode() for common in COMMON), re.escape(_TRACEBACK), *own])
        return tuple(re.compile(gate) for gate in gates)

    @cached_property
    def _finders(self) -> tuple[Callable[[bytes, int], int], ...]:
        """For each gate a function from a block and a place to the next place; bytes.find is faster for long texts."""
        return tuple(_finder(gate) for gate in self.gates)

    @staticmethod
    def _is_common(entry: Entry) -> bool:
        """Whether every line that the entry matches has one of the common fragments."""
        options = options_of(entry.pattern.pattern)
        return any(all(any(common in text for common in COMMON) for text in option) for option in options)

    @cached_property
    def _literals(self) -> tuple[tuple[tuple[bytes, ...], Entry], ...]:
        """For each entry the literals of which its lines have one, digits made alike."""
        return tuple(
            (tuple(form.translate(_DIGITS) for text in entry.literals for form in _forms(text)), entry)
            for entry in self._entries
        )

    def scan(self, source: BinaryIO) -> Scan:
        """Read a log from its beginning to its end."""
        scan = Scan()
        for block, ends in _blocks(source):
            self._scan_block(block, scan, _all_lines(block) if ends else self._lines_of_gates(block))
            scan.size += len(block)
            scan.lines += block.count(b"\n")
        return scan

    def _lines_of_gates(self, block: bytes) -> dict[int, int]:
        """Begin and end of the lines that contain a gate."""
        spans: dict[int, int] = {}
        for find in self._finders:
            place = find(block, 0)
            while place >= 0:
                start, end = _line_around(block, place)
                spans[start] = end
                place = find(block, end)
        return spans

    def _scan_block(self, block: bytes, scan: Scan, spans: dict[int, int]) -> None:
        number, counted = scan.lines + 1, 0
        for start in sorted(spans):
            raw = block[start : spans[start]]
            shape = self._shape(raw)
            if not shape.matters:
                continue
            shape.seen += 1
            if shape.slot is not None and shape.seen > _MANY and shape.seen % _SAMPLE:
                shape.slot.count += 1
                continue
            number += block.count(b"\n", counted, start)
            counted = start
            for line in read_line(raw, number):
                shape.slot = _take(scan, Hit(scan.size + start, line, shape.entries), shape)

    def _shape(self, raw: bytes) -> Shape:
        """What kind of line it is: lines that differ in digits only are looked at once."""
        shape = raw.translate(_DIGITS)
        known = self._shapes.get(shape)
        if known is None:
            known = self._new_shape(shape)
            if len(shape) < _MAX_SHAPE:
                if len(self._shapes) >= _MAX_SHAPES:
                    self._shapes.clear()
                self._shapes[shape] = known
        return known

    def _new_shape(self, shape: bytes) -> Shape:
        plain = _ESCAPES.sub(b"", shape) if b"\x1b" in shape else shape
        possible = [entry for texts, entry in self._literals if any(text in plain for text in texts)]
        header = _TRACEBACK in plain
        if not possible and not header and not _NAMED.search(plain):
            return Shape((), False, False)
        line = next(read_line(shape, 0))
        entries = tuple(entry for entry in possible if accepts(entry, line.kind))
        return Shape(entries, header, EXCEPTION.match(line.text) is not None)


def _take(scan: Scan, hit: Hit, shape: Shape) -> Slot | None:
    """Keep the line where it belongs; the slot, when an entry matches it."""
    line = hit.line
    if shape.header:
        scan.tracebacks.setdefault(line.rank, Slot()).add(replace(hit, entries=()))
        return None
    entries = tuple(entry for entry in hit.entries if entry.fits(line.text))
    if entries:
        key = (entries[0].id, line.rank)
        if key in scan.slots or len(scan.slots) < _MAX_SLOTS:
            slot = scan.slots.setdefault(key, Slot())
            slot.add(replace(hit, entries=entries))
            return slot
    elif shape.named and (line.rank in scan.exceptions or len(scan.exceptions) < _MAX_SLOTS):
        scan.exceptions.setdefault(line.rank, Slot()).add(hit)
    return None


def accepts(entry: Entry, kind: str) -> bool:
    """Whether a line of this kind, alone, counts for the entry."""
    return entry.source == "any" or kind == "raised" or (entry.source == "printed" and kind == "printed")


def _forms(text: str) -> list[bytes]:
    """How a text may be written in a log."""
    return list(dict.fromkeys([text.encode("utf-8"), text.encode("gb18030", "ignore")]))


def _line_around(block: bytes, place: int) -> tuple[int, int]:
    """Begin and end of the text around `place`; a progress bar's carriage returns end a text as line ends do."""
    start = block.rfind(b"\n", 0, place) + 1
    end = block.find(b"\n", place)
    end = len(block) if end < 0 else end
    start = max(start, block.rfind(b"\r", start, place) + 1)
    cut = block.find(b"\r", place, end)
    return start, end if cut < 0 else cut


def _finder(gate: re.Pattern[bytes]) -> Callable[[bytes, int], int]:
    plain = re.sub(rb"\\(\W)", rb"\1", gate.pattern)
    if len(plain) > _LONG and re.escape(plain).replace(b"\\ ", b" ") == gate.pattern.replace(b"\\ ", b" "):
        return lambda block, place: block.find(plain, place)

    def search(block: bytes, place: int) -> int:
        found = gate.search(block, place)
        return -1 if found is None else found.start()

    return search


def _all_lines(block: bytes) -> dict[int, int]:
    return {found.start(): found.end() for found in _LINE.finditer(block)}


def _blocks(source: BinaryIO) -> Iterator[tuple[bytes, bool]]:
    """The log in pieces that end with a line, and whether a piece is one of the last few.

    The end of a log is looked at line by line, without gates: what ended a process stands there, such as `Killed`.
    """
    held: list[bytes] = []
    for piece in _pieces(source):
        held.append(piece)
        if len(held) > _LAST:
            yield held.pop(0), False
    for piece in held:
        yield piece, True


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    """The log in pieces that end with a line; a line longer than a piece is cut."""
    rest = b""
    while piece := source.read(BLOCK):
        piece = rest + piece
        cut = max(piece.rfind(b"\n"), piece.rfind(b"\r") if len(piece) >= 2 * BLOCK else -1) + 1
        if cut == 0 and len(piece) >= 2 * BLOCK:
            cut = len(piece)
        rest = piece[cut:]
        if cut:
            yield piece[:cut]
    if rest:
        yield rest
