"""Makes the small model folder of a target, for whichever probe or rehearsal of this run needs it."""

from __future__ import annotations

from typing import Any

from ..framework import Started, start
from ..plugins import import_plugins
from ..shrink import FolderError, NotShrunkError, small_folder
from ..steps import Steps


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config`, `plugins`, `shrink`."""
    shrunk(request, steps)


def shrunk(request: dict[str, Any], steps: Steps) -> tuple[Started, dict[str, Any]] | None:
    """Load config and plugins and make the small folder, or find it; None when one of the steps failed.

    The step `shrink` holds what `small_folder` returns; `refusal` says why there is no folder, `broken` what is wrong
    with that of the user.
    """
    started = None
    with steps.step("config") as data:
        started = start(request, request.get("overrides"))
        data["overrides"] = request.get("override_notes", [])
    if started is None:
        return None
    with steps.step("plugins"):
        entries = list(getattr(started.args.training, "plugin", None) or [])
        import_plugins(entries, started.named("import_plugin"), request["repo"])
    if not steps.ok("plugins"):
        return None
    found = None
    with steps.step("shrink") as data:
        try:
            found = small_folder(started, request)
            data.update(found)
        except FolderError as error:
            data["broken"] = str(error)
        except NotShrunkError as error:
            data["refusal"] = str(error)
    return (started, found) if found is not None and steps.ok("shrink") else None
