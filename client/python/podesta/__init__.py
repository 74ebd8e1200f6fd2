"""Act only while this process leads its group: the client of the Podesta agent in the same pod.

    import podesta

    def work(lead):
        while True:
            lead.check()  # right before each effect: raises Over
            do_something(lead.epoch)

    podesta.run(work)

run makes this process a candidate, and calls work each time that it leads. ``with podesta.lead()
as lead`` leads once; ``async with`` cancels its block in time. The group must be Guarded. The
environment variable ELECTOR_PATH is the agent's address; pods have it.

A lead is over when the agent revokes it or is gone, and when it is not renewed: three quarters of
the permission have passed then, and work has the rest to stop. After a pause of the program,
check() is the first to notice. The program may still be paused between check() and the effect.
Where that matters, the resource must check the epoch.

The package runs on Linux, where agents run. Elsewhere it can be imported, and run and lead raise
Unsuitable.
"""

from __future__ import annotations

import asyncio
import queue
from types import TracebackType
from typing import Callable, Optional, Type, TypeVar

from ._session import Lead, Over, Sessions, Unsuitable, stop

__all__ = ["Lead", "Leading", "Over", "Stopped", "Unsuitable", "lead", "run", "stop"]

_T = TypeVar("_T")


class Stopped(Exception):
    """This program leads no more, because stop() was called."""


def run(work: Callable[[Lead], _T]) -> Optional[_T]:
    """Call work each time that this process leads, and return what it returns.

    If work returns, or raises, before its lead is over, run gives the lead up at once, and ends
    with that. If the lead is over, work must return soon, or raise Over, as check() does. Then run
    waits for the next lead. It gives back the rest of the permission when work has ended, and not
    before. Work that goes on 50 ms after the permission has ended loses the session: this process
    is no candidate until it has returned. run returns None after stop().

    One lead may follow another under the same epoch, if this program was late and the agent has
    the lease still.
    """
    mail: queue.SimpleQueue[object] = queue.SimpleQueue()
    sessions = Sessions(mail.put)
    try:
        while True:
            lead = _lead(sessions, mail.get())
            if lead is None:
                return None
            try:
                result = work(lead)
                if not lead.over.is_set():
                    return result
            except Over:
                if not lead.over.is_set():
                    raise
            finally:
                sessions.leave(lead)
            if sessions.forked:
                raise Over("this process was forked while its parent led")
    finally:
        _close(sessions, mail)


def lead() -> Leading:
    """Return a context manager that waits until this process leads, and gives the lead up after it.

    ``async with`` cancels the block when the lead is over, and raises Over then. In ``with`` the
    block has to look itself: check() raises Over, and lead.over is a threading.Event.
    """
    return Leading()


class Leading:
    """What lead() returns. It can be used once."""

    async def __aenter__(self) -> Lead:
        self._task = asyncio.current_task()
        # Before the cancel of ours; tasks count them since Python 3.11.
        self._cancels = getattr(self._task, "cancelling", int)()
        loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[object] = asyncio.Queue()
        self._sessions = Sessions(self._queue.put_nowait, loop.call_soon_threadsafe, self._cancel)
        self._lead: Optional[Lead] = None
        self._cancelled = False
        try:
            self._lead = _lead(self._sessions, await self._queue.get())
            if self._lead is None:
                raise Stopped
            if self._lead.over.is_set():
                self._cancel()
            return self._lead
        except BaseException:
            self._sessions.close()
            raise

    def _cancel(self) -> None:
        if self._lead is not None and self._task is not None and not self._cancelled:
            self._cancelled = True
            self._task.cancel()

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        lead, self._lead = self._lead, None
        assert lead is not None
        self._sessions.close()
        others = self._cancelled and getattr(self._task, "uncancel", int)() > self._cancels
        while not (self._sessions.forked or self._sessions.ended):
            await self._queue.get()
        if self._cancelled and not others and kind is asyncio.CancelledError:
            raise Over(lead.why) from None

    def __enter__(self) -> Lead:
        self._mail: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._sessions = Sessions(self._mail.put)
        try:
            self._lead = _lead(self._sessions, self._mail.get())
            if self._lead is None:
                raise Stopped
            return self._lead
        except BaseException:
            _close(self._sessions, self._mail)
            raise

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        _close(self._sessions, self._mail)


def _lead(sessions: Sessions, message: object) -> Optional[Lead]:
    """The lead that the sessions have sent. None: there will be none."""
    if isinstance(message, BaseException):
        raise message
    return message if isinstance(message, Lead) else None


def _close(sessions: Sessions, mail: queue.SimpleQueue[object]) -> None:
    """Close the session, which gives the lead up, and wait until it is closed."""
    sessions.close()
    while not (sessions.forked or sessions.ended):
        mail.get()
