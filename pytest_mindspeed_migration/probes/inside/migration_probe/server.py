"""The warm interpreter: imports the target's packages once, then forks one clean child a request.

A request is one JSON line on a Unix socket; the answer is JSON lines: what the probe sends, and at last how the child
ended. The child leads a session of its own, so that everything it starts can be found and killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import selectors
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from .boot import boot
from .covered import import_ahead
from .describe import print_error
from .isolate import one_thread
from .loaded_once import leave_word, load_ahead
from .probes import run
from .probes.plugins import import_known

_END_SECONDS = 3
_MOST_PREPARED = 12  # interpreters with plugins imported: each takes about 100 MB of its own
_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def serve(path: str) -> None:
    """Import the target's packages, then answer requests on the Unix socket `path` until the parent goes away.

    The socket is bound first: requests that arrive during the imports wait. A client that goes away ends its probe.
    """
    die_with_parent(signal.SIGTERM)
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    listener = _listen(path)
    boot(json.loads(os.environ.pop("MIGRATION_PROBE_BOOT", "{}")))
    import_ahead()
    one_thread()
    _Server(listener).run()


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(path + "+")
    listener.listen(64)
    os.rename(path + "+", path)  # whoever sees the path can connect
    return listener


class _Server:
    """Forks a child a request; for requests of one kind also an interpreter that has imported their plugins already.

    A request of one line `{"prepare": {...}}` asks for such an interpreter: `key`, `address` (of its socket), `log` and
    `request`, whose plugins it imports. It is started when none is alive, and answers requests as this one does.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._children: dict[int, socket.socket] = {}
        self._prepared: dict[str, int] = {}
        self._refused: set[str] = set()
        self._wakeup, self._wake = socket.socketpair()
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Answer requests until the parent goes away."""
        gc.collect()
        gc.freeze()  # what is here is shared with the children as long as nobody writes to it
        for end in (self._wakeup, self._wake):
            end.setblocking(False)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(self._wakeup, selectors.EVENT_READ)
        signal.signal(signal.SIGTERM, lambda *_: _end(self._children, list(self._prepared.values())))
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    connection, _ = self._listener.accept()
                    self._take(connection)
                elif key.fileobj is self._wakeup:
                    self._wakeup.recv(4096)
                    self._reap()
                else:  # nobody sends a second request: the client went away
                    self._selector.unregister(key.fileobj)
                    self._kill_session(key.data)

    def _take(self, connection: socket.socket) -> None:
        line = _read_line(connection)
        if not line:
            connection.close()
            return
        request = json.loads(line)
        if "prepare" in request:
            self._prepare(request["prepare"])
            with contextlib.suppress(OSError):
                pid = self._prepared.get(request["prepare"]["key"])
                connection.sendall(json.dumps({"event": "prepared", "pid": pid}).encode() + b"\n")
            connection.close()
            return
        load_ahead(request)
        child = os.fork()
        if child:
            self._children[child] = connection
            self._selector.register(connection, selectors.EVENT_READ, child)
        else:
            self._in_child(lambda: _answer(request, connection))

    def _prepare(self, wanted: dict[str, Any]) -> None:
        if wanted["key"] in self._prepared or wanted["key"] in self._refused or len(self._prepared) == _MOST_PREPARED:
            return
        try:
            listener = _listen(wanted["address"])
        except OSError:  # no such socket can be made: its probes import the plugins themselves
            self._refused.add(wanted["key"])
            return
        child = os.fork()
        if not child:
            self._in_child(lambda: _serve_prepared(wanted, listener))
        listener.close()
        self._prepared[wanted["key"]] = child

    def _in_child(self, work: Callable[[], int]) -> NoReturn:
        """Lead a session of its own, without what belongs to this process, and end with `work`."""
        code = 70
        try:
            os.setsid()
            die_with_parent()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGTERM):
                signal.signal(number, signal.SIG_DFL)
            for end in (self._listener, self._wakeup, self._wake, *self._children.values()):
                end.close()
            code = work()
        except BaseException:
            print_error()
        finally:
            leave(code)

    def _reap(self) -> None:
        """Tell the client how each ended child ended; orphans the children left are ours too, and end here."""
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not child:
                return
            for key in [key for key, pid in self._prepared.items() if pid == child]:
                del self._prepared[key]  # the next who asks for it gets another one, unless it could not be made
                self._refused.update([key] if os.WIFEXITED(status) else [])
                self._kill_session(child)
            connection = self._children.pop(child, None)
            if connection is None:
                continue
            self._kill_session(child)
            if connection in self._selector.get_map():
                self._selector.unregister(connection)
            signalled = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None
            event = json.dumps({"event": "exit", "code": code, "signal": signalled}).encode()
            with contextlib.suppress(OSError):
                connection.sendall(b"\n" + event + b"\n")  # the child may have died in the middle of a line
            connection.close()

    def _kill_session(self, leader: int) -> None:
        """End what a process left running: its group, and orphans that belong to nothing that still runs."""
        _kill(os.killpg, leader)
        running = {*self._children, *self._prepared.values()}
        for pid in _own_orphans():
            if pid not in running and _session_of(pid) not in running:
                _kill(os.kill, pid)


def _serve_prepared(wanted: dict[str, Any], listener: socket.socket) -> int:
    """Import the plugins of a request and answer requests with them; an exit code when that cannot be done.

    A thread that a plugin has started would not be there in a child: such plugins are imported in each. Libraries
    that keep threads of their own start them again after a fork.
    """
    _print_to(wanted["log"])
    os.makedirs(wanted["request"]["work"], exist_ok=True)
    import_known(wanted["request"])
    leave_word(wanted["address"] + ".loaded")
    if threading.active_count() > 1:
        return 3
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _Server(listener).run()
    return 0


def _answer(request: dict[str, Any], connection: socket.socket) -> int:
    _print_to(request["log"])

    def send(event: dict[str, Any]) -> None:
        connection.sendall(json.dumps(event, ensure_ascii=True, default=str).encode() + b"\n")

    send({"event": "started", "pid": os.getpid()})
    run(request, send)
    return 0


def _print_to(path: str) -> None:
    log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    for stream in (1, 2):
        os.dup2(log, stream)
    os.close(log)


def _end(running: Iterable[int], prepared: Iterable[int]) -> None:
    """End this process and all that its probes started: what a killed process leaves behind becomes our child.

    Where it does not (outside Linux), the interpreters with plugins imported end what is theirs.
    """
    for leader in prepared:
        _kill(os.kill, leader, signal.SIGTERM)
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


def _kill(how: Callable[[int, int], None], pid: int, by: int = signal.SIGKILL) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        how(pid, by)


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
