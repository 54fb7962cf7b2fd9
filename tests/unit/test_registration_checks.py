from __future__ import annotations

from pathlib import Path

import pytest
from python_repo import DATA, DATASET, MODEL, PLUGIN, REGISTER, Repo

TASK = "mindspeed_mm/fsdp/tasks/toy/trainer.py"


def test_a_linked_target_has_no_findings(tmp_path: Path) -> None:
    repo = Repo(tmp_path)
    assert [repo.judge(c) for c in ("model.registration", "data.registration", "config.linkage")] == [[], [], []]


@pytest.mark.parametrize(
    "text",
    [
        f"{REGISTER}class Toy: ...\nmodel_register.register('toy')(Toy)\n",
        f"{REGISTER}class Toy: ...\nToy = model_register.register('toy')(Toy)\n",
        f"{REGISTER}NAME = 'toy'\n@model_register.register(NAME)\nclass Toy: ...\n",
        "import mindspeed_mm.fsdp.utils.register as r\n@r.model_register.register('toy')\nclass Toy: ...\n",
        f"{REGISTER}try:\n    @model_register.register('toy')\n    class Toy: ...\nexcept KeyError:\n    raise\n",
    ],
)
def test_every_form_of_registration_counts(tmp_path: Path, text: str) -> None:
    assert Repo(tmp_path, {f"{PLUGIN}/modeling_toy.py": text}).judge("model.registration") == []


def test_a_misspelt_id_is_named_with_the_near_one(tmp_path: Path) -> None:
    (finding,) = Repo(tmp_path, config={"model": {"model_id": "toyy"}}).judge("model.registration")
    assert (finding.message, finding.yaml_path, finding.line) == ("registration.model_missing", "model.model_id", 3)
    assert finding.suggestion == "toy"


def test_a_model_of_another_plugin_names_the_entry_to_add(tmp_path: Path) -> None:
    (finding,) = Repo(tmp_path, config={"training": {"plugin": [DATA]}}).judge("model.registration")
    assert (finding.message, finding.suggestion) == ("registration.model_elsewhere", PLUGIN)


def test_a_registration_under_a_condition_is_a_note(tmp_path: Path) -> None:
    text = f"{REGISTER}import os\nclass Toy: ...\nif os.environ.get('X'):\n    model_register.register('toy')(Toy)\n"
    (finding,) = Repo(tmp_path, {f"{PLUGIN}/modeling_toy.py": text}).judge("model.registration")
    assert (finding.message, finding.severity) == ("registration.model_conditional", "note")


def test_an_id_registered_twice_fails_where_it_happens_again(tmp_path: Path) -> None:
    repo = Repo(tmp_path, {f"{PLUGIN}/modeling_two.py": MODEL})
    assert repo.errors("model.registration") == [("registration.duplicate", "modeling_two.py", 2)]


def test_a_folder_without_init_is_not_walked(tmp_path: Path) -> None:
    files = {f"{PLUGIN}/__init__.py": "", f"{PLUGIN}/modeling_toy.py": "", f"{PLUGIN}/core/modeling_toy.py": MODEL}
    repo = Repo(tmp_path, files)
    (linkage,) = repo.judge("config.linkage")
    assert (linkage.message, linkage.suggestion) == ("linkage.not_walked", f"{PLUGIN}/core")
    assert repo.judge("model.registration")[0].suggestion == f"{PLUGIN}/core"


def test_a_sub_package_is_walked(tmp_path: Path) -> None:
    files = {f"{PLUGIN}/modeling_toy.py": "", f"{PLUGIN}/core/__init__.py": "", f"{PLUGIN}/core/modeling_toy.py": MODEL}
    assert Repo(tmp_path, files).judge("model.registration") == []


def test_a_registration_reached_through_an_import_counts(tmp_path: Path) -> None:
    files = {
        f"{PLUGIN}/modeling_toy.py": "from mindspeed_mm.fsdp.models.shared import base\n",
        "mindspeed_mm/fsdp/models/shared/base.py": MODEL,
    }
    assert Repo(tmp_path, files).judge("model.registration") == []


@pytest.mark.parametrize("entry", ["mindspeed_mm.fsdp.models.toy", "./mindspeed_mm/fsdp/models/toy/"])
def test_an_entry_may_be_written_with_dots_or_slashes(tmp_path: Path, entry: str) -> None:
    repo = Repo(tmp_path, config={"training": {"plugin": [entry, DATA]}})
    assert repo.judge("model.registration") == repo.judge("config.linkage") == []


def test_a_missing_plugin_is_named_with_the_near_folder(tmp_path: Path) -> None:
    repo = Repo(tmp_path, config={"training": {"plugin": [f"{PLUGIN}s", DATA]}})
    (finding,) = repo.judge("config.linkage")
    assert (finding.message, finding.yaml_path, finding.suggestion) == (
        "linkage.plugin_missing",
        "training.plugin[0]",
        PLUGIN,
    )


def test_a_plugin_that_registers_nothing_is_a_note(tmp_path: Path) -> None:
    repo = Repo(
        tmp_path,
        {"mindspeed_mm/fsdp/models/other/x.py": "x = 1\n"},
        {"training": {"plugin": [PLUGIN, DATA, "mindspeed_mm/fsdp/models/other"]}},
    )
    assert [(f.message, f.severity) for f in repo.judge("config.linkage")] == [
        ("linkage.plugin_registers_nothing", "note")
    ]


BYPASS = (
    "from mindspeed_mm.fsdp.train.trainer import Trainer\n"
    "class ToyTrainer(Trainer):\n    def __init__(self, args):\n        self.data = build_own(args)\n"
    "def build_own(args): ...\n"
    "if __name__ == '__main__':\n    ToyTrainer(1)\n"
)


def test_a_dataset_type_that_the_own_trainer_never_looks_up_is_a_note(tmp_path: Path) -> None:
    config = {"data": {"dataset_param": {"dataset_type": "Toy"}}}
    (finding,) = Repo(tmp_path, {TASK: BYPASS}, config, trainer=TASK).judge("data.registration")
    assert (finding.message, finding.severity) == ("registration.data_unused", "note")


def test_a_dataset_type_that_the_own_trainer_looks_up_must_be_registered(tmp_path: Path) -> None:
    text = BYPASS.replace("self.data = build_own(args)", "super().__init__(args)")
    config = {"data": {"dataset_param": {"dataset_type": "Toy"}}}
    repo = Repo(tmp_path, {TASK: text}, config, trainer=TASK)
    assert [message for message, *_ in repo.errors("data.registration")] == ["registration.data_missing"]


def test_a_model_package_without_registration_is_a_note_of_the_framework(tmp_path: Path) -> None:
    repo = Repo(tmp_path, {"mindspeed_mm/fsdp/models/raw/modeling_raw.py": "class Raw: ...\n"})
    found = repo.judge("model.registration", framework=True)
    assert [(f.message, f.path) for f in found] == [
        ("registration.package_without", "mindspeed_mm/fsdp/models/raw/modeling_raw.py")
    ]


def test_datasets_and_models_with_one_id_are_no_duplicates(tmp_path: Path) -> None:
    repo = Repo(tmp_path, {f"{DATA}/toy_dataset.py": DATASET.replace("toy_data", "toy")})
    assert repo.judge("model.registration") == []
