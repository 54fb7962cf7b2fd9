"""Output from one rank only."""

import logging
import os
import sys
from collections.abc import Callable


def print_rank(log: Callable[[str], object], message: str, rank: int = 0) -> None:
    """Call `log(message)` on the given global rank and nowhere else."""
    if int(os.environ.get("RANK", "0")) == rank:
        log(message)


def set_log_level(level: int = logging.INFO) -> None:
    """Send log records of this process to standard output, each with its rank."""
    ranks = f"Rank {os.environ.get('RANK', '0')} | Local Rank {os.environ.get('LOCAL_RANK', '0')}"
    form = f"[{ranks}] %(asctime)s %(levelname)s [%(name)s:%(lineno)d] => %(message)s"
    logging.basicConfig(level=level, format=form, stream=sys.stdout)
