"""The contract catalogue (`contracts/<area>.yaml`) as objects, validated when it is loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from .resources import resource_dir

AREAS = ("preflight", "model", "data", "config", "code", "verify", "framework")
LEVELS = ("static", "cpu", "npu")
GATES = ("functional", "reliability", "distributed_e2e", "evidence")
OWNERS = ("main", "model", "data", "config", "verification", "plugin")
SEVERITIES = ("P0", "P1", "P2")
SUBJECTS = ("target", "framework")
NEEDS = ("config",)
STATES = ("config", "model_id", "dataset_type", "plugins", "scripts", "apply_modules")

_REQUIRED = ("id", "title", "owner", "gate", "severity", "levels", "proves", "why", "fix")
_OPTIONAL = ("requires", "symptoms", "needs", "states", "subjects", "distributed")


class CatalogueError(ValueError):
    """The catalogue contradicts itself: a mistake in this package, never in the target repo."""


Text = Mapping[str, str]
"""One text by language."""


@dataclass(frozen=True)
class Contract:
    """One migration contract.

    Attributes:
        id: `<area>.<name>`.
        title, proves, why: texts by language: its name, what a pass proves, what breaks without it.
        owner: which migration stage has to fix it; "plugin" stands for the model or data stage, by the file at fault.
        gate: which acceptance gate it counts for.
        severity: P0 blocks build or batch, P1 wrong training semantics, P2 maintainability.
        levels: where it can be judged, lowest first; acceptance needs the last of static and cpu, or npu alone.
        requires: contracts that have to pass before this one can be judged.
        needs: facts without which a static judgement says nothing; "config" is a YAML that could be read.
        states: facts of the target that a generated test writes down literally and that have to stay true.
        subjects: what it is judged on: migration targets, the pseudo-target `framework`, or both.
        distributed: whether judging it starts several ranks.
        symptoms: ids in `contracts/errors/*.yaml`.
        fix: what to do, by language.
    """

    id: str
    title: Text
    owner: str
    gate: str
    severity: str
    levels: tuple[str, ...]
    proves: Text
    why: Text
    fix: Mapping[str, tuple[str, ...]]
    requires: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    states: tuple[str, ...] = ()
    subjects: tuple[str, ...] = ("target",)
    symptoms: tuple[str, ...] = ()
    distributed: bool = False

    @property
    def area(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    @property
    def test_name(self) -> str:
        """Name of the generated test function."""
        return "test_" + self.id.replace(".", "_")

    @property
    def decisive_level(self) -> str:
        """Where a pass counts for acceptance: the highest level it can be judged at without a device, else npu."""
        without_device = [level for level in self.levels if level != "npu"]
        return without_device[-1] if without_device else "npu"


@dataclass(frozen=True)
class Catalogue:
    """All contracts, in the order of areas and files."""

    contracts: tuple[Contract, ...]
    area_titles: Mapping[str, Text] = field(default_factory=dict)
    digest: str = ""

    @cached_property
    def by_id(self) -> dict[str, Contract]:
        """Contracts by id."""
        return {contract.id: contract for contract in self.contracts}

    @cached_property
    def by_test_name(self) -> dict[str, Contract]:
        """Contracts by the name of their generated test."""
        return {contract.test_name: contract for contract in self.contracts}

    def of_subject(self, subject: str) -> list[Contract]:
        """The contracts that are judged on a migration target ("target") or on the framework ("framework")."""
        return [contract for contract in self.contracts if subject in contract.subjects]


@cache
def load_catalogue() -> Catalogue:
    """Load and validate the catalogue that ships with this installation.

    Raises:
        CatalogueError: when an entry is malformed, an id is unknown or used twice, or `requires` has a cycle.
    """
    return read_catalogue(resource_dir("contracts"))


def read_catalogue(folder: Path) -> Catalogue:
    """Load and validate the catalogue of a folder; see `load_catalogue`."""
    from .yaml_files import load_yaml

    contracts: list[Contract] = []
    titles: dict[str, Text] = {}
    digest = hashlib.sha256()
    for area in AREAS:
        path = folder / f"{area}.yaml"
        if not path.is_file():
            continue
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
        document = load_yaml(path)
        titles[area] = document["title"]
        contracts.extend(_contract(entry, area, path.name) for entry in document["contracts"])
    validate(contracts)
    return Catalogue(tuple(contracts), titles, digest.hexdigest()[:12])


def validate(contracts: Iterable[Contract]) -> None:
    """Check that the contracts form a usable graph.

    Raises:
        CatalogueError: for an id used twice, an unknown or impossible `requires`, or a cycle.
    """
    by_id: dict[str, Contract] = {}
    for contract in contracts:
        if contract.id in by_id:
            raise CatalogueError(f"contract {contract.id!r} is defined twice")
        by_id[contract.id] = contract
    for contract in by_id.values():
        for required in contract.requires:
            if required not in by_id:
                raise CatalogueError(f"contract {contract.id!r} requires {required!r}, which does not exist")
            if LEVELS.index(by_id[required].levels[0]) > LEVELS.index(contract.levels[0]):
                raise CatalogueError(f"contract {contract.id!r} can be judged at a level where {required!r} cannot")
    _refuse_cycles(by_id)


def _refuse_cycles(by_id: Mapping[str, Contract]) -> None:
    done: set[str] = set()

    def visit(contract: str, trail: tuple[str, ...]) -> None:
        if contract in trail:
            raise CatalogueError("contracts require each other: " + " -> ".join((*trail, contract)))
        if contract not in done:
            for required in by_id[contract].requires:
                visit(required, (*trail, contract))
            done.add(contract)

    for contract in by_id:
        visit(contract, ())


def _contract(entry: dict[str, Any], area: str, file: str) -> Contract:
    name = entry.get("id", "?")
    missing = [key for key in _REQUIRED if key not in entry]
    unknown = sorted(set(entry) - {*_REQUIRED, *_OPTIONAL})
    if missing or unknown:
        raise CatalogueError(f"{file}: contract {name!r}: missing {missing}, unknown {unknown}")
    if name.partition(".")[0] != area:
        raise CatalogueError(f"{file}: contract {name!r} does not belong to area {area!r}")
    for key, choices in (("owner", OWNERS), ("gate", GATES), ("severity", SEVERITIES)):
        if entry[key] not in choices:
            raise CatalogueError(f"{file}: contract {name!r}: {key} {entry[key]!r} is not one of {choices}")
    lists: dict[str, tuple[str, ...]] = {"levels": LEVELS, "subjects": SUBJECTS, "states": STATES, "needs": NEEDS}
    for key, allowed in lists.items():
        if bad := [value for value in entry.get(key, ()) if value not in allowed]:
            raise CatalogueError(f"{file}: contract {name!r}: {key} {bad} not in {allowed}")
    for key in ("title", "proves", "why", "fix"):
        if set(entry[key]) != {"en", "zh"}:
            raise CatalogueError(f"{file}: contract {name!r}: {key} needs the languages en and zh")
    return Contract(
        id=name,
        title=entry["title"],
        owner=entry["owner"],
        gate=entry["gate"],
        severity=entry["severity"],
        levels=tuple(sorted(entry["levels"], key=LEVELS.index)),
        proves=entry["proves"],
        why=entry["why"],
        fix={lang: tuple(actions) for lang, actions in entry["fix"].items()},
        requires=tuple(entry.get("requires", ())),
        needs=tuple(entry.get("needs", ())),
        states=tuple(entry.get("states", ())),
        subjects=tuple(entry.get("subjects", ("target",))),
        symptoms=tuple(entry.get("symptoms", ())),
        distributed=bool(entry.get("distributed", False)),
    )
