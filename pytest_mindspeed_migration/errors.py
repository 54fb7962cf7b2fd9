"""What a user did wrong, as a key of the message catalogue: ends the run with one sentence, never with a traceback."""

from __future__ import annotations

from typing import Any


class UsageProblem(Exception):  # noqa: N818  (says what the user did, not what broke)
    """A mistake in how the plugin is used.

    Args:
        key: text in `contracts/messages/`.
        values: values of its placeholders.
    """

    def __init__(self, key: str, **values: Any) -> None:
        super().__init__(key)
        self.key = key
        self.values = values

    def render(self, lang: str = "en") -> str:
        """The sentence for the user."""
        from .messages import text

        return text(self.key, self.values, lang)

    def __str__(self) -> str:
        return self.render()
