"""Binding a call to a signature, as Python does it, without running either."""

from __future__ import annotations

from dataclasses import dataclass

from ..facts.source import CallFacts, Signature


@dataclass(frozen=True)
class Misfit:
    """Why a call does not bind. `kind`: too_many, unknown_keyword, twice, missing."""

    kind: str
    name: str = ""  # the keyword or parameter
    given: int = 0
    takes: int = 0


def bind(call: CallFacts, signature: Signature, skip: int = 0) -> list[Misfit]:
    """What is wrong with a call of a function with that signature.

    Args:
        call: the call; `*args` and `**kwargs` in it may fill any parameter.
        signature: of the function.
        skip: leading parameters that Python fills (1 for the receiver of a bound method).
    """
    names = signature.params[skip:]
    positional_only = max(signature.posonly - skip, 0)
    by_keyword = set(names[positional_only:]) | set(signature.kwonly)
    misfits = []
    if skip > len(signature.params) and not signature.varargs:
        return [Misfit("too_many", given=call.positional + skip, takes=len(signature.params))]
    if call.positional > len(names) and not signature.varargs:
        misfits.append(Misfit("too_many", given=call.positional, takes=len(names)))
    if not signature.varkw:
        misfits += [Misfit("unknown_keyword", name) for name in call.keywords if name not in by_keyword]
    filled = names[: call.positional]
    misfits += [Misfit("twice", name) for name in call.keywords if name in filled[positional_only:]]
    if not call.star and not call.double_star:
        required = names[: len(names) - signature.defaults] if signature.defaults else names
        given = {*filled, *call.keywords}
        misfits += [Misfit("missing", name) for name in [*required, *signature.kwonly_required] if name not in given]
    return misfits


def swapped(call: CallFacts, signature: Signature, skip: int = 0) -> tuple[str, str] | None:
    """Two positional arguments that carry each other's parameter names."""
    names = signature.params[skip:]
    places = {name: place for place, name in enumerate(call.names) if name and place < len(names)}
    for name, place in places.items():
        other = names[place]
        if other != name and places.get(other) is not None and names[places[other]] == name:
            return name, other
    return None
