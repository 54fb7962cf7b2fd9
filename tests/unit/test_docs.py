"""`scan.docs`: repo files a document names, files it has the user copy in, versions it asks for."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from pytest_mindspeed_migration.facts.launch import DocFacts
from pytest_mindspeed_migration.scan.docs import read_doc


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for rel in ("mindspeed_mm/fsdp/models/toy/modeling.py", "examples/toy/run.sh", "examples/toy/sub/x.py"):
        path = tmp_path / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


def doc(repo: Path, text: str, rel: str = "examples/toy/README.md") -> DocFacts:
    (repo / rel).write_text(textwrap.dedent(text))
    return read_doc(repo, rel)


def missing(facts: DocFacts) -> dict[str, int]:
    return {ref.path: ref.line for ref in facts.references if ref.exists is False}


def test_dead_paths_are_found_in_prose_links_and_shell_blocks(repo: Path) -> None:
    facts = doc(
        repo,
        """\
        配置`examples/toy/gone.sh`参数如下，参考 examples/toy/run.sh。
        See [the guide](../other/guide.md#part) and [this](run.sh).
        ```shell
        bash examples/toy/none.sh
        ```
        """,
    )
    assert missing(facts) == {"examples/toy/gone.sh": 1, "examples/other/guide.md": 2, "examples/toy/none.sh": 4}


@pytest.mark.parametrize(
    "line",
    [
        "run examples/toy/finetune_toy_xxB.sh or examples/toy/toy_xb.json",
        "run examples/toy/<name>.sh, examples/toy/${NAME}.sh, examples/{model}/a.sh, examples/toy/*.sh",
        "https://example.com/Ascend/MindSpeed-MM/blob/master/examples/toy/none.sh",
        "新建 `examples/toy/brand_new.sh`",
        "put data at data/none.json and ckpt/none.json",
        "[there](https://example.com/none.md)",
        "examples/custom_model/model.json",
    ],
)
def test_patterns_links_out_and_files_to_be_made_are_not_dead(repo: Path, line: str) -> None:
    assert missing(doc(repo, line + "\n")) == {}


def test_paths_inside_a_clone_of_another_project_are_not_ours(repo: Path) -> None:
    facts = doc(
        repo,
        """\
        ```bash
        git clone https://example.com/huggingface/diffusers.git
        cd diffusers
        python examples/dreambooth/train.py
        ```
        Edit `examples/dreambooth/train.py`, then `examples/toy/gone.sh` of MindSpeed-MM.
        """,
    )
    assert missing(facts) == {"examples/toy/gone.sh": 6}


def test_a_copy_over_several_lines_arrives_in_the_repo(repo: Path) -> None:
    facts = doc(
        repo,
        """\
        ```shell
        HF_PATH="/download/Toy"
        MM_PATH="/home/me/MindSpeed-MM"
        cd ${HF_PATH}
        cp -f \\
          config.json \\
          configuration_toy.py \\
          ${MM_PATH}/mindspeed_mm/fsdp/models/toy/
        cd ${MM_PATH}
        ```
        """,
    )
    (copy,) = facts.copies
    assert (copy.destination, copy.names) == ("mindspeed_mm/fsdp/models/toy", ["config.json", "configuration_toy.py"])
    assert copy.line == 5


@pytest.mark.parametrize(
    ("command", "destination", "names"),
    [
        (
            "cp -r packages/core/src/toy_core ../MindSpeed-MM/mindspeed_mm/fsdp/models/toy/",
            "mindspeed_mm/fsdp/models/toy",
            ["toy_core"],
        ),
        ("ln -s /data/core mindspeed_mm/fsdp/models/toy/core", "mindspeed_mm/fsdp/models/toy", ["core"]),
        ("cp a.py $MM/mindspeed_mm/fsdp/models/toy", "mindspeed_mm/fsdp/models/toy", ["a.py"]),
        ("sudo mv a.py ./mindspeed_mm/fsdp/models/toy/b.py", "mindspeed_mm/fsdp/models/toy", ["b.py"]),
        (
            "git clone https://example.com/a/core.git mindspeed_mm/fsdp/models/toy/core",
            "mindspeed_mm/fsdp/models/toy",
            ["core"],
        ),
    ],
)
def test_the_forms_of_a_copy(repo: Path, command: str, destination: str, names: list[str]) -> None:
    (copy,) = doc(repo, f"```\n{command}\n```\n").copies
    assert (copy.destination, copy.names) == (destination, names)


def test_a_copy_told_in_prose_counts(repo: Path) -> None:
    (copy,) = doc(repo, "将权重目录下的 `tokenization_toy.py` 拷贝到 `mindspeed_mm/fsdp/models/toy/` 目录\n").copies
    assert (copy.destination, copy.names) == ("mindspeed_mm/fsdp/models/toy", ["tokenization_toy.py"])


def test_versions_come_from_pip_git_pins_and_tables(repo: Path) -> None:
    facts = doc(
        repo,
        """\
        | 软件 | 版本 |
        |---|---|
        | PyTorch | 2.7.1 |

        | lr | 0.1 |
        ```bash
        pip install "peft>=0.7,<1" accelerate==1.2.0 git+https://example.com/huggingface/transformers.git@7a833d1
        git clone https://example.com/a/Toy-Kernels.git
        cd Toy-Kernels
        git checkout c2e3d83f
        ```
        需要 librosa==0.11.0。
        """,
    )
    assert facts.requirements == {
        "torch": "==2.7.1",
        "peft": ">=0.7,<1",
        "accelerate": "==1.2.0",
        "transformers": "@7a833d1",
        "toy-kernels": "@c2e3d83f",
        "librosa": "==0.11.0",
    }
    assert facts.requirement_lines["librosa"] == 12


def test_requirements_files_are_read_line_by_line(repo: Path) -> None:
    facts = doc(
        repo,
        "# comment\ntransformers==4.57.1 # why\nnumpy\n-r more.txt\ndecord>=0.6 ; python_version<'3.12'\n",
        "examples/toy/requirements.txt",
    )
    assert facts.requirements == {"transformers": "==4.57.1", "decord": ">=0.6"}


def test_unreadable_documents_give_empty_facts(repo: Path) -> None:
    assert read_doc(repo, "none.md") == DocFacts(path="none.md")
