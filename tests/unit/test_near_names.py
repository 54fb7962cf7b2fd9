"""What counts as a slip of the pen."""

from __future__ import annotations

import pytest

from pytest_mindspeed_migration.findings import near


@pytest.mark.parametrize(
    ("name", "candidates", "expected"),
    [
        ("hugginface", ["huggingface", "qwen3_asr"], "huggingface"),
        ("validate_interval", ["val_interval", "log_interval"], "val_interval"),
        ("qwen2_vl", ["qwen2vl"], "qwen2vl"),
        ("num_layers", ["num_hidden_layers"], "num_hidden_layers"),
        ("activation_fn", ["activation"], "activation"),
        ("max_steps", ["max_epochs"], None),
        ("ToyTorchAttnProcessor", ["ToyFlashAttnProcessor"], None),
        ("modeling_toy_ngram", ["modeling_toy_next"], None),
    ],
)
def test_another_word_in_the_place_of_one_is_another_name(
    name: str, candidates: list[str], expected: str | None
) -> None:
    assert near(name, candidates) == expected
