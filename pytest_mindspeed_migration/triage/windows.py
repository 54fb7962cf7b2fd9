"""Parts of a log around a place, as lines: what the streaming pass did not keep is read again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import BinaryIO

from .lines import Line, is_progress, read_line

BEFORE = 128 << 10
AFTER = 512 << 10
"""Bytes around a place: a traceback of 100 frames, interleaved with those of 16 ranks, fits."""

_CACHED = 4
_MARGIN = 64 << 10
_OWN_STEPS = 2
BUFFERED_STEPS = 150
"""More steps than can have been waiting in the buffer of a process (8 KiB of short lines)."""
_STEPS = 4  # what others had already logged, or log until they wait for the one that failed


@dataclass(frozen=True)
class Window:
    """A part of the file: bytes `start` to `end`, and its lines."""

    start: int
    end: int
    lines: tuple[Line, ...]


class Windows:
    """Reads parts of one log; the last few stay in memory."""

    def __init__(self, source: BinaryIO, size: int) -> None:
        self._source = source
        self._size = size
        self._cache: list[Window] = []
        self._tail: Sequence[Line] | None = None

    def around(self, offset: int, number: int) -> Window:
        """The lines around the line `number`, which begins at byte `offset`."""
        for window in self._cache:
            reaches_back = window.start == 0 or offset - window.start >= _MARGIN
            if (
                reaches_back
                and window.start <= offset
                and (window.end >= self._size or window.end - offset >= AFTER // 2)
            ):
                return window
        start = max(0, offset - BEFORE)
        self._source.seek(start)
        data = self._source.read(offset - start + AFTER)
        if start:  # begin with a whole line
            skipped = data.find(b"\n", 0, offset - start) + 1
            start, data = start + skipped, data[skipped:]
        first = number - data.count(b"\n", 0, offset - start)
        window = Window(start, start + len(data), _lines(data, first))
        self._cache = [window, *self._cache[: _CACHED - 1]]
        return window

    def tail(self, lines_in_file: int) -> Sequence[Line]:
        """The last lines of the log."""
        if self._tail is None:
            self._tail = self._read_tail(lines_in_file)
        return self._tail

    def _read_tail(self, lines_in_file: int) -> Sequence[Line]:
        start = max(0, self._size - BEFORE)
        self._source.seek(start)
        data = self._source.read(BEFORE)
        return _lines(data, lines_in_file + 1 - data.count(b"\n"))

    def goes_on_after(self, line: Line, lines_in_file: int, offset: int, enough: int = _OWN_STEPS) -> bool:
        """Whether training went on after `line`: steps further down, of its own process, or more of another.

        Args:
            line: the end of what went wrong.
            lines_in_file: how many lines the log has.
            offset: where it begins in the file, in bytes.
            enough: how many steps of its own process are enough.
        """
        after = [*self.around(offset, line.number).lines, *self.tail(lines_in_file)]
        steps = {other.number: other.rank for other in after if other.number > line.number and is_progress(other.text)}
        own = [rank for rank in steps.values() if line.rank is None or rank in (None, line.rank)]
        return len(own) >= enough or len(steps) >= enough + _STEPS - _OWN_STEPS


def _lines(data: bytes, first: int) -> tuple[Line, ...]:
    return tuple(line for number, raw in enumerate(data.split(b"\n"), first) for line in read_line(raw, number))
