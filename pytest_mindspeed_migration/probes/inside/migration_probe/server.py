"""The warm interpreter: imports the target's packages once, then forks one clean child a request.

A request is one JSON line on a Unix socket; the answer is JSON lines: what the probe sends, and at last how the child
ended. The child leads a session of its own, so that everything it starts can be found and killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, NoReturn

from .boot import boot
from .describe import print_error
from .probes import run

_END_SECONDS = 3
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def serve(path: str) -> None:
    """Import the target's packages, then answer requests on the Unix socket `path` until the parent goes away.

    The socket is bound first: requests that arrive during the imports wait. A client that goes away ends its probe.
    """
    die_with_parent(signal.SIGTERM)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path + "+")
    listener.listen(64)
    os.rename(path + "+", path)  # whoever sees the path can connect
    boot(json.loads(os.environ.pop("MIGRATION_PROBE_BOOT", "{}")))
    wakeup, wake = socket.socketpair()
    for end in (wakeup, wake):
        end.setblocking(False)
    signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    selector.register(wakeup, selectors.EVENT_READ)
    children: dict[int, socket.socket] = {}
    signal.signal(signal.SIGTERM, lambda *_: _end(children))
    while True:
        for key, _ in selector.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                child = _fork(connection, [listener, wakeup, wake, *children.values()])
                if child:
                    children[child] = connection
                    selector.register(connection, selectors.EVENT_READ, child)
            elif key.fileobj is wakeup:
                wakeup.recv(4096)
                _reap(children, selector)
            else:  # nobody sends a second request: the client went away
                selector.unregister(key.fileobj)
                _kill_session(key.data, children)


def _fork(connection: socket.socket, inherited: list[socket.socket]) -> int:
    request = _read_line(connection)
    if not request:
        connection.close()
        return 0
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.setsid()
        die_with_parent()
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        for end in inherited:
            end.close()
        code = _answer(json.loads(request), connection)
    except BaseException:
        print_error()
    finally:
        leave(code)


def _answer(request: dict[str, Any], connection: socket.socket) -> int:
    log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)

    def send(event: dict[str, Any]) -> None:
        connection.sendall(json.dumps(event, ensure_ascii=True, default=str).encode() + b"\n")

    send({"event": "started", "pid": os.getpid()})
    run(request, send)
    return 0


def _reap(children: dict[int, socket.socket], selector: selectors.BaseSelector) -> None:
    """Tell the client how each ended child ended; orphans the children left are ours too, and end here."""
    while True:
        try:
            child, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not child:
            return
        connection = children.pop(child, None)
        if connection is None:
            continue
        _kill_session(child, children)
        if connection in selector.get_map():
            selector.unregister(connection)
        signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
        event = json.dumps({"event": "exit", "code": code, "signal": signalled}).encode()
        with contextlib.suppress(OSError):
            connection.sendall(b"\n" + event + b"\n")  # the child may have died in the middle of a line
        connection.close()


def _kill_session(leader: int, running: dict[int, socket.socket]) -> None:
    """End what a probe left running: its process group, and orphans that belong to no probe that still runs."""
    _kill(os.killpg, leader)
    for pid in _own_orphans():
        if pid not in running and _session_of(pid) not in running:
            _kill(os.kill, pid)


def _end(running: dict[int, socket.socket]) -> None:
    """End this process and all that its probes started: what a killed process leaves behind becomes our child."""
    for leader in running:
        _kill(os.killpg, leader)
    give_up = time.monotonic() + _END_SECONDS
    while time.monotonic() < give_up:
        for pid in _own_orphans():
            _kill(os.kill, pid)
        try:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.005)
        except ChildProcessError:
            break
    os._exit(0)


def _kill(how: Callable[[int, int], None], pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        how(pid, signal.SIGKILL)


def _own_orphans() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as stream:
            return [int(pid) for pid in stream.read().split()]
    except (OSError, ValueError):
        return []


def _session_of(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return 0


def _read_line(connection: socket.socket) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        part = connection.recv(65536)
        if not part:
            return b""
        line += part
    return line


def leave(code: int) -> NoReturn:
    """End this process at once; what it printed arrives, if the target has left streams that can be flushed."""
    try:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
    finally:
        os._exit(code)


def die_with_parent(how: signal.Signals = signal.SIGKILL) -> None:
    """Ask the kernel to send this process a signal when its parent ends. Linux only."""
    parent = os.getppid()
    _prctl(_PR_SET_PDEATHSIG, how)
    if os.getppid() != parent:
        os._exit(1)


def _prctl(option: int, value: int) -> None:
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None, use_errno=True).prctl(option, int(value), 0, 0, 0)
