"""The part of the plugin that only pytest-xdist needs; registered only when it is there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .controller import Controller


class HandOver:
    """Gives each worker what the controller prepared."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    def pytest_configure_node(self, node: Any) -> None:
        """Send facts, targets and suites along with the worker's input: ASCII, since names of files may be no UTF-8."""
        node.workerinput["migrate"] = json.dumps(self._controller.hand_over())
