"""The patterns of a config's plans on the real tree, by the target's own matcher and its own list of modules."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

from ..describe import describe

_FIRST = 3
_NUMBER = re.compile(r"\{(\*|\d+-\d+)\}|\d+")
_DIGITS = re.compile(r"\d+")

_NEEDED = {"fully_shard", "module_name_match", "get_fsdp_modules"}
Matcher = Callable[[str, str], bool]


class NoMatcherError(Exception):
    """The framework's sharding module and its matcher were not found among what the trainer imported."""


def sharding_module(trainer: Any) -> Any:
    """The framework's module that shards by plan: it has `fully_shard`, the matcher and the function that selects.

    Raises:
        NoMatcherError: when there is none.
    """
    package = trainer.__name__.split(".")[0]
    for name, module in sorted(sys.modules.items()):
        if name.split(".")[0] == package and set(vars(module or object)) >= _NEEDED:
            return module
    raise NoMatcherError(f"no module of {package} has {', '.join(sorted(_NEEDED))}")


def match(pattern: str, names: list[str], matcher: Matcher) -> list[str]:
    """The names that a pattern matches.

    Names that differ in numbers only are asked about once, unless the pattern can tell numbers apart.
    """
    plain = pattern.replace("{*}", "")
    if "?" in plain or _DIGITS.search(plain):
        return [name for name in names if matcher(pattern, name)]
    answers: dict[str, bool] = {}
    found = []
    for name in names:
        template = _DIGITS.sub("0", name)
        if template not in answers:
            answers[template] = bool(matcher(pattern, name))
        if answers[template]:
            found.append(name)
    return found


def matched(uses: list[dict[str, Any]], modules: dict[str, Any], matcher: Matcher) -> list[list[str]]:
    """What each pattern matches; every use gains `count`, `first` and, where that says why, `invalid` or `stop`.

    Args:
        uses: patterns of the config: `plan`, `option`, `pattern`, `yaml_path`.
        modules: by path, the root as "".
        matcher: the target's.
    """
    names, found = list(modules), []
    for use in uses:
        try:
            hits = match(use["pattern"], names, matcher)
        except ValueError as error:
            use["invalid"], hits = str(error), []
        use.update(count=len(hits), first=hits[:_FIRST])
        if not hits and "invalid" not in use:
            use["stop"] = _stop(use["pattern"], modules[""])
        found.append(hits)
    return found


def lora_matched(uses: list[dict[str, Any]], model: Any, match_target_modules: Any) -> list[list[str]]:
    """What each LoRA pattern matches: by the function that the trainer uses for it."""
    found = []
    for use in uses:
        hits = list(match_target_modules(model, [use["pattern"]]))
        use.update(count=len(hits), first=hits[:_FIRST])
        found.append(hits)
    return found


def without_decay(entries: dict[str, list[str]], model: Any, names_of: Any) -> list[dict[str, Any]]:
    """What each entry of `no_decay_modules` and `no_decay_params` takes out of weight decay.

    By the framework's own `get_parameter_names(model, classes, names)`, asked with the entry and without it.
    """
    every = len(names_of(model, [], []))
    uses = []
    for option, texts in entries.items():
        for place, text in enumerate(texts):
            lists = ([text], []) if option.endswith("modules") else ([], [text])
            count = every - len(names_of(model, *lists))
            path = f"training.{option}[{place}]"
            uses.append({"plan": "no_decay", "option": option, "pattern": text, "yaml_path": path, "count": count})
    return uses


def framework_list(module: Any, model: Any, plan: Any, paths: dict[int, str], repo: str) -> dict[str, Any]:
    """What the framework's own function selects for sharding, in its order.

    Returns:
        `count`, `error` (an exception, described), `twice` (modules it lists more than once) and `parent_first` (pairs
        of which the outer module comes before the inner one, so that the outer group takes the inner's parameters).
    """
    function = module.get_fsdp_modules
    given: dict[str, Any] = {"model": model, "fsdp_plan": plan}
    parameters = inspect.signature(function).parameters
    try:
        if "ignored_modules" in parameters:
            ignored = module.get_ignored_modules(model, plan)
            given["ignored_modules"] = ignored[0] if isinstance(ignored, tuple) else ignored
        selected = list(function(**{name: given[name] for name in parameters if name in given}))
    except Exception as error:
        return {"count": 0, "error": describe(error, repo), "twice": [], "parent_first": []}
    names = [paths[id(item)] for item in selected if id(item) in paths]
    names += [""] if "" in names else []  # the framework shards the root after all the others
    place = {name: number for number, name in enumerate(names)}
    early = [
        [outer, name]
        for name, number in place.items()
        for outer in _outer(name)
        if outer in place and place[outer] < number
    ]
    twice = sorted({name for name in names if names.count(name) > 1}) if len(place) < len(names) else []
    return {"count": len(names), "error": None, "twice": twice[:_FIRST], "parent_first": early[:_FIRST]}


def _outer(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


def _stop(pattern: str, root: Any) -> dict[str, Any] | None:
    """Where the way of a pattern through the tree ends, None when its text is no plain way (`*`, `?`).

    `state`: "absent" (no such child), "none" (the attribute is there and None: not built under this config) or "empty"
    (a list without elements).
    """
    ways = [("", root)]
    for segment in pattern.split("."):
        following = [
            (f"{path}.{name}" if path else name, child)
            for path, module in ways
            for name, child in module.named_children()
            if _accepts(segment, name)
        ]
        if following:
            ways = following
            continue
        if "*" in segment.replace("{*}", "") or "?" in segment:
            return None
        path, module = ways[0]
        state = "absent"
        if any(getattr(item, segment, module) is None for _, item in ways):
            state = "none"
        elif _NUMBER.fullmatch(segment) and not any(list(item.children()) for _, item in ways):
            state = "empty"
        return {"path": path, "cls": type(module).__name__, "segment": segment, "state": state}
    return None


def _accepts(segment: str, name: str) -> bool:
    if segment == "{*}":
        return name.isdigit()
    low, dash, high = segment[1:-1].partition("-")
    if segment.startswith("{") and dash and low.isdigit() and high.isdigit():
        return name.isdigit() and int(low) <= int(name) <= int(high)
    return segment == name
