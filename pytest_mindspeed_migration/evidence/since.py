"""What changed since the last run: its evidence against the records of this one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..catalogue import LEVELS
from .routing import FAILING

_OPEN = (*FAILING, "blocked")


@dataclass(frozen=True)
class Since:
    """Contracts by what became of them.

    Attributes:
        before: when the last run judged; None when it does not say.
        newly_green: failed, unproven or blocked then, passed now.
        newly_red: fail now and did not then.
        still_red: fail now as they did then.
        still_blocked: wait now as they did then.
    """

    before: str | None
    newly_green: tuple[str, ...] = ()
    newly_red: tuple[str, ...] = ()
    still_red: tuple[str, ...] = ()
    still_blocked: tuple[str, ...] = ()

    @property
    def kinds(self) -> dict[str, tuple[str, ...]]:
        """The contracts by kind, the empty kinds left out."""
        names = ("newly_green", "newly_red", "still_red", "still_blocked")
        return {name: found for name in names if (found := getattr(self, name))}

    @property
    def news(self) -> dict[str, tuple[str, ...]]:
        """The kinds that are a change."""
        return {name: found for name, found in self.kinds.items() if name.startswith("newly")}


def previous(path: Path, target: str) -> dict[str, Any] | None:
    """The evidence that an earlier run left of the target; None when there is none that can be read."""
    try:
        document = json.loads(path.read_bytes())
        known = document["target"]["name"] == target and isinstance(document["contracts"], list)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return document if known else None


def since(document: Mapping[str, Any], records: Sequence[Mapping[str, Any]]) -> Since:
    """Compare the records of a run with the evidence of the one before."""
    then = _last(document)
    times = [command.get("timestamp") for command in document.get("commands") or [] if isinstance(command, dict)]
    compared = [record for record in records if record["id"] in then and not _says_less(record, then[record["id"]])]
    return _of(compared, {name: last["status"] for name, last in then.items()}, max(filter(None, times), default=None))


def unchanged(records: Sequence[Mapping[str, Any]]) -> Since:
    """The comparison with a run before that has left the very same evidence."""
    times = [record["run"]["started"] for record in records if "run" in record]
    return _of(records, {record["id"]: record["status"] for record in records}, max(times, default=None))


def keeping_last(document: Mapping[str, Any] | None, records: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records; those that say less than an earlier run did keep what it said (`last`): a recheck of one contract,
    or a run at a lower level, does not forget the rest."""
    then = _last(document) if document is not None else {}
    return [
        {**record, "last": then[record["id"]]} if record["id"] in then and _says_less(record, then[record["id"]])
        else record
        for record in records
    ]  # fmt: skip


def _of(records: Sequence[Mapping[str, Any]], then: Mapping[str, str], before: str | None) -> Since:
    def those(now: Sequence[str], was_open: Sequence[str], among: bool = True) -> tuple[str, ...]:
        return tuple(
            record["id"] for record in records if record["status"] in now and (then[record["id"]] in was_open) is among
        )

    return Since(
        before=before,
        newly_green=those(("passed",), _OPEN),
        newly_red=those(FAILING, FAILING, among=False),
        still_red=those(FAILING, FAILING),
        still_blocked=those(("blocked",), ("blocked",)),
    )


def _last(document: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """By contract, status and level with which it was last judged."""
    found = {}
    for contract in document["contracts"]:
        if isinstance(contract, dict) and "id" in contract and "status" in contract:
            last = contract.get("last") or {"status": contract["status"], "level": contract.get("level")}
            found[contract["id"]] = {"status": last["status"], "level": last["level"]}
    return found


def _says_less(record: Mapping[str, Any], last: Mapping[str, Any]) -> bool:
    """Whether a contract was judged before, and now it was not, or only at a level that sees less."""
    if last["status"] == "not_run":
        return False
    if record["status"] == "not_run":
        return True
    return record["status"] == "passed" and _depth(record["level"]) < _depth(last["level"])


def _depth(level: str | None) -> int:
    return LEVELS.index(level) if level in LEVELS else -1
