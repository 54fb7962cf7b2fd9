"""Flow facts that a helper works out while this process goes on with what does not need them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from ...facts.flow import FlowFacts
from ...helper import Helper

_TAKING = threading.Lock()
"""Probes that are prepared in threads look at the facts too."""


class FlowAhead(FlowFacts):
    """Plain `FlowFacts` from the first look at one of its fields, for which it waits."""

    def __init__(self, compute: Callable[[], FlowFacts]) -> None:
        """Start the helper."""

        def job() -> Iterator[FlowFacts]:
            yield compute()

        self._helper = Helper(job)

    @property
    def works(self) -> bool:
        """Whether a helper is at work."""
        return self._helper.works

    def __getattr__(self, name: str) -> Any:  # a field that is not there yet
        if name not in FlowFacts.__dataclass_fields__:
            raise AttributeError(name)
        with _TAKING:
            if isinstance(self, FlowAhead):  # nobody else has taken them meanwhile
                found = self._helper.take()
                self._helper.finish()
                self.__dict__ = vars(found)
                self.__class__ = FlowFacts  # type: ignore[assignment]
        return getattr(self, name)
