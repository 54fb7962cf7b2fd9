"""How many rows a forward pass is shown with."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_mindspeed_migration.probes.inside.migration_probe.forward_batch import rows_for_forward


@pytest.mark.parametrize(
    ("micro_batch_size", "features", "rows"),
    [
        (1, {}, 1),
        (2, {}, 2),
        (8, {}, 2),
        (8, {"enable_chunk_mbs": True, "chunkmbs_plan": SimpleNamespace(chunk_mbs=2)}, 3),
        (2, {"enable_chunk_mbs": True, "chunkmbs_plan": SimpleNamespace(chunk_mbs=4)}, 2),
        (8, {"enable_chunk_mbs": False, "chunkmbs_plan": SimpleNamespace(chunk_mbs=4)}, 2),
        (8, {"enable_chunk_mbs": True, "chunkmbs_plan": None}, 2),
        (8, {"enable_chunk_mbs": True, "chunkmbs_plan": SimpleNamespace(chunk_mbs="auto")}, 2),
    ],
)
def test_two_rows_or_more_than_one_chunk(micro_batch_size: int, features: dict[str, object], rows: int) -> None:
    training = SimpleNamespace(micro_batch_size=micro_batch_size)
    assert rows_for_forward(SimpleNamespace(training=training, features=SimpleNamespace(**features))) == rows
    if not features:
        assert rows_for_forward(SimpleNamespace(training=training)) == rows  # a trainer without features
