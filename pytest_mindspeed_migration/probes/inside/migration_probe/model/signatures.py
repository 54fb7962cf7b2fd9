"""The loaders of a registered class as Python sees them: through inheritance, decorators and patches."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from ..describe import relative

LOADERS = ("from_pretrained", "_from_config")


def registered_class(import_plugin: Any, model_id: str) -> Any:
    """What the framework's register holds under an id, None when it holds nothing."""
    module = sys.modules[import_plugin.__module__]
    for name, value in vars(module).items():
        if "model" in name and type(value).__module__ == module.__name__ and hasattr(value, "__dict__"):
            for held in vars(value).values():
                if isinstance(held, dict) and model_id in held:
                    return held[model_id]
    return None


def loaders(cls: Any, repo: str) -> dict[str, Any]:
    """By loader: where it is defined and the parameters its caller may fill; None when the class has none."""
    return {name: _described(getattr(cls, name, None), repo) for name in LOADERS}


def _described(function: Any, repo: str) -> dict[str, Any] | None:
    if not callable(function):
        return None
    signature = inspect.signature(function)
    plain = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(plain, "__code__", None)
    kinds = inspect.Parameter
    positional = [
        p for p in signature.parameters.values() if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ]
    kwonly = [p for p in signature.parameters.values() if p.kind is kinds.KEYWORD_ONLY]
    variable = {
        p.kind: p.name for p in signature.parameters.values() if p.kind in (kinds.VAR_POSITIONAL, kinds.VAR_KEYWORD)
    }
    return {
        "name": getattr(plain, "__qualname__", str(plain)),
        "file": relative(code.co_filename, repo) if code else None,
        "line": code.co_firstlineno if code else None,
        "text": str(signature) if len(str(signature)) < 500 else str(signature)[:500] + "...",
        "params": [p.name for p in positional],
        "posonly": len([p for p in positional if p.kind is kinds.POSITIONAL_ONLY]),
        "defaults": len([p for p in positional if p.default is not kinds.empty]),
        "kwonly": [p.name for p in kwonly],
        "kwonly_required": [p.name for p in kwonly if p.default is kinds.empty],
        "varargs": variable.get(kinds.VAR_POSITIONAL),
        "varkw": variable.get(kinds.VAR_KEYWORD),
    }
