"""`scan.shell`: what a launch script starts, sets, writes and names."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path

import pytest

from pytest_mindspeed_migration.facts.launch import ScriptFacts
from pytest_mindspeed_migration.scan import repo_paths
from pytest_mindspeed_migration.scan.shell import read_script

TRAINER = "mindspeed_mm/fsdp/train/trainer.py"
CONFIG = "examples/toy/toy_config.yaml"


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    for rel in (TRAINER, CONFIG, "examples/toy/data.json", "pretrain.py"):
        path = tmp_path / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    return tmp_path


def script(repo: Path, text: str, rel: str = "examples/toy/run.sh") -> ScriptFacts:
    (repo / rel).write_text(textwrap.dedent(text))
    return read_script(repo, rel)


def missing(facts: ScriptFacts) -> dict[str, int]:
    return {ref.path: ref.line for ref in facts.references if ref.exists is False}


FULL = r"""
    #!/bin/bash
    source /usr/local/Ascend/set_env.sh
    export NON_MEGATRON=true  # needed
    NPUS_PER_NODE=8
    NNODES=2
    WORLD_SIZE=$(($NPUS_PER_NODE*$NNODES))

    DISTRIBUTED_ARGS="
        --nproc_per_node $NPUS_PER_NODE \
        --nnodes ${NNODES} \
        --node_rank=0
    "
    logfile=$(date +%Y%m%d)_$(date +%H%M%S)
    mkdir -p logs
    stdbuf -oL torchrun $DISTRIBUTED_ARGS mindspeed_mm/fsdp/train/trainer.py \
        examples/toy/toy_config.yaml --flag 1 \
        2>&1 | tee logs/train_${logfile}.log
    TIME=`grep "elapsed" %s | awk -F ':' '{print$2}' | head -n 200`
"""


def test_a_launch_command_is_read_with_its_options_config_and_ranks(repo: Path) -> None:
    facts = script(repo, FULL)
    (command,) = facts.commands
    assert (command.launcher, command.program, command.config) == ("torchrun", TRAINER, CONFIG)
    assert command.options == {"--nproc_per_node": "8", "--nnodes": "2", "--node_rank": "0"}
    assert command.arguments == [CONFIG, "--flag", "1"]
    assert facts.variables["WORLD_SIZE"] == "16"
    assert facts.environment == {"NON_MEGATRON": "true"}
    assert missing(facts) == {}


@pytest.mark.parametrize(("read", "same"), [("logs/train_${logfile}.log", True), ("${logfile}.log", False)])
def test_a_log_is_compared_with_its_unknown_parts_as_symbols(repo: Path, read: str, same: bool) -> None:
    facts = script(repo, FULL.replace("%s", read))
    assert set(facts.log_reads) <= set(facts.log_writes) if same else not set(facts.log_reads) & set(facts.log_writes)
    assert len(facts.log_reads) == 1


def test_a_launcher_option_given_twice_is_kept_with_both_values(repo: Path) -> None:
    facts = script(repo, f"ARGS='--node_rank 0 --node-rank 1'\ntorchrun $ARGS {TRAINER} {CONFIG}\n")
    assert facts.commands[0].repeated_options == {"--node_rank": ["0", "1"]}


def test_missing_files_are_named_where_the_variable_is_set(repo: Path) -> None:
    facts = script(
        repo,
        f"""\
        MM_DATA="./examples/toy/data.json"
        MM_MODEL="./examples/toy/model.json"
        UNUSED=examples/toy/never.json
        ARGS="
            --mm-data $MM_DATA \\
            --mm-model $MM_MODEL \\
            --fsdp2-config-path examples/toy/plan.yaml
        "
        torchrun {TRAINER} examples/toy/other.yaml $ARGS
        """,
    )
    assert missing(facts) == {
        "examples/toy/model.json": 2,
        "examples/toy/plan.yaml": 7,
        "examples/toy/other.yaml": 9,
    }


@pytest.mark.parametrize("line", ["for NODE in $NODES; do", "while read -r HOST NODE; do"])
def test_a_variable_that_a_loop_fills_is_known_without_a_value(repo: Path, line: str) -> None:
    facts = script(repo, f"NODES='0 1'\n{line}\n  torchrun --node_rank $NODE {TRAINER} {CONFIG}\ndone\n")
    assert "NODE" in facts.filled
    assert facts.commands[0].options == {"--node_rank": "${NODE}"}


@pytest.mark.parametrize("name", ["my_vlm", "custom_vlm", "new_vlm"])
def test_a_model_may_have_a_name_that_a_guide_would_invent(repo: Path, name: str) -> None:
    (repo / "examples" / name).mkdir()
    facts = script(repo, f"torchrun {TRAINER} examples/{name}/{name}_cfg.yaml\n", f"examples/{name}/run.sh")
    assert missing(facts) == {f"examples/{name}/{name}_cfg.yaml": 1}


@pytest.mark.parametrize(
    "line",
    [
        "python examples/toy/data.json --save-path examples/toy/out.json",
        'echo "see examples/toy/none.json"',
        "if [ ! -f examples/toy/none.json ]; then exit 1; fi",
        "python pretrain.py --config examples/toy/${SIZE}.json",
        "python pretrain.py examples/toy/xxB_config.yaml",
        'cat > examples/toy/new.json <<EOF\n{"a": "examples/toy/none.json"}\nEOF\npython pretrain.py examples/toy/new.json',  # noqa: E501
        "cp examples/toy/data.json examples/toy/copy.json; python pretrain.py examples/toy/copy.json",
        "cd /elsewhere\npython examples/toy/none.py",
        "python pretrain.py --load data/none.json ckpt/none.json",
        "# python examples/toy/none.py",
        "python -c 'import examples/toy/none.py'",
    ],
)
def test_what_is_no_use_of_a_repo_file_is_not_missing(repo: Path, line: str) -> None:
    assert missing(script(repo, line + "\n")) == {}


@pytest.mark.parametrize(
    "folder",
    [
        '$(cd "$(dirname "$0")/../.." && pwd)',
        "$(cd `dirname $0`; cd ../../; pwd)",
        '"$(dirname "${BASH_SOURCE[0]}")"/../..',
    ],
)
def test_the_script_finds_itself_by_dirname(repo: Path, folder: str) -> None:
    facts = script(repo, f"ROOT={folder}\ntorchrun $ROOT/{TRAINER} $ROOT/examples/toy/none.yaml\n")
    assert facts.commands[0].program == TRAINER
    assert missing(facts) == {"examples/toy/none.yaml": 2}


def test_a_script_of_another_project_is_external(repo: Path) -> None:
    facts = script(repo, "accelerate launch --config_file c.yaml ./examples/dreambooth/train.py --lr 1\n")
    assert facts.external
    assert facts.commands[0].program == "examples/dreambooth/train.py"
    assert not script(repo, "python pretrain.py\n").external


def test_python_m_launchers_and_arrays_are_understood(repo: Path) -> None:
    facts = script(
        repo, f"ARGS=(--nproc_per_node 4)\npython3 -m torch.distributed.run ${{ARGS[@]}} {TRAINER} {CONFIG}\n"
    )
    (command,) = facts.commands
    assert (command.launcher, command.program, command.options["--nproc_per_node"]) == ("torchrun", TRAINER, "4")


def test_a_partial_checkout_does_not_make_root_programs_missing(repo: Path) -> None:
    (repo / "pretrain.py").unlink()
    repo_paths._has_root_programs.cache_clear()
    facts = script(repo, "python pretrain_other.py mindspeed_mm\n")
    assert [(ref.path, ref.exists) for ref in facts.references] == [("pretrain_other.py", None)]


@pytest.mark.parametrize(
    "text",
    [
        "'",
        '"',
        "`",
        "$(",
        "${",
        "$((",
        "a=(",
        "<<EOF",
        "<<<",
        "case x in a) b;;",
        "\\",
        "A=$A$A\n" * 50,
        "\0",
        "#",
        "$(" * 500,
    ],
)
def test_odd_text_never_raises(repo: Path, text: str) -> None:
    script(repo, text)


@pytest.mark.parametrize("text", ["a=(" * 20_000, "$(" * 20_000, "A=/a/b$A$A\n" * 2_000, "cd a\n" * 5_000])
def test_hostile_text_costs_little_time(repo: Path, text: str) -> None:
    start = time.perf_counter()
    script(repo, text)
    assert time.perf_counter() - start < 3


def test_unreadable_scripts_say_why(repo: Path) -> None:
    (repo / "binary.sh").write_bytes(b"\x7fELF\0")
    assert read_script(repo, "binary.sh").problem == "binary"
    assert read_script(repo, "missing.sh").problem == "unreadable"


def test_files_that_are_run_by_their_path_alone_need_the_bit_for_it(repo: Path) -> None:
    for name, mode in (("prepare.py", 0o644), ("tool.sh", 0o755)):
        (repo / "examples/toy" / name).touch()
        (repo / "examples/toy" / name).chmod(mode)
    facts = script(
        repo,
        """
        python examples/toy/prepare.py --all
        bash examples/toy/run.sh
        if true; then
          examples/toy/prepare.py --all
        fi
        examples/toy/tool.sh
        cd examples/toy && ./prepare.py
        ./made.py
        """,
    )
    assert facts.not_executable == {"examples/toy/prepare.py": 5}
