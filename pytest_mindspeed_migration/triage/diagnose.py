"""From what a pass over a log found to a verdict: the first cause, what follows from it, and what else it could be."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..remedies import STAGES
from .conditions import Context
from .dictionary import UNOWNED_STAGE, Dictionary, Entry
from .lines import Line
from .model import Alternative, Diagnosis, Folded, Place
from .scan import Hit, Scan, accepts
from .tracebacks import Chain, Raised, read_chains
from .windows import BUFFERED_STEPS, Windows

NEAR = 30
"""Lines of the same process, before and after, that count as near."""

_MAX_TRACEBACKS = 200
_EXCERPT = 16
_LONG_EXCERPT = 40
_FEW = 5
_ELASTIC_ROOT = re.compile(r"^\s*rank\s*:\s*(\d+)\b")
_ROLE_ORDER = {"cause": 0, "consequence": 1, "wrapper": 2}
_ASYNCHRONOUS = "npu_asynchronous"
_ENDS = ("elastic_child_failed", "process_failed")


@dataclass
class Candidate:
    """Something that went wrong at one place: a line that an entry matches, or a traceback."""

    entry: Entry | None
    line: Line
    offset: int
    chain: Chain | None = None
    handled: bool = False  # the run went on


class Diagnosing:
    """Works out the verdict on one log."""

    def __init__(self, dictionary: Dictionary, scan: Scan, windows: Windows) -> None:
        self._dictionary = dictionary
        self._scan = scan
        self._windows = windows
        self._seen = frozenset(name for name, _ in scan.slots)

    def verdict(self) -> Diagnosis | None:
        """The verdict; None when nothing went wrong."""
        candidates = self._candidates()
        causes = [one for one in candidates if one.entry and one.entry.role == "cause" and not one.handled]
        unknown = [one for one in candidates if one.entry is None and not one.handled]
        weaker = [one for one in candidates if one.entry and one.entry.role != "cause" and not one.handled]
        if causes:
            return self._of_cause(self._first_cause(causes), causes, unknown, candidates)
        if unknown:
            return self._of_unknown(unknown, weaker)
        if weaker:
            best = min(weaker, key=lambda one: (*self._strength(one), one.line.number))
            return self._known(best, "consequence", "low", candidates)
        return None

    def _first_cause(self, causes: list[Candidate]) -> Candidate:
        """The earliest of what stopped the run, unless an earlier one explains it."""
        stopping = [one for one in causes if one.entry and not one.entry.silent]
        failed_first = self._elastic_rank()
        first = min(
            stopping or causes,
            key=lambda one: (
                _is_lone_and_generic(one),
                failed_first is not None and one.chain is not None and one.line.rank != failed_first,
                one.line.number,
            ),
        )
        for one in sorted(causes, key=lambda one: one.line.number):
            if (
                one.entry
                and first.entry
                and first.entry.id in one.entry.explains
                and one.line.number <= first.line.number
            ):
                return one
        return first

    def _candidates(self) -> list[Candidate]:
        found = self._from_tracebacks()
        spans = [(one.chain.start, one.chain.end, one.chain.raised[0].line.rank) for one in found if one.chain]
        for slot in self._scan.slots.values():
            for hit in slot.hits:
                inside = any(low <= hit.line.number <= high and hit.line.rank == rank for low, high, rank in spans)
                if not inside and (entry := self._entry_of_line(hit)):
                    found.append(Candidate(entry, hit.line, hit.offset))
        for slot in self._scan.exceptions.values():
            for hit in slot.hits:
                if not any(low <= hit.line.number <= high and hit.line.rank == rank for low, high, rank in spans):
                    found.append(Candidate(None, hit.line, hit.offset))
        for one in found:
            if one.entry is None or not one.entry.silent:
                one.handled = self._windows.goes_on_after(_last_line(one), self._scan.lines, one.offset)
        self._revive(found)
        return found

    def _revive(self, found: list[Candidate]) -> None:
        """Something ended the run, and steps after every candidate made it look handled: output was buffered.

        What shows that the run ended is the launcher's report, or a traceback that goes back to the main module. The
        last thing that each process reported, or the one that torchrun saw fail, is then taken for its end.
        """
        open_ones = [one for one in found if not one.handled]
        if any(one.entry is None or one.entry.role == "cause" for one in open_ones):
            return
        reported = any(one.entry and one.entry.id in _ENDS for one in open_ones)
        if not reported and not any(self._ended_there(one) for one in found if one.handled):
            return
        stopping = [one for one in found if one.handled and (one.entry is None or one.entry.role == "cause")]
        failed_first = self._elastic_rank()
        own = [one for one in stopping if one.line.rank == failed_first] or stopping
        last = {one.line.rank: one for one in sorted(own, key=lambda one: one.line.number)}
        for one in last.values():
            one.handled = False

    def _ended_there(self, one: Candidate) -> bool:
        return (
            one.chain is not None
            and one.chain.uncaught
            and not self._windows.goes_on_after(_last_line(one), self._scan.lines, one.offset, BUFFERED_STEPS)
        )

    def _from_tracebacks(self) -> list[Candidate]:
        headers = sorted(
            (hit for slot in self._scan.tracebacks.values() for hit in slot.hits), key=lambda hit: hit.line.number
        )
        found: dict[tuple[int | None, int], Candidate] = {}
        parsed: dict[tuple[int, int | None], list[Chain]] = {}
        for hit in headers[: _MAX_TRACEBACKS // 2] + headers[_MAX_TRACEBACKS // 2 :][-_MAX_TRACEBACKS // 2 :]:
            window = self._windows.around(hit.offset, hit.line.number)
            key = (window.start, hit.line.rank)
            if key not in parsed:
                parsed[key] = read_chains([line for line in window.lines if line.rank == hit.line.rank])
            for chain in parsed[key]:
                if chain.start <= hit.line.number <= chain.end and (hit.line.rank, chain.start) not in found:
                    entry, line = self._entry_of_chain(chain, window.lines)
                    found[hit.line.rank, chain.start] = Candidate(entry, line, hit.offset, chain)
        return list(found.values())

    def _entry_of_line(self, hit: Hit) -> Entry | None:
        simple = [entry for entry in hit.entries if entry.when is None]
        if simple and simple[0] is hit.entries[0]:
            return simple[0]
        near = _near(self._windows.around(hit.offset, hit.line.number).lines, hit.line, hit.line)
        return next((entry for entry in hit.entries if self._holds(entry, hit.line.text, Context({}, near=near))), None)

    def _entry_of_chain(self, chain: Chain, around: Sequence[Line]) -> tuple[Entry | None, Line]:
        """The exception of the chain that is the cause, and its entry; without one, the exception to show.

        What an exception was raised from is its cause. What it was raised while handling is so only if it is not known
        itself: code often tries one thing, catches, and fails for another reason.
        """
        near = _near(around, chain.raised[0].line, chain.raised[-1].line)
        known = [self._entry_of_raised(chain.raised[: index + 1], near) for index in range(len(chain.raised))]
        best = len(chain.raised) - 1
        for index in range(len(chain.raised) - 2, -1, -1):
            mine, current = known[index], known[best]
            if mine is None:
                continue
            if (
                current is None
                or self._weight(mine[0]) < self._weight(current[0])
                or (chain.raised[index + 1].link == "direct" and self._weight(mine[0]) <= self._weight(current[0]))
            ):
                best = index
        if (chosen := known[best]) is not None:
            return chosen
        root = len(chain.raised) - 1
        while root and chain.raised[root].link == "direct":
            root -= 1
        return None, chain.raised[root].line

    def _entry_of_raised(self, chain: Sequence[Raised], near: Sequence[str]) -> tuple[Entry, Line] | None:
        """The entry of the last exception of `chain`: by its line, its message, or the code that raised it."""
        one = chain[-1]
        context = Context(
            {},
            chained=[" ".join([above.line.text, *(line.text for line in above.message)]) for above in chain[:-1]],
            trace=[line.text for line in one.frames],
            frame=one.innermost,
            near=near,
        )
        lines = [one.line, *one.message]
        if _is_bare(one.line.text):
            lines += one.frames[-3:]
        found = [
            (entry, line)
            for line in lines
            for entry in self._dictionary.entries
            if (accepts(entry, "raised") or line.kind != "quiet")
            and any(text in line.text for text in entry.literals)
            and self._holds(entry, line.text, context)
        ]
        return min(
            found, key=lambda pair: (*self._weight(pair[0]), self._dictionary.position[pair[0].id]), default=None
        )

    def _holds(self, entry: Entry, text: str, context: Context) -> bool:
        match = entry.pattern.search(text)
        if match is None:
            return False
        return entry.when is None or entry.when.holds(replace(context, groups=match.groupdict(), seen=self._seen))

    def _weight(self, entry: Entry) -> tuple[int, bool]:
        return _ROLE_ORDER[entry.role], entry.generic

    def _strength(self, one: Candidate) -> tuple[int, bool, int]:
        assert one.entry is not None
        return (*self._weight(one.entry), self._dictionary.position[one.entry.id])

    def _elastic_rank(self) -> int | None:
        """The rank that torchrun saw fail first."""
        for (name, _), slot in self._scan.slots.items():
            if name == "elastic_child_failed":
                hit = slot.first[0]
                lines = [line.text for line in self._windows.around(hit.offset, hit.line.number).lines]
                for index, text in enumerate(lines):
                    if "Root Cause (first observed failure)" in text:
                        ranks = (_ELASTIC_ROOT.match(line) for line in lines[index : index + 8])
                        return next((int(match[1]) for match in ranks if match), None)
        return None

    def _of_cause(
        self, first: Candidate, causes: list[Candidate], unknown: list[Candidate], candidates: list[Candidate]
    ) -> Diagnosis:
        assert first.entry is not None
        confidence = first.entry.confidence
        unsure = (
            (first.entry.ambiguous_with and first.entry.when is None)
            or any(one.line.number < first.line.number for one in unknown)
            or (first.chain is not None and (_ASYNCHRONOUS, first.line.rank) in self._scan.slots)
        )
        if unsure and confidence == "high":
            confidence = "medium"
        verdict = self._known(first, "cause", confidence, candidates)
        explained = {first.entry.id, *first.entry.explains}
        others = [one for one in causes if one.entry and one.entry.id not in explained] + unknown
        return replace(verdict, others=self._fold(others))

    def _known(self, one: Candidate, status: str, confidence: str, candidates: list[Candidate]) -> Diagnosis:
        entry = one.entry
        assert entry is not None
        same = [other for other in candidates if other.entry is entry]
        slots = [slot for (name, _), slot in self._scan.slots.items() if name == entry.id]
        follows = [
            other
            for other in candidates
            if other.entry and other.entry is not entry and (other.entry.role != "cause" or _explains(one, other))
        ]
        return Diagnosis(
            status=status,  # type: ignore[arg-type]
            entry=entry.id,
            owner=entry.owner,
            stage=STAGES[entry.owner],
            confidence=confidence,
            place=_place(one.line),
            excerpt=self._excerpt(one, _EXCERPT),
            symptom=entry.text,
            cause=entry.cause,
            fix=entry.fix,
            level=entry.level,
            contracts=entry.contracts,
            count=max(len(same), sum(slot.count for slot in slots)),
            ranks=_ranks(other.line for other in same),
            consequences=self._fold(follows),
            alternatives=tuple(
                Alternative(name, other.owner, other.text, tell)
                for name, tell in entry.ambiguous_with.items()
                if (other := self._dictionary.by_id[name]) is not entry
            ),
        )

    def _of_unknown(self, unknown: list[Candidate], weaker: list[Candidate]) -> Diagnosis:
        """The last traceback of the process that failed first."""
        rank = self._elastic_rank()
        ranks = {one.line.rank for one in unknown}
        if rank not in ranks:
            rank = min(unknown, key=lambda one: one.line.number).line.rank
        shown = max((one for one in unknown if one.line.rank == rank), key=lambda one: one.line.number)
        return Diagnosis(
            status="unknown",
            entry=None,
            owner=None,
            stage=UNOWNED_STAGE,
            confidence="low",
            place=_place(shown.line),
            excerpt=self._excerpt(shown, _LONG_EXCERPT),
            count=len(unknown),
            ranks=_ranks(one.line for one in unknown),
            consequences=self._fold(weaker),
        )

    def _fold(self, candidates: list[Candidate]) -> tuple[Folded, ...]:
        kinds: dict[str, list[Candidate]] = {}
        for one in sorted(candidates, key=lambda one: one.line.number):
            name = one.entry.id if one.entry else one.line.text.partition(":")[0]
            kinds.setdefault(name, []).append(one)
        folded = []
        for name, group in kinds.items():
            entry = group[0].entry
            counted = sum(slot.count for (key, _), slot in self._scan.slots.items() if key == name)
            folded.append(
                Folded(
                    entry=entry.id if entry else None,
                    text=entry.text if entry else dict.fromkeys(("en", "zh"), name),
                    count=max(len(group), counted),
                    ranks=_ranks(one.line for one in group),
                    first=_place(group[0].line),
                )
            )
        return tuple(sorted(folded, key=lambda one: -one.count))

    def _excerpt(self, one: Candidate, size: int) -> tuple[str, ...]:
        """The end of the traceback and its message; or the lines of the same process around a lone line."""
        if one.chain is not None:
            chain = one.chain.raised
            raised = next(part for part in chain if one.line in (part.line, *part.message, *part.frames))
            shown = max(one.line.number, raised.line.number + 3)
            message = [line for line in raised.message[: size // 3] if line.number <= shown]
            lines = [*raised.frames[-(size - len(message) - 1) :], raised.line, *message]
        else:
            lines = [
                line
                for line in self._windows.around(one.offset, one.line.number).lines
                if line.rank == one.line.rank and -_FEW <= line.number - one.line.number <= _FEW
            ]
        return tuple(line.text[:1_000] for line in lines)


def _near(lines: Sequence[Line], first: Line, last: Line) -> list[str]:
    """Texts of the same process up to NEAR lines around `first` to `last`."""
    own = [line for line in lines if line.rank == first.rank]
    low = next((index for index, line in enumerate(own) if line.number >= first.number), 0)
    high = next((index for index, line in enumerate(own) if line.number > last.number), len(own))
    return [line.text for line in own[max(0, low - NEAR) : high + NEAR]]


def _explains(one: Candidate, other: Candidate) -> bool:
    return one.entry is not None and other.entry is not None and other.entry.id in one.entry.explains


def _is_bare(text: str) -> bool:
    return re.match(r"^[\w.]+:?\s*$", text) is not None


def _is_lone_and_generic(one: Candidate) -> bool:
    return one.chain is None and one.entry is not None and one.entry.generic


def _last_line(one: Candidate) -> Line:
    return replace(one.line, number=max(one.line.number, one.chain.end)) if one.chain else one.line


def _place(line: Line) -> Place:
    return Place(line.number, line.rank, line.text[:1_000])


def _ranks(lines: object) -> tuple[int, ...]:
    return tuple(sorted({line.rank for line in lines if line.rank is not None}))  # type: ignore[attr-defined]
