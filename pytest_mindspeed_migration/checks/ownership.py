"""Which Python files are judged for which target: each defect goes to whoever has to repair it."""

from __future__ import annotations

from ..analysis.plugins import plugins_of, unowned
from .view import TargetView


def judged_files(view: TargetView) -> list[str]:
    """The files of the target's plugins and own trainer; for the pseudo-target, those that belong to no target."""
    if view.is_framework:
        return sorted(unowned(view.facts))
    return sorted(plugins_of(view.facts, view.target.name).owned)
