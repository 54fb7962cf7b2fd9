"""Real rows of the demo through its own code: all contracts pass, and each fails when its own defect is put in.

`MIGRATE_DEMO_PYTHON` names an interpreter with torch and Transformers.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_mindspeed_migration.checks import registry
from pytest_mindspeed_migration.checks.view import TargetView
from pytest_mindspeed_migration.demo import demo_repo
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.runtime import ProbeFacts, StepFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.probes.client import run_probe
from pytest_mindspeed_migration.probes.limits import Limits
from pytest_mindspeed_migration.probes.warm import Interpreter, WarmInterpreter

PYTHON = os.environ.get("MIGRATE_DEMO_PYTHON")
pytestmark = pytest.mark.skipif(PYTHON is None, reason="MIGRATE_DEMO_PYTHON names no interpreter with torch")

CONFIG = "examples/internvl3_5/internvl3_5_config.yaml"
MODELING = "mindspeed_mm/fsdp/models/internvl3_5/modeling_internvl3_5.py"
DATASET = "mindspeed_mm/fsdp/data/datasets/internvl3_5/internvl3_5_dataset.py"
ROWS = "data/internvl3_5/train.json"
CHECKPOINT = "ckpt/hf_path/InternVL3_5-tiny"
OWN = ("training_step", "data_rows")
CONTRACTS = (
    *("model.from_pretrained", "model.from_config", "model.forward_inputs", "model.forward_loss"),
    *("data.path_types", "data.sample_schema", "data.fields", "data.collate", "data.labels", "data.modal_alignment"),
)


@dataclass(frozen=True)
class Defect:
    """Texts of a file that are replaced, what turns red, and the message that says it."""

    contract: str
    message: str
    path: str
    swaps: tuple[tuple[str, str], ...]


def _one(contract: str, message: str, path: str, *swaps: tuple[str, str]) -> Defect:
    return Defect(contract, message, path, swaps)


_LABELS = 'learned = body if role == "assistant" else [IGNORE_INDEX] * len(body)'
_FORWARD = "hidden = outputs.last_hidden_state\n"
DEFECTS = {
    "from_pretrained leaves the checkpoint out": _one(
        "model.from_pretrained",
        "batch.not_loaded",
        MODELING,
        ("return super().from_pretrained(path, *args, config=config, **options)", "return cls(config)"),
    ),
    "from_pretrained cannot be called": _one(
        "model.from_pretrained", "cpu.raised", MODELING, ("options.setdefault(", "options.set_default(")
    ),
    "init_weights does nothing": _one(
        "model.from_config",
        "batch.uninitialised",
        MODELING,
        ("    def forward(\n", "    def init_weights(self):\n        pass\n\n    def forward(\n"),
    ),
    "a batch key that forward does not know": _one(
        "model.forward_inputs",
        "batch.key_without_parameter",
        MODELING,
        ("        image_flags: Tensor | None = None,\n        use_cache", "        use_cache"),
        ("        **kwargs,\n    ) ->", "    ) ->"),
    ),
    "the loss is no tensor": _one(
        "model.forward_loss",
        "batch.loss_is_no_tensor",
        MODELING,
        ("OutputWithPast(loss=loss, logits", "OutputWithPast(loss=1.0, logits"),
    ),
    "the loss is detached": _one(
        "model.forward_loss",
        "batch.loss_has_no_gradient",
        MODELING,
        (_FORWARD, "hidden = outputs.last_hidden_state.detach()\n        self.lm_head.requires_grad_(False)\n"),
    ),
    "the loss is NaN": _one(
        "model.forward_loss",
        "batch.loss_is_not_finite",
        MODELING,
        (_FORWARD, "hidden = outputs.last_hidden_state * float('nan')\n"),
    ),
    "the vision tower gets no gradient": _one(
        "model.forward_loss",
        "batch.gradient_detached",
        MODELING,
        ("features = features.to(inputs_embeds.dtype)", "features = features.to(inputs_embeds.dtype).detach()"),
    ),
    "text without images fails": _one(
        "model.forward_loss",
        "batch.text_only",
        MODELING,
        (
            "        blank = features.sum() * 0.0\n",
            "        blank = features.sum() * 0.0\n        assert image_flags.any(), 'no image'\n",
        ),
    ),
    "a list of paths holds one": _one(
        "data.path_types",
        "cpu.raised",
        DATASET,
        (
            "for name in [dataset] if isinstance(dataset, str) else dataset or []:",
            "(only,) = dataset\n        for name in [only]:",
        ),
    ),
    "only the first file of a list is read": _one(
        "data.path_types",
        "batch.rows_lost",
        DATASET,
        ("else dataset or []:", "else dataset[:1]:"),
    ),
    "the mapping names no column": _one(
        "data.sample_schema", "batch.column_missing", CONFIG, ("messages: conversations", "messages: messages")
    ),
    "a role tag that no message has": _one(
        "data.sample_schema", "batch.tag_missing", CONFIG, ("role_tag: from", "role_tag: role")
    ),
    "an image that is not there": _one(
        "data.sample_schema", "batch.media_missing", ROWS, ('"image": "green.png"', '"image": "grass.png"')
    ),
    "a sample cannot be made": _one(
        "data.fields", "cpu.raised", DATASET, ("row = self.rows[index]", "row = self.rows[index]['row']")
    ),
    "images are left out": _one(
        "data.fields",
        "batch.media_lost",
        DATASET,
        ('        batch["pixel_values"] = torch.cat([sample["pixel_values"] for sample in samples])\n', ""),
    ),
    "samples are not padded": _one(
        "data.collate",
        "cpu.raised",
        DATASET,
        (
            'batch = pad_batch(samples, {"input_ids": pad_id, "attention_mask": 0, "labels": IGNORE_INDEX})',
            'batch = {key: torch.stack([one[key] for one in samples]) for key in ("input_ids", "labels")}',
        ),
    ),
    "no label counts": _one(
        "data.labels", "batch.labels_ignored", DATASET, (_LABELS, "learned = [IGNORE_INDEX] * len(body)")
    ),
    "labels are shifted already": _one(
        "data.labels",
        "batch.labels_shifted",
        DATASET,
        ("torch.tensor(labels[:cut])", "torch.tensor([*labels[1:cut], IGNORE_INDEX])"),
    ),
    "flags say less than the text": _one(
        "data.modal_alignment",
        "batch.tokens_differ",
        DATASET,
        ("image_flags = torch.ones(len(pixel_values)", "image_flags = torch.zeros(len(pixel_values)"),
    ),
}


class Runner:
    """Runs probes on a copy of the demo in one warm interpreter that has imported nothing of it."""

    def __init__(self, folder: Path) -> None:
        assert PYTHON is not None
        self.folder = folder
        self.repo = folder / "repo"
        shutil.copytree(demo_repo(), self.repo, ignore=shutil.ignore_patterns("__pycache__"))
        variables = {
            "PYTHONPATH": str(self.repo),
            "PYTHONDONTWRITEBYTECODE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "HF_HUB_OFFLINE": "1",
            **dict.fromkeys(("RANK", "LOCAL_RANK"), "0"),
            "WORLD_SIZE": "1",
        }
        self._boot = {"repo": str(self.repo), "modules": ["torch", "transformers"]}
        self._interpreter = Interpreter(PYTHON, {**os.environ, **variables}, variables, self._boot)
        self.warm = WarmInterpreter(self._interpreter)
        self.warm.start()
        self._count = 0

    def run(self, probe: str, defect: Defect | None = None, **request: Any) -> ProbeFacts:
        """Run a probe with a defect in the repo, in a work folder of its own."""
        self._count += 1
        path = self.repo / defect.path if defect else None
        before = path.read_text(encoding="utf-8") if path else ""
        try:
            if path and defect:
                text = before
                for old, new in defect.swaps:
                    assert old in text, f"{defect.path} has no {old!r}"
                    text = text.replace(old, new)
                path.write_text(text, encoding="utf-8")
            return self._run(probe, request)
        finally:
            if path:
                path.write_text(before, encoding="utf-8")

    def _run(self, probe: str, request: dict[str, Any]) -> ProbeFacts:
        asked = {
            "probe": probe,
            "repo": str(self.repo),
            "config": CONFIG,
            "trainer": None,
            "overrides": {"features.enable_chunk_loss": False},
            "model_path": str(self.repo / CHECKPOINT),
            "boot": self._boot,
            "file": f"{probe}.json",
            "log": str(self.folder / f"{self._count}.log"),
            "work": str(self.folder / f"work{self._count}"),
            **request,
        }
        return run_probe(asked, self.warm.address, self._interpreter, Limits(120, 1 << 40), self.warm.log_path, "out")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    runner = Runner(tmp_path_factory.mktemp("demo"))
    yield runner
    runner.warm.stop()


class _Probes:
    def __init__(self, **facts: ProbeFacts) -> None:
        self._facts = facts

    def facts(self, view: TargetView, probe: str) -> ProbeFacts:
        return self._facts[probe]


def _errors(facts: ProbeFacts, contract: str) -> list[Finding]:
    built = ProbeFacts("model", "done", {"model.build": StepFacts("model.build", "ok")})
    probes = _Probes(batch=facts, data_errors=facts, model=built)
    view = TargetView(
        StaticFacts(configs={CONFIG: ConfigFacts(CONFIG, {"training": {"init_model_with_meta_device": True}})}),
        TargetFacts("internvl3_5", CONFIG),
        None,
        probes,
    )
    found: list[Finding] = []
    for check in registry.checks_of(contract, "cpu"):
        if check.__module__.rpartition(".")[2] in OWN:
            try:
                found += check(view)
            except (registry.Blocked, registry.NothingToJudge):
                continue
    return [one for one in found if one.fails]


def _said(facts: ProbeFacts) -> str:
    return (
        "\n".join(f"{step.name}: {step.status} {step.error or ''}" for step in facts.steps.values()) + facts.log[-3000:]
    )


def test_the_demo_passes(demo: Runner) -> None:
    facts = demo.run("batch")
    assert facts.outcome == "done", _said(facts)
    assert {step.status for step in facts.steps.values()} == {"ok"}, _said(facts)
    assert {contract: _errors(facts, contract) for contract in CONTRACTS} == {contract: [] for contract in CONTRACTS}
    assert {"forward", "backward", "text_only", "mixed", "other_form"} <= set(facts.steps)


@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_turns_its_contract_red(demo: Runner, name: str) -> None:
    defect = DEFECTS[name]
    facts = demo.run("batch", defect)
    messages = [one.message for one in _errors(facts, defect.contract)]
    assert defect.message in messages, f"{messages}\n{_said(facts)}"


def test_every_mistake_in_data_is_named_by_the_demo(demo: Runner) -> None:
    facts = demo.run("data_errors")
    results = {name: step.data["result"] for name, step in facts.steps.items() if "result" in step.data}
    assert set(results) == {
        *("missing", "empty", "garbage", "no_rows", "no_column", "bad_row", "media_is_text", "media_missing")
    }, _said(facts)
    for name, result in results.items():
        said = json.dumps(result["value"].get("error") or {})
        assert any(word in said for word in facts.steps[name].data["words"]), (name, result)


def _broken(folder: Path, demo: Runner, name: str, content: str) -> Path:
    shutil.copytree(demo.repo / CHECKPOINT, folder / "model")
    (folder / "model" / name).write_text(content, encoding="utf-8")
    return folder / "model"


def test_a_broken_config_is_named(demo: Runner, tmp_path: Path) -> None:
    model = _broken(tmp_path, demo, "config.json", '{"architectures": [')
    facts = demo.run("batch", model_path=str(model))
    assert "config.json" in facts.steps["shrink"].data["broken"]
    assert "Traceback" not in facts.log


def test_weights_of_the_user_are_not_needed_and_not_read(demo: Runner, tmp_path: Path) -> None:
    model = _broken(tmp_path, demo, "model.safetensors", "no weights")
    (model / "model.safetensors.index.json").write_text('{"weight_map": {"a": "absent.safetensors"}}', encoding="utf-8")
    facts = demo.run("batch", model_path=str(model))
    assert facts.steps["from_pretrained"].status == "ok", _said(facts)


def test_a_missing_tokenizer_is_an_error_of_the_dataset(demo: Runner, tmp_path: Path) -> None:
    model = _broken(tmp_path, demo, "tokenizer.json", "")
    (model / "tokenizer.json").unlink()
    overrides = {
        "features.enable_chunk_loss": False,
        "model.model_name_or_path": str(model),
        "data.dataset_param.preprocess_parameters.model_name_or_path": str(model),
    }
    facts = demo.run("batch", model_path=str(model), overrides=overrides)
    assert [one.message for one in _errors(facts, "data.fields")] != [], _said(facts)


def test_a_second_probe_finds_the_folder_that_the_first_made(demo: Runner, tmp_path: Path) -> None:
    first = demo.run("shrink", shared=str(tmp_path))
    weights = Path(first.steps["shrink"].data["path"]) / "model.safetensors"
    assert weights.is_relative_to(tmp_path)
    made = weights.stat().st_mtime_ns
    second = demo.run("batch", shared=str(tmp_path))
    assert second.steps["shrink"].data == first.steps["shrink"].data
    assert weights.stat().st_mtime_ns == made
