"""The session with the agent, and until when a lead lasts. This is private; see podesta."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import select
import socket
import threading
import time
from typing import Callable, NamedTuple, Optional, Set

_MS = 1_000_000  # in nanoseconds
_REST = 10 * _MS  # at least so much of a permission is left when a lead is over
_HANGS = 50 * _MS  # work that goes on so long after its permission has ended hangs
_ROUNDING = _MS  # what whole milliseconds can be wrong by
_LONGEST = 3_600_000  # of remaining times, in ms: leases last seconds
_LINE = 64 << 10  # the longest line of the agent, in bytes; real ones have about 300
_PATIENCE = 1.0  # for a connection to the agent, which is on this machine; in seconds
_LATE = "the agent did not renew it in time"

_log = logging.getLogger("podesta")
_opening = threading.Lock()  # while a socket is opened, so that a fork knows of it
_open: Set[Sessions] = set()
_stopped = False


class Over(Exception):
    """The lead is over: this process may act no more, or cannot know that it may."""


class Unsuitable(Exception):
    """Nobody can lead here, and waiting does not help: the message says why."""


def now() -> int:
    """The clock that the agent and this program share, in nanoseconds."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Lead:
    """The right to act, under one epoch, until it is over.

    Any thread may call check(), or wait for the event over.
    """

    epoch: int  # pass it to every resource that you change
    over: threading.Event  # set when the lead is over; after a pause later than check() notices
    why: str  # why it is over; empty while it is not

    def __init__(self, permission: Permission, at: int, told: Callable[[], None]) -> None:
        self.epoch, self.over, self.why = permission.epoch, threading.Event(), ""
        self._until, self._renewed = permission.until, permission.renewed
        self._end = permission.end(at)
        self._left = False  # the work has ended
        self._hangs = 0  # from then on the work hangs; 0: its permission has not ended
        self._told = told

    def check(self) -> None:
        """Raise Over unless this process leads at this moment. It reads the clock each time."""
        self._look(now())
        if self.why:
            raise Over(self.why)

    def _look(self, at: int) -> None:
        if at >= self._end:
            self._finish(_LATE)

    # Several threads may call _finish. Whatever comes later, a lead that is over does not go on.
    def _finish(self, why: str) -> None:
        if not self.why:
            self.why = why
            self.over.set()
            self._told()

    def _extend(self, p: Permission, at: int) -> None:
        """Take a fresh permission; it counts if the agent has renewed the lease since the last."""
        self._until = max(self._until, p.until)
        if p.renews(self._renewed):
            self._renewed = p.renewed
            self._end = max(self._end, p._replace(until=self._until).end(at))


class Permission(NamedTuple):
    """What the agent permits. Instants are readings of now()."""

    granted: bool = False
    epoch: int = 0
    until: int = 0
    length: int = 0  # how long before until the agent sent it, in nanoseconds
    renewed: int = 0  # when the lease was last renewed; 0: the agent does not say

    def end(self, at: int) -> int:
        """When a lead is over under a permission that is received at that instant."""
        return self.until - max((self.until - at) // 4, _REST)

    def renews(self, renewed: int) -> bool:
        return self.renewed == 0 or self.renewed > renewed

    @staticmethod
    def parse(data: dict, opened: int, at: int) -> Permission:
        """The permission of an event that came at that instant, over a session opened before."""
        if not data["mayAct"]:
            return Permission()
        if not data.get("epoch"):
            raise Unsuitable("the group is Classic, and a lead needs a Guarded one (spec.safety)")
        length = max(0, min(int(data["remainingMilliseconds"]), _LONGEST)) * _MS
        until = int(data["deadlineBoottimeNanoseconds"])
        if not opened - _ROUNDING <= until - length <= at + _ROUNDING:
            raise Unsuitable(
                "the agent has another clock than this process (CLOCK_BOOTTIME): "
                "ask the agent in the same pod, not another one"
            )
        renewed = int(data.get("renewedBoottimeNanoseconds", 0))
        return Permission(True, int(data["epoch"]), until, length, renewed)


class Sessions:
    """Keeps a session with the agent open, and the next one after that.

    It sends each Lead to deliver, then an exception if it cannot go on, and None at the end, when
    no session is open. Calls into another thread go by way of `via`. Its own thread alone changes
    the state; others set flags and wake it.
    """

    def __init__(
        self,
        deliver: Callable[[object], object],
        via: Callable[..., object] = lambda function, *arguments: function(*arguments),
        over: Callable[[], None] = lambda: None,
    ) -> None:
        if not hasattr(time, "CLOCK_BOOTTIME"):
            raise Unsuitable("agents run on Linux: this system has no CLOCK_BOOTTIME")
        address = os.environ.get("ELECTOR_PATH") or "127.0.0.1:4040"
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise Unsuitable(f"ELECTOR_PATH must be like 127.0.0.1:4040, and is {address!r}")
        self._address, self._agent = address, (host.strip("[]"), int(port))
        self._deliver, self._via, self._over = deliver, via, over
        self.forked = False  # this is the child of the process whose sessions these are
        self.ended = False  # no session is open, and none will be
        self._closed = False
        self._lead: Optional[Lead] = None  # the newest of this session
        self._until = 0  # the latest deadline of this session
        self._token = ""  # of the question that is to be answered
        self._socket: Optional[socket.socket] = None
        self._answer: Optional[socket.socket] = None
        with _opening:
            self._awake, self._wakes = socket.socketpair()
            self._awake.setblocking(False)
            self._wakes.setblocking(False)
            _open.add(self)
        threading.Thread(target=self._run, name="podesta", daemon=True).start()

    def leave(self, lead: Lead) -> None:
        """The work of a lead has ended."""
        lead._left = True
        self.wake()

    def close(self) -> None:
        """Close the session, and open no other one. No work goes on."""
        self._closed = True
        self.wake()

    def wake(self) -> None:
        try:
            self._wakes.send(b".")
        except OSError:  # it is awake, or has ended
            pass

    def _run(self) -> None:
        failure: Optional[Exception] = None
        failures = 0
        while not (failure or self._ends()):
            self._heard, why = False, "the agent has ended the session"
            try:
                self._session()
            except OSError as error:
                why = f"the agent at {self._address} cannot be asked: {error}"
            except Exception as error:  # pylint: disable=broad-except
                failure, why = error, str(error)
            lead = self._lead
            if lead is not None:
                lead._finish(why)
            # Closing gives the permission back, so the work ends first, unless it hangs.
            while self._works() and now() < self._until + _HANGS:
                self._wait(self._until + _HANGS)
            self._shut()
            if not (failure or self._ends()):
                level = logging.INFO if self._heard else logging.WARNING
                _log.log(level, "%s; the next session follows", lead.why if lead else why)
            while self._works():
                self._wait(None)
            self._lead = None
            failures = 1 if self._heard else failures + 1
            until = now() + int(random.random() * min(50 << min(failures - 1, 6), 2000) * _MS)
            while not (failure or self._ends()) and now() < until:
                self._wait(until)
        with _opening:
            _open.discard(self)
            self._awake.close()
            self._wakes.close()
        if failure:
            self._call(self._deliver, failure)
        self.ended = True
        self._call(self._deliver, None)

    def _ends(self) -> bool:
        return _stopped or self._closed

    def _works(self) -> bool:
        return self._lead is not None and not self._lead._left and not self._closed

    def _session(self) -> None:
        """Open a session, and return when it is to be closed."""
        opened = now()
        self._last = self._newest = Permission()
        self._until = self._epoch = 0
        self._closing = False
        with _opening:
            self._socket = socket.create_connection(self._agent, _PATIENCE)
        self._request("GET /v1/session", "Podesta-Session: acknowledged", self._socket)
        unread, head = b"", True
        while not self._step(now()):
            if not self._wait(self._next(), self._socket):
                continue
            more = self._socket.recv(_LINE)
            if not more:
                raise ConnectionError("it has ended the session")
            *lines, unread = (unread + more).split(b"\n")
            for line in lines:
                if head and line.startswith(b"HTTP/") and b" 200 " not in line:
                    raise ConnectionError(line.decode(errors="replace").strip())
                head = head and line.strip() != b""
                if not head and line.startswith(b"data: "):
                    self._hear(json.loads(line[6:]), opened, now())
            if len(unread) > _LINE:
                raise ConnectionError("its line is too long")

    def _request(self, line: str, header: str, to: socket.socket) -> None:
        # HTTP/1.0, so that the answer has no chunks.
        head = [f"{line} HTTP/1.0", f"Host: {self._address}", header, "Content-Length: 0", "", ""]
        to.sendall("\r\n".join(head).encode())

    def _post(self, path: str, header: str) -> None:
        """Tell the agent something. It asks again if that fails."""
        try:
            if self._answer is not None:
                self._answer.close()  # nobody reads what the agent says to it
            with _opening:
                self._answer = socket.create_connection(self._agent, _PATIENCE)
            self._request(f"POST {path}", header, self._answer)
        except OSError:
            pass

    def _hear(self, data: dict, opened: int, at: int) -> None:
        if "acknowledge" in data:
            self._call(self._note, str(data["acknowledge"]))
            return
        if "mayAct" not in data:
            return
        p, self._heard = Permission.parse(data, opened, at), True
        last, self._last = self._last, p
        lead = self._lead
        if lead is not None:
            lead._look(at)
        if lead is not None and (not p.granted or p.epoch < self._epoch):
            p = Permission()
            if at < self._until:  # something is left that can be given back
                lead._finish("the agent revoked it")
                self._closing = True
        elif lead is not None and not lead.why:
            lead._extend(p, at)
        self._newest = p
        self._epoch, self._until = max(self._epoch, p.epoch), max(self._until, p.until)
        # If this program has read nothing for long, the agent asks for a longer lease.
        gap = at - (last.until - last.length)
        if last.length and p.length and last.epoch == p.epoch and gap > last.length // 2:
            self._post("/v1/paused", f"Podesta-Paused: {gap // _MS}")

    def _note(self, token: str) -> None:
        self._token = token
        self.wake()

    def _step(self, at: int) -> bool:
        """Do what is due, and report whether the session is to be closed."""
        if self._token:
            token, self._token = self._token, ""
            self._post("/v1/acknowledge", f"Podesta-Acknowledge: {token}")
        lead = self._lead
        if self._ends():
            self._closing = True
            if lead is not None:
                lead._finish("this program has stopped it")
        if lead is not None:
            lead._look(at)
            if self._works():
                if lead.why and at >= lead._until:
                    lead._hangs = lead._hangs or at + _HANGS
                return 0 < lead._hangs <= at
        if self._closing:
            return True
        if lead is not None and not self._newest.renews(lead._renewed):
            return False
        if self._newest.granted and at < self._newest.end(at):
            self._lead = Lead(self._newest, at, lambda: self._call(self._over))
            self._call(self._deliver, self._lead)
        return False

    def _next(self) -> Optional[int]:
        """When something is due, if nothing happens before."""
        lead = self._lead
        if lead is None or not self._works():
            return None
        return (lead._hangs or lead._until) if lead.why else lead._end

    def _wait(self, until: Optional[int], agent: Optional[socket.socket] = None) -> bool:
        """Wait until then, or until somebody wakes it.

        It reports whether the agent has sent something. While the machine is suspended
        this wait stands still; check() reads the clock itself.
        """
        poll = select.poll()
        poll.register(self._awake, select.POLLIN)
        if agent is not None:
            poll.register(agent, select.POLLIN)
        wait = None if until is None else max(0, math.ceil((until - now()) / _MS))
        ready = [fd for fd, _ in poll.poll(wait)]
        if self._awake.fileno() in ready:
            self._awake.recv(_LINE)
        return agent is not None and agent.fileno() in ready

    def _call(self, function: Callable[..., object], *arguments: object) -> None:
        try:
            self._via(function, *arguments)
        except RuntimeError:  # the event loop has ended
            self._closed = True

    def _shut(self) -> None:
        with _opening:
            for s in (self._socket, self._answer):
                if s is not None:
                    s.close()
            self._socket = self._answer = None

    def forget(self) -> None:
        """In a forked child: let go of the lead and of the session, which are the parent's."""
        self.forked = self._closed = True
        for s in (self._socket, self._answer, self._awake, self._wakes):
            if s is not None and s.fileno() >= 0:
                os.close(s.detach())
        lead = self._lead
        if lead is not None:
            lead.why = lead.why or "this process is a child that was forked: its parent leads"
            lead.over = threading.Event()  # a thread of the parent may have held its lock
            lead.over.set()


def stop(*_: object) -> None:
    """End every lead of this program, for good. It can be a signal handler.

    run returns when its work has ended, and lead() raises Stopped from then on.
    """
    global _stopped
    _stopped = True
    for sessions in list(_open):
        sessions.wake()


def _in_child() -> None:
    for sessions in list(_open):
        sessions.forget()
    _open.clear()
    _opening.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_opening.acquire,
        after_in_parent=_opening.release,
        after_in_child=_in_child,
    )
