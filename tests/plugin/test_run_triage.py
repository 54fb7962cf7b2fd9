"""`--migrate-triage` and `--migrate-errors` on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

OOM = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/mm/train.py", line 3, in step
[rank1]:     run()
[rank1]: RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
"""

OWN = """\
toy:
  pattern: 'toy has gone'
  source: printed
  owner: data
  text: {en: no toy, zh: 没有玩具}
  cause: {en: It is lost., zh: 丢失。}
  fix: Buy one.
"""


def log(pytester: pytest.Pytester, text: str, name: str = "run.log") -> Path:
    path = pytester.path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_failed_run_is_explained(pytester: pytest.Pytester) -> None:
    log(pytester, OOM)
    result = pytester.runpytest_subprocess("--migrate-triage=run.log")
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "first cause: NPU out of memory [[]npu_out_of_memory]",
            "*at: rank 1, line 4: RuntimeError: NPU out of memory*",
            "*owner: config; goes to: config migration",
            "*fix: *",
            "*follows from it: 1 x The launcher's summary, first at line 5",
        ]
    )


def test_in_chinese(pytester: pytest.Pytester) -> None:
    log(pytester, OOM)
    result = pytester.runpytest_subprocess("--migrate-triage=run.log", "--migrate-lang=zh")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["首个根因：NPU 显存不足*", "*归属：配置，回流至：配置迁移"])


def test_a_healthy_run(pytester: pytest.Pytester) -> None:
    log(pytester, "iteration 1/2 | loss: 1.0 | lr: 1\niteration 2/2 | loss: 0.9 | lr: 1\n")
    result = pytester.runpytest_subprocess("--migrate-triage=run.log")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*run.log: no failure found"])


@pytest.mark.parametrize("place", ["none.log", "."])
def test_a_log_that_cannot_be_read_is_a_mistake_of_usage(pytester: pytest.Pytester, place: str) -> None:
    result = pytester.runpytest_subprocess(f"--migrate-triage={place}")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--migrate-triage: * cannot be read: *"])


def test_an_own_dictionary_by_option_ini_and_manifest(pytester: pytest.Pytester) -> None:
    log(pytester, "[rank0]: toy has gone\n")
    log(pytester, OWN, "own.yaml")
    log(pytester, "model_identity: {name: toy}\nerrors: own.yaml\n", "migration.yaml")
    assert pytester.runpytest_subprocess("--migrate-triage=run.log").ret == 0
    for option in ("--migrate-errors=own.yaml", "--migrate-manifest=migration.yaml"):
        result = pytester.runpytest_subprocess("--migrate-triage=run.log", option)
        assert result.ret == 1
        result.stdout.fnmatch_lines(["first cause: no toy [[]toy]", "*owner: data*", "*fix: Buy one."])
    pytester.makeini("[pytest]\nmigrate_errors = own.yaml\n")
    assert pytester.runpytest_subprocess("--migrate-triage=run.log").ret == 1


def test_a_malformed_dictionary_is_named_with_file_and_key(pytester: pytest.Pytester) -> None:
    log(pytester, "fine\n")
    log(pytester, OWN.replace("owner: data", "owner: nobody"), "own.yaml")
    result = pytester.runpytest_subprocess("--migrate-triage=run.log", "--migrate-errors=own.yaml")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*own.yaml*toy.owner: 'nobody' is not one of*"])


def test_neither_target_nor_torch_is_needed(pytester: pytest.Pytester) -> None:
    log(pytester, OOM)
    log(pytester, "import nothing_like_this\n", "conftest_not_loaded.py")
    pytester.makepyfile(test_own="raise SystemExit('collected')\n")
    assert pytester.runpytest_subprocess("--migrate-triage=run.log").ret == 1
