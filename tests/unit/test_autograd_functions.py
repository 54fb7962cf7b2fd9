"""Autograd functions whose two halves do not fit together."""

from __future__ import annotations

import pytest
from python_repo import MODEL, PLUGIN, Repo

from pytest_mindspeed_migration.facts.codec import from_json, to_json
from pytest_mindspeed_migration.facts.source import ModuleFacts

MODELING = f"{PLUGIN}/modeling_toy.py"


def function(forward: str, backward: str, base: str = "torch.autograd.Function", more: str = "") -> str:
    """A plugin with one autograd function: heads and bodies of its methods, `;` between head and lines."""
    methods = "".join(
        f"    @staticmethod\n    def {name}({text.partition(';')[0]}):\n"
        + "".join(f"        {line.strip()}\n" for line in text.split(";")[1:])
        for name, text in (("forward", forward), ("backward", backward))
    )
    return f"import torch\nfrom torch.autograd import Function\n{MODEL}class Scale({base}):\n{more}{methods}"


def errors(tmp_path, text: str) -> list[str]:
    repo = Repo(tmp_path, {MODELING: text})
    found = [message for contract in ("code.names", "code.calls") for message, _, _ in repo.errors(contract)]
    return [message for message in found if message.startswith("autograd.")]


FORWARD = "ctx, x, scale=1.0; ctx.scale = scale; ctx.save_for_backward(x); return x * scale"


@pytest.mark.parametrize(
    ("backward", "said"),
    [
        ("ctx, grad; (x,) = ctx.saved_tensors; return grad * ctx.scale, None", []),
        ("ctx, grad; return grad * ctx.scale, None, None", []),  # more values are fine as long as they are None
        ("ctx, grad; return grad * ctx.factor, None", ["autograd.not_stored"]),
        ("ctx, grad; return (grad * ctx.scale,)", ["autograd.gradients"]),
        ("ctx, grad; return grad, None, grad", ["autograd.gradients"]),
        ("ctx, grad; return give(grad, ctx)", []),
        ("ctx, grad; return (grad, *rest(ctx))", []),
        ("ctx, grad; factor = getattr(ctx, 'factor', 1); return grad * factor, None", []),
        ("ctx, grad; factor = ctx.factor if hasattr(ctx, 'factor') else 1; return grad * factor, None", []),
    ],
)
def test_backward_uses_what_forward_stored_and_returns_a_gradient_for_each_input(tmp_path, backward, said):
    assert errors(tmp_path, function(FORWARD, backward)) == said
    assert errors(tmp_path, function(FORWARD, backward, base="Function")) == said
    assert errors(tmp_path, function(FORWARD, backward, base="Other")) == []


@pytest.mark.parametrize(
    ("forward", "backward", "said"),
    [
        ("ctx, x; return x, x", "ctx, grad; return (grad,)", ["autograd.outputs"]),
        ("ctx, x; return x, x", "ctx, grad, *rest; return (grad,)", []),
        ("ctx, x; return x, x", "ctx, grad, other=None; return (grad,)", []),
        ("ctx, x; return run(x)", "ctx, grad, other; return (grad,)", []),
        ("ctx, *xs; return run(xs)", "ctx, *grads; return None, None", []),
        ("ctx, x; keep(ctx, x); return run(x)", "ctx, grad; return (grad * ctx.scale,)", []),
    ],
)
def test_what_the_text_does_not_tell_is_no_finding(tmp_path, forward, backward, said):
    assert errors(tmp_path, function(forward, backward)) == said


def test_setup_context_stores_in_place_of_a_forward_without_context(tmp_path):
    setup = "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.scale = inputs[1]\n"
    good = function("x, scale; return x * scale", "ctx, grad; return grad * ctx.scale, None", more=setup)
    assert errors(tmp_path, good) == []
    assert errors(tmp_path, good.replace("ctx.scale, None", "ctx.x, None")) == ["autograd.not_stored"]


def test_the_facts_survive_the_cache(tmp_path):
    repo = Repo(tmp_path, {MODELING: function(FORWARD, "ctx, grad; return (grad * ctx.factor,)")})
    module = repo.facts().modules[MODELING]
    assert from_json(ModuleFacts, to_json(module)) == module
