"""A small target repo for tests of the checks that read Python: files in, findings out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_mindspeed_migration.checks.registry import judge
from pytest_mindspeed_migration.checks.view import FRAMEWORK, TargetView
from pytest_mindspeed_migration.facts.config import ConfigFacts
from pytest_mindspeed_migration.facts.launch import CopyInstruction, DocFacts
from pytest_mindspeed_migration.facts.static import StaticFacts, TargetFacts
from pytest_mindspeed_migration.findings import Finding
from pytest_mindspeed_migration.scan.project import Project

PLUGIN = "mindspeed_mm/fsdp/models/toy"
DATA = "mindspeed_mm/fsdp/data/datasets/toy"
CORE = {
    "mindspeed_mm/fsdp/utils/register.py": (
        "class Register:\n    def register(self, obj_id): ...\n    def get(self, obj_id): ...\n"
        "model_register = Register()\ndata_register = Register()\n"
    ),
    "mindspeed_mm/fsdp/data/__init__.py": (
        "from mindspeed_mm.fsdp.utils.register import data_register\n"
        "def build_mm_dataset(param):\n    cls = data_register.get(param['dataset_type'])\n"
        "    return cls(basic_param=1, preprocess_param=2, dataset_param=3)\n"
    ),
    "mindspeed_mm/fsdp/models/modelhub.py": (
        "from mindspeed_mm.fsdp.utils.register import model_register\n"
        "def build(model_id, a, b, c):\n    model_cls = model_register.get(model_id)\n"
        "    return model_cls.overwrite_transformer_config(a, b, c)\n"
    ),
    "mindspeed_mm/fsdp/train/trainer.py": (
        "from mindspeed_mm.fsdp.data import build_mm_dataset\nfrom mindspeed_mm.fsdp.models import modelhub\n"
        "class Trainer:\n    def __init__(self, args):\n        self.data = self.get_dataloader()\n"
        "    def get_dataloader(self):\n        return build_mm_dataset({})\n"
    ),
}
REGISTER = "from mindspeed_mm.fsdp.utils.register import model_register, data_register\n"
MODEL = f"{REGISTER}@model_register.register('toy')\nclass Toy: ...\n"
DATASET = (
    f"{REGISTER}@data_register.register('toy_data')\ndef build(basic_param, preprocess_param, dataset_param): ...\n"
)


@dataclass
class Repo:
    """Files of a repo and the config of its one target."""

    root: Path
    files: dict[str, str] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)
    trainer: str | None = None
    copies: list[CopyInstruction] = field(default_factory=list)
    manifest: dict[str, Any] | None = None

    def facts(self) -> StaticFacts:
        """Scan the files: the core, the default plugins unless given, and the rest."""
        defaults = {f"{PLUGIN}/modeling_toy.py": MODEL, f"{DATA}/toy_dataset.py": DATASET}
        for path, text in {**CORE, **defaults, **self.files}.items():
            full = self.root / path
            full.parent.mkdir(parents=True, exist_ok=True)
            full.write_text(text, encoding="utf-8")
        project = Project(self.root)
        project.read(project.files)
        config = {
            "model": {"model_id": "toy"},
            "data": {"dataset_param": {"dataset_type": "toy_data"}},
            "training": {"plugin": [PLUGIN, DATA]},
            **self.config,
        }
        doc = DocFacts("examples/toy/README.md", copies=self.copies)
        return StaticFacts(
            targets=[
                TargetFacts(
                    "toy", "toy.yaml", model_id=config["model"]["model_id"], trainer=self.trainer, docs=[doc.path]
                )
            ],
            configs={"toy.yaml": ConfigFacts("toy.yaml", config, {"model.model_id": 3, "training.plugin": 9})},
            docs={doc.path: doc},
            modules=project.modules,
            files=project.files,
        )

    def judge(self, contract: str, framework: bool = False) -> list[Finding]:
        """The findings of one contract for the target, or for the framework."""
        facts = self.facts()
        target = TargetFacts(FRAMEWORK, None) if framework else facts.target("toy")
        return judge(contract, TargetView(facts, target, self.manifest))

    def errors(self, contract: str, framework: bool = False) -> list[tuple[str, str | None, int | None]]:
        """(message, file name, line) of the failing findings."""
        return [
            (finding.message, (finding.path or "").rpartition("/")[2], finding.line)
            for finding in self.judge(contract, framework)
            if finding.fails
        ]
