"""Patterns of module names, as plans in the YAML file write them."""

import re

_BRACES = re.compile(r"\{(\*|\d+-\d+)\}")


def module_name_match(pattern: str, name: str) -> bool:
    """Whether a module name matches a pattern.

    `{*}` stands for any number, `{a-b}` for a number of that range, and a pattern without braces for itself:
    `model.layers.{0-3}` matches `model.layers.2`.
    """
    expression, position, ranges = "", 0, []
    for brace in _BRACES.finditer(pattern):
        expression += re.escape(pattern[position : brace.start()]) + r"(\d+)"
        position = brace.end()
        low, _, high = brace.group(1).partition("-")
        ranges.append(None if low == "*" else range(int(low), int(high) + 1))
    match = re.fullmatch(expression + re.escape(pattern[position:]), name)
    if match is None:
        return False
    return all(
        allowed is None or int(number) in allowed for number, allowed in zip(match.groups(), ranges, strict=True)
    )
