"""The quick walks over trees against those of `ast`, and the quick JSON writer against `json`."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.atomic import indented
from pytest_mindspeed_migration.scan.expressions import source_text
from pytest_mindspeed_migration.scan.nodes import children, walk

PACKAGE = Path(__file__).parents[2] / "pytest_mindspeed_migration"
SYNTAX = """
import a.b as c
from . import d as e
@f
async def g(h, /, i: int = 1, *j, k=2, **l) -> m:
    global n
    async with o as p, q: await r
    match s:
        case {"t": 1, **u}: pass
        case [v, *w] | X(y=z): pass
        case None if {**a1, "b1": 2}: pass
    try: yield from c1
    except D1 as e1: raise f1 from g1
    else: del h1[1:2, ...]
    finally: i1 = lambda j1, *k1: (l1 := [m1 for n1 in o1 if not p1])
    return f"{q1!r:>{r1}}" if s1 < t1 <= u1 and v1 else -w1 @ x1
"""
_WITHOUT = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


@pytest.mark.parametrize(
    "source", [SYNTAX, *((PACKAGE / name).read_text("utf-8") for name in ("suite.py", "memory.py"))]
)
def test_children_are_those_of_ast_without_operators(source: str) -> None:
    tree = ast.parse(source)
    nodes = [node for node in ast.walk(tree) if not isinstance(node, _WITHOUT)]
    for node in nodes:
        assert children(node) == [one for one in ast.iter_child_nodes(node) if not isinstance(one, _WITHOUT)]
    assert {id(node) for node in walk(tree)} == {id(node) for node in nodes}


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": []},
        {"a": {"b": [1, 2.5, None, True, 'é\n"\ud800\u2028']}, "c": {}},
        [[], [1, [2]]],
        "x",
        1e-7,
        -0.0,
    ],
)
def test_indented_json_is_what_json_writes(value: Any) -> None:
    assert indented(value) == json.dumps(value, ensure_ascii=False, indent=2)


@pytest.mark.parametrize(
    "source",
    [
        "a", "a.b.c", "None", "Optional[torch.Tensor]", "Dict[str, Any]", "x[(a, b)]", "x[(a,)]", "x[()]", "x[1:2, :]",
        "x['it\\'s']", "x[u'k']", "Optional['Later']", "x[-1]", "x[1_000]", "x[0.1]", "Tuple[int, ...]",
        "a | b", "a | b | c", "a | (b | c)", "list[a | None]", "x is not None", "a.b == 'c'", "k not in m.n",
        "a < b < c", "not a.b", "not (a == b)", "(a or b) == c", "a == (not b)", "f(x)[0]", "a[b].c", "x == True",
        "(yield) is a",
    ],
)  # fmt: skip
def test_source_text_is_what_ast_makes_of_it(source: str) -> None:
    node = ast.parse(source, mode="eval").body
    assert source_text(node) == ast.unparse(node)
