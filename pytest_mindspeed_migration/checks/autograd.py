"""Autograd functions of the repo: what `backward` takes from `forward`, and what it has to give back."""

from __future__ import annotations

from ..facts.source import AutogradFacts
from ..findings import Finding, near
from .ownership import judged_files
from .registry import check
from .view import TargetView

# of torch.autograd.function.FunctionCtx and of the node that stands for it in the backward pass (torch 2.x)
CONTEXT = frozenset(
    [
        "save_for_backward",
        "save_for_forward",
        "saved_tensors",
        "saved_variables",
        "saved_for_forward",
        "to_save",
        "needs_input_grad",
        "mark_dirty",
        "mark_non_differentiable",
        "mark_shared_storage",
        "dirty_tensors",
        "non_differentiable",
        "set_materialize_grads",
        "materialize_grads",
        "metadata",
        "name",
        "next_functions",
        "register_hook",
        "register_prehook",
        "maybe_clear_saved_tensors",
    ]
)


@check("code.names")
def context_is_stored(view: TargetView) -> list[Finding]:
    """Attributes that `backward` reads on its context and `forward` never stored there."""
    return [
        Finding(
            "autograd.not_stored", {"class": cls, "name": name}, path, line, suggestion=near(name, facts.stored, 0.75)
        )
        for path, cls, facts in _functions(view)
        if facts.stored is not None
        for name, line in facts.read.items()
        if name not in facts.stored and name not in CONTEXT and not name.startswith("_")
    ]


@check("code.calls")
def gradients_match(view: TargetView) -> list[Finding]:
    """`backward` returns a value for each input of `forward`, and takes one for each of its outputs."""
    found = []
    for path, cls, facts in _functions(view):
        for line, used, total in facts.gradients:
            if facts.inputs is not None and not used <= facts.inputs <= total:
                args = {"class": cls, "given": str(total), "takes": str(facts.inputs)}
                found.append(Finding("autograd.gradients", args, path, line))
        least, most = facts.accepted
        if facts.outputs is not None and (facts.outputs < least or 0 <= most < facts.outputs):
            args = {"class": cls, "given": str(facts.outputs), "takes": str(most)}
            found.append(Finding("autograd.outputs", args, path, facts.line))
    return found


def _functions(view: TargetView) -> list[tuple[str, str, AutogradFacts]]:
    return [
        (path, item.qualname, item.autograd)
        for path in judged_files(view)
        for item in view.facts.modules[path].classes
        if item.autograd is not None
    ]
