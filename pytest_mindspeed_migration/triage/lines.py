"""One line of a log as text: bytes of unknown encoding, terminal codes, progress bars, and who wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["raised", "printed", "quiet"]
"""An exception or error record; any other text; a record that a healthy run writes too (debug, info, warning)."""

MAX_LINE = 20_000
"""Characters of one line that are looked at."""

_TERMINAL = re.compile(
    r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])|[\x00-\x08\x0b\x0c\x0e-\x1f]"
)
_STAMP = r"(?:\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d\S*\]?\s+)?"
# torchrun ([rank0]:, [default0]:, rank0:), MindSpeed ([Rank 0 | Local Rank 0]), mpirun ([1,3]<stderr>:), srun -l (3: )
_PREFIX = re.compile(
    rf"^{_STAMP}(?:"
    r"\[(?:[Rr]ank|[a-z]\w*?)[ _:-]?(?P<a>\d{1,5})(?: ?\| ?Local Rank \d+)?\]:? ?"
    r"|rank ?(?P<b>\d{1,5}): ?"
    r"|\[\d+,(?P<c>\d{1,5})\](?:<\w+>)?:? ?"
    r"|(?P<d>\d{1,4}): (?=\S|\s{2,}|$)"
    r")"
)
_RANK_INSIDE = re.compile(r"RankID:(\d+)|\[[Rr]ank (\d+)\]")
_EXCEPTION = re.compile(r"^(?:E {2,})?(?:[A-Za-z_]\w*\.)*(?!\w*Warning\b)[A-Z]\w*[a-z]\w*(?:: |:?$)")
_ERROR_WORD = re.compile(r"(?<!\w)(?:ERROR|CRITICAL|FATAL|E\d{4} \d\d:\d\d)|\[E ")
_ERROR_START = re.compile(r"E[A-Z]\d{4}\b|\[Error\]")
_QUIET_WORD = re.compile(r"(?<!\w)(?:DEBUG|INFO|WARN|WARNING|NOTICE)(?!\w)")
_QUIET_START = re.compile(r"\[{0,2}[WI]\d{4} \d\d:|(?:[Ww]arning|info|note)\b|\[?[WI] \w+\.cpp:|\[W\d*[^\]]*\]")
_HEAD = 100  # characters in which a record names its level
_PROGRESS = re.compile(
    r"\biteration\s+\d+\s*/\s*\d+|\b(?:step|iter|epoch)\w*['\"]?\s*[:=]?\s*\d+.{0,200}\bloss\b"
    r"|\bloss['\"]?\s*[:=]\s*['\"]?\d.{0,200}(?:\blr\b|learning|epoch|norm)",
)


@dataclass(frozen=True)
class Line:
    """A line of a log, without its prefix.

    Attributes:
        number: counted from 1.
        rank: the process that wrote it, where a prefix says so.
        text: without prefix, terminal codes and line end.
    """

    number: int
    rank: int | None
    text: str

    @property
    def kind(self) -> Kind:
        """What sort of record it is."""
        return kind_of(self.text)


def read_line(raw: bytes, number: int) -> Iterator[Line]:
    """The texts of a raw line: several, when a progress bar has rewritten it."""
    for part in raw.split(b"\r"):
        if part or raw == part:
            rank, text = split_prefix(_TERMINAL.sub("", decode(part[:MAX_LINE])).rstrip("\n"))
            yield Line(number, rank, text)


def decode(raw: bytes) -> str:
    """UTF-8, else GBK (what a Chinese terminal or CANN tool writes), else what can be read of it."""
    for encoding in ("utf-8", "gb18030"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def split_prefix(text: str) -> tuple[int | None, str]:
    """The rank that a line's prefix names, and the line without prefixes (they can be nested)."""
    rank: int | None = None
    for _ in range(3):
        match = _PREFIX.match(text)
        if match is None:
            break
        number = next(group for group in match.groups() if group is not None)
        rank = int(number)
        text = text[match.end() :]
    if rank is None and (inside := _RANK_INSIDE.search(text[:200])):
        rank = int(inside[1] or inside[2])
    return rank, text


def kind_of(text: str) -> Kind:
    """Whether a text (without its prefix) reports an error, or is of the sort that a healthy run writes too."""
    if _EXCEPTION.match(text) or _ERROR_START.match(text) or _ERROR_WORD.search(text, 0, _HEAD):
        return "raised"
    quiet = _QUIET_START.match(text) or _QUIET_WORD.search(text, 0, _HEAD) or "Warning: " in text[: 2 * _HEAD]
    return "quiet" if quiet else "printed"


def is_progress(text: str) -> bool:
    """Whether a training loop wrote this after a step."""
    return _PROGRESS.search(text) is not None
