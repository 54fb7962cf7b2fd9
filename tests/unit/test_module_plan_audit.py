"""The module-plan audit on the trees of real full-size models, as the probe showed them, and with defects put in."""

from __future__ import annotations

from typing import Any

import pytest
from runtime_facts import Shown, said

from pytest_mindspeed_migration.checks.cpu.module_tree import ModuleTree, as_pattern
from pytest_mindspeed_migration.checks.cpu.plan_audit import tree_with_coverage
from pytest_mindspeed_migration.checks.registry import Blocked

APPLY, FEATURES = "config.apply_modules", "config.feature_plans"
PLAN = "parallel.fsdp_plan.apply_modules"


def _row(shown: Shown, path: str) -> dict[str, Any]:
    return next(row for row in shown.data("model.modules")["rows"] if row["path"] == path)


def _use(shown: Shown, plan: str, pattern: str) -> dict[str, Any]:
    uses = shown.data("model.modules")["uses"]
    return next(use for use in uses if (use["plan"], use["pattern"]) == (plan, pattern))


def _unmatch(shown: Shown, plan: str, pattern: str, written: str, stop: dict[str, Any] | None) -> None:
    """The pattern is written otherwise and matches nothing any more."""
    use = _use(shown, plan, pattern)
    number = shown.data("model.modules")["uses"].index(use)
    use.update(pattern=written, count=0, stop=stop)
    for row in shown.data("model.modules")["rows"]:
        row["marks"] = [mark for mark in row["marks"] if mark != number]


@pytest.mark.parametrize(
    ("family", "expected"),
    [
        ("qwen3_vl_moe", []),
        ("qwen3_omni_moe", [("note", "audit.gap", PLAN)]),
        ("qwen3_asr", []),
        ("qwen3_5", [("note", "audit.tied_again", PLAN), ("note", "audit.not_built", f"{PLAN}[6]")]),
        ("mimo_v25", []),
    ],
)
def test_plans_of_real_targets_hold_on_the_full_size_model(family: str, expected: list[Any]) -> None:
    shown = Shown(family)
    assert said(shown.judge(APPLY)) == expected
    assert said(shown.judge(FEATURES)) == []


def test_what_a_real_plan_leaves_out_is_named_with_its_share() -> None:
    gap = Shown("qwen3_omni_moe").judge(APPLY)[0]
    assert gap.args == {
        "module": "audio_tower.layers.{*}",
        "cls": "Qwen3OmniMoeAudioEncoderLayer",
        "count": 32,
        "share": "2.0%",
        "group": "(root)",
    }
    assert gap.suggestion == "audio_tower.layers.{*}"


def test_a_dead_pattern_is_named_with_the_one_that_was_meant() -> None:
    shown = Shown("qwen3_vl_moe")
    stop = {"path": "", "cls": "Qwen3VLMoeForConditionalGeneration", "segment": "visual", "state": "absent"}
    _unmatch(shown, "fsdp", "model.visual.blocks.{*}", "visual.blocks.{*}", stop)
    error, *rest = shown.judge(APPLY)
    assert said([error]) == [("error", "audit.dead_at", f"{PLAN}[0]")]
    assert error.suggestion == "model.visual.blocks.{*}"
    assert (error.path, error.line) == ("examples/qwen3vl/qwen3vl_30B_config_v1.yaml", 7)
    assert said(rest) == [("note", "audit.gap", PLAN)]


def test_a_pattern_without_a_plain_way_is_dead_too() -> None:
    shown = Shown("qwen3_vl_moe")
    _unmatch(shown, "freeze", "model.visual", "model.visua?", None)
    assert said(shown.judge(FEATURES)) == [("error", "audit.dead", "model.freeze[0]")]


def test_a_part_that_this_config_does_not_build_is_a_note_unless_it_is_all_the_list_has() -> None:
    shown = Shown("qwen3_5")
    stop = {"path": "", "cls": "Qwen3_5ForConditionalGeneration", "segment": "mtp", "state": "none"}
    for use in shown.data("model.modules")["uses"]:
        if use["plan"] == "recompute":
            _unmatch(shown, "recompute", use["pattern"], "mtp.layers.{*}", stop)
    assert {severity for severity, key, _ in said(shown.judge(FEATURES)) if key == "audit.not_built"} == {"error"}


def test_a_plan_that_is_off_is_looked_at_and_does_not_fail() -> None:
    shown = Shown("qwen3_vl_moe")
    stop = {"path": "model.language_model.layers.0.mlp", "cls": "M", "segment": "expert", "state": "absent"}
    pattern = "model.language_model.layers.{*}.mlp.experts"
    _unmatch(shown, "expert", pattern, "model.language_model.layers.{*}.mlp.expert", stop)
    assert said(shown.judge(APPLY)) == [("note", "audit.dead_at", "parallel.ep_plan.apply_modules[0]")]
    shown.set("parallel.expert_parallel_size", 8)
    error = shown.judge(APPLY)[0]
    assert (error.severity, error.suggestion) == ("error", pattern)


def test_a_module_that_two_patterns_match_is_sharded_twice() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.modules")["framework"]["twice"] = ["model.language_model.layers.0"]
    _row(shown, "model.language_model.layers.{0-47}")["marks"].insert(0, 0)
    error = shown.judge(APPLY)[0]
    assert said([error]) == [("error", "audit.twice", f"{PLAN}[5]")]
    assert error.args["first"] == "model.visual.blocks.{*}"


def test_two_patterns_are_no_defect_where_the_framework_takes_each_module_once() -> None:
    shown = Shown("qwen3_vl_moe")
    _row(shown, "model.language_model.layers.{0-47}")["marks"].insert(0, 0)
    assert said(shown.judge(APPLY)) == []


def test_a_pattern_for_the_whole_model_shards_the_root_twice() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.modules")["framework"]["twice"] = [""]
    shown.data("model.modules")["rows"][0]["marks"] = [7]
    assert said(shown.judge(APPLY)) == [("error", "audit.root_matched", f"{PLAN}[7]")]


def test_a_list_itself_cannot_be_sharded() -> None:
    shown = Shown("qwen3_vl_moe")
    _row(shown, "model.visual.blocks")["marks"] = [1]
    error = shown.judge(APPLY)[0]
    assert said([error]) == [("error", "audit.container", f"{PLAN}[1]")]
    assert error.suggestion == "model.visual.blocks.{*}"


def test_tied_embeddings_in_two_groups_train_apart_unless_somebody_ties_them() -> None:
    shown = Shown("qwen3_5")
    del shown.steps["model.tie"]
    shown.data("model.modules")["ties"] = "mindspeed_mm.fsdp.checkpoint.load._retie_embeddings"
    assert ("note", "audit.tied_again", PLAN) in said(shown.judge(APPLY))
    shown.data("model.modules")["ties"] = None
    error = shown.judge(APPLY)[0]
    assert said([error]) == [("error", "audit.tied_split", PLAN)]
    assert error.args["groups"] == "model.language_model.embed_tokens, lm_head"


def test_an_outer_module_before_an_inner_one_takes_its_parameters() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.data("model.modules")["framework"]["parent_first"] = [["model.visual", "model.visual.merger"]]
    assert said(shown.judge(APPLY)) == [("error", "audit.outer_first", PLAN)]


def test_repeated_blocks_left_to_an_outer_group_are_named_with_their_share() -> None:
    shown = Shown("qwen3_vl_moe")
    _row(shown, "model.language_model.layers.{0-47}")["marks"] = [10, 11]
    gap = shown.judge(APPLY)[0]
    assert said([gap]) == [("note", "audit.gap", PLAN)]
    assert (gap.args["share"], gap.args["group"]) == ("96.3%", "model.language_model")


def test_experts_of_both_plans_are_sharded_twice_once_experts_are_parallel() -> None:
    shown = Shown("qwen3_vl_moe")
    _row(shown, "model.language_model.layers.{0-47}.mlp.experts")["marks"] = [5, 8]
    assert said(shown.judge(APPLY)) == [("note", "audit.experts_twice", f"{PLAN}[5]")]
    shown.set("parallel.expert_parallel_size", 4)
    assert said(shown.judge(APPLY)) == [("error", "audit.experts_twice", f"{PLAN}[5]")]
    _use(shown, "fsdp", "model.language_model.layers.{*}")["pattern"] = "model.language_model.layers.{*}.mlp.experts"
    assert said(shown.judge(APPLY)) == []  # master takes a pattern of ep_plan out of apply_modules


def test_the_framework_refusing_the_plan_is_told() -> None:
    shown = Shown("qwen3_vl_moe")
    error = {"type": "TypeError", "message": "boom", "frames": [], "chain": []}
    shown.data("model.modules")["framework"] = {"count": 0, "error": error, "twice": [], "parent_first": []}
    assert said(shown.judge(APPLY)) == [("error", "cpu.raised", None)]


def test_features_are_told_what_they_would_do_to_the_model() -> None:
    shown = Shown("qwen3_vl_moe")
    _use(shown, "chunk_loss", "lm_head")["count"] = 2
    _row(shown, "model.visual.blocks.{0-26}")["marks"] = [0, 9, 10]
    shown.data("model.modules")["no_decay"] = [
        {"plan": "no_decay", "option": "no_decay_params", "pattern": "bais", "yaml_path": "training.x[0]", "count": 0}
    ]
    for row in shown.data("model.modules")["rows"]:
        row["trainable"] = False
    shown.set("features.enable_chunk_loss", True)
    assert sorted(said(shown.judge(FEATURES))) == [
        ("error", "audit.all_frozen", "model.freeze[0]"),
        ("error", "audit.no_decay", "training.x[0]"),
        ("error", "audit.several_heads", "features.chunkloss_plan.apply_module"),
        ("note", "audit.wrapped_twice", "features.recompute_plan.apply_modules[1]"),
    ]


def test_without_a_model_the_audit_is_blocked_by_its_build() -> None:
    shown = Shown("qwen3_vl_moe")
    shown.fail("model.build", "ValueError", "x")
    for contract in (APPLY, FEATURES):
        with pytest.raises(Blocked) as blocked:
            shown.judge(contract)
        assert blocked.value.contracts == ("model.build",)


def test_the_report_gets_every_module_with_what_covers_it() -> None:
    told = tree_with_coverage(Shown("mimo_v25").view)
    assert told["parameters"] == 309_924_095_424
    assert told["in_root"] == 4096 + 20 * 1_310_720  # the last norm, and the speech embeddings
    layers = next(row for row in told["rows"] if row["path"] == "model.layers.0")
    assert (layers["depth"], layers["share"]) == (3, "0.1%")
    assert layers["plans"] == {"fsdp": ["model.layers.{*}"]}


def test_groups_of_a_tree_add_up_to_the_model() -> None:
    tree = ModuleTree.of(Shown("qwen3_omni_moe").data("model.modules"))
    assert sum(row.own * row.places for row in tree.rows) == tree.parameters


@pytest.mark.parametrize(
    ("path", "pattern"),
    [
        ("model.layers.{0-2,4}.mlp", "model.layers.{*}.mlp"),
        ("blocks.7.conv2d1", "blocks.{*}.conv2d1"),
        ("{0-3}.x", "{*}.x"),
        ("lm_head", "lm_head"),
    ],
)
def test_a_path_of_the_tree_becomes_a_pattern(path: str, pattern: str) -> None:
    assert as_pattern(path) == pattern
