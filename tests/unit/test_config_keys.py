"""Keys of a YAML against the framework's schema classes and the code that reads them, on a small repo."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_mindspeed_migration.analysis.readers import schema_of
from pytest_mindspeed_migration.checks.registry import judge
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.scan.cache import ScanCache
from pytest_mindspeed_migration.scan.static import scan

BASES = {
    "pydantic": """
        from pydantic import BaseModel
        class Base(BaseModel):
            class Config:
                extra = "allow"
            def to_dict(self):
                return {name: getattr(self, name) for name in self.model_fields}
    """,
    "strict pydantic": """
        from pydantic import BaseModel, ConfigDict
        class Base(BaseModel):
            model_config = ConfigDict(extra="forbid")
    """,
}

FRAMEWORK_FILES = {
    "params/args.py": """
        import os
        from dataclasses import field
        from typing import List, Literal, Optional, Union
        from mindspeed_mm.fsdp.params.base import Base
        class Plan(Base):
            apply_modules: List[str] = field(default_factory=list)
            pregather: bool = False
        class Parallel(Base):
            size: Union[str, int] = "auto"
            shards: int = 1
            fsdp_plan: Plan = field(default_factory=Plan)
            recompute: bool = False
            recompute_plan: Plan = field(default_factory=Plan)
            def model_post_init(self, context):
                self.world_size = int(os.getenv("WORLD_SIZE"))
                if self.world_size % self.shards != 0:
                    raise ValueError("shards")
        class Features(Base):
            recompute_plan: Plan = field(default_factory=Plan)
            loss: Literal["raw", "default"] = "raw"
        class Model(Base):
            model_id: Optional[str] = None
        class Dataset(Base):
            dataset_type: str
            rows: int = 1
        class Data(Base):
            dataset_param: Dataset = field(default_factory=Dataset)
        class Training(Base):
            plugin: List[str] = field(default_factory=list)
            save: str = None
            lr: float = 1e-5
            async_save: bool = False
            scaling: Optional[List[str]] = None
            def compute(self, parallel):
                self.global_batch = parallel.shards * 2
    """,
    "params/argument.py": """
        from mindspeed_mm.fsdp.params.base import Base
        from mindspeed_mm.fsdp.params.args import Data, Features, Model, Parallel, Training
        class Arguments(Base):
            parallel: Parallel
            model: Model
            data: Data
            training: Training
            features: Features
    """,
    "utils/register.py": """
        class Register: ...
        model_register = Register()
        data_register = Register()
    """,
    "models/modelhub.py": """
        from mindspeed_mm.fsdp.utils.register import model_register
        def build(args, features):
            model_cls = model_register.get(args.model_id)
            return model_cls._from_config(args)
    """,
    "data/__init__.py": """
        from mindspeed_mm.fsdp.utils.register import data_register
        def build(param):
            param = param.to_dict()
            return data_register.get(param["dataset_type"])(param=param)
    """,
    "optimizer.py": """
        def build_special(model, lr, saved, name): ...
        def build_optimizer(model, lr, saved, name, scaling=None):
            if name == "special":
                return build_special(model, lr, saved, name)
            return model, scaling
    """,
    "train/trainer.py": """
        from mindspeed_mm.fsdp.params.argument import Arguments
        from mindspeed_mm.fsdp.models import modelhub
        from mindspeed_mm.fsdp import data
        from mindspeed_mm.fsdp.optimizer import build_optimizer
        class Applier:
            def __init__(self, config, features):
                self.config, self.features = config, features
            def run(self, model):
                if self.config.recompute:
                    model.low_precision = True
                if getattr(self.features, "recompute", False):
                    self.wrap(model, self.features.recompute_plan)
                return self.config.fsdp_plan.pregather, self.config.size
            def wrap(self, model, plan):
                return [name for name in plan.apply_modules]
        class Trainer:
            def __init__(self, args: Arguments):
                self.args = args
                self.applier = Applier(args.parallel, args.features)
                self.model = modelhub.build(args.model, args.features)
                self.data = data.build(args.data.dataset_param)
                self.applier.run(self.model)
                self.patterns = args.parallel.fsdp_plan.apply_modules
                self.loss = args.features.loss
                build_optimizer(self.model, lr=args.training.lr, saved=args.training.save, name="x",
                                scaling=args.training.scaling)
                for name in args.training.plugin:
                    print(name)
    """,
    "models/toy/modeling_toy.py": """
        import torch
        from mindspeed_mm.fsdp.utils.register import model_register
        @model_register.register("toy")
        class Toy(torch.nn.Module):
            def __init__(self, config):
                self.width = config.width
                self.depth = getattr(config, "depth", 1)
            @classmethod
            def _from_config(cls, config):
                return cls(config)
    """,
    "data/datasets/toy/toy_dataset.py": """
        from mindspeed_mm.fsdp.utils.register import data_register
        @data_register.register("toy_data")
        def build(param):
            return param["rows"]
    """,
}

CONFIG: dict[str, Any] = {
    "parallel": {"size": "auto", "fsdp_plan": {"apply_modules": ["layers.{*}"]}},
    "model": {"model_id": "toy", "width": 8},
    "data": {"dataset_param": {"dataset_type": "toy_data", "rows": 3}},
    "training": {
        "lr": "1e-5",
        "plugin": ["mindspeed_mm/fsdp/models/toy", "mindspeed_mm/fsdp/data/datasets/toy"],
    },
    "features": {"recompute": True, "recompute_plan": {"apply_modules": ["layers.{*}"]}},
}
SCRIPT = "torchrun --nproc_per_node 8 --nnodes 1 mindspeed_mm/fsdp/train/trainer.py examples/toy/toy.yaml\n"


def facts_of(
    tmp_path: Path, base: str = "pydantic", files: dict[str, str] | None = None, **sections: Any
) -> StaticFacts:
    texts = {**FRAMEWORK_FILES, "params/base.py": BASES[base], **(files or {})}
    for name, text in texts.items():
        path = tmp_path / "mindspeed_mm" / "fsdp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        for folder in path.parents:
            if folder == tmp_path:
                break
            if not (folder / "__init__.py").exists():
                (folder / "__init__.py").write_text("", encoding="utf-8")
    config = {key: {**value, **sections.get(key, {})} for key, value in CONFIG.items()}
    example = tmp_path / "examples" / "toy"
    example.mkdir(parents=True)
    (example / "toy.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    (example / "run.sh").write_text(SCRIPT, encoding="utf-8")
    return scan(tmp_path)


def said(facts: StaticFacts, contract: str, target: str = "toy") -> list[Finding]:
    chosen = TargetFacts(FRAMEWORK, None) if target == FRAMEWORK else facts.target(target)
    return judge(contract, TargetView(facts, chosen))


LOADER = """
    from mindspeed_mm.fsdp.utils.register import data_register
    from mindspeed_mm.fsdp.data.sampler import prepare
    def build(param):
        param = param.to_dict()
        mode = param.pop("mode")
        if mode == "base":
            loader = prepare(param["sampler"], sampler=param["sampler"])
        elif mode in ("sampler", "stream"):
            loader = None
        else:
            raise NotImplementedError(mode)
        return data_register.get(param["dataset_type"])(param=param)
"""
SAMPLER = """
    def prepare(data, sampler):
        if sampler == "random":
            return 1
        if sampler == "ordered":
            return 2
        raise ValueError(f"unknown sampler {sampler}")
"""


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({"mode": "stream", "sampler": "ordered"}, []),
        ({"mode": "streem", "sampler": "random"}, [("mode", "streem", "stream", "base, sampler, stream")]),
        ({"mode": "base", "sampler": "randon"}, [("sampler", "randon", "random", "random, ordered")]),
    ],
)
def test_a_text_that_its_reader_answers_with_an_exception_is_an_error(
    tmp_path: Path, values: dict[str, str], found: list[tuple[str, ...]]
) -> None:
    files = {"data/__init__.py": LOADER, "data/sampler.py": SAMPLER}
    data = {"dataset_param": {"dataset_type": "toy_data", "rows": 3, **values}}
    findings = said(facts_of(tmp_path, files=files, data=data), "config.types")
    keys = [(str(f.yaml_path).rpartition(".")[2], f.value, f.suggestion, f.expected) for f in findings]
    assert keys == found
    assert {f.message for f in findings} <= {"schema.choice"}


@pytest.mark.parametrize(
    "change",
    [
        ('mode = param.pop("mode")', 'mode = param.pop("mode").lower()'),
        ("else:", 'elif mode.startswith("st"):\n            loader = 1\n        else:'),
        ("raise NotImplementedError(mode)", "loader = None"),
        ("if mode ==", 'if mode == "streem":\n            return None\n        if mode =='),
    ],
    ids=["changed first", "another test", "no raise", "handled before"],
)
def test_a_text_that_may_be_handled_elsewhere_is_no_error(tmp_path: Path, change: tuple[str, str]) -> None:
    files = {"data/__init__.py": LOADER.replace(*change), "data/sampler.py": SAMPLER}
    data = {"dataset_param": {"dataset_type": "toy_data", "rows": 3, "mode": "streem", "sampler": "random"}}
    assert said(facts_of(tmp_path, files=files, data=data), "config.types") == []


def test_a_sound_config_has_no_finding(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    for contract in ("required_fields", "types", "strict_extra", "ignored_keys", "parallel_sizes"):
        assert said(facts, f"config.{contract}") == []


def test_the_schema_tree_is_read_from_the_code(tmp_path: Path) -> None:
    nodes = schema_of(facts_of(tmp_path)).nodes
    assert {path: item.ref.qualname for path, item in nodes.items()} == {
        "": "Arguments",
        "parallel": "Parallel",
        "parallel.fsdp_plan": "Plan",
        "parallel.recompute_plan": "Plan",
        "model": "Model",
        "data": "Data",
        "data.dataset_param": "Dataset",
        "training": "Training",
        "features": "Features",
        "features.recompute_plan": "Plan",
    }
    assert all(item.extra == "allow" and item.validates for item in nodes.values())


@pytest.mark.parametrize(
    ("section", "value", "message", "suggestion"),
    [
        ("parallel", {"pregather": True}, "keys.moved", "parallel.fsdp_plan.pregather"),
        ("parallel", {"recompute_plan": {"apply_modules": ["x"]}}, "keys.moved_and_set", "features.recompute_plan"),
        ("parallel", {"recompute": True}, "keys.left_behind", "features.recompute"),
        ("parallel", {"sizee": 1}, "keys.ignored", "size"),
        ("model", {"widht": 1}, "keys.ignored", "width"),
        ("training", {"context_parallel_size": 2}, "keys.ignored", None),
        ("training", {"global_batch": 6000}, "keys.replaced", None),
        ("training", {"async_save": True}, "keys.unread", None),
    ],
)
def test_a_key_without_effect_fails_and_says_where_it_belongs(
    tmp_path: Path, section: str, value: dict[str, Any], message: str, suggestion: str | None
) -> None:
    (found,) = said(facts_of(tmp_path, **{section: value}), "config.ignored_keys")
    key = next(iter(value))
    assert (found.message, found.suggestion, found.severity) == (message, suggestion, "error")
    assert found.yaml_path == f"{section}.{key}"
    line = (tmp_path / "examples/toy/toy.yaml").read_text(encoding="utf-8").splitlines()[(found.line or 0) - 1]
    assert line.strip().startswith(f"{key}:")


def test_a_key_at_its_default_that_nothing_reads_is_a_note(tmp_path: Path) -> None:
    (found,) = said(facts_of(tmp_path, training={"async_save": False}), "config.ignored_keys")
    assert (found.message, found.severity) == ("keys.unread", "note")


@pytest.mark.parametrize("key", ["width", "depth"])
def test_an_undeclared_key_that_the_plugin_reads_has_effect(tmp_path: Path, key: str) -> None:
    assert said(facts_of(tmp_path, model={key: 4}), "config.ignored_keys") == []


def test_a_key_that_another_models_plugin_reads_is_still_ignored(tmp_path: Path) -> None:
    other = FRAMEWORK_FILES["models/toy/modeling_toy.py"].replace("toy", "other").replace("width", "other_key")
    facts = facts_of(tmp_path, files={"models/other/modeling_other.py": other}, model={"other_key": 1})
    assert [f.yaml_path for f in said(facts, "config.ignored_keys")] == ["model.other_key"]


def test_code_that_cannot_be_followed_may_read_every_key(tmp_path: Path) -> None:
    plugin = FRAMEWORK_FILES["models/toy/modeling_toy.py"].replace("config.width", "config.width, unknown(config)")
    assert (
        said(facts_of(tmp_path, files={"models/toy/modeling_toy.py": plugin}, model={"x": 1}), "config.ignored_keys")
        == []
    )


def test_a_key_the_plugin_needs_and_the_yaml_lacks_fails(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    del (facts.configs["examples/toy/toy.yaml"].data or {})["model"]["width"]
    (found,) = said(facts, "config.required_fields")
    assert (found.message, found.yaml_path) == ("schema.needed", "model.width")


def test_a_missing_required_key_fails(tmp_path: Path) -> None:
    facts = facts_of(tmp_path)
    del (facts.configs["examples/toy/toy.yaml"].data or {})["data"]["dataset_param"]["dataset_type"]
    assert [f.yaml_path for f in said(facts, "config.required_fields")] == ["data.dataset_param.dataset_type"]


@pytest.mark.parametrize(
    ("section", "value", "message"),
    [
        ("training", {"save": None}, "schema.null"),
        ("training", {"lr": "fast"}, "schema.type"),
        ("training", {"plugin": "mindspeed_mm/fsdp/models/toy"}, "schema.type"),
        ("features", {"loss": "dict"}, "schema.type"),
        ("parallel", {"shards": 1.5}, "schema.type"),
    ],
)
def test_a_value_of_another_type_fails(tmp_path: Path, section: str, value: dict[str, Any], message: str) -> None:
    found = said(facts_of(tmp_path, **{section: value}), "config.types")
    assert [(f.message, f.yaml_path) for f in found] == [(message, f"{section}.{next(iter(value))}")]


@pytest.mark.parametrize("value", ["1e-6", 1, "3"])
def test_numbers_in_other_spellings_are_numbers(tmp_path: Path, value: Any) -> None:
    assert said(facts_of(tmp_path, training={"lr": value}), "config.types") == []


@pytest.mark.parametrize(
    ("extra", "meant"),
    [
        ({"async_savee": True}, "async_save"),
        ({"async_save": False, "async_savee": True}, None),  # the declared key is set as well: no slip
        ({"foreign_option": True}, None),
    ],
)
def test_a_slip_in_a_section_that_foreign_code_gets_is_an_error(
    tmp_path: Path, extra: dict[str, Any], meant: str | None
) -> None:
    trainer = FRAMEWORK_FILES["train/trainer.py"] + (
        "                import foreign\n                foreign.run(**args.training.to_dict())\n"
    )
    facts = facts_of(tmp_path, files={"train/trainer.py": trainer}, training=extra)
    found = said(facts, "config.ignored_keys")
    assert [(f.message, f.suggestion) for f in found] == ([("keys.misspelt", meant)] if meant else [])


def test_an_undeclared_mapping_is_a_dict_and_not_an_object(tmp_path: Path) -> None:
    plugin = FRAMEWORK_FILES["models/toy/modeling_toy.py"].replace("config.width", "config.sampling.top_p")
    facts = facts_of(
        tmp_path, files={"models/toy/modeling_toy.py": plugin}, model={"sampling": {"top_p": 1}, "width": None}
    )
    (found,) = said(facts, "config.types")
    assert (found.message, found.path, found.line) == (
        "schema.dict_attribute",
        "mindspeed_mm/fsdp/models/toy/modeling_toy.py",
        7,
    )


def test_a_mapping_declared_as_a_class_of_another_package_may_become_an_object(tmp_path: Path) -> None:
    files = {
        "models/toy/modeling_toy.py": FRAMEWORK_FILES["models/toy/modeling_toy.py"].replace(
            "config.width", "config.sampling.top_p"
        ),
        "params/args.py": FRAMEWORK_FILES["params/args.py"].replace(
            "model_id: Optional[str] = None", "model_id: Optional[str] = None\n            sampling: Sampling = None"
        ),
    }
    facts = facts_of(tmp_path, files=files, model={"sampling": {"top_p": 1}, "width": None})
    assert said(facts, "config.types") == []


def test_a_strict_class_refuses_an_undeclared_key(tmp_path: Path) -> None:
    (found,) = said(
        facts_of(tmp_path, "strict pydantic", training={"pregather": True}, model={}), "config.strict_extra"
    )[:1]
    assert (found.message, found.value) == ("schema.refused", "width")


@pytest.mark.parametrize(("shards", "fails"), [(4, False), (3, True)])
def test_sizes_are_checked_against_the_ranks_of_the_script(tmp_path: Path, shards: int, fails: bool) -> None:
    found = said(facts_of(tmp_path, parallel={"shards": shards}), "config.parallel_sizes")
    assert [(f.message, f.yaml_path, f.args["ranks"]) for f in found] == (
        [("schema.refusal", "parallel.shards", "8")] if fails else []
    )


def test_the_framework_is_judged_on_its_own_fields_and_readers(tmp_path: Path) -> None:
    trainer = FRAMEWORK_FILES["train/trainer.py"].replace(
        "self.loss = args.features.loss", "self.loss = args.model.loss"
    )
    found = said(facts_of(tmp_path, files={"train/trainer.py": trainer}), "framework.schema_readers", FRAMEWORK)
    assert {(f.message, f.yaml_path) for f in found} == {
        ("framework.unread_field", "features.loss"),
        ("framework.unread_field", "parallel.recompute_plan"),
        ("framework.unread_field", "training.async_save"),
        ("framework.undeclared_read", "model.loss"),
        ("framework.stale_reader", "parallel.recompute"),
        ("framework.dropped_option", "training.scaling"),
    }
    (read,) = [f for f in found if f.message == "framework.undeclared_read"]
    assert (read.suggestion, read.args["count"]) == ("features.loss", 1)


def test_findings_do_not_depend_on_how_much_was_scanned(tmp_path: Path) -> None:
    facts = facts_of(tmp_path, parallel={"pregather": True}, model={"x": 1})
    alone = scan(tmp_path, ["toy"])
    contracts = ("config.ignored_keys", "config.types", "config.required_fields", "config.strict_extra")
    assert [said(facts, c) for c in contracts] == [said(alone, c) for c in contracts]


def test_a_second_scan_takes_unchanged_files_from_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts_of(tmp_path)
    (tmp_path / "mindspeed_mm" / "legacy.py").write_text("def f(**loader): g(**loader)\n", encoding="utf-8")
    (tmp_path / "pretrain.py").write_text("", encoding="utf-8")
    (tmp_path / "examples" / "old.yaml").write_text("loader:\n  mode: x\n", encoding="utf-8")
    (tmp_path / "examples" / "old.sh").write_text("torchrun pretrain.py examples/old.yaml\n", encoding="utf-8")
    cache = tmp_path / "migration-report" / "scan.json"
    first = scan(tmp_path, None, ScanCache(cache))
    kept = {path: path.read_bytes() for path in cache.parent.iterdir()}
    assert len(kept) == 3  # of each file, and two results
    with monkeypatch.context() as patch:
        for name in ("flow.run.follow_configuration", "framework_files.discover_framework_files"):
            patch.setattr(f"pytest_mindspeed_migration.scan.{name}", None)
        again = scan(tmp_path, None, ScanCache(cache))
    assert again == first
    assert {path: path.read_bytes() for path in cache.parent.iterdir()} == kept
    plugin = tmp_path / "mindspeed_mm/fsdp/models/toy/modeling_toy.py"
    plugin.write_text(plugin.read_text(encoding="utf-8").replace("width", "breadth_"), encoding="utf-8")
    changed = scan(tmp_path, None, ScanCache(cache))
    assert [f.yaml_path for f in said(changed, "config.ignored_keys")] == ["model.width"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (r".*", ""),
        (r".*", "{"),
        (r".*", '{"tool": 1}'),
        (r"\A", "x"),
        (r'"\w+":', "1:"),
        (r'"\w+":', '"x":'),
        (r"\t", " "),
        (r"(?<=.{200}).*", ""),
    ],
)
def test_a_damaged_cache_is_not_used(tmp_path: Path, old: str, new: str) -> None:
    facts = facts_of(tmp_path)
    cache = tmp_path / "migration-report" / "scan.json"
    scan(tmp_path, None, ScanCache(cache))
    for path in cache.parent.iterdir():
        path.write_text(re.sub(old, new, path.read_text(), flags=re.DOTALL), encoding="utf-8")
    assert scan(tmp_path, None, ScanCache(cache)) == facts


def test_a_section_of_the_older_stack_must_fit_the_function_it_is_handed_to(tmp_path: Path) -> None:
    facts_of(tmp_path)
    legacy = tmp_path / "mindspeed_mm" / "data.py"
    legacy.write_text(
        textwrap.dedent("""
            def sampler(dataset, shuffle=False): ...
            def anything(dataset, **kwargs): ...
            def build(dataset, loader_param):
                mode = loader_param.pop("mode")
                if mode == "any":
                    return anything(dataset, **loader_param)
                elif mode == "sampler":
                    return sampler(dataset, **loader_param)
        """),
        encoding="utf-8",
    )
    (tmp_path / "pretrain.py").write_text("", encoding="utf-8")
    for name, mode in (("strict", "sampler"), ("open", "any")):
        (tmp_path / "examples" / f"{name}.yaml").write_text(
            f"loader_param:\n  mode: {mode}\n  shuffle: true\n  preload: true\n", encoding="utf-8"
        )
        (tmp_path / "examples" / f"{name}.sh").write_text(
            f"torchrun pretrain.py examples/{name}.yaml\n", encoding="utf-8"
        )
    found = said(scan(tmp_path), "config.strict_extra", FRAMEWORK)
    assert [(f.message, f.path, f.line) for f in found] == [
        ("schema.unexpected_keyword", "examples/strict.yaml", 4),
    ]


def test_what_a_function_shows_before_its_values_are_known_does_not_count(tmp_path: Path) -> None:
    trainer = """
        from mindspeed_mm.fsdp.params.argument import Arguments
        class Loader:
            def load(self, training):
                return training.save
        class Engine:
            def __init__(self, training):
                self.training = training
            def run(self):
                return self.loader.load(self.training)
            def prepare(self):
                self.loader = Loader()
        class Trainer:
            def __init__(self, args: Arguments):
                engine = Engine(args.training)
                engine.run()
                engine.prepare()
    """
    flow = facts_of(tmp_path, files={"train/trainer.py": trainer}).flow
    assert [read.line for read in flow.reads if (read.node, read.key) == ("training", "save")] == [5]
    assert not [escape for escape in flow.escapes if escape.node.startswith("training")]
    assert "load" not in flow.untyped
