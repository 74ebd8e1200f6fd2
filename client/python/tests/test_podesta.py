"""What the package does beside an agent that says what a test tells it to.

examples/languages runs it beside real agents, which it kills and pauses.
"""

from __future__ import annotations

import asyncio
import os
import queue
import threading
import time
import unittest
from unittest import mock

import podesta
from podesta import _session

from .fake import EPOCH, MS, PATIENCE, Agent, now

HOUR = 3_600_000


class Running:
    """podesta.run on a thread of its own, with work that the test drives."""

    def __init__(self, test):
        self.leads, self.results = queue.Queue(), queue.Queue()
        self.returns = queue.Queue()  # what the work does: a value that it returns, or an error
        threading.Thread(target=self._run, daemon=True).start()
        test.addCleanup(self._end)

    def _end(self):  # in case that the test has failed
        _session._stopped = True
        for _ in range(9):
            self.returns.put("the test has ended")
        for sessions in list(_session._open):
            sessions.wake()
        while _session._open:
            time.sleep(0.001)
        _session._stopped = False

    def _run(self):
        try:
            self.results.put(podesta.run(self._work))
        except BaseException as error:
            self.results.put(error)

    def _work(self, lead):
        self.leads.put(lead)
        result = self.returns.get(timeout=PATIENCE)
        if isinstance(result, BaseException):
            raise result
        return result

    def lead(self):
        return self.leads.get(timeout=PATIENCE)

    def result(self):
        return self.results.get(timeout=PATIENCE)


class Case(unittest.TestCase):
    def setUp(self):
        if not hasattr(time, "CLOCK_BOOTTIME"):
            self.skipTest("agents run on Linux")
        agent = Agent()
        self.agent = agent.__enter__()
        self.addCleanup(agent.__exit__)

    def await_(self, event):
        self.assertTrue(event.wait(PATIENCE))

    def later(self, milliseconds):
        """Set every clock forward, as a pause does."""
        clock = time.clock_gettime_ns
        later = mock.patch.object(
            time, "clock_gettime_ns", lambda c: clock(c) + int(milliseconds * MS)
        )
        later.start()
        self.addCleanup(later.stop)

    def assertOver(self, lead, why):
        self.await_(lead.over)
        with self.assertRaisesRegex(podesta.Over, why):
            lead.check()


class Run(Case):
    def test_work_that_returns_gives_the_lead_up(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        lead.check()
        self.assertEqual(lead.epoch, EPOCH)
        self.assertFalse(s.closed.is_set())
        r.returns.put("done")
        self.assertEqual(r.result(), "done")
        self.await_(s.closed)

    def test_work_that_raises_gives_the_lead_up(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        r.lead()
        r.returns.put(ZeroDivisionError())
        self.assertIsInstance(r.result(), ZeroDivisionError)
        self.await_(s.closed)

    def test_it_is_over_after_three_quarters(self):
        p = _session.Permission(until=1000 * MS)
        self.assertEqual(p.end(600 * MS), 900 * MS)
        self.assertEqual(p.end(970 * MS), 990 * MS)  # and 10 ms before the deadline

    def test_a_lead_that_is_not_renewed_is_over(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(400)
        lead = r.lead()
        self.assertOver(lead, "did not renew")
        s.permit(HOUR, renewed=lead._renewed)  # not renewed since
        r.returns.put(None)
        s.permit(HOUR)
        r.lead().check()  # over the same session
        self.assertTrue(self.agent.sessions.empty())

    def test_a_revocation_after_the_deadline_keeps_the_session(self):
        """Nothing is left to give back, and the agent may have the lease again."""
        r = Running(self)
        s = self.agent.session()
        s.permit(100)
        lead = r.lead()
        self.await_(lead.over)
        r.returns.put(None)
        while now() < lead._until:
            time.sleep(0.001)
        s.revoke()
        s.permit(HOUR, epoch=EPOCH + 1)
        self.assertEqual(r.lead().epoch, EPOCH + 1)
        self.assertFalse(s.closed.is_set())

    def test_check_reads_the_clock(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        with mock.patch.object(_session, "now", lambda: lead._end - 1):
            lead.check()
        with mock.patch.object(_session, "now", lambda: lead._end):  # as after a pause
            with self.assertRaises(podesta.Over):
                lead.check()
        with self.assertRaises(podesta.Over):  # for good
            lead.check()

    def test_a_renewed_lead_goes_on(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR // 4)
        lead = r.lead()
        before = lead._end
        s.permit(HOUR // 2, epoch=EPOCH + 1)  # an epoch may grow
        s.send(acknowledge="A")
        self.agent.heard("/v1/acknowledge")  # it has read all before
        lead.check()
        self.assertEqual(lead.epoch, EPOCH)
        after = lead._end
        self.assertGreater(after, before)
        s.permit(HOUR, epoch=EPOCH + 1, renewed=lead._renewed)  # not renewed since
        s.send(acknowledge="B")
        self.agent.heard("/v1/acknowledge")
        self.assertEqual(lead._end, after)

    def test_a_revoked_session_is_closed_when_the_work_has_ended(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        s.revoke()
        self.assertOver(lead, "revoked")
        s.send(acknowledge="A")
        self.agent.heard("/v1/acknowledge")
        self.assertFalse(s.closed.is_set())
        r.returns.put(podesta.Over())
        self.await_(s.closed)
        self.agent.session().permit(HOUR, epoch=EPOCH + 1)
        self.assertEqual(r.lead().epoch, EPOCH + 1)

    def test_a_lower_epoch_revokes(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        s.permit(HOUR, epoch=EPOCH - 1)
        self.assertOver(lead, "revoked")

    def test_a_session_that_ends_ends_the_lead(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        s.end()
        self.assertOver(lead, "ended the session")
        self.assertTrue(self.agent.sessions.empty())  # the work goes on
        r.returns.put(None)
        self.agent.session()

    def test_work_that_hangs_loses_the_session(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(100)
        lead = r.lead()
        self.await_(s.closed)
        self.assertGreaterEqual(now(), lead._until + 50 * MS)
        with self.assertRaises(queue.Empty):
            self.agent.sessions.get(timeout=0.2)
        r.returns.put(None)
        self.agent.session()

    def test_a_program_that_stood_still_keeps_its_session(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        self.later(0.8 * HOUR)
        s.permit(HOUR)  # too late for this lead
        self.assertOver(lead, "did not renew")
        self.later(2 * HOUR)
        s.send(acknowledge="A")
        self.agent.heard("/v1/acknowledge")  # it sees that the permission has ended, too
        r.returns.put(None)
        s.permit(HOUR)
        lead = r.lead()
        s.send(acknowledge="B")
        self.agent.heard("/v1/acknowledge")
        lead.check()
        self.assertFalse(s.closed.is_set())

    def test_what_the_program_cannot_read_does_not_give_back(self):
        """The session stays open until the work has ended."""
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        s.send(mayAct=True, epoch=EPOCH)
        self.await_(lead.over)
        self.assertFalse(s.closed.wait(0.05))
        r.returns.put(None)
        self.assertIsInstance(r.result(), KeyError)
        self.await_(s.closed)

    def test_it_says_for_how_long_it_stood_still(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(60_000)
        r.lead()
        at = now() - 40_000 * MS  # what was sent 40 s ago is read now
        with mock.patch.object(_session.Permission, "parse", staticmethod(
            lambda *_: _session.Permission(True, EPOCH, at + 60_000 * MS, 60_000 * MS, at)
        )):
            s.permit(60_000)
            s.permit(60_000)
            told = int(self.agent.heard("/v1/paused")["Podesta-Paused"])
        self.assertGreaterEqual(told, 40_000)

    def test_stop(self):
        r = Running(self)
        s = self.agent.session()
        s.permit(HOUR)
        lead = r.lead()
        podesta.stop()
        self.assertOver(lead, "stopped")
        self.assertFalse(s.closed.is_set())
        r.returns.put(podesta.Over())
        self.assertIsNone(r.result())
        self.await_(s.closed)
        with self.assertRaises(podesta.Stopped):
            with podesta.lead():
                pass

    def test_stop_without_a_lead(self):
        r = Running(self)
        s = self.agent.session()
        podesta.stop()
        self.assertIsNone(r.result())
        self.await_(s.closed)


class Unsuitable(Case):
    def refused(self, why, **data):
        r = Running(self)
        self.agent.session().send(**data)
        error = r.result()
        self.assertIsInstance(error, podesta.Unsuitable)
        self.assertRegex(str(error), why)

    def test_classic(self):
        self.refused("Classic", mayAct=True)

    def test_another_clock(self):
        for ahead in (2, -2000):
            at = now() + ahead * 1000 * MS
            self.refused("another clock", mayAct=True, epoch=EPOCH, remainingMilliseconds=800,
                         deadlineBoottimeNanoseconds=at + 800 * MS)

    def test_no_address(self):
        for address in ("localhost", "http://127.0.0.1", ":"):
            with mock.patch.dict(os.environ, ELECTOR_PATH=address):
                with self.assertRaisesRegex(podesta.Unsuitable, "ELECTOR_PATH"):
                    podesta.run(print)


class Elsewhere(unittest.TestCase):
    def test_another_system(self):
        if hasattr(time, "CLOCK_BOOTTIME"):
            self.addCleanup(setattr, time, "CLOCK_BOOTTIME", time.CLOCK_BOOTTIME)
            del time.CLOCK_BOOTTIME
        with self.assertRaisesRegex(podesta.Unsuitable, "Linux"):
            podesta.run(print)


class With(Case):
    def permitted(self):
        threading.Thread(target=lambda: self.opened(self.agent.session()), daemon=True).start()

    def opened(self, session):
        self.session = session
        session.permit(HOUR)

    def test_with(self):
        self.permitted()
        with podesta.lead() as lead:
            lead.check()
            self.assertFalse(self.session.closed.is_set())
        self.await_(self.session.closed)

    def test_a_forked_child_does_not_lead(self):
        self.permitted()
        with podesta.lead() as lead:
            child = os.fork()
            if child == 0:
                try:
                    lead.check()
                except podesta.Over:
                    os._exit(17 if lead.over.is_set() and not _session._open else 2)
                finally:
                    os._exit(1)
            self.assertEqual(os.waitpid(child, 0)[1] >> 8, 17)
            lead.check()
            self.assertFalse(self.session.closed.is_set())

    def test_a_child_that_is_forked_when_the_lead_is_over(self):
        self.permitted()
        with podesta.lead() as lead:
            self.session.revoke()
            self.await_(lead.over)
            child = os.fork()
            if child == 0:
                os._exit(17 if lead.over.is_set() else 1)
            self.assertEqual(os.waitpid(child, 0)[1] >> 8, 17)

    def test_a_forked_child_leaves_the_block(self):
        self.permitted()
        child = 0
        with podesta.lead() as lead:
            child = os.fork()
        if child == 0:
            os._exit(17)
        self.assertEqual(os.waitpid(child, 0)[1] >> 8, 17)

    def test_a_forked_child_does_not_run(self):
        def work(lead):
            nonlocal child
            child = os.fork()

        child = -1
        self.permitted()
        try:
            podesta.run(work)
        except podesta.Over:
            if child == 0:
                os._exit(17)
            raise
        self.assertEqual(os.waitpid(child, 0)[1] >> 8, 17)

    def test_async_with(self):
        async def main():
            async with podesta.lead() as lead:
                await asyncio.sleep(0)
                lead.check()
                self.assertFalse(self.session.closed.is_set())

        self.permitted()
        asyncio.run(main())
        self.await_(self.session.closed)

    def test_async_with_cancels_its_block(self):
        async def main():
            async with podesta.lead():
                self.session.revoke()
                await asyncio.sleep(PATIENCE)

        self.permitted()
        with self.assertRaisesRegex(podesta.Over, "revoked"):
            asyncio.run(main())
        self.await_(self.session.closed)

    def test_a_lead_that_is_over_before_the_block(self):
        async def main():
            task = asyncio.ensure_future(waits())
            await asyncio.sleep(0)
            session = self.agent.session()  # the event loop stands still
            session.permit(100)
            self.await_(session.closed)
            await task

        async def waits():
            async with podesta.lead():
                await asyncio.sleep(PATIENCE)

        with self.assertRaisesRegex(podesta.Over, "did not renew"):
            asyncio.run(main())

    def test_a_cancelled_task_stays_cancelled(self):
        async def main():
            async with podesta.lead():
                began.set()
                await asyncio.sleep(PATIENCE)

        async def cancels():
            nonlocal began
            began = asyncio.Event()
            task = asyncio.ensure_future(main())
            await began.wait()
            task.cancel()
            await task

        began = None
        self.permitted()
        with self.assertRaises(asyncio.CancelledError):
            asyncio.run(cancels())
        self.await_(self.session.closed)

    def test_a_task_that_is_cancelled_while_it_waits(self):
        async def main():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(waits(), 0.05)

        async def waits():
            async with podesta.lead():
                self.fail("nobody leads")

        asyncio.run(main())
        self.await_(self.agent.session().closed)

    def test_an_event_loop_that_stands_still_acknowledges_nothing(self):
        async def main():
            async with podesta.lead():
                self.session.send(acknowledge="A")
                with self.assertRaises(queue.Empty):
                    self.agent.told.get(timeout=0.1)
                await asyncio.sleep(0)
                self.assertEqual(self.agent.heard("/v1/acknowledge")["Podesta-Acknowledge"], "A")

        self.permitted()
        asyncio.run(main())


if __name__ == "__main__":
    unittest.main()
