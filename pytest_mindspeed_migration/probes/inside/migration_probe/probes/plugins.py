"""Imports the config's plugins: what they register, and which of their imports fail in silence."""

from __future__ import annotations

from typing import Any

from .. import standins
from ..framework import start
from ..plugins import arguments_read, import_plugins, registered
from ..steps import Steps


def probe(request: dict[str, Any], steps: Steps) -> None:
    """Steps: `config` (parsed by the framework's loader), `plugins` (imported by the framework's own function).

    The config is parsed as it is written; overrides, such as where the model folder is, count for what plugins read of
    it while they are imported.
    """
    used = standins.use_with_torch()
    started = None
    with steps.step("config") as data:
        started = start(request)
        data["trainer"] = f"{started.trainer_class.__module__}.{started.trainer_class.__qualname__}"
        data["plugin"] = [str(entry) for entry in getattr(started.args.training, "plugin", None) or []]
    if started is None:
        return
    with steps.step("plugins") as data:
        if request.get("overrides"):
            started = start(request, request["overrides"])
        import_plugin = started.named("import_plugin")
        entries = list(getattr(started.args.training, "plugin", None) or [])
        data["before"] = registered(import_plugin)
        with arguments_read() as read:
            data["entries"] = import_plugins(entries, import_plugin, request["repo"])
        data["after"] = registered(import_plugin)
        data["reads_arguments"] = bool(read)
        data["stand_ins"] = used


def import_known(request: dict[str, Any]) -> None:
    """Import the plugins of a request as the probe does, after a probe has shown that this goes well."""
    standins.use_with_torch()
    started = start(request, request.get("overrides"))
    entries = list(getattr(started.args.training, "plugin", None) or [])
    import_plugins(entries, started.named("import_plugin"), request["repo"])
