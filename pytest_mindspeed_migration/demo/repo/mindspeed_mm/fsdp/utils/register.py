"""Registers that map the ids of a YAML file to plugin classes, and the import of the plugins that fill them."""

import importlib
import pkgutil
from types import ModuleType

from mindspeed_mm.fsdp.utils.log import print_rank


class Register:
    """A named table of classes or functions.

    Args:
        name: what is registered here, for error messages.
    """

    def __init__(self, name: str):
        self.name = name
        self._entries: dict[str, object] = {}

    def register(self, obj_id: str):
        """Return a decorator that files its object under `obj_id`; an id can be taken once."""

        def decorator(obj):
            taken = self._entries.setdefault(obj_id, obj)
            if taken is not obj:
                raise KeyError(f"{self.name} id {obj_id!r} is taken by {taken!r} already.")
            return obj

        return decorator

    def get(self, obj_id: str):
        """Return what is registered as `obj_id`.

        Raises:
            KeyError: nothing is; the message lists what is there.
        """
        try:
            return self._entries[obj_id]
        except KeyError:
            known = ", ".join(sorted(self._entries)) or "none"
            raise KeyError(f"{self.name} id {obj_id!r} is not registered. Registered: {known}.") from None


model_register = Register("model")
data_register = Register("dataset")


def import_plugin(plugin_list: list[str] | None = None) -> None:
    """Import every plugin path of `training.plugin`, which triggers its registrations.

    A path is a folder or module below the working directory ("mindspeed_mm/fsdp/models/x"). Packages are walked, so
    a folder without `__init__.py` below them is not seen. A plugin whose import lacks a module is reported and left
    out: the id it should have registered is then missing.
    """
    for path in plugin_list or []:
        package = _import_reported(path.strip("/").removesuffix(".py").replace("/", "."))
        if package is None or not hasattr(package, "__path__"):
            continue
        for info in pkgutil.walk_packages(package.__path__, prefix=f"{package.__name__}."):
            importlib.import_module(info.name)


def _import_reported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        print_rank(print, f"Plugin {name} was not imported: {error}")
        return None
