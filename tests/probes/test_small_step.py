"""Pieces of the probe `batch` that need torch, run by an interpreter that has it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")
INSIDE = Path(__file__).parents[2] / "pytest_mindspeed_migration" / "probes" / "inside"


def _run(program: str) -> Any:
    assert PYTHON is not None
    done = subprocess.run([PYTHON, "-c", program], cwd=INSIDE, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_shortest_batch_with_all_media_and_something_to_learn_is_taken() -> None:
    program = """
import json, torch
from migration_probe.forward_batch import media_fields, shortest
def batch(name, length, labels=1, **media):
    ids = torch.ones(2, length, dtype=torch.long)
    tensors = {key: torch.zeros(size, 4) for key, size in media.items()}
    return {"name": name, "input_ids": ids, "labels": ids if labels else ids * 0 - 100, **tensors}
text, long, short = batch("text", 3), batch("long", 9, image=4, audio=0), batch("short", 5, image=4)
ignored, both = batch("ignored", 2, labels=0, image=4), batch("both", 50, image=9, audio=2)
chosen = [
    shortest([text, long, short, ignored], {})["name"], shortest([text, long, both], {})["name"],
    shortest([ignored], {})["name"], media_fields(long),
]
print(json.dumps(chosen))
"""
    assert _run(program) == ["short", "both", "ignored", ["image"]]


def test_a_batch_of_text_with_a_blank_picture_does_not_stand_for_one_with_pictures() -> None:
    program = """
import json, torch
from migration_probe.forward_batch import shortest
def batch(ids):
    return {"input_ids": torch.tensor([ids]), "pixel_values": torch.zeros(1, 3, 4, 4)}
text, picture, longer = batch([5, 6]), batch([5, 9, 9, 6]), batch([5, 9, 9, 9, 6])
print(json.dumps(shortest([text, longer, picture], {"image": 9, "video": 8})["input_ids"].tolist()))
"""
    assert _run(program) == [[5, 9, 9, 6]]


def test_a_model_built_for_its_buffers_has_them_and_no_random_weights() -> None:
    program = """
import json, torch
from migration_probe.training_step import built_with_storage
class Model(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.big = torch.nn.Linear(4, 3)
        torch.nn.init.zeros_(self.big.weight)
        torch.nn.init.normal_(self.big.weight)
        self.register_buffer("table", torch.arange(5) * 2.0)
        self.register_buffer("noise", torch.empty(5).normal_())
    @classmethod
    def _from_config(cls, config):
        return cls(config)
model = built_with_storage(Model({"a": 1}))
print(json.dumps([model.table.tolist(), model.big.weight.abs().sum().item(), bool(model.noise.abs().sum() > 0)]))
"""
    assert _run(program) == [[0.0, 2.0, 4.0, 6.0, 8.0], 0.0, True]


LOADERS = """
import json, torch
from types import SimpleNamespace
from migration_probe.probes.batch import _Run

class Rows:
    def __init__(self, training, rows, own=None, exactly=None):
        self.training, self.rows, self.own, self.exactly = training, iter(rows), own, exactly
    def __call__(self, target, dataset):
        size = self.own or self.training.micro_batch_size
        if self.exactly not in (None, size):
            raise ValueError("another number of rows")
        while rows := [row for _, row in zip(range(size), self.rows)]:
            yield {"input_ids": torch.tensor(rows).reshape(-1, 1)}

def few(rows, **how):
    run, training, data = _Run({}, None), SimpleNamespace(micro_batch_size=4), {}
    run._target = SimpleNamespace(args=SimpleNamespace(training=training))
    run._batches = ["those of the training"]
    run._loader = Rows(training, rows, **how)
    found = run._few_rows(data)
    assert training.micro_batch_size == 4
    return [data["rows"], found if found == run._batches else [batch["input_ids"].tolist() for batch in found]]
"""


def test_the_forward_pass_chooses_from_all_rows_that_the_batches_of_the_training_hold() -> None:
    (rows, batches) = _run(f"{LOADERS}\nprint(json.dumps(few(range(40))))")
    assert rows == [2, 4]
    assert batches == [[[2 * number], [2 * number + 1]] for number in range(8)]


@pytest.mark.parametrize(
    "how", ["few([])", "few(range(40), exactly=4)", "few(range(40), own=4)"], ids=["once", "exactly", "own"]
)
def test_data_that_comes_in_no_fewer_rows_is_taken_as_the_training_has_it(how: str) -> None:
    assert _run(f"{LOADERS}\nprint(json.dumps({how}))") == [[4, 4], ["those of the training"]]


def test_weights_lie_as_published_where_the_framework_converts_them_while_it_loads(tmp_path: Path) -> None:
    (tmp_path / "small").mkdir()
    program = f"""
import json, os, torch
from safetensors.torch import load_file, save_file
from migration_probe.shrink import folder_as_published
class Transform:
    def dcp_to_hf(self, key, tensor):
        return key, tensor.permute(0, 2, 1).contiguous() if tensor.ndim == 3 else tensor
folder = {str(tmp_path / "small")!r}
open(os.path.join(folder, "config.json"), "w").write("{{}}")
open(os.path.join(folder, "tokenizer.json"), "w").write("{{}}")
save_file({{"experts": torch.zeros(2, 3, 4), "norm": torch.ones(5)}}, os.path.join(folder, "model.safetensors"))
copies = [folder_as_published(folder, Transform()) for _ in range(2)]
shapes = {{key: list(one.shape) for key, one in load_file(os.path.join(copies[1], "model.safetensors")).items()}}
print(json.dumps([copies[0] == copies[1] != folder, shapes, sorted(os.listdir(copies[0]))]))
"""
    shapes = {"experts": [2, 4, 3], "norm": [5]}
    assert _run(program) == [True, shapes, ["config.json", "model.safetensors", "tokenizer.json"]]
