"""Things that happen when a module is imported (or a function runs) and that a plugin import must not depend on."""

from __future__ import annotations

import ast

from ..facts.source import EffectFacts

NPU_ONLY = ("torch_npu", "acl", "te", "tbe", "hccl", "ascend_toolkit")
"""Top-level packages that exist only where CANN is installed."""

EXITS = {"sys.exit", "os._exit", "exit", "quit", "os.abort"}
FILE_READS = {"open", "json.load", "yaml.safe_load", "yaml.load", "torch.load", "np.load", "numpy.load", "pickle.load"}
ARGV_CALLS = {"parse_args", "parse_known_args"}


_CALLS = {name.rsplit(".", 1)[-1] for name in EXITS | FILE_READS | ARGV_CALLS} | {"Stream"}


def may_be_effect(callee: str, last: str) -> bool:
    """Whether a call can be one that `effect_of` classifies; `last` is the last part of the callee."""
    return last in _CALLS or callee.startswith(("torch.npu.", "torch_npu."))


def effect_of(trigger: str, detail: str, node: ast.AST | None) -> EffectFacts | None:
    """Classify an import, call or attribute; None when it is harmless. Line and guard are filled in by the caller."""
    if trigger == "npu_import":
        return EffectFacts("npu_import", 0, detail) if detail.split(".", 1)[0] in NPU_ONLY else None
    if trigger == "argv":
        return EffectFacts("argv", 0, detail)
    last = detail.rsplit(".", 1)[-1]
    if last in ARGV_CALLS and isinstance(node, ast.Call) and not _has_explicit_arguments(node):
        return EffectFacts("argv", 0, detail)
    if detail in EXITS:
        return EffectFacts("exit", 0, detail)
    if detail in FILE_READS:
        return EffectFacts("file_read", 0, detail)
    if last == "Stream" and ".".join(detail.split(".")[:2]) in ("torch.npu", "torch.cuda", "torch_npu.npu"):
        return EffectFacts("device_stream", 0, detail)
    if detail.startswith(("torch.npu.", "torch_npu.")) and last not in ("is_available",):
        return EffectFacts("device_stream", 0, detail)
    return None


def _has_explicit_arguments(node: ast.Call) -> bool:
    """`parser.parse_args([])` or `parse_args(args=argv)` does not look at the command line of the process."""
    return bool(node.args or node.keywords)
