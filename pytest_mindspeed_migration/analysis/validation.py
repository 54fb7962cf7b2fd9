"""Runs a schema class's own validation on the values of a YAML, as far as they are known."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..facts.source import StepFacts
from .conditions import UNKNOWN, evaluate, truth

_ENVIRONMENT = re.compile(r"""os\.(?:getenv|environ\.get|environ)[(\[]\s*['"](\w+)['"][^)\]]*[)\]]""")


@dataclass(frozen=True)
class Refusal:
    """A `raise` that these values reach: its line, and the test that led there."""

    line: int
    test: str


def refusal_of(steps: list[StepFacts], values: Mapping[str, Any], environment: Mapping[str, str]) -> Refusal | None:
    """The `raise` that constructing the class with these field values ends in; None when it is not certain to."""
    run = _Run(dict(values), environment)
    return next(run.execute(steps, ""), None)


class _Run:
    def __init__(self, fields: dict[str, Any], environment: Mapping[str, str]) -> None:
        self._known: dict[str, Any] = {f"self.{name}": value for name, value in fields.items()}
        self._environment = environment
        self._ended = False

    def execute(self, steps: list[StepFacts], test: str) -> Iterator[Refusal]:
        for step in steps:
            if self._ended:
                return
            if step.kind == "raise":
                self._ended = True
                yield Refusal(step.line, test)
            elif step.kind == "return":
                self._ended = True
            elif step.kind == "set":
                self._known[step.target] = self._value(step.text)
            else:
                yield from self._branch(step)

    def _branch(self, step: StepFacts) -> Iterator[Refusal]:
        outcome = truth(self._with_environment(step.text), self._lookup)
        if outcome is None:
            for name in _changed([*step.body, *step.orelse]):
                self._known[name] = UNKNOWN
            if any(inner.kind == "return" for inner in step.body):
                self._ended = True  # from here on nothing is certain
        else:
            yield from self.execute(step.body if outcome else step.orelse, step.text)

    def _value(self, text: str) -> Any:
        return evaluate(self._with_environment(text), self._lookup)

    def _lookup(self, name: str) -> Any:
        return self._known.get(name, UNKNOWN)

    def _with_environment(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            known = self._environment.get(match.group(1))
            return match.group(0) if known is None else repr(known)

        return _ENVIRONMENT.sub(value, text)


def _changed(steps: list[StepFacts]) -> Iterator[str]:
    for step in steps:
        if step.kind == "set":
            yield step.target
        yield from _changed([*step.body, *step.orelse])
