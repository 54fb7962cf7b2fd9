"""Which Python files are judged for which target: each defect goes to whoever has to repair it."""

from __future__ import annotations

from ..analysis.plugins import plugins_of, unowned
from ..findings import Level
from .view import TargetView


def judged_files(view: TargetView) -> list[str]:
    """The files of the target's plugins and own trainer; for the pseudo-target, those that belong to no target."""
    if view.is_framework:
        return sorted(unowned(view.facts))
    return sorted(plugins_of(view.facts, view.target.name).owned)


def level_at(view: TargetView, path: str | None) -> Level:
    """What a finding in a file counts as: an error in the migration's own code, a note in that of others."""
    return "error" if is_own(view, path) else "note"


def is_own(view: TargetView, path: str | None) -> bool:
    """Whether a file belongs to the migration itself: to its plugins, but not to one that other models use too.

    A plugin that configs of another `model_id` list was there before; a migration that reuses it may not change it.
    """
    if path is None or path not in plugins_of(view.facts, view.target.name).owned:
        return False
    others = [other for other in view.facts.targets if other.model_id != view.target.model_id]
    listed = {plugin for other in others for plugin in TargetView(view.facts, other).plugins}
    return not any(path == plugin or path.startswith(f"{plugin}/") for plugin in listed)
