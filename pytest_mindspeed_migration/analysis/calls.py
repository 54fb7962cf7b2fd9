"""Which functions a program may call, starting from the statements of its main file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..facts.source import CallFacts
from .index import Index, Ref


@dataclass(frozen=True)
class Frame:
    """A function that may run, and the class that `self` is an instance of while it does."""

    module: str
    function: str
    receiver: Ref | None = None


def reachable(index: Index, module: str, skip: frozenset[str] = frozenset()) -> set[Frame]:
    """What the main module may call, as far as names tell: functions, constructors, `self.m()`, `super().m()`.

    Every function of the main module counts, since it may be handed on as a callback.

    Args:
        index: the repo.
        module: dotted name of the main module.
        skip: names of methods that do not run.
    """
    found: set[Frame] = set()
    pending = [Frame(module, "")]
    pending += [Frame(module, name) for name in index.functions(module) if "." not in name]
    while pending:
        frame = pending.pop()
        if frame in found:
            continue
        found.add(frame)
        for call in index.calls_in(frame.module, frame.function):
            pending.extend(target for target in _targets(index, frame, call) if _last(target.function) not in skip)
    return found


def _targets(index: Index, frame: Frame, call: CallFacts) -> Iterator[Frame]:
    root, _, rest = call.callee.partition(".")
    if root in ("self", "cls") and frame.receiver is not None and rest and "." not in rest:
        method = index.method(frame.receiver, rest)
        if method is not None:
            yield Frame(method[0], method[1].qualname, frame.receiver)
    elif root == "super()" and frame.receiver is not None and rest:
        owner = Ref("class", frame.module, frame.function.rpartition(".")[0])
        method = index.method(owner, rest, skip_first=True)
        if method is not None:
            yield Frame(method[0], method[1].qualname, frame.receiver)
    else:
        ref = index.resolve(frame.module, call.callee, call.scope)
        if ref is not None and ref.kind == "function":
            yield Frame(ref.module, ref.qualname)
        elif ref is not None and ref.kind == "class":
            method = index.method(ref, "__init__")
            if method is not None:
                yield Frame(method[0], method[1].qualname, ref)


def _last(qualname: str) -> str:
    return qualname.rpartition(".")[2]
