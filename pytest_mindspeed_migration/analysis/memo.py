"""Keeps what is derived from facts with the facts: computed once, however many targets and checks ask."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from ..facts.static import StaticFacts

T = TypeVar("T")
P = ParamSpec("P")

_STORE = "_derived"


def per_facts(derive: Callable[Concatenate[StaticFacts, P], T]) -> Callable[Concatenate[StaticFacts, P], T]:
    """Cache a pure function of facts (and of hashable arguments) for as long as those facts live.

    Facts must not change any more once something has been derived from them.
    """

    @wraps(derive)
    def cached(facts: StaticFacts, *args: P.args, **kwargs: P.kwargs) -> T:
        store: dict[Hashable, Any] = facts.__dict__.setdefault(_STORE, {})
        key = (derive.__module__, derive.__qualname__, args, *sorted(kwargs.items()))
        if key not in store:
            store[key] = derive(facts, *args, **kwargs)
        return cast(T, store[key])

    return cast("Callable[Concatenate[StaticFacts, P], T]", cached)
