"""Triage of logs: the first cause among ranks and chains, what is harmless, and what is not known."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import yaml
from rank_logs import HARMLESS, failing, healthy, interleave, peers_notice, progress, raised, summary

from pytest_mindspeed_migration.triage import Diagnosis, read_log, read_text
from pytest_mindspeed_migration.triage.lines import read_line

OOM = "RuntimeError: NPU out of memory. Tried to allocate 2.00 GiB"
DTYPE = "AssertionError: FSDP expects uniform original parameter dtype but got {torch.float32, torch.float16}"


def triage(*lines: str) -> Diagnosis:
    diagnosis = read_text("\n".join(lines) + "\n")
    assert diagnosis is not None
    return diagnosis


def traceback(exception: str, *frames: str) -> list[str]:
    lines = ["Traceback (most recent call last):"]
    for frame in frames or ("/mm/trainer.py",):
        lines += [f'  File "{frame}", line 3, in step', "    run()"]
    return [*lines, exception]


@pytest.mark.parametrize("seed", range(3))
def test_a_healthy_run_gives_nothing(seed: int) -> None:
    assert read_text("\n".join(healthy(60, seed)) + "\n") is None


@pytest.mark.parametrize("line", HARMLESS)
def test_a_harmless_line_alone_gives_nothing(line: str) -> None:
    assert read_text(line + "\n") is None


def test_an_empty_log_gives_nothing() -> None:
    assert read_text("") is None


@pytest.mark.parametrize(
    "exception", ["OSError: telemetry is off", OOM, "ImportError: libgomp.so.1: cannot open shared object file"]
)
def test_an_exception_that_was_handled_gives_nothing(exception: str) -> None:
    """The same process went on with its steps."""
    steps = healthy(10, first=31)
    assert read_text("\n".join([*healthy(), *traceback(exception), *steps]) + "\n") is None


def test_output_that_was_buffered_does_not_make_a_failure_look_handled() -> None:
    """stdout reaches the log when the process ends, after the traceback on stderr."""
    late = [f"[rank0]: {progress(step, 1.5)}" for step in range(31, 60)]
    ended = ["Traceback (most recent call last):", '  File "/mm/t.py", line 3, in <module>', "    main()", OOM]
    assert triage(*healthy(), *ended, *late).entry == "npu_out_of_memory"
    inner = [f"[rank0]: {line}" for line in traceback(OOM)]
    assert triage(*healthy(), *inner, *late, *summary(0)).entry == "npu_out_of_memory"


def test_an_earlier_handled_exception_is_not_the_cause() -> None:
    handled = [f"[rank0]: {line}" for line in traceback("ImportError: libcudart.so.12: cannot open shared object file")]
    log = "\n".join([*handled, *healthy()]) + "\n" + failing(DTYPE)
    diagnosis = triage(log)
    assert (diagnosis.entry, diagnosis.owner) == ("fsdp_dtype", "model")


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank{rank}]: ",
        "[default{rank}]:",
        "[default{rank}]:[rank{rank}]: ",
        "{rank}: ",
        "[1,{rank}]<stderr>:",
        "[Rank {rank} | Local Rank {rank}] ",
        "2026-03-01T10:00:00Z [rank{rank}]: ",
    ],
)
def test_ranks_that_are_interleaved_are_told_apart(prefix: str) -> None:
    """Two ranks fail line by line; the one that torchrun saw first is the cause."""
    both = interleave(
        {1: traceback("RuntimeError: [x.cc:5] Connection closed by peer [10.0.0.1]:24512"), 3: traceback(OOM)},
        7,
        prefix,
    )
    diagnosis = triage(*healthy(), *both, *summary(3))
    assert (diagnosis.entry, diagnosis.place.rank, diagnosis.status) == ("npu_out_of_memory", 3, "cause")
    assert ("peer_lost", 1) in {(folded.entry, folded.count) for folded in diagnosis.consequences}


def test_consequences_that_come_first_in_the_file_are_folded() -> None:
    noticed = interleave(peers_notice(2), 3)
    late = [f"[rank2]: {line}" for line in traceback(OOM)]
    diagnosis = triage(*healthy(), *noticed, *late, *summary(2))
    assert (diagnosis.entry, diagnosis.place.rank) == ("npu_out_of_memory", 2)
    assert {"hccl_socket_timeout", "peer_lost", "npu_asynchronous"} <= {
        folded.entry for folded in diagnosis.consequences
    }


def test_the_rank_that_failed_first_wins_over_the_order_of_lines() -> None:
    lines = [f"[rank0]: {line}" for line in traceback("KeyError: 'messages'")] + [
        f"[rank3]: {line}" for line in traceback(OOM)
    ]
    assert triage(*lines, *summary(3)).entry == "npu_out_of_memory"
    assert triage(*lines, *summary(0)).entry == "key_error_conversations"


def test_the_root_of_a_chain_is_the_cause_and_its_wrapper_is_not() -> None:
    diagnosis = triage(
        *traceback("ImportError: libhccl.so: cannot open shared object file: No such file or directory"),
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        *traceback(
            "RuntimeError: Failed to load the backend extension: torch_npu. You can disable extension auto-loading"
        ),
    )
    assert (diagnosis.entry, diagnosis.place.line, diagnosis.confidence) == ("cann_library", 4, "medium")
    assert "libhccl" in diagnosis.excerpt[-1]


def test_a_wrapper_whose_root_is_unknown_is_not_a_cause() -> None:
    diagnosis = triage(
        *traceback("toy.PluginError: something new"),
        "",
        "The above exception was the direct cause of the following exception:",
        "",
        *traceback("RuntimeError: Failed to load the backend extension: torch_npu."),
    )
    assert (diagnosis.status, diagnosis.entry) == ("consequence", "torch_npu_backend")


def test_what_was_raised_while_handling_something_known_is_the_cause() -> None:
    """transformers looks up a model_type, catches the KeyError and says what is wrong."""
    diagnosis = triage(
        *traceback("KeyError: 'toy_vl'"),
        "",
        "During handling of the above exception, another exception occurred:",
        "",
        *traceback(
            "ValueError: The checkpoint you are trying to load has model type `toy_vl` but "
            "Transformers does not recognize this architecture."
        ),
    )
    assert diagnosis.entry == "architecture_unknown"


def test_the_exception_of_a_worker_is_found_in_the_quoted_traceback() -> None:
    lines = [
        *traceback("KeyError: Caught KeyError in DataLoader worker process 0."),
        "Original Traceback (most recent call last):",
        '  File "/opt/py/torch/utils/data/_utils/worker.py", line 349, in _worker_loop',
        "    data = fetcher.fetch(index)",
        "KeyError: 'conversations'",
    ]
    diagnosis = triage(*(f"[rank1]: {line}" for line in lines))
    assert (diagnosis.entry, diagnosis.place.line) == ("key_error_conversations", 8)


def test_a_message_of_several_lines_is_read_to_its_end() -> None:
    diagnosis = triage(
        *traceback("pydantic_core._pydantic_core.ValidationError: 1 validation error for Toy"),
        "data.packing",
        "  Extra inputs are not permitted [type=extra_forbidden, input_value=True, input_type=bool]",
    )
    assert diagnosis.entry == "validation_extra"
    diagnosis = triage(
        *traceback(
            "RuntimeError: SetPrecisionMode:x.cpp:1 NPU function error: AclSetCompileopt(x), error code is 500001"
        ),
        "[ERROR] 2026-03-01-10:00:00 (PID:7, Device:0, RankID:0) ERR00100 PTA call acl api failed",
        "EC0010: [PID: 7] 2026-03-01-10:00:00.000.000 Failed to import Python module "
        "[ModuleNotFoundError: No module named 'attr'.].",
    )
    assert diagnosis.entry == "cann_python_dependency"


def test_the_source_line_of_an_assertion_without_message_is_looked_at() -> None:
    lines = ["Traceback (most recent call last):", '  File "/mm/modeling.py", line 9, in forward',
             "    assert self.img_context_token_id is not None", "AssertionError"]  # fmt: skip
    assert triage(*lines).entry == "image_context_token"


@pytest.mark.parametrize(
    ("tokens", "features", "entry", "owner"),
    [
        (0, 77, "image_tokens_absent", "data"),
        (500, 512, "image_tokens_truncated", "config"),
        (513, 512, "image_tokens_stray", "data"),
        (1024, 512, "image_tokens_twice", "data"),
        (1536, 512, "image_tokens_twice", "data"),
    ],
)
def test_the_same_words_are_told_apart_by_their_numbers(tokens: int, features: int, entry: str, owner: str) -> None:
    for text in (
        f"ValueError: Image features and image tokens do not match: tokens: {tokens}, features {features}",
        f"ValueError: Video features and video tokens do not match, tokens: {tokens}, features: {features}.",
    ):
        diagnosis = triage(failing(text))
        assert (diagnosis.entry, diagnosis.owner) == (entry, owner)
        assert diagnosis.alternatives


@pytest.mark.parametrize(
    ("allocated", "reserved", "free", "entry"),
    [("28.0", "28.5", "0.2", "npu_out_of_memory"), ("10.0", "28.0", "0.2", "npu_out_of_memory_fragments"),
     ("9.0", "9.5", "0.5", "npu_out_of_memory_other_process")],
)  # fmt: skip
def test_a_shortage_of_memory_is_told_apart_by_its_numbers(
    allocated: str, reserved: str, free: str, entry: str
) -> None:
    text = (
        f"RuntimeError: NPU out of memory. Tried to allocate 512.00 MiB (NPU 0; 29.50 GiB total capacity; "
        f"{allocated} GiB already allocated; {allocated} GiB current active; {free} GiB free; "
        f"{reserved} GiB reserved in total by PyTorch)"
    )
    assert triage(failing(text)).entry == entry


def test_an_import_that_failed_earlier_explains_an_id_that_is_not_registered() -> None:
    printed = "Import failed: mindspeed_mm.fsdp.models.toy. Error: No module named 'timm'"
    diagnosis = triage(printed, *healthy(3), failing("KeyError: \"ID 'toy' is not registered.\""))
    assert (diagnosis.entry, diagnosis.owner, diagnosis.place.line) == ("import_failed", "environment", 1)
    assert "key_error_model_id" in {folded.entry for folded in diagnosis.consequences}


def test_a_loss_that_is_nan_is_found_as_the_framework_prints_it() -> None:
    line = progress(1, float("nan"))
    assert "NAN" in line
    assert triage(*healthy(0), line).entry == "loss_nan_first_step"
    assert triage(*healthy(40), progress(41, float("nan"))).entry == "loss_nan_labels"


def test_a_misspelt_key_among_many_that_are_meant() -> None:
    meant = [f"[INFO] Automatically registered YAML field: data.dataset_param.attr.{name} (type: str, value: x)"
             for name in ("images", "messages", "role_tag", "system")]  # fmt: skip
    line = (
        "[INFO] Automatically registered YAML field: parallel.fsdp_plan.aply_modules (type: <class 'list'>, value: [])"
    )
    diagnosis = triage(*meant, line, *meant, *healthy())
    assert (diagnosis.entry, diagnosis.place.line, diagnosis.count) == ("yaml_key_misspelt", 5, 1)


def test_auxiliary_losses_may_be_zero() -> None:
    assert (
        read_text("iteration 3/10 | loss: 2.100000E+00 | aux_loss: 0.000000E+00 | balance loss: 0.0000 | lr: 0.0\n")
        is None
    )


def test_what_no_entry_fits_is_unknown_with_the_last_traceback_of_the_first_rank() -> None:
    first = [
        f"[rank3]: {line}"
        for line in [*traceback("toy.FirstError: a"), *traceback("toy.WeirdError: no idea", "/mm/toy.py")]
    ]
    other = [f"[rank1]: {line}" for line in traceback("toy.OtherError: b")]
    diagnosis = triage(*healthy(), *other, *first, *summary(3))
    assert (diagnosis.status, diagnosis.entry, diagnosis.owner, diagnosis.stage) == (
        "unknown",
        None,
        None,
        "verification",
    )
    assert (diagnosis.place.rank, diagnosis.excerpt[-1]) == (3, "toy.WeirdError: no idea")
    assert any("/mm/toy.py" in line for line in diagnosis.excerpt)
    assert not diagnosis.cause


def test_an_unknown_failure_before_a_known_one_lowers_the_confidence() -> None:
    lines = [f"[rank0]: {line}" for line in traceback("toy.WeirdError: no idea")] + [
        f"[rank1]: {line}" for line in traceback(DTYPE)
    ]
    diagnosis = triage(*lines)
    assert (diagnosis.entry, diagnosis.confidence) == ("fsdp_dtype", "medium")
    assert [folded.text["en"] for folded in diagnosis.others] == ["toy.WeirdError"]


def test_bytes_of_several_encodings_and_terminals() -> None:
    colour = "\x1b[31m[rank1]:\x1b[0m \x1b[1m"
    lines = [
        "中文日志".encode("gbk"),
        b"\r 10%|#  | 1/10\r 20%|## | 2/10\r100%|###| 10/10",
        *(f"{colour}{line}\x1b[0m".encode() for line in traceback(DTYPE)),
        "[rank1]: 错误：通信失败 failed".encode("gbk"),
    ]
    import io

    from pytest_mindspeed_migration.triage import _read

    diagnosis = _read(io.BytesIO(b"\r\n".join(lines) + b"\r\n"), None)
    assert diagnosis is not None
    assert (diagnosis.entry, diagnosis.place.rank, diagnosis.place.line) == ("fsdp_dtype", 1, 6)
    assert diagnosis.place.text == DTYPE


def test_gbk_and_utf8_lines_are_both_text() -> None:
    for encoding in ("gbk", "utf-8"):
        (line,) = read_line("[rank5]: 加载失败".encode(encoding), 1)
        assert (line.rank, line.text) == (5, "加载失败")
    assert [line.text for line in read_line(b"a 1%\ra 2%\r", 1)] == ["a 1%", "a 2%"]


def test_a_diagnosis_goes_to_json() -> None:
    document = json.loads(json.dumps(triage(failing(OOM)).to_json()))
    assert document["entry"] == "npu_out_of_memory"
    assert document["consequences"][0]["first"]["line"] > 0


def test_counts_of_many_ranks() -> None:
    lines = interleave({rank: traceback(OOM) for rank in range(64)}, 1)
    diagnosis = triage(*healthy(), *lines)
    assert (diagnosis.count, len(diagnosis.ranks)) == (64, 64)


def test_a_file_is_read_like_its_text(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(failing(OOM).encode())
    assert read_log(path) == read_text(failing(OOM))


def _bench() -> list[tuple[str, str, str, bool]]:
    place = os.environ.get("MIGRATION_BENCH")
    if not place:
        return []
    entries = yaml.safe_load((Path(place) / "bug_reports.yaml").read_text(encoding="utf-8"))
    return [
        (
            f"{entry['id']}-{index}",
            entry["owner"],
            line,
            "never a cause" in entry["root_cause"] or entry["id"].startswith("NPU-00"),
        )
        for entry in entries
        for index, line in enumerate([entry["example_line"], *entry.get("more_examples", [])])
    ]


@pytest.mark.parametrize(("name", "owner", "line", "alone"), _bench())
def test_bug_reports_have_their_owner(name: str, owner: str, line: str, alone: bool) -> None:
    text = "\n".join([*healthy(), *raised(line)]) if alone else failing(line)
    assert triage(text).owner == owner
