"""The demo migration with one defect put in: what is changed, which contracts have to turn red, and where."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

EXAMPLE = "examples/internvl3_5"
CONFIG = f"{EXAMPLE}/internvl3_5_config.yaml"
SCRIPT = f"{EXAMPLE}/finetune_internvl3_5.sh"
MANIFEST = f"{EXAMPLE}/migration.yaml"
MODELS = "mindspeed_mm/fsdp/models/internvl3_5"
MODELING = f"{MODELS}/modeling_internvl3_5.py"
TOKENS = f"{MODELS}/special_tokens.py"
DATA = "mindspeed_mm/fsdp/data/datasets/internvl3_5"
DATASET = f"{DATA}/internvl3_5_dataset.py"


@dataclass(frozen=True)
class Swap:
    """Replace a text that stands exactly once in a file of the repo."""

    path: str
    old: str
    new: str

    def apply(self, repo: Path) -> None:
        """Make the change."""
        file = repo / self.path
        text = file.read_text(encoding="utf-8")
        assert text.count(self.old) == 1, f"{self.path} has {text.count(self.old)} x {self.old!r}"
        file.write_text(text.replace(self.old, self.new), encoding="utf-8")


@dataclass(frozen=True)
class Move:
    """Rename a file of the repo, making the folders it needs."""

    path: str
    to: str

    def apply(self, repo: Path) -> None:
        """Make the change."""
        (repo / self.to).parent.mkdir(parents=True, exist_ok=True)
        (repo / self.path).rename(repo / self.to)


@dataclass(frozen=True)
class Remove:
    """Delete a file of the repo."""

    path: str

    def apply(self, repo: Path) -> None:
        """Make the change."""
        (repo / self.path).unlink()


@dataclass(frozen=True)
class Mutation:
    """One defect.

    Attributes:
        name: id of the test.
        contracts: the contracts that fail because of it, and no others (those it blocks are not failures).
        path: file that a finding of the first contract names.
        at: text of the line that finding points at; "" where the defect has no line of its own.
        edits: the changes that make it.
    """

    name: str
    contracts: tuple[str, ...]
    path: str
    at: str
    edits: tuple[Swap | Move | Remove, ...]


def _one(name: str, contracts: str, path: str, old: str, new: str, at: str | None = None) -> Mutation:
    """A mutation of one place; by default the finding points at the first line of what was put there."""
    line = next((line for line in new.splitlines() if line.strip()), "") if at is None else at
    return Mutation(name, tuple(contracts.split()), path, line, (Swap(path, old, new),))


_REGISTER_IMPORT = "from mindspeed_mm.fsdp.utils.register import model_register\n"
_LOADING = """    def from_pretrained(cls, path_or_section, *args, config=None, **options):
"""
_CLASS = """@model_register.register("internvl3_5")
"""

_REGISTRATION = [
    _one(
        "model_id_is_not_registered",
        "model.registration",
        CONFIG,
        "  model_id: internvl3_5\n",
        "  model_id: internvl35\n",
    ),
    _one(
        "dataset_type_has_a_typo",
        "data.registration",
        CONFIG,
        "    dataset_type: internvl3_5\n",
        "    dataset_type: intervnl3_5\n",
    ),
    _one(
        "plugin_path_does_not_exist",
        "config.linkage model.registration preflight.editable_paths",
        CONFIG,
        "    - mindspeed_mm/fsdp/models/internvl3_5\n",
        "    - mindspeed_mm/fsdp/models/internvl35\n",
    ),
    _one(
        "dataset_plugin_is_not_listed",
        "data.registration",
        CONFIG,
        "    - mindspeed_mm/fsdp/data/datasets/internvl3_5\n",
        "",
        at="    dataset_type: internvl3_5",
    ),
    Mutation(
        "plugin_folder_without_init_is_not_walked",
        ("config.linkage", "model.registration"),
        CONFIG,
        "    - mindspeed_mm/fsdp/models/internvl3_5",
        (Move(MODELING, f"{MODELS}/hf/modeling_internvl3_5.py"),),
    ),
    Mutation(
        "model_is_not_decorated",
        ("model.registration",),
        CONFIG,
        "  model_id: internvl3_5",
        (Swap(MODELING, _CLASS, ""),),
    ),
    Mutation(
        "model_id_is_registered_twice",
        ("model.registration",),
        TOKENS,
        '@model_register.register("internvl3_5")',
        (
            Swap(
                TOKENS,
                '\nIMG_START_TOKEN = "<img>"\n',
                f'\n{_REGISTER_IMPORT}\n\n{_CLASS}class Other:\n    """Not the model."""\n\n\n'
                'IMG_START_TOKEN = "<img>"\n',
            ),
        ),
    ),
]

_CONFIG = [
    _one(
        "unknown_key_in_a_strict_section",
        "config.strict_extra",
        CONFIG,
        "      cutoff_len: 256\n",
        "      image_root: ./data/internvl3_5/images\n      cutoff_len: 256\n",
    ),
    _one(
        "unknown_key_in_the_extra_section",
        "config.strict_extra",
        CONFIG,
        "      max_dynamic_patch: 4\n",
        "      max_dynamic_patches: 4\n",
    ),
    _one(
        "key_that_moved_to_features",
        "config.ignored_keys",
        CONFIG,
        "parallel:\n",
        "parallel:\n  recompute_plan:\n    apply_modules:\n      - model.language_model.layers.{*}\n",
        at="  recompute_plan:",
    ),
    _one(
        "misspelt_key_in_a_permissive_section",
        "config.ignored_keys",
        CONFIG,
        "  gradient_accumulation_steps: 1\n",
        "  gradient_accumulation_step: 1\n",
    ),
    _one("null_for_a_field_that_takes_none", "config.types", CONFIG, "  clip_grad: 1.0\n", "  clip_grad: null\n"),
    _one(
        "value_outside_a_literal",
        "config.types",
        CONFIG,
        "  lr_decay_style: cosine\n",
        "  lr_decay_style: cosin\n",
    ),
    _one("text_where_a_number_belongs", "config.types", CONFIG, "  train_iters: 5\n", "  train_iters: many\n"),
    _one(
        "text_where_a_switch_belongs",
        "config.types",
        CONFIG,
        "  recompute: true\n",
        "  recompute: selective\n",
    ),
    _one("required_field_is_missing", "config.required_fields", CONFIG, "  train_iters: 5\n", "", at=""),
    _one(
        "anchor_is_defined_twice",
        "config.parse",
        CONFIG,
        "  model_name_or_path: *MODEL_PATH\n",
        "  model_name_or_path: &MODEL_PATH ./ckpt/hf_path/InternVL3_5-tiny\n",
    ),
    _one("yaml_is_indented_with_a_tab", "config.parse", CONFIG, "  train_iters: 5\n", "\ttrain_iters: 5\n"),
    _one(
        "shard_size_does_not_divide_the_ranks",
        "config.parallel_sizes",
        CONFIG,
        "  fully_shard_parallel_size: auto\n",
        "  fully_shard_parallel_size: 3\n",
    ),
    Mutation(
        "collator_id_is_unknown_and_the_dataset_has_no_collate_fn",
        ("data.collate",),
        CONFIG,
        "      collator_id: internvl",
        (
            Swap(
                CONFIG, "    num_workers: 0\n", "    num_workers: 0\n    collate_param:\n      collator_id: internvl\n"
            ),
            Swap(DATASET, "    def collate_fn(self", "    def make_batch(self"),
        ),
    ),
    Mutation(
        "dataset_has_no_collate_fn_and_no_collator_is_named",
        ("data.collate",),
        CONFIG,
        "    collate_param:",
        (
            Swap(
                CONFIG,
                "    num_workers: 0\n",
                "    num_workers: 0\n    collate_param:\n      pad_to_multiple_of: 16\n",
            ),
            Swap(DATASET, "    def collate_fn(self", "    def make_batch(self"),
        ),
    ),
    _one(
        "launch_script_names_a_missing_yaml",
        "config.launch_script",
        SCRIPT,
        "config_path=examples/internvl3_5/internvl3_5_config.yaml\n",
        "config_path=examples/internvl3_5/internvl3_5_8b_config.yaml\n",
    ),
    _one(
        "launch_script_starts_a_missing_trainer",
        "config.launch_script",
        SCRIPT,
        "mindspeed_mm/fsdp/train/trainer.py",
        "mindspeed_mm/fsdp/train/train.py",
        at="mindspeed_mm/fsdp/train/train.py",
    ),
]

_PLANS = [
    _one(
        "sharding_pattern_matches_nothing",
        "config.apply_modules",
        CONFIG,
        "      - model.multi_modal_projector\n",
        "      - visual.blocks.{*}\n",
    ),
    _one(
        "chunk_loss_names_no_module",
        "config.feature_plans",
        CONFIG,
        "    apply_module: lm_head\n",
        "    apply_module: language_head\n",
    ),
    Mutation(
        "recomputed_module_does_not_take_the_cache_argument",
        ("config.feature_plans",),
        CONFIG,
        "      - tile_gate",
        (
            Swap(CONFIG, "      # The decoder layers only", "      - tile_gate\n      # The decoder layers only"),
            Swap(
                MODELING,
                f"\n{_CLASS}",
                "\nclass TileGate(nn.Module):\n    def forward(self, features):\n        return features\n\n\n"
                + _CLASS,
            ),
            Swap(
                MODELING,
                "        self.post_init()\n",
                "        self.tile_gate = TileGate()\n        self.post_init()\n",
            ),
        ),
    ),
]

_MODEL = [
    _one(
        "loading_takes_one_parameter",
        "model.from_pretrained",
        MODELING,
        _LOADING,
        "    def from_pretrained(cls, path_or_section):\n        args, config, options = (), None, {}\n",
    ),
    _one(
        "building_takes_two_parameters",
        "model.from_config",
        MODELING,
        "    def _from_config(cls, config, **options):\n",
        "    def _from_config(cls, config, dtype, **options):\n",
    ),
    _one(
        "config_hook_takes_too_few_parameters",
        "code.calls",
        MODELING,
        "    def overwrite_transformer_config(cls, config, model_args, feature_args):\n",
        "    def overwrite_transformer_config(cls, config, model_args):\n",
    ),
    Mutation(
        "forward_does_not_take_use_cache",
        ("model.forward_inputs",),
        MODELING,
        "    def forward(",
        (
            Swap(MODELING, "        use_cache: bool | None = None,\n        **kwargs,\n", ""),
            Swap(MODELING, "            use_cache=bool(use_cache),\n            **kwargs,\n", ""),
        ),
    ),
]

_CODE = [
    _one(
        "imported_name_does_not_exist",
        "model.imports",
        MODELING,
        "import check_image_token, num_image_token\n",
        "import check_image_token, num_image_tokens as num_image_token\n",
    ),
    _one(
        "imported_module_does_not_exist",
        "model.imports",
        DATASET,
        "from mindspeed_mm.fsdp.data.data_utils.func_utils.model_args import ProcessorArguments\n",
        "from mindspeed_mm.fsdp.data.data_utils.model_args import ProcessorArguments\n",
    ),
    _one(
        "source_repo_is_imported",
        "model.imports",
        MODELING,
        "from torch import Tensor, nn\n",
        "from internvl.modeling import load_model\nfrom torch import Tensor, nn\n",
    ),
    _one(
        "file_does_not_parse",
        "model.imports model.registration",
        MODELING,
        "        if labels is not None:\n",
        "        if labels is not None\n",
    ),
    _one(
        "name_is_not_defined",
        "code.names",
        DATASET,
        "        pad_id = self.tokenizer.pad_token_id\n",
        "        pad_id = tokenizer.pad_token_id\n",
    ),
    _one(
        "call_lacks_arguments",
        "code.calls",
        DATASET,
        "            image, self.tile_size, extra.min_dynamic_patch, extra.max_dynamic_patch, extra.use_thumbnail\n",
        "            image, self.tile_size, extra.use_thumbnail\n",
        at="split_into_tiles(",
    ),
    _one(
        "call_passes_an_unknown_keyword",
        "code.calls",
        DATASET,
        '{"input_ids": pad_id, "attention_mask": 0, "labels": IGNORE_INDEX})\n',
        '{"input_ids": pad_id, "attention_mask": 0, "labels": IGNORE_INDEX}, pad_to=8)\n',
        at="pad_batch(",
    ),
    _one(
        "torch_npu_is_imported_unguarded",
        "code.import_effects",
        MODELING,
        "from torch import Tensor, nn\n",
        "import torch_npu\nfrom torch import Tensor, nn\n",
    ),
    _one(
        "command_line_is_read_on_import",
        "code.import_effects",
        DATASET,
        'IMAGE_PLACEHOLDER = "<image>"\n',
        'import sys\n\nIMAGE_PLACEHOLDER = sys.argv[1] if len(sys.argv) > 1 else "<image>"\n',
        at="IMAGE_PLACEHOLDER = sys.argv",
    ),
    _one(
        "file_is_read_on_import",
        "code.import_effects",
        DATASET,
        'IMAGE_PLACEHOLDER = "<image>"\n',
        'IMAGE_PLACEHOLDER = json.load(open("tokens.json"))["image"]\n',
    ),
    _one(
        "device_stream_is_made_on_import",
        "code.import_effects",
        DATASET,
        'IMAGE_PLACEHOLDER = "<image>"\n',
        'COPY_STREAM = torch.npu.Stream()\nIMAGE_PLACEHOLDER = "<image>"\n',
    ),
]

_PREFLIGHT = [
    _one(
        "model_path_is_a_placeholder",
        "preflight.assets",
        MANIFEST,
        "  model_path: ../../ckpt/hf_path/InternVL3_5-tiny\n",
        "  model_path: /path/to/InternVL3_5\n",
    ),
    _one(
        "image_root_does_not_exist",
        "preflight.assets",
        MANIFEST,
        "  image_root: ../../data/internvl3_5/images\n",
        "  image_root: ../../data/internvl3_5/pictures\n",
    ),
    _one(
        "source_entry_point_does_not_exist",
        "preflight.entrypoints",
        MANIFEST,
        "  dataset: internvl/dataset.py\n",
        "  dataset: internvl/data.py\n",
    ),
    _one(
        "editable_paths_hold_core_files",
        "preflight.editable_paths",
        MANIFEST,
        "    - examples/internvl3_5\n",
        "    - mindspeed_mm/fsdp/train\n    - examples/internvl3_5\n",
        at="",
    ),
]

_CHOICES = [
    _one(
        "dataloader_mode_is_misspelt",
        "config.types",
        CONFIG,
        "    dataloader_mode: sampler\n",
        "    dataloader_mode: samplers\n",
    ),
]

MUTATIONS = [*_REGISTRATION, *_CONFIG, *_PLANS, *_MODEL, *_CODE, *_PREFLIGHT, *_CHOICES]

NOT_SEEN = [
    _one(
        "forward_returns_a_tuple",
        "model.forward_loss",
        MODELING,
        "        return InternVLCausalLMOutputWithPast(loss=loss, logits=logits)\n",
        "        return loss, logits\n",
    ),
    _one(
        "dataset_path_is_taken_for_text",
        "data.path_types",
        DATASET,
        "        rows = []\n",
        '        rows = []\n        compressed = dataset.endswith(".gz")\n',
        at="dataset.endswith",
    ),
]
"""Defects that the static level does not see: what a function returns, and what type a value has."""
