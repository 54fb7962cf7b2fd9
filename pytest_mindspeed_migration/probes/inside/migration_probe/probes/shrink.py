"""Makes the small model folder of a target, for whichever probe or rehearsal of this run needs it."""

from __future__ import annotations

from typing import Any

from .. import standins
from ..framework import Started, start
from ..plugins import import_plugins
from ..shrink import FolderError, NotShrunkError, small_folder
from ..small_run import one_process
from ..steps import Steps


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config`, `plugins`, `shrink`."""
    shrunk(request, steps)


def shrunk(request: dict[str, Any], steps: Steps) -> tuple[Started, str | None] | None:
    """Load config and plugins and make the small folder, or find it.

    None when one of the steps failed, or the folder of the user is at fault.
    The request's overrides become those of one process. Without a small folder, its place is None.

    The step `shrink` holds what `small_folder` returns; `refusal` says why there is no folder, `broken` what is wrong
    with that of the user.
    """
    started = None
    with steps.step("config") as data:
        data["overrides"] = request.get("override_notes", [])
        data["stand_ins"] = standins.use_when_needed()
        request["overrides"] = one_process(request, request.get("overrides", {}))
        started = start(request, request["overrides"])
    if started is None:
        return None
    with steps.step("plugins"):
        entries = list(getattr(started.args.training, "plugin", None) or [])
        import_plugins(entries, started.named("import_plugin"), request["repo"])
    if not steps.ok("plugins"):
        return None
    found, broken = None, False
    with steps.step("shrink") as data:
        try:
            found = small_folder(started, request)
            data.update(found)
        except FolderError as error:
            data["broken"], broken = str(error), True
        except NotShrunkError as error:
            data["refusal"] = str(error)
    if broken or not steps.ok("shrink"):
        return None
    return started, found["path"] if found is not None else None
