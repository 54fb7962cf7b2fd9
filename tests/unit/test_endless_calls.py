"""Functions that call themselves before anything can end them."""

from __future__ import annotations

import ast
import textwrap

import pytest
from python_repo import MODEL, PLUGIN, Repo

from pytest_mindspeed_migration.scan.module_reader import ModuleReader


def found(text: str) -> list[tuple[str, int]]:
    facts = ModuleReader("m.py", "m", False).read(ast.parse(textwrap.dedent(text)))
    return [(item.name, item.line) for item in facts.unbound if item.kind == "endless"]


def test_a_second_definition_that_means_the_first_is_an_error(tmp_path):
    text = "def get(plan):\n    return plan\ndef get(plan):\n    found = get(plan)\n    return found\n"
    repo = Repo(tmp_path, {f"{PLUGIN}/modeling_toy.py": MODEL + text})
    assert repo.errors("code.names") == [("names.endless", "modeling_toy.py", 7)]


@pytest.mark.parametrize(
    ("body", "endless"),
    [
        ("return f(x)", True),
        ("y = x + 1; return [f(y)]", True),
        ("if f(x): return 1", True),
        ("for y in f(x): pass", True),
        ("if x: y = 1\n    return f(x)", True),
        ("if not x: return 0\n    return f(x - 1)", False),
        ("if not x: raise ValueError\n    return f(x - 1)", False),
        ("return f(x - 1) if x else 0", False),
        ("return x and f(x - 1)", False),
        ("return [f(y) for y in x]", False),
        ("return lambda: f(x)", False),
        ("for y in x: f(y)", False),
        ("while x: f(x)", False),
        ("try: return g(x)\n    except TypeError: pass\n    return f(x)", False),
        ("yield from f(x)", False),
        ("f = make(x); return f(x)", False),
        ("def inner(): return f(x)\n    return inner", False),
        ("return x.f(x)", False),
    ],
)
def test_a_call_counts_when_every_run_reaches_it(body, endless):
    assert bool(found(f"def f(x):\n    {body}\n")) is endless


@pytest.mark.parametrize(
    "text",
    [
        "def f(f):\n    return f()\n",
        "@wraps(g)\ndef f(x):\n    return f(x)\n",
        "def f(x):\n    return f(x)\nf = make(f)\n",
        "from a import f\nclass A:\n    def f(self):\n        return f(self)\n",
        "class A(B):\n    def f(self):\n        return super().f()\n",
        "class A:\n    def f(self):\n        return self.f()\n    def g(self):\n        self.f = None\n",
        "class A:\n    @property\n    def f(self):\n        return self.f()\n",
    ],
)
def test_a_name_that_may_stand_for_something_else_is_no_finding(text):
    assert found(text) == []


def test_a_method_that_calls_itself_is_found():
    assert found("class A:\n    def f(self, x):\n        return self.f(x)\n") == [("f", 3)]
