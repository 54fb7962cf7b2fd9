"""What a probe may use, and the processes that count as its own."""

from __future__ import annotations

import contextlib
import os
import signal
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


@dataclass(frozen=True)
class Limits:
    """Limits of one probe: wall clock in seconds, memory and printed output in bytes."""

    seconds: float
    memory: int
    output: int = 1 << 30


def default_memory() -> int:
    """Nine tenths of what this machine has, in bytes: enough for any probe, and the machine survives."""
    try:
        return int(os.sysconf("SC_PHYS_PAGES") * _PAGE * 0.9)
    except (OSError, ValueError, AttributeError):
        return 1 << 40


def session_memory(leader: int) -> int:
    """Resident bytes of all processes in the session that `leader` leads; 0 where /proc does not tell."""
    return sum(_resident(pid) for pid in session_processes(leader))


def session_processes(leader: int) -> list[int]:
    """The processes of a session; only the leader where /proc does not tell."""
    try:
        names = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return [leader]
    found = []
    for pid in names:
        with contextlib.suppress(OSError):
            if os.getsid(pid) == leader:
                found.append(pid)
    return found


def end_session(leader: int) -> None:
    """Kill every process of a session."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    for pid in session_processes(leader):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except (OSError, ValueError, IndexError):
        return 0
