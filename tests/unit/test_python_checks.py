from __future__ import annotations

import json
from pathlib import Path

import pytest
from python_repo import CORE, DATA, MODEL, PLUGIN, REGISTER, Repo

from pytest_mindspeed_migration.checks.registry import judge
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.codec import from_json, to_json
from pytest_mindspeed_migration.facts.launch import CopyInstruction
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts

MODELING = f"{PLUGIN}/modeling_toy.py"
TORCH = "import torch\nfrom torch import nn\n"


def plugin(tmp_path: Path, text: str, **more: str) -> Repo:
    """The default plugin with more code in its modeling file, and more files beside it."""
    files = {f"{PLUGIN}/{name}.py": content for name, content in more.items()}
    return Repo(tmp_path, {MODELING: MODEL + text, **files})


# imports


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("from .missing import x\n", "imports.module_missing"),
        ("import mindspeed_mm.fsdp.models.toy.missing\n", "imports.module_missing"),
        ("import importlib\nimportlib.import_module('mindspeed_mm.fsdp.nothing')\n", "imports.module_missing"),
        ("def f():\n    from mindspeed_mm.fsdp.nothing import x\n", "imports.module_missing"),
        ("from .other import renamed\n", "imports.name_missing"),
        (
            "try:\n    from .missing import x\nexcept ImportError as e:\n    raise RuntimeError from e\n",
            "imports.module_missing",
        ),
    ],
)
def test_an_import_that_cannot_resolve_fails_once(tmp_path: Path, text: str, message: str) -> None:
    repo = plugin(tmp_path, text, other="def name(): ...\n")
    assert [found for found, *_ in repo.errors("model.imports")] == [message]


def test_relative_imports_that_were_copied_with_a_model_of_transformers_say_where_they_lead(tmp_path: Path) -> None:
    """`from ...activations` in a file of Transformers is `transformers.activations`; here it asks the framework."""
    repo = plugin(tmp_path, "from ...activations import ACT2FN\nfrom ...utils import auto_docstring\n")
    view = TargetView(repo.facts(), repo.facts().targets[0])
    found = {finding.message: finding.suggestion for finding in judge("model.imports", view)}
    assert found == {
        "imports.module_missing": "transformers.activations",
        "imports.name_missing": "transformers.utils.auto_docstring",
    }


def test_a_plugin_that_no_target_uses_and_that_the_framework_does_not_serve_is_the_frameworks_affair(
    tmp_path: Path,
) -> None:
    orphan = "mindspeed_mm/fsdp/models/orphan/modeling.py"
    text = "from mindspeed_mm.fsdp.models.modelhub import Gone\nfrom mindspeed_mm.fsdp.train.gone import x\n"
    repo = Repo(tmp_path, {orphan: text + "from .mine import y\n"})
    found = [
        (finding.message, finding.args.get("name"))
        for finding in judge("model.imports", TargetView(repo.facts(), TargetFacts(FRAMEWORK, None)))
    ]
    assert sorted(found, key=str) == [
        ("imports.framework_lacks", "Gone"),
        ("imports.framework_lacks", "gone"),
        ("imports.module_missing", None),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "from .other import name\nfrom . import other\nimport mindspeed_mm.fsdp.models.toy.other as o\n",
        "from mindspeed_mm.fsdp import models\nfrom mindspeed_mm.fsdp.models import toy\n",
        "from .stars import name\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .missing import X\n",
        "import torch, numpy.linalg\nfrom transformers.nowhere import Anything\n",
    ],
)
def test_an_import_that_resolves_or_is_outside_the_repo_has_no_finding(tmp_path: Path, text: str) -> None:
    repo = plugin(tmp_path, text, other="def name(): ...\n", stars="from .other import *\n")
    assert repo.judge("model.imports") == []


def test_an_import_that_a_handler_survives_is_a_note(tmp_path: Path) -> None:
    repo = plugin(tmp_path, "try:\n    from .missing import x\nexcept ImportError:\n    x = None\n")
    assert [(f.message, f.severity) for f in repo.judge("model.imports")] == [("imports.module_missing", "note")]


def test_a_file_that_a_readme_has_copied_in_is_expected(tmp_path: Path) -> None:
    repo = plugin(tmp_path, "from .configuration_toy import ToyConfig\n")
    repo.copies = [CopyInstruction(PLUGIN, ["configuration_toy.py"], 7)]
    (finding,) = repo.judge("model.imports")
    assert (finding.message, finding.severity) == ("imports.expected_file", "note")
    assert finding.args["doc"] == "examples/toy/README.md:7"


def test_a_folder_that_a_bootstrap_names_is_expected_and_its_neighbour_is_not(tmp_path: Path) -> None:
    bootstrap = "NAMES = {'core': 'mindspeed_mm.fsdp.models.toy.toy_core'}\n"
    text = "import mindspeed_mm.fsdp.models.toy.toy_core.loader\nfrom .npu_patch import patch\n"
    repo = plugin(tmp_path, text, bootstrap=bootstrap)
    assert repo.errors("model.imports") == [("imports.module_missing", "modeling_toy.py", 5)]


def test_a_file_that_does_not_parse_is_a_finding_with_its_line(tmp_path: Path) -> None:
    repo = plugin(tmp_path, "", broken="x = 1\ndef f(:\n")
    assert repo.errors("model.imports") == [("imports.syntax_error", "broken.py", 2)]
    assert repo.judge("code.names") == repo.judge("code.calls") == []


def test_the_package_of_the_source_repo_must_not_be_needed(tmp_path: Path) -> None:
    repo = plugin(tmp_path, "from toy_vl.model import Thing\n")
    repo.manifest = {"source_repo_path": "/src/Toy-VL"}
    assert repo.errors("model.imports") == [("imports.source_repo", "modeling_toy.py", 4)]


def test_a_defect_of_an_unused_plugin_goes_to_the_framework(tmp_path: Path) -> None:
    repo = Repo(tmp_path, {"mindspeed_mm/fsdp/models/raw/modeling_raw.py": "from .missing import x\nprint(y)\n"})
    assert repo.judge("model.imports") == repo.judge("code.names") == []
    assert repo.errors("model.imports", framework=True) == [("imports.module_missing", "modeling_raw.py", 1)]
    assert repo.errors("code.names", framework=True) == [("names.undefined", "modeling_raw.py", 2)]


# names


def test_an_undefined_name_fails_and_one_in_an_annotation_is_a_note(tmp_path: Path) -> None:
    repo = plugin(tmp_path, "def f(x: 'Streamer'):\n    y: Local = 1\n    return '中文', causal\n")
    found = [(f.args["name"], f.severity, f.line) for f in repo.judge("code.names")]
    assert found == [("causal", "error", 6), ("Streamer", "note", 4), ("Local", "note", 5)]


def test_a_name_that_globals_may_create_is_a_note(tmp_path: Path) -> None:
    text = "def f(kind):\n    globals()[f'{kind}_length'] = 1\n    return audio_length, other\n"
    assert [(f.args["name"], f.fails) for f in plugin(tmp_path, text).judge("code.names")] == [
        ("other", True),
        ("audio_length", False),
    ]


def test_a_name_from_a_star_import_is_looked_up_where_it_would_come_from(tmp_path: Path) -> None:
    text = "from .other import *\ndef f():\n    return name() + gone()\n"
    repo = plugin(tmp_path, text, other="def name(): ...\n")
    assert [f.args["name"] for f in repo.judge("code.names")] == ["gone"]


def test_a_name_bound_on_one_branch_and_used_at_import_fails(tmp_path: Path) -> None:
    text = "try:\n    from fla import chunk, rule\nexcept ImportError:\n    chunk = None\nuse = chunk or 1\nf = rule\n"
    assert plugin(tmp_path, text).errors("code.names") == [("names.maybe_unbound", "modeling_toy.py", 9)]


def layer(body: str, base: str = "nn.Module") -> str:
    """A module class that sets `gate_up`, with more methods."""
    init = "    def __init__(self):\n        super().__init__()\n        self.gate_up = 1\n"
    return f"{TORCH}class Layer({base}):\n{init}{body}"


READS_UP = "    def forward(self, x):\n        return self.up\n"


def test_an_attribute_that_nothing_sets_fails(tmp_path: Path) -> None:
    (finding,) = plugin(tmp_path, layer(READS_UP)).judge("code.names")
    assert (finding.message, finding.args, finding.fails) == ("names.attribute", {"class": "Layer", "name": "up"}, True)


@pytest.mark.parametrize(
    "text",
    [
        layer("    def forward(self, x):\n        return self.training, self.gate_up, self.forward, self.__class__\n"),
        layer(READS_UP, base="torch.unknown.Base"),
        layer(READS_UP) + "class Sub(Layer):\n    up = 1\n",
        layer(READS_UP) + "def build(layer):\n    layer.up = 2\n",
        layer(READS_UP) + "def build(layer):\n    setattr(layer, 'up', 2)\n",
        layer("    def more(self):\n        self.register_buffer('up', None)\n" + READS_UP),
        layer("    def more(self):\n        for k in 'ab':\n            setattr(self, k, 1)\n" + READS_UP),
        layer("    def forward(self):\n        if hasattr(self, 'up'):\n            return self.up\n"),
        layer(
            "    def forward(self):\n        try:\n            return self.up\n"
            "        except AttributeError:\n            return 1\n"
        ),
        layer("    def __getattr__(self, name): ...\n" + READS_UP),
        layer("    @property\n    def up(self): ...\n" + READS_UP),
    ],
)
def test_an_attribute_that_may_be_set_has_no_finding(tmp_path: Path, text: str) -> None:
    assert plugin(tmp_path, text).judge("code.names") == []


def test_a_config_with_the_same_attribute_does_not_count_as_setting_it(tmp_path: Path) -> None:
    text = layer(READS_UP) + "def hook(text_config):\n    text_config.up = True\n"
    assert [message for message, *_ in plugin(tmp_path, text).errors("code.names")] == ["names.attribute"]


# calls

DEF = "def f(a, b, *, mode=1): ...\n"


@pytest.mark.parametrize(
    ("call", "messages"),
    [
        ("f(1, 2)", []),
        ("f(1, b=2, mode=3)", []),
        ("f(*x)", []),
        ("f(1, **x)", []),
        ("f(1, 2, 3)", ["calls.too_many"]),
        ("f(1)", ["calls.missing"]),
        ("f(1, 2, mod=3)", ["calls.unknown_keyword"]),
        ("f(1, a=1, b=2)", ["calls.twice"]),
        ("f(1, 2, 3, **x)", ["calls.too_many"]),
    ],
)
def test_a_call_must_bind(tmp_path: Path, call: str, messages: list[str]) -> None:
    repo = plugin(tmp_path, f"x = {{}}\ndef g():\n    {call}\n{DEF}")
    assert [message for message, *_ in repo.errors("code.calls")] == messages


def test_a_misspelt_keyword_gets_a_suggestion(tmp_path: Path) -> None:
    (finding,) = plugin(tmp_path, f"{DEF}def g():\n    f(1, 2, mod=3)\n").judge("code.calls")
    assert (finding.suggestion, finding.line) == ("mode", 6)


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    from fast import f\nexcept ImportError:\n    def f(a): ...\nf(1, 2, 3)\n",
        "@decorate\ndef f(a): ...\nf(1, 2, 3)\n",
        "def f(a): ...\ndef g(f):\n    f(1, 2, 3)\n",
        "if 1:\n    def f(a): ...\nelse:\n    def f(a, b): ...\nf(1, 2, 3)\n",
    ],
)
def test_a_callee_that_is_not_certain_is_not_judged(tmp_path: Path, text: str) -> None:
    assert plugin(tmp_path, f"from deco import decorate\n{text}").judge("code.calls") == []


ENGINE = "class Engine:\n    def log(self, a, b): ...\n    def step(self):\n        self.log(1, 2)\n"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("class Own(Engine):\n    def run(self):\n        self.log(1, 2, 3)\n", ("calls.too_many", 10)),
        ("class Own(Engine):\n    def run(self):\n        super().log(1)\n", ("calls.missing", 10)),
        ("class Own(Engine):\n    def log(self, a): ...\n", ("calls.too_many_from", 9)),
        ("Engine(1)\n", ("calls.too_many", 8)),
    ],
)
def test_methods_bind_through_inheritance(tmp_path: Path, text: str, found: tuple[str, int]) -> None:
    errors = plugin(tmp_path, ENGINE + text).errors("code.calls")
    assert [(message, line) for message, _, line in errors] == [found]


def test_an_override_that_takes_what_its_base_passes_has_no_finding(tmp_path: Path) -> None:
    text = (
        ENGINE
        + "class Own(Engine):\n    def log(self, a, b, c=1): ...\n    def run(self):\n        self.log(1, 2, 3)\n"
    )
    assert plugin(tmp_path, text).judge("code.calls") == []


def test_child_modules_bind_to_the_forward_of_their_class(tmp_path: Path) -> None:
    text = (
        f"{TORCH}class Mlp(nn.Module):\n    def forward(self, x, mask): ...\n"
        "class Block(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.mlp = Mlp()\n"
        "        self.layers = nn.ModuleList([Mlp() for _ in range(2)])\n"
        "        self.either = Mlp() if 1 else nn.Linear(1, 2)\n"
        "    def forward(self, x):\n        self.mlp(x)\n        self.either(x)\n        for layer in self.layers:\n"
        "            x = layer(x, 1, mask=2)\n"
    )
    errors = plugin(tmp_path, text).errors("code.calls")
    assert [(message, line) for message, _, line in errors] == [("calls.missing", 15), ("calls.twice", 18)]


def test_apply_of_an_autograd_function_binds_to_its_forward(tmp_path: Path) -> None:
    text = (
        f"{TORCH}class Op(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, a, b): ...\n"
        "Op.apply(1)\nOp.apply(1, b=2)\n"
    )
    messages = [message for message, *_ in plugin(tmp_path, text).errors("code.calls")]
    assert messages == ["calls.missing", "calls.no_keywords"]


def test_one_mapping_expanded_twice_under_two_names_fails(tmp_path: Path) -> None:
    text = (
        "def f(**kwargs): ...\ndef g(flag, **kwargs):\n    new = kwargs if flag else {}\n    other = {}\n"
        "    f(**kwargs, **new)\n    f(**kwargs, **other)\n"
    )
    assert plugin(tmp_path, text).errors("code.calls") == [("calls.same_mapping", "modeling_toy.py", 8)]


def test_the_hook_of_a_registered_class_takes_what_the_framework_passes(tmp_path: Path) -> None:
    hook = "    @classmethod\n    def overwrite_transformer_config(cls, config, model_args): ...\n"
    text = f"{REGISTER}@model_register.register('toy')\nclass Toy:\n{hook}"
    repo = Repo(tmp_path, {MODELING: text})
    assert repo.errors("code.calls") == [("calls.too_many_from", "modeling_toy.py", 5)]


def test_a_hook_that_takes_it_has_no_finding(tmp_path: Path) -> None:
    hook = "    @staticmethod\n    def overwrite_transformer_config(config, model_args, feature_args): ...\n"
    text = f"{REGISTER}@model_register.register('toy')\nclass Toy:\n{hook}"
    assert Repo(tmp_path, {MODELING: text}).judge("code.calls") == []


def test_a_registered_dataset_takes_the_parameters_it_is_built_with(tmp_path: Path) -> None:
    text = f"{REGISTER}@data_register.register('toy_data')\ndef build(basic_param, preprocess_param): ...\n"
    repo = Repo(tmp_path, {f"{DATA}/toy_dataset.py": text})
    assert repo.errors("code.calls") == [("calls.unknown_keyword_from", "toy_dataset.py", 3)]


def test_a_mindspeed_function_is_judged_by_its_shipped_signature(tmp_path: Path) -> None:
    text = "from mindspeed.fsdp.utils.log import print_rank\nprint_rank('x')\nprint_rank(print, 'x')\n"
    assert plugin(tmp_path, text).errors("code.calls") == [("calls.missing", "modeling_toy.py", 5)]


def test_swapped_arguments_are_a_note(tmp_path: Path) -> None:
    text = "def f(weights, index): ...\ndef g(weights, index):\n    f(index, weights)\n    f(weights, index)\n"
    assert [(f.message, f.severity, f.line) for f in plugin(tmp_path, text).judge("code.calls")] == [
        ("calls.swapped", "note", 6)
    ]


# import effects


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch_npu\n", "effects.npu_import"),
        ("import sys\nNAME = sys.argv[1]\n", "effects.argv"),
        ("import sys\ndef path():\n    return sys.argv[1]\nNAME = path()\n", "effects.argv"),
        ("import sys\nsys.exit(1)\n", "effects.exit"),
        ("DATA = open('x').read()\n", "effects.file_read"),
        ("import torch\nS = torch.npu.Stream()\n", "effects.device_stream"),
    ],
)
def test_an_effect_of_the_import_fails(tmp_path: Path, text: str, message: str) -> None:
    assert [found for found, *_ in plugin(tmp_path, text).errors("code.import_effects")] == [message]


@pytest.mark.parametrize(
    "text",
    [
        "try:\n    import torch_npu\nexcept ImportError:\n    torch_npu = None\n",
        "import os\nif os.environ.get('NPU'):\n    import torch_npu\n",
        "def f():\n    import torch_npu\n",
        "import os\ndef f():\n    if not os.environ.get('NPU'):\n        return\n    import torch_npu\nf()\n",
        "import sys\nif __name__ == '__main__':\n    print(sys.argv)\n",
    ],
)
def test_what_only_happens_under_a_condition_or_later_has_no_finding(tmp_path: Path, text: str) -> None:
    assert plugin(tmp_path, text).judge("code.import_effects") == []


def test_an_npu_dependency_of_the_framework_is_reported_where_the_plugin_imports_it(tmp_path: Path) -> None:
    files = {
        MODELING: f"{MODEL}from mindspeed_mm.fsdp.ops.patch import fused\n",
        "mindspeed_mm/fsdp/ops/patch.py": "from mindspeed_mm.fsdp.ops.fused import fused\n",
        "mindspeed_mm/fsdp/ops/fused.py": "import torch_npu\ndef fused(): ...\n",
    }
    (finding,) = Repo(tmp_path, files).judge("code.import_effects")
    assert (finding.message, finding.path, finding.line) == ("effects.npu_import_via", MODELING, 4)
    assert finding.args["via"] == "mindspeed_mm.fsdp.ops.patch → mindspeed_mm.fsdp.ops.fused"
    notes = Repo(tmp_path, files).judge("code.import_effects", framework=True)
    assert [(f.message, f.severity) for f in notes] == [("effects.npu_import_later", "note")]


@pytest.mark.parametrize(("guard", "fails"), [("", True), ("import os\nif os.environ.get('ALONE'):\n    ", False)])
def test_a_framework_package_must_not_patch_others_without_a_condition(tmp_path: Path, guard: str, fails: bool) -> None:
    files = {
        "mindspeed_mm/fsdp/__init__.py": f"from .ops import patch\n{guard}patch()\n",
        "mindspeed_mm/fsdp/ops/__init__.py": (
            "import torch.nn as nn\ndef patch():\n    inner()\ndef inner():\n    nn.Module.x = 1\n"
        ),
    }
    found = Repo(tmp_path, files).errors("code.import_effects", framework=True)
    assert [message for message, *_ in found] == (["effects.patches"] if fails else [])


def test_a_framework_function_must_not_read_the_command_line_again(tmp_path: Path) -> None:
    files = {
        "mindspeed_mm/fsdp/params/argument.py": "import sys\ndef parse_args(cls):\n    return sys.argv[1]\n",
        "mindspeed_mm/fsdp/distributed/shard.py": (
            "from mindspeed_mm.fsdp.params.argument import parse_args\ndef shard(model):\n    return parse_args(int)\n"
            "def main():\n    parse_args(int)\n"
        ),
        **CORE,
    }
    found = Repo(tmp_path, files).errors("code.import_effects", framework=True)
    assert found == [("effects.argv_in_function", "shard.py", 3)]


def test_an_export_gives_the_same_findings_as_the_repo(tmp_path: Path) -> None:
    repo = plugin(tmp_path, f"{layer(READS_UP)}{DEF}f(1)\nfrom .missing import x\nimport torch_npu\nprint(gone)\n")
    facts = repo.facts()
    again = from_json(StaticFacts, json.loads(json.dumps(to_json(facts))))
    for contract in ("model.registration", "model.imports", "code.names", "code.calls", "code.import_effects"):
        findings = judge(contract, TargetView(facts, facts.target("toy")))
        assert judge(contract, TargetView(again, again.target("toy"))) == findings
        assert bool(findings) == (contract != "model.registration")
