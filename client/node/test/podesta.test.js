// What the package does beside an agent that says what a test tells it to. examples/languages runs
// it beside real agents, which it kills and pauses.
import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import test from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { Over, Unsuitable, run } from "../podesta.js";
import { EPOCH, HOUR, aborted, agent, now, running } from "./fake.js";

const skip = process.platform === "linux" ? false : "agents run on Linux";

/** A test beside an agent. */
const beside = (name, f) =>
  test(name, { skip, timeout: 60_000 }, async (t) => f(t, await agent(t)));

/** The lead of a session that permits it for an hour. */
async function led(t, a, options) {
  const r = running(t, run, options), s = await a.session();
  s.permit(HOUR);
  return { r, s, lead: await r.lead() };
}

/** Returns when the program has read all that the session was told. */
async function read(a, s) {
  s.send({ acknowledge: "A" });
  const answer = await a.heard("/v1/acknowledge");
  assert.equal(answer.headers["podesta-acknowledge"], "A");
}

async function over(lead, why) {
  await aborted(lead.signal);
  assert.throws(lead.check, Over);
  assert.match(lead.signal.reason.message, why);
}

beside("work that returns gives the lead up", async (t, a) => {
  const { r, s, lead } = await led(t, a);
  lead.check();
  assert.equal(lead.epoch, EPOCH);
  assert.ok(s.open);
  r.ends(() => "done");
  assert.equal(await r.result, "done");
  await s.closed;
  assert.throws(lead.check, Over);
});

beside("work that throws gives the lead up", async (t, a) => {
  const { r, s } = await led(t, a);
  r.ends(() => { throw new TypeError("wrong"); });
  await assert.rejects(r.result, TypeError);
  await s.closed;
});

/** Has the program read a clock that is this machine's, and later by so much. */
function later(t, milliseconds) {
  const read = fs.readFileSync;
  fs.readFileSync = () => `${(now() + milliseconds) / 1000} 0`;
  syncBuiltinESMExports();
  t.after(back);
  return back;

  function back() {
    fs.readFileSync = read;
    syncBuiltinESMExports();
  }
}

beside("a lead is over after three quarters", async (t, a) => {
  const { lead } = await led(t, a);
  const back = later(t, 0.74 * HOUR); // as after a pause
  lead.check();
  back();
  later(t, 0.76 * HOUR);
  assert.throws(lead.check, Over);
  assert.throws(lead.check, Over);
});

beside("a lead that is not renewed is over", async (t, a) => {
  const r = running(t, run), s = await a.session(), renewed = now();
  s.permit(400, { renewed });
  const lead = await r.lead();
  await over(lead, /did not renew/);
  s.permit(HOUR, { renewed }); // not renewed since
  r.ends(() => { throw lead.signal.reason; });
  await read(a, s);
  s.permit(HOUR);
  (await r.lead()).check(); // over the same session
  assert.equal(a.sessions.items.length, 0);
});

// Nothing is left to give back, and the agent may have the lease again.
beside("a revocation after the deadline keeps the session", async (t, a) => {
  const r = running(t, run), s = await a.session(), deadline = now() + 110;
  s.permit(100);
  const lead = await r.lead();
  await aborted(lead.signal);
  r.ends(() => {});
  while (now() < deadline) await sleep(1);
  s.revoke();
  s.permit(HOUR, { epoch: EPOCH + 1 });
  assert.equal((await r.lead()).epoch, EPOCH + 1);
  assert.ok(s.open);
});

beside("an event loop that stands still is found by check", async (t, a) => {
  const r = running(t, run), s = await a.session();
  s.permit(200);
  const { signal, check } = await r.lead();
  const until = now() + 220;
  while (now() < until);
  assert.ok(!signal.aborted);
  assert.throws(check, Over);
  assert.ok(signal.aborted);
});

beside("a renewed lead goes on", async (t, a) => {
  const { s, lead } = await led(t, a);
  s.permit(HOUR, { epoch: EPOCH + 1 }); // an epoch may grow
  await read(a, s);
  lead.check();
  assert.equal(lead.epoch, EPOCH);
});

beside("a lead that is told the same renewal again is over in time", async (t, a) => {
  const r = running(t, run), s = await a.session(), renewed = now();
  s.permit(HOUR / 2, { renewed });
  const lead = await r.lead();
  s.permit(HOUR, { renewed });
  await read(a, s);
  lead.check();
  later(t, 0.38 * HOUR);
  assert.throws(lead.check, Over);
});

beside("a program that stood still keeps its session", async (t, a) => {
  const { r, s, lead } = await led(t, a);
  const back = later(t, 0.8 * HOUR);
  s.permit(HOUR, { at: now() + 0.8 * HOUR }); // too late for this lead
  await over(lead, /did not renew/);
  back();
  later(t, 2 * HOUR);
  await read(a, s); // it sees that the permission has ended, too
  r.ends(() => {});
  s.permit(HOUR, { at: now() + 2 * HOUR });
  const next = await r.lead();
  await read(a, s);
  next.check();
  assert.ok(s.open);
});

beside("a revoked session is closed when the work has ended", async (t, a) => {
  const { r, s, lead } = await led(t, a);
  s.revoke();
  await over(lead, /revoked/);
  await read(a, s);
  assert.ok(s.open);
  r.ends(() => sleep(HOUR, null, { signal: lead.signal })); // rejects with an AbortError
  await s.closed;
  (await a.session()).permit(HOUR, { epoch: EPOCH + 1 });
  assert.equal((await r.lead()).epoch, EPOCH + 1);
});

beside("a lower epoch revokes", async (t, a) => {
  const { s, lead } = await led(t, a);
  s.permit(HOUR, { epoch: EPOCH - 1 });
  await over(lead, /revoked/);
});

beside("a session that ends ends the lead", async (t, a) => {
  const failures = [];
  const { r, s, lead } = await led(t, a, { report: (failure) => failures.push(failure.message) });
  s.response.end();
  await over(lead, /ended the session/);
  assert.equal(a.sessions.items.length, 0); // the work goes on
  r.ends(() => {});
  await a.session();
  assert.match(failures.join(), /ended the session/);
});

beside("work that hangs loses the session", async (t, a) => {
  const r = running(t, run), s = await a.session(), sent = now();
  s.permit(100);
  await r.lead();
  await s.closed;
  assert.ok(now() >= sent + 100 + 50 - 10, "too early");
  assert.equal(a.sessions.items.length, 0);
  r.ends(() => {});
  await a.session();
});

beside("what the program cannot read does not give back", async (t, a) => {
  const { r, s, lead } = await led(t, a);
  s.send({ mayAct: true, epoch: EPOCH });
  await aborted(lead.signal);
  await sleep(50);
  assert.ok(s.open);
  r.ends(() => {});
  await assert.rejects(r.result, Unsuitable);
  await s.closed;
});

beside("it says for how long it stood still", async (t, a) => {
  const r = running(t, run), s = await a.session();
  s.permit(500);
  await r.lead();
  const until = now() + 300;
  while (now() < until);
  s.permit(500);
  const told = Number((await a.heard("/v1/paused")).headers["podesta-paused"]);
  assert.ok(told >= 250 && told < HOUR, `${told} ms`);
});

beside("a signal ends it when the work has ended", async (t, a) => {
  const { r, s, lead } = await led(t, a);
  r.stop.abort();
  await over(lead, /stopped/);
  assert.ok(s.open);
  r.ends(() => lead.check());
  assert.equal(await r.result, undefined);
  await s.closed;
});

beside("a signal ends it without a lead", async (t, a) => {
  const r = running(t, run), s = await a.session();
  r.stop.abort();
  assert.equal(await r.result, undefined);
  await s.closed;
});

beside("a signal ends the wait for an agent", async (t) => {
  process.env.ELECTOR_PATH = "127.0.0.1:1";
  const stop = new AbortController();
  await run(() => assert.fail("nobody leads"), {
    signal: stop.signal,
    report: () => stop.abort(),
  });
});

beside("a Classic group is refused", async (t, a) => {
  const r = running(t, run);
  (await a.session()).send({ mayAct: true });
  await assert.rejects(r.result, { name: "Unsuitable", message: /Classic/ });
});

for (const ahead of [2_000, -2_000_000]) {
  beside(`a clock that is ${ahead} ms ahead is refused`, async (t, a) => {
    const r = running(t, run);
    (await a.session()).send({
      mayAct: true,
      epoch: EPOCH,
      deadlineBoottimeNanoseconds: (now() + ahead + 800) * 1e6,
      remainingMilliseconds: 800,
    });
    await assert.rejects(r.result, /another clock/);
  });
}

test("other systems are refused", async (t) => {
  const platform = Object.getOwnPropertyDescriptor(process, "platform");
  Object.defineProperty(process, "platform", { ...platform, value: "darwin" });
  t.after(() => Object.defineProperty(process, "platform", platform));
  await assert.rejects(run(() => {}), /Linux/);
});
