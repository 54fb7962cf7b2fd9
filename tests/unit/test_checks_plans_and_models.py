"""Plan, model and data checks on a small repo written for each test and scanned as a real one is."""

from __future__ import annotations

import textwrap
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.analysis.hub import missing_arguments
from pytest_mindspeed_migration.analysis.index import index_of
from pytest_mindspeed_migration.analysis.tree import tree_of
from pytest_mindspeed_migration.checks import data_contracts, feature_contracts, model_contracts, plans
from pytest_mindspeed_migration.checks.registry import NothingToJudge
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.source import CallFacts, Signature
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.messages import LANGUAGES, finding_line
from pytest_mindspeed_migration.scan.project import Project

CONFIG = "examples/toy/toy.yaml"
TRAINER = "mindspeed_mm/fsdp/train/trainer.py"

FILES = {
    "params/argument.py": """
        from mindspeed_mm.fsdp.params.args import FeatureArguments, ModelArguments, ParallelArguments, TrainingArguments
        class Arguments:
            parallel: ParallelArguments
            model: ModelArguments
            features: FeatureArguments
            training: TrainingArguments
    """,
    "params/args.py": """
        class ChunkLossPlan:
            apply_module: str = "lm_head"
        class ParallelArguments:
            fully_shard_parallel_size: str = "auto"
            expert_parallel_size: int = 1
            fsdp_plan: dict = None
            ep_plan: dict = None
        class FeatureArguments:
            recompute_plan: dict = None
            activation_offload_plan: dict = None
            chunkloss_plan: ChunkLossPlan = None
            enable_chunk_loss: bool = False
            enable_activation_offload: bool = False
        class ModelArguments:
            mtp_num_layers: int = 0
        class TrainingArguments:
            init_model_with_meta_device: bool = True
    """,
    "distributed/apply.py": """
        from mindspeed_mm.fsdp.params.args import ParallelArguments
        class ParallelApplier:
            def __init__(self, given: ParallelArguments):
                self.config = given
            def __call__(self, model):
                shard(model, self.config.fsdp_plan)
                return self.config.ep_plan
        def shard(model, fsdp_plan, training_config):
            if not training_config.init_model_with_meta_device and ps.fully_shard_parallel_size == 1:
                return model
            return wrap(model, fsdp_plan.apply_modules)
    """,
    "features/apply.py": """
        from mindspeed_mm.fsdp.params.args import FeatureArguments
        class FeaturesApplier:
            def __init__(self, given: FeatureArguments):
                self.config = given
            def __call__(self, model):
                if getattr(self.config, "recompute", False):
                    recompute(model, self.config.recompute_plan)
                if self.config.enable_activation_offload:
                    offload(model, self.config.activation_offload_plan)
                if self.config.enable_chunk_loss:
                    setattr(model, "enable_chunk_loss", True)
                    chunk(model, self.config.chunkloss_plan)
    """,
    "features/recompute.py": """
        def wrap(function):
            def inner(*args, **kwargs):
                kwargs["past_key_values"] = None
                return checkpoint(function, *args, **kwargs)
            return inner
    """,
    "loss/loss_func.py": """
        def build_loss_func(loss_type, chunk_size=None, **kwargs):
            if loss_type == "default":
                pass
            else:
                raise NotImplementedError(loss_type)
            def loss_func(logits, labels=None, **kwargs):
                return logits
            return loss_func
    """,
    "train/train_engine.py": """
        from mindspeed_mm.fsdp.loss.loss_func import build_loss_func
        class TrainEngine:
            def set_loss(self, args, batch):
                if args.features.loss_cfg.loss_type == "raw":
                    return
                loss_func = build_loss_func(args.features.loss_cfg.loss_type, **batch)
                self.model.loss_function = loss_func
            def train_step(self, batch):
                return self.model(**batch, use_cache=False)
    """,
    "train/trainer.py": "from mindspeed_mm.fsdp.train.train_engine import TrainEngine",
    "models/modelhub.py": """
        from mindspeed_mm.fsdp.utils.register import model_register
        class ModelHub:
            @staticmethod
            def _build_custom_model(model_args):
                model_cls = model_register.get(model_args.model_id)
                if model_args.meta:
                    return model_cls._from_config(model_args)
                return model_cls.from_pretrained(model_args)
            @staticmethod
            def _build_transformers_model(config, model_args):
                model_cls = model_register.get(model_args.model_id)
                if model_args.meta:
                    return model_cls._from_config(config)
                return model_cls.from_pretrained(model_args.path, config=config, dtype=None, trust_remote_code=False)
    """,
    "data/__init__.py": """
        from mindspeed_mm.fsdp.utils.register import data_register
        def build_mm_dataset(param):
            dataset_cls = data_register.get(param["dataset_type"])
            return dataset_cls(basic_param=1, preprocess_param=2, dataset_param=param)
    """,
    "data/dataloader/data_collator.py": """
        class Collator: ...
        DATA_COLLATOR = {"toyvl": Collator, "other": Collator}
    """,
    "data/dataloader/dataloader.py": """
        def prepare_base_dataloader(dataset, collate_param=None):
            return DATA_COLLATOR[collate_param.pop("model_name")]
        def prepare_sampler_dataloader(dataset, collate_param=None):
            if hasattr(dataset, "collate_fn"):
                return dataset.collate_fn
            return DATA_COLLATOR[collate_param.pop("model_name")]
    """,
    "data/datasets/toy/dataset.py": """
        from torch.utils.data import Dataset
        from mindspeed_mm.fsdp.utils.register import data_register
        @data_register.register("toy")
        class ToyDataset(Dataset):
            def __init__(self, basic_param, preprocess_param, dataset_param, **kwargs):
                self.rows = []
    """,
    "models/toy/modeling.py": """
        from torch import nn
        from transformers import PreTrainedModel
        from mindspeed_mm.fsdp.models.toy.parts import Vision, Text, Mtp
        from mindspeed_mm.fsdp.utils.register import model_register
        @model_register.register("toy")
        class Toy(PreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.visual = Vision._from_config(config.vision)
                self.model = Text(config)
                self.lm_head = nn.Linear(8, 8)
                self.enable_mtp = config.text_config.mtp_num_layers > 0
                self.mtp = Mtp(config) if self.enable_mtp else None
            @staticmethod
            def overwrite_transformer_config(transformer_config, model_args):
                mtp = getattr(model_args, "mtp_num_layers", 0)
                transformer_config.text_config.mtp_num_layers = mtp
                return transformer_config
            def forward(self, input_ids, labels=None, use_cache=None):
                if getattr(self, "enable_chunk_loss", False):
                    return self.lm_head(input_ids, self.loss_function)
                return self.loss_function(logits=self.lm_head(input_ids), labels=labels)
    """,
    "models/toy/parts.py": """
        from torch import nn
        from transformers import AutoModel, PreTrainedModel
        class Block(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.mlp = nn.Linear(8, 8)
            def forward(self, hidden_states, **kwargs):
                return hidden_states
        class ClosedBlock(Block):
            def forward(self, hidden_states):
                return hidden_states
        class Vision(PreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.blocks = nn.ModuleList([ClosedBlock(config) for _ in range(4)])
        class Text(PreTrainedModel):
            def __init__(self, config):
                super().__init__(config)
                self.embed_tokens = nn.Embedding(8, 8)
                self.layers = nn.ModuleList([Block(config) for _ in range(config.n)])
                self.remote = AutoModel.from_config(config.remote)
        class Mtp(nn.Module):
            def __init__(self, config):
                super().__init__()
                self.layers = nn.ModuleList([Block(config)])
    """,
}

DATA: dict[str, Any] = {
    "parallel": {"fsdp_plan": {"apply_modules": ["visual", "visual.blocks.{*}", "model.layers.{*}", "lm_head"]}},
    "model": {"model_id": "toy"},
    "features": {"loss_cfg": {"loss_type": "default"}},
    "data": {
        "dataset_param": {"dataset_type": "toy"},
        "dataloader_param": {"dataloader_mode": "sampler", "collate_param": {"model_name": "toyvl"}},
    },
    "training": {"plugin": ["mindspeed_mm/fsdp/models/toy"], "init_model_with_meta_device": True},
}


def scan(root: Path, data: dict[str, Any], **changed: str) -> StaticFacts:
    """Facts of the toy repo; `changed` replaces files, named with `__` for "/" and without `.py`."""
    files = {**FILES, **{f"{name.replace('__', '/')}.py": text for name, text in changed.items()}}
    for name, text in files.items():
        path = root / "mindspeed_mm/fsdp" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    project = Project(root, "mindspeed_mm")
    project.read(project.files)
    facts = StaticFacts(files=project.files, modules=dict(sorted(project.modules.items())))
    facts.configs[CONFIG] = ConfigFacts(CONFIG, data)
    facts.targets.append(TargetFacts("toy", CONFIG, model_id="toy", trainer=TRAINER))
    return facts


def findings(facts: StaticFacts, name: str = "toy") -> list[Finding]:
    target = TargetFacts(FRAMEWORK, None) if name == FRAMEWORK else facts.target(name)
    view = TargetView(facts, target)
    checks = (
        plans.sharding_plan,
        plans.feature_plans,
        feature_contracts.recompute_keyword,
        feature_contracts.chunk_loss_lookup,
        feature_contracts.chunk_loss_protocol,
        feature_contracts.loss_closure,
        feature_contracts.loss_type,
        model_contracts.from_pretrained,
        model_contracts.from_config,
        model_contracts.forward_inputs,
        data_contracts.dataset_binds,
        data_contracts.collator_resolves,
    )
    found: list[Finding] = []
    for function in checks:
        with suppress(NothingToJudge):
            found.extend(function(view))
    for finding in found:
        assert all(finding_line(finding, lang) for lang in LANGUAGES)
    return found


def keys(facts: StaticFacts, name: str = "toy") -> list[tuple[str, str]]:
    return [(finding.severity, finding.message) for finding in findings(facts, name)]


def config(**changes: Any) -> dict[str, Any]:
    """The toy config with `section__key` set."""
    data = deepcopy(DATA)
    for path, value in changes.items():
        node = data
        *parents, last = path.split("__")
        for part in parents:
            node = node.setdefault(part, {})
        node[last] = value
    return data


def test_a_correct_migration_has_no_finding_in_target_or_framework(tmp_path):
    facts = scan(tmp_path, config())
    assert keys(facts) == []
    assert keys(facts, FRAMEWORK) == []


def test_the_tree_follows_lists_config_builders_and_inheritance_and_leaves_foreign_classes_opaque(tmp_path):
    facts = scan(tmp_path, config())
    index = index_of(facts)
    root = index.resolve("mindspeed_mm.fsdp.models.toy.modeling", "Toy")
    assert root is not None
    kinds = {path: node.kind for path, node in tree_of(facts, root).walk()}
    assert kinds["visual.blocks.#.mlp"] == "leaf"
    assert kinds["visual.blocks"] == "list"
    assert kinds["model.remote"] == "opaque"
    assert "enable_mtp" not in kinds


def test_a_pattern_that_can_match_nothing_names_where_the_tree_ends_and_the_near_path(tmp_path):
    data = config(parallel__fsdp_plan__apply_modules=["model.layer.{*}", "model.remote.deep.{*}"])
    (finding,) = [f for f in findings(scan(tmp_path, data)) if f.fails]
    assert finding.message == "plans.never_matches"
    assert finding.yaml_path == "parallel.fsdp_plan.apply_modules[0]"
    assert finding.suggestion == "model.layers.{*}"
    assert "parts.py" in finding.args["where"]


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        (["visual.blocks", "model.layers.{*}"], "plans.container_wrapped"),
        (["model.layers.{*}", "model.layers.{0-2}"], "plans.matched_twice"),
        (["model.layers.{3-1}"], "plans.invalid_pattern"),
    ],
)
def test_lists_doubles_and_invalid_patterns_are_errors(tmp_path, modules, message):
    facts = scan(tmp_path, config(parallel__fsdp_plan__apply_modules=modules))
    assert ("error", message) in keys(facts)


def test_ranges_that_do_not_meet_are_no_double(tmp_path):
    modules = ["model.layers.{0-1}", "model.layers.{2-9}", "visual.blocks.{*}"]
    assert keys(scan(tmp_path, config(parallel__fsdp_plan__apply_modules=modules))) == []


def test_blocks_that_no_pattern_covers_are_a_note(tmp_path):
    facts = scan(tmp_path, config(parallel__fsdp_plan__apply_modules=["model.layers.{*}"]))
    assert keys(facts) == [("note", "plans.blocks_uncovered")]


def test_a_child_that_the_config_leaves_out_is_a_note_for_sharding_and_an_error_for_offload(tmp_path):
    data = config(
        parallel__fsdp_plan__apply_modules=["visual.blocks.{*}", "model.layers.{*}", "mtp"],
        features__enable_activation_offload=True,
        features__activation_offload_plan={"apply_modules": ["model.layers.{*}", "mtp.layers.{*}"]},
    )
    facts = scan(tmp_path, data)
    assert keys(facts) == [("note", "plans.dead_under_config"), ("error", "plans.dead_under_config")]
    assert findings(facts)[1].args["keys"] == "model.mtp_num_layers"


def test_the_same_patterns_are_fine_once_the_config_makes_the_child(tmp_path):
    data = config(
        parallel__fsdp_plan__apply_modules=["visual.blocks.{*}", "model.layers.{*}", "mtp", "mtp.layers.{*}"],
        features__enable_activation_offload=True,
        features__activation_offload_plan={"apply_modules": ["mtp.layers.{*}"]},
        model__mtp_num_layers=1,
    )
    assert keys(scan(tmp_path, data)) == []


def test_a_plan_the_framework_returns_before_reading_is_a_note(tmp_path):
    data = config(parallel__fully_shard_parallel_size=1, training__init_model_with_meta_device=False)
    assert ("note", "plans.plan_not_read") in keys(scan(tmp_path, data))


def test_recompute_on_a_forward_that_refuses_the_injected_keyword_is_an_error_only_when_on(tmp_path):
    plan = {"apply_modules": ["visual.blocks.{*}", "model.layers.{*}"]}
    facts = scan(tmp_path, config(features__recompute=True, features__recompute_plan=plan))
    (finding,) = [f for f in findings(facts) if f.fails]
    assert finding.message == "plans.recompute_keyword"
    assert finding.args["function"] == "ClosedBlock.forward"
    off = scan(tmp_path, config(features__recompute=False, features__recompute_plan=plan))
    assert [severity for severity, _ in keys(off)] == ["note"]


def test_a_forward_bound_to_opaque_blocks_by_their_owner_is_judged_in_their_place(tmp_path):
    model = """
        import types
        from torch import nn
        from mindspeed_mm.fsdp.utils.register import model_register
        def timed_forward(self, x, timestep=None):
            return x
        @model_register.register("toy")
        class Toy(nn.Module):
            def __init__(self, transformer):
                super().__init__()
                self.transformer = transformer
                for block in self.transformer.blocks:
                    block.forward = types.MethodType(timed_forward, block)
            @classmethod
            def _from_config(cls, config):
                return cls(config)
            @classmethod
            def from_pretrained(cls, config):
                return cls(config)
            def forward(self, x, **kwargs):
                return x
    """
    data = config(
        parallel__fsdp_plan__apply_modules=["transformer.blocks.{*}"],
        features__recompute=True,
        features__recompute_plan={"apply_modules": ["transformer.blocks.{*}"]},
    )
    (finding,) = findings(scan(tmp_path, data, models__toy__modeling=model))
    assert finding.args["function"] == "timed_forward"


def test_chunk_loss_needs_a_model_that_hands_over_its_loss_function(tmp_path):
    deaf = FILES["models/toy/modeling.py"].replace("enable_chunk_loss", "other").replace(", self.loss_function)", ")")
    on = config(features__enable_chunk_loss=True)
    assert keys(scan(tmp_path, on)) == []
    facts = scan(tmp_path, on, models__toy__modeling=deaf)
    assert keys(facts) == [("error", "loss.chunk_loss_unsupported")]
    assert keys(scan(tmp_path, config(), models__toy__modeling=deaf)) == []


def test_a_single_getattr_cannot_find_a_dotted_chunk_loss_module(tmp_path):
    lookup = """
        def get_chunkloss_module(modules, plan):
            return getattr(modules, plan.apply_module, None)
    """
    data = config(features__chunkloss_plan={"apply_module": "model.embed_tokens"})
    facts = scan(tmp_path, data, features__chunkloss=lookup)
    assert keys(facts) == [("note", "plans.chunkloss_lookup")]
    assert keys(facts, FRAMEWORK) == [("error", "plans.chunkloss_lookup_framework")]


def test_a_loss_closure_that_refuses_what_models_hand_it_is_an_error_of_the_framework(tmp_path):
    closed = FILES["loss/loss_func.py"].replace(
        "labels=None, **kwargs):\n                return", "labels=None):\n                return"
    )
    model = FILES["models/toy/modeling.py"].replace("labels=labels)", "labels=labels, **kwargs)")
    facts = scan(tmp_path, config(), loss__loss_func=closed, models__toy__modeling=model)
    assert keys(facts, FRAMEWORK) == [("error", "loss.closure_closed")]
    assert keys(facts) == [("note", "loss.closure_call")]


def test_a_loss_type_the_framework_does_not_handle_is_an_error_where_it_is_read(tmp_path):
    assert keys(scan(tmp_path, config(features__loss_cfg={"loss_type": "dict"}))) == [("error", "loss.unknown_type")]
    assert keys(scan(tmp_path, config(model__loss_cfg={"loss_type": "dict"}))) == [("note", "loss.unknown_type_unread")]
    assert keys(scan(tmp_path, config(features__loss_cfg={"loss_type": "raw"}))) == []


def test_prefetch_of_a_module_that_only_the_expert_plan_wraps_is_an_error(tmp_path):
    hook = (
        FILES["models/toy/modeling.py"]
        + """
            def set_modules_to_prefetch(self, fsdp_plan, ep_plan):
                layers = self.model.layers
                for i in range(3):
                    layers[i].set_modules_to_forward_prefetch([layers[i + 1].mlp])
                return True
"""
    )
    data = config(
        parallel__fsdp_plan__num_to_forward_prefetch=1,
        parallel__ep_plan={"apply_modules": ["model.layers.{*}.mlp"]},
        parallel__expert_parallel_size=4,
    )
    facts = scan(tmp_path, data, models__toy__modeling=hook)
    assert keys(facts) == [("error", "plans.prefetch_expert_only")]
    data["parallel"]["fsdp_plan"]["apply_modules"].append("model.layers.{*}.mlp")
    assert keys(scan(tmp_path, data, models__toy__modeling=hook)) == []


def test_a_from_pretrained_with_one_parameter_fails_on_a_transformers_model_and_not_on_a_plain_module(tmp_path):
    single = (
        "            @classmethod\n            def from_pretrained(cls, config):\n                return cls(config)\n"
    )
    text = FILES["models/toy/modeling.py"].rstrip() + "\n" + single
    assert keys(scan(tmp_path, config(), models__toy__modeling=text)) == [("error", "model.loader_does_not_bind")]
    plain = text.replace("class Toy(PreTrainedModel)", "class Toy(nn.Module)") + single.replace("from_pre", "_from_pre")
    plain = plain.replace("def _from_pretrained", "def _from_config")
    assert keys(scan(tmp_path, config(), models__toy__modeling=plain)) == []


def test_a_plain_module_without_the_loader_that_is_called_fails(tmp_path):
    text = FILES["models/toy/modeling.py"].replace("class Toy(PreTrainedModel)", "class Toy(nn.Module)")
    facts = scan(tmp_path, config(), models__toy__modeling=text)
    assert keys(facts) == [("note", "model.no_loader"), ("error", "model.no_loader")]


def test_a_registered_function_fails_with_the_usual_trainer(tmp_path):
    text = """
        from mindspeed_mm.fsdp.utils.register import model_register
        @model_register.register("toy")
        def get_toy(args):
            return args
    """
    facts = scan(tmp_path, config(), models__toy__modeling=text)
    assert ("error", "model.function_registered") in keys(facts)


def test_forward_must_take_the_keyword_of_the_training_step_and_the_keys_of_its_own_collate_fn(tmp_path):
    text = FILES["models/toy/modeling.py"].replace(", use_cache=None", "")
    dataset = (
        FILES["data/datasets/toy/dataset.py"]
        + """
            def collate_fn(self, features):
                batch = {"input_ids": 1, "labels": 2}
                batch["pixel_values"] = 3
                return batch
"""
    )
    facts = scan(tmp_path, config(), models__toy__modeling=text, data__datasets__toy__dataset=dataset)
    assert [f.value for f in findings(facts)] == ["use_cache", "pixel_values"]


def test_an_unknown_collator_is_an_error_unless_the_dataset_collates_where_the_loader_looks(tmp_path):
    data = config(data__dataloader_param__collate_param={"model_name": "toyv1"})
    (finding,) = findings(scan(tmp_path, data))
    assert (finding.message, finding.suggestion) == ("data.unknown_collator", "toyvl")
    own = (
        FILES["data/datasets/toy/dataset.py"]
        + "\n            def collate_fn(self, features):\n                return {}\n"
    )
    assert keys(scan(tmp_path, data, data__datasets__toy__dataset=own)) == []
    data["data"]["dataloader_param"]["dataloader_mode"] = "base"
    assert keys(scan(tmp_path, data, data__datasets__toy__dataset=own)) == [("error", "data.unknown_collator")]


def test_a_dataset_that_does_not_take_the_frameworks_arguments_is_an_error(tmp_path):
    text = FILES["data/datasets/toy/dataset.py"].replace("dataset_param, **kwargs", "path")
    facts = scan(tmp_path, config(), data__datasets__toy__dataset=text)
    assert keys(facts) == [("error", "data.dataset_does_not_bind")]


@pytest.mark.parametrize(
    ("signature", "call", "binds"),
    [
        (Signature(["cls", "config"]), CallFacts(1, "f", "", 1), True),
        (Signature(["cls", "config"]), CallFacts(1, "f", "", 1, ["config"]), False),
        (Signature(["cls", "path"], varkw="kwargs"), CallFacts(1, "f", "", 1, ["config", "dtype"]), True),
        (Signature(["cls", "path", "extra"]), CallFacts(1, "f", "", 1), False),
        (Signature(["cls", "path", "extra"]), CallFacts(1, "f", "", 1, double_star=["kw"]), True),
        (Signature(["cls"], varargs="args"), CallFacts(1, "f", "", 3), True),
    ],
)
def test_a_call_binds_as_python_binds_it(signature, call, binds):
    assert (missing_arguments(signature, call, bound=True) is None) is binds


def test_a_child_built_by_a_class_attribute_is_the_class_it_names(tmp_path):
    text = FILES["models/toy/modeling.py"].replace("self.model = Text(config)", "self.model = self.text_class(config)")
    text = text.replace("class Toy(PreTrainedModel):", "class Toy(PreTrainedModel):\n            text_class = Text")
    wrong = config(parallel__fsdp_plan__apply_modules=["model.layer.{*}"])
    (finding,) = [f for f in findings(scan(tmp_path, wrong, models__toy__modeling=text)) if f.fails]
    assert (finding.value, finding.suggestion) == ("model.layer.{*}", "model.layers.{*}")
    set_later = text.replace(
        "super().__init__(config)\n", "super().__init__(config)\n                self.text_class = x\n", 1
    )
    assert [f for f in findings(scan(tmp_path, wrong, models__toy__modeling=set_later)) if f.fails] == []
