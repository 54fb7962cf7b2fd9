"""What the checks make of a batch of real rows: recorded facts of a sound run, and each with one thing wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.checks import registry
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.facts.codec import from_json
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, Raised, StepFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import text

RECORDED = Path(__file__).parents[1] / "data" / "runtime" / "batch_qwen3_5.json"
Change = Callable[[dict[str, StepFacts]], None]


class _Probes:
    def __init__(self, **facts: ProbeFacts) -> None:
        self._facts = facts

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        return self._facts[probe]


def _recorded() -> ProbeFacts:
    return from_json(ProbeFacts, json.loads(RECORDED.read_text(encoding="utf-8")))


def _view(batch: ProbeFacts, builds: bool = True, on_meta: bool = True) -> TargetView:
    build = StepFacts("model.build", "ok" if builds else "error")
    probes = _Probes(batch=batch, model=ProbeFacts("model", "done", {"model.build": build}))
    return TargetView(
        StaticFacts(configs={"c.yaml": ConfigFacts("c.yaml", {"training": {"init_model_with_meta_device": on_meta}})}),
        TargetFacts("t", "c.yaml"),
        None,
        probes,
    )


def _findings(contract: str, change: Change | None = None, on_meta: bool | None = None) -> list[Finding]:
    facts = _recorded()
    if change is not None:
        change(facts.steps)
    view = _view(facts, on_meta=contract != "model.from_pretrained" if on_meta is None else on_meta)
    own = ("batch_steps", "training_step", "data_rows")
    found: list[Finding] = []
    for function in registry.checks_of(contract, "cpu"):
        if function.__module__.rpartition(".")[2] in own:
            found += function(view)
    for one in found:
        for lang in ("en", "zh"):
            assert text(one.message, one.args, lang)
    return found


CONTRACTS = [
    "model.from_pretrained",
    "model.from_config",
    "model.forward_inputs",
    "model.forward_loss",
    "data.path_types",
    "data.sample_schema",
    "data.fields",
    "data.collate",
    "data.labels",
    "data.modal_alignment",
]


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_sound_run_has_no_errors(contract: str) -> None:
    assert [one.message for one in _findings(contract) if one.fails] == []


def _put(step: str, **values: Any) -> Change:
    return lambda steps: steps[step].data.update(values)


def _fail(step: str, kind: str = "ValueError") -> Change:
    def change(steps: dict[str, StepFacts]) -> None:
        names = list(steps)
        for later in names[names.index(step) + 1 :]:
            del steps[later]
        steps[step] = StepFacts(step, "error", 0.1, Raised(kind, "no"), steps[step].data)

    return change


def _in(step: str, *path: Any, value: Any) -> Change:
    def change(steps: dict[str, StepFacts]) -> None:
        held: Any = steps[step].data
        for part in path[:-1]:
            held = held[part]
        held[path[-1]] = value

    return change


def _all_labels(**values: Any) -> Change:
    def change(steps: dict[str, StepFacts]) -> None:
        for batch in steps["batches"].data["batches"]:
            batch["labels"].update(values)

    return change


def _without_media(steps: dict[str, StepFacts]) -> None:
    for batch in steps["batches"].data["batches"]:
        del batch["fields"]["pixel_values"]


def _shifted(steps: dict[str, StepFacts]) -> None:
    for batch in steps["batches"].data["batches"]:
        batch["labels"].update(equal=0, next=batch["labels"]["counted"])


def _text_only(in_data: bool) -> Change:
    def change(steps: dict[str, StepFacts]) -> None:
        steps["text_only"] = StepFacts("text_only", "error", 0.1, Raised("IndexError", "no"), {"in_data": in_data})

    return change


@pytest.mark.parametrize(
    ("contract", "change", "message"),
    [
        ("model.from_pretrained", _fail("from_pretrained", "TypeError"), "cpu.raised"),
        ("model.from_pretrained", _fail("trainer"), "cpu.raised"),
        ("model.from_pretrained", _put("from_pretrained", not_loaded=["lm_head.weight"]), "batch.not_loaded"),
        ("model.from_pretrained", _in("from_pretrained", "storage", "on_meta", value={"a.b": 1}), "batch.on_meta"),
        ("model.from_config", _put("materialise", on_meta={"a": 1}, load=False), "batch.on_meta"),
        ("model.from_config", _put("materialise", uninitialised={"a": 1}, load=False), "batch.uninitialised"),
        ("model.from_config", _put("materialise", differing={"rotary.inv_freq": 1}), "batch.differing"),
        (
            "model.forward_inputs",
            _in("forward", "binding", "missing", value=["pixel_mask"]),
            "batch.parameter_without_key",
        ),
        (
            "model.forward_inputs",
            _in("forward", "binding", "fields", "rope_deltas", "parameter", value=None),
            "batch.key_without_parameter",
        ),
        ("model.forward_loss", _fail("forward", "IndexError"), "cpu.raised"),
        ("model.forward_loss", _fail("backward", "RuntimeError"), "cpu.raised"),
        ("model.forward_loss", _in("forward", "loss", "has_loss", value=False), "batch.no_loss"),
        ("model.forward_loss", _in("forward", "loss", "loss_type", value="dict"), "batch.loss_is_no_tensor"),
        ("model.forward_loss", _in("forward", "loss", "scalar", value=False), "batch.loss_is_no_scalar"),
        ("model.forward_loss", _in("forward", "loss", "finite", value=False), "batch.loss_is_not_finite"),
        ("model.forward_loss", _in("forward", "loss", "value", value=0.0), "batch.loss_is_zero"),
        ("model.forward_loss", _in("forward", "loss", "differentiable", value=False), "batch.loss_has_no_gradient"),
        ("model.forward_loss", _put("backward", detached={"visual.*": 3}), "batch.gradient_detached"),
        ("model.forward_loss", _put("backward", not_finite={"a": 1}), "batch.gradient_not_finite"),
        ("model.forward_loss", _put("backward", unexpected={"a": 1}), "batch.gradient_unexpected"),
        ("model.forward_loss", _put("backward", with_gradient=0), "batch.no_gradient_at_all"),
        ("model.forward_loss", _text_only(in_data=True), "batch.text_only"),
        ("data.path_types", _put("other_form", length=3), "batch.rows_lost"),
        ("data.path_types", _fail("other_form", "AttributeError"), "cpu.raised"),
        ("data.sample_schema", _fail("rows", "RowsError"), "cpu.raised"),
        ("data.sample_schema", _in("rows", "files", 0, "rows", value=0), "batch.no_rows"),
        ("data.sample_schema", _in("rows", "attr", "messages", value="conversation"), "batch.column_missing"),
        ("data.sample_schema", _in("rows", "files", 0, "fields", 1, value=["images"]), "batch.column_missing_in_rows"),
        ("data.sample_schema", _in("rows", "files", 0, "types", 3, "messages", value="int"), "batch.column_type"),
        ("data.sample_schema", _in("rows", "attr", "role_tag", value="from"), "batch.tag_missing"),
        ("data.sample_schema", _in("rows", "tags", 0, "roles", value=["narrator"]), "batch.role_unknown"),
        ("data.sample_schema", _in("rows", "media", 0, "path", value=None), "batch.media_missing"),
        ("data.sample_schema", _in("rows", "media", 0, "error", value="no image"), "batch.media_broken"),
        ("data.fields", _fail("dataset"), "cpu.raised"),
        ("data.fields", _fail("samples", "KeyError"), "cpu.raised"),
        ("data.fields", _put("samples", samples=[]), "batch.no_samples"),
        ("data.fields", _without_media, "batch.media_lost"),
        ("data.collate", _fail("loader"), "cpu.raised"),
        ("data.collate", _fail("batches", "RuntimeError"), "cpu.raised"),
        ("data.collate", _put("batches", batches=[]), "batch.no_batches"),
        ("data.collate", _in("batches", "batches", 0, "fields", "labels", "shape", value=[2, 9]), "batch.unequal"),
        ("data.labels", _all_labels(counted=0), "batch.labels_ignored"),
        ("data.labels", _all_labels(shapes=[[1, 9], [1, 8]]), "batch.label_shape"),
        ("data.labels", _all_labels(empty=[0]), "batch.sample_without_labels"),
        ("data.labels", _shifted, "batch.labels_shifted"),
        ("data.labels", _all_labels(equal=1), "batch.labels_differ"),
        (
            "data.modal_alignment",
            _in("batches", "batches", 0, "alignment", 0, "features", value=7),
            "batch.tokens_differ",
        ),
    ],
)
def test_one_thing_wrong_is_an_error(contract: str, change: Change, message: str) -> None:
    assert message in [one.message for one in _findings(contract, change) if one.fails]


@pytest.mark.parametrize(
    ("contract", "change", "message"),
    [
        ("model.from_config", _put("materialise", uninitialised={"a": 1}, load=True), "batch.uninitialised"),
        ("model.forward_loss", _put("backward", beside={"layers.*.gate.bias": 3}), "batch.gradient_beside"),
        ("model.forward_loss", _put("backward", idle={"audio.*": 3}), "batch.gradient_idle"),
        ("model.forward_loss", _text_only(in_data=False), "batch.text_only"),
        ("model.forward_inputs", _put("forward", dropped=["meta"]), "batch.dropped"),
    ],
)
def test_what_may_be_meant_is_a_note(contract: str, change: Change, message: str) -> None:
    found = [one for one in _findings(contract, change) if one.message == message]
    assert [one.severity for one in found] == ["note"]


def test_what_a_route_that_the_config_does_not_take_does_not_load_is_a_note_unless_it_is_most() -> None:
    def judged(count: int, on_meta: bool) -> list[str]:
        lost = _put("from_pretrained", not_loaded=[f"experts.{number}" for number in range(count)], tensors=10)
        found = _findings("model.from_pretrained", lost, on_meta)
        return [one.severity for one in found if one.message == "batch.not_loaded"]

    assert [judged(4, True), judged(4, False), judged(6, True)] == [["note"], ["error"], ["error"]]


def test_what_a_route_that_the_config_does_not_take_leaves_empty_is_a_note() -> None:
    loaded = _in("from_pretrained", "storage", "differing", value={"rotary.inv_freq": 1})
    initialised = _put("materialise", differing={"rotary.inv_freq": 1})
    for contract, change, on_meta in (
        ("model.from_pretrained", loaded, True),
        ("model.from_config", initialised, False),
    ):
        assert [one.message for one in _findings(contract, change, on_meta) if one.fails] == []
        assert [one.message for one in _findings(contract, change, not on_meta) if one.fails] == ["batch.differing"]


def test_tokens_are_held_against_the_towers_where_no_field_tells(request: pytest.FixtureRequest) -> None:
    def unknown(shape: list[int]) -> Change:
        def change(steps: dict[str, StepFacts]) -> None:
            for batch in steps["batches"].data["batches"]:
                batch["alignment"] = [{"kind": "image", "token": 5, "tokens": 70, "features": None, "by": None}]
            steps["forward"].data["media"] = {"projector": shape}

        return change

    assert _findings("data.modal_alignment", unknown([7, 10, 64])) == []
    assert [one.message for one in _findings("data.modal_alignment", unknown([7, 9, 64]))] == ["batch.tokens_differ"]


def _not_small(**shrink: Any) -> ProbeFacts:
    facts = _recorded()
    for name in ("from_pretrained", "get_model", "materialise", "forward", "backward", "text_only"):
        del facts.steps[name]
    facts.steps["shrink"] = StepFacts("shrink", "ok", data=shrink)
    return facts


@pytest.mark.parametrize("contract", ["model.forward_inputs", "model.forward_loss"])
def test_a_model_that_cannot_be_made_small_is_not_judged(contract: str) -> None:
    facts = _not_small(refusal="too large")
    with pytest.raises(registry.NothingToJudge) as raised:
        registry.judge(contract, _view(facts), "cpu")
    assert raised.value.values == {"why": "too large"}
    with pytest.raises(registry.Blocked) as blocked:
        registry.judge(contract, _view(facts, builds=False), "cpu")
    assert blocked.value.contracts == ("model.build",)


@pytest.mark.parametrize("contract", CONTRACTS[4:])
def test_data_are_judged_without_a_small_model(contract: str) -> None:
    assert [one for one in registry.judge(contract, _view(_not_small(refusal="too large")), "cpu") if one.fails] == []


@pytest.mark.parametrize("contract", CONTRACTS[2:])
def test_a_broken_model_folder_blocks_what_comes_of_it(contract: str) -> None:
    facts = _recorded()
    facts.steps = {"boot": facts.steps["boot"], "shrink": StepFacts("shrink", "ok", data={"broken": "config.json"})}
    with pytest.raises(registry.Blocked) as blocked:
        registry.judge(contract, _view(facts, builds=False), "cpu")
    assert blocked.value.contracts == ("model.build",)


@pytest.mark.parametrize("contract", CONTRACTS[2:])
def test_data_that_is_not_here_is_not_judged(contract: str) -> None:
    facts = _recorded()
    for name in list(facts.steps)[list(facts.steps).index("rows") :]:
        del facts.steps[name]
    facts.steps["rows"] = StepFacts("rows", "ok", data={"absent": ["/data/rows.json"]})
    with pytest.raises(registry.NothingToJudge) as raised:
        registry.judge(contract, _view(facts), "cpu")
    assert raised.value.values == {"path": "/data/rows.json"}


@pytest.mark.parametrize(
    ("contract", "failing", "blocker"),
    [
        ("data.labels", "batches", "data.collate"),
        ("data.collate", "dataset", "data.fields"),
        ("data.fields", "rows", "data.sample_schema"),
        ("data.fields", "loader", "data.collate"),  # where the loader makes the dataset
        ("model.forward_loss", "from_pretrained", "model.from_pretrained"),
        ("model.forward_inputs", "batches", "data.collate"),
    ],
)
def test_what_comes_after_a_failure_is_blocked_by_whoever_judges_it(contract: str, failing: str, blocker: str) -> None:
    facts = _recorded()
    _fail(failing)(facts.steps)
    with pytest.raises(registry.Blocked) as raised:
        registry.judge(contract, _view(facts), "cpu")
    assert raised.value.contracts == (blocker,)


def test_a_form_of_the_path_that_the_schema_refuses_is_not_judged() -> None:
    facts = _recorded()
    _put("other_form", refused="ConfigValidationError: dataset_dir: Input should be a valid string")(facts.steps)
    with pytest.raises(registry.NothingToJudge) as raised:
        registry.judge("data.path_types", _view(facts), "cpu")
    assert raised.value.key == "batch.form_refused"


def test_the_field_table_has_a_row_for_each_field_and_all_its_cells() -> None:
    facts = _recorded()
    facts.steps["forward"].data["binding"]["fields"]["extra"] = {"parameter": None, "type": "list", "length": 3}
    table = registry.details_of("model.forward_inputs", _view(facts))
    assert table is not None
    rows = {row["key"]: row for row in table["fields"]}
    assert rows["input_ids"] == {"key": "input_ids", "parameter": "input_ids", "type": "int64", "shape": "1 x 152"}
    assert rows["rope_deltas"]["parameter"] == "**kwargs"
    assert rows["use_cache"] == {"key": "use_cache", "parameter": "**kwargs", "type": "bool", "shape": "-"}
    assert rows["extra"] == {"key": "extra", "parameter": "-", "type": "list", "shape": "3"}
