"""Base class of all argument classes."""

from typing import Any

from pydantic import BaseModel, ConfigDict


class BaseArguments(BaseModel):
    """Typed arguments that keep keys they do not declare.

    A plugin may read such an extra key; nobody complains when none does. Subclasses that must not accept unknown keys
    set `extra="forbid"`.
    """

    model_config = ConfigDict(extra="allow", validate_assignment=True, protected_namespaces=())

    def to_dict(self) -> dict[str, Any]:
        """All values as plain containers, extra keys included."""
        return self.model_dump()
