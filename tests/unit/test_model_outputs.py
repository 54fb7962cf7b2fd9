"""What the training step reads on the output of the model."""

from __future__ import annotations

import pytest
from python_repo import PLUGIN, REGISTER, Repo

ENGINE = "mindspeed_mm/fsdp/train/train_engine.py"
MODELING = f"{PLUGIN}/modeling_toy.py"
LOSS = "model.forward_loss"


def engine(*lines: str) -> str:
    """A training step that calls the model and runs these lines."""
    body = "".join(f"            {line}\n" for line in lines)
    return (
        "class TrainEngine:\n    def train_step(self, batches):\n        for batch in batches:\n"
        f"            output = self.model(**batch, use_cache=False)\n{body}"
    )


def model(*forward: str, output: str = "ModelOutput", fields: str = "loss: float = None") -> str:
    """A registered model whose forward has these lines, and its output class."""
    body = "".join(f"        {line}\n" for line in forward)
    return (
        f"from transformers.utils import ModelOutput\n{REGISTER}"
        f"class ToyOutput({output}):\n    {fields}\n"
        f"@model_register.register('toy')\nclass Toy:\n    def forward(self, x, return_dict=True, **kwargs):\n{body}"
    )


def said(tmp_path, step: str, modeling: str) -> list[str | None]:
    found = Repo(tmp_path, {ENGINE: step, MODELING: modeling}).judge(LOSS)
    assert {finding.message for finding in found} <= {"model.output_attribute"}
    return [finding.value for finding in found]


def test_an_attribute_that_the_returned_class_does_not_have_is_an_error(tmp_path):
    repo = Repo(tmp_path, {ENGINE: engine("extra = output.extra_loss"), MODELING: model("return ToyOutput(loss=x)")})
    (finding,) = repo.judge(LOSS)
    assert finding.fails
    assert (finding.args["output"], finding.args["source"]) == ("ToyOutput", f"{ENGINE}:5")
    (read,) = repo.judge(LOSS, framework=True)
    assert (read.message, read.where) == ("model.output_attribute_read", f"{ENGINE}:5")
    assert read.args["functions"] == "Toy.forward"


@pytest.mark.parametrize(
    "line",
    [
        "extra = getattr(output, 'extra_loss', None)",
        "if hasattr(output, 'extra_loss'): extra = output.extra_loss",
        "extra = output.extra_loss if self.extra else None",
        "extra = self.extra and output.extra_loss",
        "loss = output.loss.mean()",
        "keys = list(output.keys())",
        "first = [one.extra_loss for one in output]",
        "output = self.other(**batch); extra = output.extra_loss",
    ],
)
def test_what_is_there_or_only_read_under_a_condition_is_no_finding(tmp_path, line):
    assert said(tmp_path, engine(line), model("return ToyOutput(loss=x)")) == []


def test_what_follows_an_early_exit_of_the_step_may_be_for_other_models(tmp_path):
    step = engine("if not self.extra:", "    continue", "extra = output.extra_loss")
    assert said(tmp_path, step, model("return ToyOutput(loss=x)")) == []


@pytest.mark.parametrize(
    "forward",
    [
        ("return self.language_model(x)",),
        ("return {'loss': x}",),
        ("return build(x)",),
        ("output = ToyOutput(loss=x)", "output = self.add(output)", "return output"),
        ("if return_dict:", "    return ToyOutput(loss=x)", "return self.other(x)"),
    ],
)
def test_an_output_that_cannot_be_told_is_no_finding(tmp_path, forward):
    assert said(tmp_path, engine("extra = output.extra_loss"), model(*forward)) == []


def test_a_tuple_for_other_callers_does_not_hide_the_class_that_the_step_gets(tmp_path):
    forward = ("if not return_dict:", "    return (x,)", "output = ToyOutput(loss=x)", "return output")
    assert said(tmp_path, engine("extra = output.extra_loss"), model(*forward)) == ["extra_loss"]


def test_fields_of_bases_count_and_foreign_bases_end_the_judgement(tmp_path):
    step = engine("extra = output.extra_loss")
    own = model("return ToyOutput(loss=x)").replace(
        "class ToyOutput(", "class Base(ModelOutput):\n    extra_loss: float = None\nclass ToyOutput(Base, "
    )
    assert said(tmp_path, step, own) == []
    foreign = model("return ToyOutput(loss=x)", output="CausalLMOutputWithPast")
    assert said(tmp_path, step, foreign) == []


def test_a_model_without_the_loss_that_the_step_propagates_is_an_error(tmp_path):
    modeling = model("return ToyOutput(logits=x)", fields="logits: float = None")
    assert said(tmp_path, engine("output.loss.backward()"), modeling) == ["loss"]


def test_a_forward_that_only_returns_tuples_has_no_loss(tmp_path):
    assert said(tmp_path, engine("output.loss.backward()"), model("return x, x")) == ["loss"]
    either = model("if return_dict:", "    return build(x)", "return x, x")
    assert said(tmp_path, engine("output.loss.backward()"), either) == []
