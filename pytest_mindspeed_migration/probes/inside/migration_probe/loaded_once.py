"""Tokenizers and processors are loaded once in a probe: real ones take a second, and a probe builds many datasets."""

from __future__ import annotations

from typing import Any

_LOADED: dict[str, Any] = {}


def load_once() -> str:
    """Make `from_pretrained` of tokenizers and processors answer what it answered to the same call; what was done."""
    import transformers

    for name in ("AutoTokenizer", "AutoProcessor"):
        _remember(getattr(transformers, name), name)
    return "AutoTokenizer, AutoProcessor: the same call of from_pretrained is answered from memory"


def _remember(owner: Any, name: str) -> None:
    original = owner.from_pretrained

    def from_pretrained(*arguments: Any, **options: Any) -> Any:
        key = f"{name} {arguments!r} {sorted(options.items())!r}"
        if key not in _LOADED:
            _LOADED[key] = original(*arguments, **options)
        return _LOADED[key]

    owner.from_pretrained = from_pretrained
