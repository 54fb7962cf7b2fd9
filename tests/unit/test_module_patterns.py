"""The plan pattern language, on plain names and on names with an unknown list index (`#`)."""

from __future__ import annotations

import pytest

from pytest_mindspeed_migration.analysis.patterns import PatternError, compile_pattern, overlap


@pytest.mark.parametrize(
    ("pattern", "name", "expected"),
    [
        ("model.layers.{*}", "model.layers.17", True),
        ("model.layers.{*}", "model.layers.17.mlp", False),
        ("model.layers.{*}", "model.layers.x", False),
        ("model.layers.{2-4}", "model.layers.4", True),
        ("model.layers.{2-4}", "model.layers.5", False),
        ("model.layers.3", "model.layers.3", True),
        ("model.layers.3", "model.layers.30", False),
        ("model.*", "model.layers.3.mlp", True),
        ("*", "", True),
        ("block?.fc", "block1.fc", True),
        ("layer1.conv2d", "layer1.conv2d", True),
        ("a.b", "axb", False),
        ("model.layers.{*}", "model.layers.#", True),
        ("model.layers.{2-4}.mlp", "model.layers.#.mlp", True),
        ("model.layers.3", "model.layers.#", True),
        ("model.layers.{*}", "model.#", False),
        ("layer1", "layer#", False),
    ],
)
def test_a_pattern_matches_as_the_framework_matches_and_an_unknown_index_may_be_any_number(pattern, name, expected):
    assert compile_pattern(pattern).matches(name) is expected


@pytest.mark.parametrize("pattern", ["layers.{4-2}", "layers.{a-b}", "layers.{}", "layers.{3}", "layers.{1-2-3}"])
def test_braces_that_are_no_range_are_refused(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern)


def test_a_prefix_that_no_continuation_can_match_is_known_at_once():
    pattern = compile_pattern("model.visual.blocks.{*}")
    assert pattern.feed(pattern.start, "model.visual.")
    assert not pattern.feed(pattern.start, "model.language_model")


def test_ranges_that_do_not_meet_do_not_match_the_same_module():
    assert not overlap(compile_pattern("layers.{0-3}"), compile_pattern("layers.{4-7}"))
    assert overlap(compile_pattern("layers.{0-3}"), compile_pattern("layers.{*}"))


@pytest.mark.parametrize("pattern", ["layers.{\u00b2-\u00b3}", "layers.{0-" + "9" * 5000 + "}"])
def test_braces_with_what_python_cannot_convert_are_refused_as_the_framework_refuses_them(pattern):
    with pytest.raises(PatternError):
        compile_pattern(pattern)


def test_digits_that_are_no_numbers_are_text():
    assert compile_pattern("layer\u00b2").matches("layer\u00b2")
    assert compile_pattern("layers." + "9" * 5000).matches("layers." + "9" * 5000)
    assert not compile_pattern("layers.{0-3}").matches("layers." + "9" * 5000)


def test_a_long_run_of_stars_costs_no_more_than_one():
    pattern = compile_pattern("*" * 100_000 + ".fc")
    assert len(pattern.tokens) == 4
    assert pattern.matches("a.fc")
