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
    shortest([text, long, short, ignored])["name"], shortest([text, long, both])["name"],
    shortest([ignored])["name"], media_fields(long),
]
print(json.dumps(chosen))
"""
    assert _run(program) == ["short", "both", "ignored", ["image"]]


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
