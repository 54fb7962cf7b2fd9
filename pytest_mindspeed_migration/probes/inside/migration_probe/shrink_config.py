"""From the config of a model to that of a small one of the same kind: which values change, and to what.

Works on the structure of a config, not on a table of models. Three kinds of reduction, gentle first:

- `layers`: two layers, or as many as hold every kind of layer that the config has (per-layer lists, intervals);
- `experts`: four experts, two of them used for a token (one where it was one);
- `widths`: few heads of the size they had, then hidden sizes that are a whole number of heads; sizes that were equal
  stay equal and sizes that differed stay different, so that a projection of a wrong size is still seen.

Vocabulary, special tokens, sizes of heads (and with them rotary sections), of patches and of images never change.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Iterator
from typing import Any

KINDS = ("layers", "experts", "widths")

_LAYERS = re.compile(r"^(num_(?:\w+_)?layers|n_layers?|(?:\w+_)?depth|(?:en|de)coder_layers|\w+_layers|num_blocks)$")
_NOT_LAYERS = re.compile(r"window|mlp_only|skip|dense|freeze|mtp|nextn|unet")
_INTERVAL = re.compile(r"(?:interval|_step|_period|_every|sliding_window_pattern|_freq|interleave_\w+)$")
_LAYER_INDEX = re.compile(r"(?:hidden_layer|layer_idx|layer_index|select_layer)$")
_INDEXES = re.compile(r"index|layers|blocks")
_EXPERTS = re.compile(r"^(num_(?:local_|routed_)?experts|n_routed_experts|moe_num_experts|num_moe_experts)$")
_TOP_K = re.compile(r"^(num_experts_per_tok(?:en)?|moe_top_?k|top_?k_experts|moe_k|num_selected_experts)$")
_HEADS = re.compile(r"heads(?:_kv)?$|^n_heads?$")
_HEAD_SIZE = re.compile(r"head_dim$|head_size$|^kv_channels$|^qk_channels$")
_WIDTH = re.compile(
    r"hidden_size$|intermediate_size$|ffn_dim$|^d_model$|^d_ff$|embed_dim$|^n_embd$|^output_dim$|hidden_dim$|local_dim$"
    r"|^dim$|^inner_dim$|^projection_dim$|^out_dim$|^ffn_hidden_size$|^input_size$"
)
_EXPERTS_LEFT = 4
_LAYERS_LEFT = 2
_MOST_LAYERS = 8
_WIDTH_STEP = 32
_FIRST_WIDTH = 64
_SMALL = 128  # widths up to this one stay
_HIDDEN = ("hidden_size", "d_model", "embed_dim", "n_embd", "dim")

Change = dict[str, Any]
"""One reduction: `path` (dotted), `was` and `now`."""


def shrink(config: dict[str, Any], kinds: tuple[str, ...] = KINDS) -> tuple[dict[str, Any], list[Change]]:
    """The config with smaller values, and what was changed.

    Args:
        config: a model's config with all its defaults, plain JSON; left as it is.
        kinds: which reductions to make, of `KINDS`.
    """
    small = copy.deepcopy(config)
    if "layers" in kinds:
        for section in _sections(small):
            _fewer_layers(section)
        _clamp_layer_indexes(small)
    if "experts" in kinds:
        for section in _sections(small):
            _fewer_experts(section)
    if "widths" in kinds:
        _narrower(small)
    return small, list(changes(config, small))


def every_expert_used(config: dict[str, Any]) -> list[Change]:
    """What has to change so that each token goes to every expert; nothing in a config without idle experts."""
    routed = copy.deepcopy(config)
    for section in _sections(routed):
        experts = _integers(section, _EXPERTS)
        for key in _integers(section, _TOP_K) if experts else ():
            section[key] = max(experts.values())
    return list(changes(config, routed))


def changes(before: dict[str, Any], after: dict[str, Any], path: str = "") -> Iterator[Change]:
    """Where two configs of one structure differ."""
    for key, value in after.items():
        below = f"{path}.{key}" if path else str(key)
        was = before.get(key)
        if isinstance(value, dict) and isinstance(was, dict):
            yield from changes(was, value, below)
        elif value != was:
            yield {"path": below, "was": was, "now": value}


def _sections(config: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The config and every mapping in it."""
    yield config
    for value in config.values():
        if isinstance(value, dict):
            yield from _sections(value)


def _integers(section: dict[str, Any], pattern: re.Pattern[str]) -> dict[str, int]:
    return {
        key: value
        for key, value in section.items()
        if isinstance(key, str) and pattern.search(key) and type(value) is int and value > 0
    }


def _fewer_layers(section: dict[str, Any]) -> None:
    counts = {key: value for key, value in _integers(section, _LAYERS).items() if not _NOT_LAYERS.search(key)}
    for count in sorted(set(counts.values()), reverse=True):
        if count <= _LAYERS_LEFT:
            continue
        lists = {key: value for key, value in section.items() if isinstance(value, list) and len(value) == count}
        keep = _layers_to_keep(section, count, list(lists.values()))
        for key, value in counts.items():
            if value == count:
                section[key] = len(keep)
        for key, each in lists.items():
            section[key] = [each[index] for index in keep]
        for key, numbers in section.items():
            if key not in lists and _INDEXES.search(str(key)) and _is_index_list(numbers, count):
                section[key] = _fewer_indexes(numbers, len(keep))
        if section.get("first_k_dense_replace", 0) not in (0, None):
            section["first_k_dense_replace"] = min(section["first_k_dense_replace"], len(keep) - 1)


def _layers_to_keep(section: dict[str, Any], count: int, lists: list[list[Any]]) -> list[int]:
    """Indexes of the layers that stay: the first ones, when they hold every kind of layer, else one of each kind."""
    intervals = [value for value in _integers(section, _INTERVAL).values() if value <= _MOST_LAYERS]
    first = list(range(min(count, max([_LAYERS_LEFT, *intervals]))))
    kinds = [repr([one[index] for one in lists]) for index in range(count)]
    if {kinds[index] for index in first} == set(kinds):
        return first
    each = sorted(kinds.index(kind) for kind in set(kinds))[:_MOST_LAYERS]
    return each if len(each) >= _LAYERS_LEFT else first


def _is_index_list(value: Any, count: int) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(item) is int and 0 <= item < count for item in value)
        and len(set(value)) == len(value)
    )


def _fewer_indexes(value: list[int], left: int) -> list[int]:
    """As many of the layers that stay as there were, but not all: both kinds of layer are still there."""
    start = 0 if 0 in value else 1
    return list(range(start, max(start + 1, min(left, start + min(len(value), left - 1)))))


def _clamp_layer_indexes(config: dict[str, Any]) -> None:
    """Single layer numbers, which may count the layers of another section."""
    counts = [value for section in _sections(config) for value in _integers(section, _LAYERS).values()]
    if not counts:
        return
    least = min(counts)
    for section in _sections(config):
        for key, value in _integers(section, _LAYER_INDEX).items():
            if value >= least:
                section[key] = max(least - 1, 0)


def _fewer_experts(section: dict[str, Any]) -> None:
    experts = _integers(section, _EXPERTS)
    if not experts or max(experts.values()) <= _EXPERTS_LEFT:
        return
    left = _EXPERTS_LEFT
    for key in experts:
        section[key] = left
    for key, value in _integers(section, _TOP_K).items():
        section[key] = min(value, left // 2)
    groups = section.get("n_group")
    if isinstance(groups, int) and groups > 1:
        section["n_group"] = 2
        if isinstance(section.get("topk_group"), int):
            section["topk_group"] = min(section["topk_group"], 1)


def _narrower(config: dict[str, Any]) -> None:
    multiples: dict[int, int] = {}  # by width: what its replacement has to be a multiple of
    implied: list[tuple[dict[str, Any], int, int]] = []  # sections whose size of heads follows from their width
    widths: set[int] = set()
    embedded: set[int] = set()
    for section in _sections(config):
        own = _integers(section, _WIDTH)
        widths.update(own.values())
        if "vocab_size" in section:
            embedded.update(value for key, value in own.items() if key in _HIDDEN)
        heads = _integers(section, _HEADS)
        width = _width_of_heads(section)
        if not heads or _integers(section, _HEAD_SIZE) or width is None or width % max(heads.values()):
            continue
        size = width // max(heads.values())
        multiples[width] = math.lcm(multiples.get(width, 1), 2 * size)
        implied.append((section, width, size))
    new = _new_widths(widths, multiples, embedded)
    for section in _sections(config):
        heads = _integers(section, _HEADS)
        if heads and _integers(section, _HEAD_SIZE):
            section.update(_fewer_heads(heads))
    for section, width, size in implied:
        if new[width] != width:
            section.update(_heads_for(_integers(section, _HEADS), new[width] // size))
    for section in _sections(config):
        section.update({key: new[value] for key, value in _integers(section, _WIDTH).items()})


def _fewer_heads(heads: dict[str, int]) -> dict[str, int]:
    """Two of what there is least of, twice as many of what there is more of; one stays one.

    Kinds of heads that go by different prefixes (`linear_num_key_heads`, `num_key_value_heads`) are counted apart.
    """
    new: dict[str, int] = {}
    for prefix in {key.partition("num")[0] for key in heads}:
        group = {key: value for key, value in heads.items() if key.partition("num")[0] == prefix}
        least = min(group.values())
        base = min(least, 2)
        new.update({key: base if value == least else min(value, base * 2) for key, value in group.items()})
    return new


def _heads_for(heads: dict[str, int], most: int) -> dict[str, int]:
    """`most` heads where there were most of them, a divisor of it where there were fewer."""
    return {
        key: most if value == max(heads.values()) else max(1, most // math.ceil(max(heads.values()) / value))
        for key, value in heads.items()
        if most % max(1, most // math.ceil(max(heads.values()) / value)) == 0
    }


def _width_of_heads(section: dict[str, Any]) -> int | None:
    for name in _HIDDEN:
        if type(section.get(name)) is int:
            return int(section[name])
    for key, value in _integers(section, _WIDTH).items():  # such as input_local_dim beside input_local_attn_heads
        stem = key.rpartition("_")[0]
        if stem and any(other.startswith(stem) for other in _integers(section, _HEADS)):
            return value
    return None


def _new_widths(widths: set[int], multiples: dict[int, int], embedded: set[int]) -> dict[int, int]:
    """A smaller width for each, different ones for different ones; small ones stay; those of embeddings come first."""
    new = {width: width for width in widths if width <= _SMALL}
    order = sorted(widths - set(new), key=lambda width: (width not in embedded, width not in multiples, width))
    for width in order:
        step = multiples.get(width, _WIDTH_STEP)
        start = step if width in multiples else _FIRST_WIDTH
        taken = set(new.values())
        new[width] = next((value for value in range(start, width, step) if value not in taken), width)
    return new
