"""Logs of runs on several ranks, made for tests: a healthy beginning, one failure, and what follows from it."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

RANKS = 4

# Lines that healthy runs write and that look like trouble.
HARMLESS = (
    "[W1130 10:00:01.512 compiler.cpp:88] Warning: 0 failed kernels, error rate 0.00 (function operator())",
    "2026-03-01 10:00:02,101 INFO [toy.metrics:12] => mean absolute error: 0.1234, failed samples: 0",
    "/opt/py/site-packages/torch/x.py:12: UserWarning: The error handler is not set, cannot find a handler",
    "2026-03-01 10:00:03,000 WARNING [toy.load:9] => no flash_attn: No module named 'flash_attn'",
    "[INFO] Automatically registered YAML field: data.dataset_param.attr.images (type: <class 'str'>, value: images)",
    "[WARNING] Please DO NOT tune args ['error_if_nonfinite']!",
    "Successfully imported: mindspeed_mm.fsdp.models.toy",
    "Errors will be written to /tmp/errors.log; 0 errors so far",
    "loading finance_nan_2024.json ... done",
    "WARNING:root:ImportError: cannot import name 'fused' from 'apex', using the plain one",
)


def healthy(steps: int = 30, seed: int = 0, first: int = 1) -> list[str]:
    """Lines of a run on RANKS ranks that trains for `steps` steps."""
    chance = random.Random(seed)
    lines = [f"[rank{index % RANKS}]: {text}" if index % 3 == 0 else text for index, text in enumerate(HARMLESS)]
    for shard in range(4):
        lines.append(f"\rLoading checkpoint shards: {shard * 25:3d}%|{'#' * shard}| {shard}/4 [00:0{shard}<00:02]")
    lines.append("")
    lines += [
        f"[Rank {rank} | Local Rank {rank}] 2026-03-01 10:00:0{rank},7 INFO [x:1] => Prepare data"
        for rank in range(RANKS)
    ]
    for step in range(first, first + steps):
        lines.append(progress(step, 1.0 + chance.random()))
        if step % 7 == 0:
            lines.append(chance.choice(HARMLESS))
    return lines


def progress(step: int, loss: float) -> str:
    """What rank 0 logs after a step."""
    return (
        f"[Rank 0 | Local Rank 0] 2026-03-01 10:01:00,123 INFO [mindspeed_mm.fsdp.train.train_engine:359] =>  "
        f"[2026-03-01 10:01:00] iteration {step:8d}/     100 | consumed samples: {step * 8:12d} | elapsed time per "
        f"iteration (ms): 512.3 | learning rate: 1.000000E-05 | global batch size:     8 | loss: {loss:.6E} | "
        "grad norm: 0.731 |"
    )


def raised(example: str) -> list[str]:
    """The example as Python prints it: with a traceback, when it is the line of an exception; else as it is."""
    if (
        "\n" in example.strip("\n")
        or re.match(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*: ", example) is None
        or "WARNING" in example
    ):
        return example.strip("\n").split("\n")
    if example.startswith(("E1", "E4", "EC", "EE", "EH", "EI", "EJ", "EZ")):
        return [example]
    return [
        "Traceback (most recent call last):",
        '  File "/mm/mindspeed_mm/fsdp/train/trainer.py", line 480, in <module>',
        "    trainer.train()",
        '  File "/mm/mindspeed_mm/fsdp/train/train_engine.py", line 210, in train',
        "    loss = self.train_step(batch)",
        "           ^^^^^^^^^^^^^^^^^^^^^^",
        example,
    ]


def interleave(by_rank: dict[int, Sequence[str]], seed: int = 0, prefix: str = "[rank{rank}]: ") -> list[str]:
    """The lines of several ranks as torchrun mixes them."""
    chance = random.Random(seed)
    left = {rank: list(lines) for rank, lines in by_rank.items()}
    mixed = []
    while left:
        rank = chance.choice(sorted(left))
        mixed.append(prefix.format(rank=rank) + left[rank].pop(0))
        if not left[rank]:
            del left[rank]
    return mixed


def peers_notice(failed: int) -> dict[int, list[str]]:
    """What the other ranks print when a peer has gone."""
    endings = (
        ["RuntimeError: [gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [10.0.0.1]:24512"],
        [
            "EI0006: [PID: 4711] 2026-03-01-10:05:00.123.456 Getting socket times out. Reason: Remote rank is silent",
            "        Solution: 1. Check the rank service processes with other errors or no errors in the cluster.",
        ],
        [
            "RuntimeError: The Inner error is reported as above. The process exits for this inner error, and the "
            "current working operator name is HcclAllreduce.",
            "Since the operator is called asynchronously, the stacktrace may be inaccurate.",
        ],
    )
    others = [rank for rank in range(RANKS) if rank != failed]
    return {
        rank: [
            "Traceback (most recent call last):",
            '  File "/mm/t.py", line 9, in step',
            "    dist.all_reduce(x)",
            *ending,
        ]
        for rank, ending in zip(others, endings, strict=True)
    }


def summary(failed: int, exitcode: int = 1) -> list[str]:
    """What torchrun prints at the end."""
    return [
        "W0301 10:05:10.000000 77 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 100 "
        "closing signal SIGTERM",
        f"E0301 10:05:11.000000 77 torch/distributed/elastic/multiprocessing/api.py:874] failed (exitcode: {exitcode}) "
        f"local_rank: {failed} (pid: 10{failed}) of binary: /opt/py/bin/python",
        "Traceback (most recent call last):",
        '  File "/opt/py/bin/torchrun", line 8, in <module>',
        "    sys.exit(main())",
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
        "============================================================",
        "mindspeed_mm/fsdp/train/trainer.py FAILED",
        "------------------------------------------------------------",
        "Root Cause (first observed failure):",
        "[0]:",
        "  time      : 2026-03-01_10:05:09",
        f"  rank      : {failed} (local_rank: {failed})",
        f"  exitcode  : {exitcode} (pid: 10{failed})",
        "  error_file: <N/A>",
        "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
        "============================================================",
    ]


def failing(example: str, failed: int = 2, seed: int = 0, prefix: str = "[rank{rank}]: ") -> str:
    """A log of a run in which rank `failed` prints `example`; the others notice, and torchrun sums up."""
    noticed = peers_notice(failed)
    first = [prefix.format(rank=failed) + line for line in raised(example)]
    return "\n".join([*healthy(seed=seed), *first, *interleave(noticed, seed, prefix), *summary(failed)]) + "\n"
