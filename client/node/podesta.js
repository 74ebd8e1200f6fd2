// Act only while this process leads its group: the client of the Podesta agent in the same pod.
//
//   import { run } from "podesta";
//
//   await run(async ({ epoch, signal, check }) => {
//     for (;;) {
//       check(); // right before each effect: throws Over
//       await doSomething(epoch, signal);
//     }
//   });
//
// A lead is over when the agent revokes it or is gone, and when it is not renewed: three quarters
// of the permission have passed then, and the work has the rest to stop. After a pause of the event
// loop, of the program or of the machine, check() is the first to notice. The program may still be
// paused between check() and the effect. Where that matters, the resource must check the epoch.
//
// Times are readings of clock(), in milliseconds. podesta.d.ts says what is exported.
import { readFileSync } from "node:fs";
import http from "node:http";

export class Over extends Error {
  name = "Over";
}

export class Unsuitable extends Error {
  name = "Unsuitable";
}

const TICK = 10; // of /proc/uptime
const REST = 10; // at least so much of a permission is left when a lead is over
const HANGS = 50; // work that goes on so long after its permission has ended hangs
const ROUNDING = 1; // what whole milliseconds can be wrong by
const LONGEST = 3_600_000; // of remaining times: leases last seconds
const LINE = 64 << 10; // the longest line of the agent; real ones have about 300 characters
const PATIENCE = 1000; // for an answer that nothing depends on

/** CLOCK_BOOTTIME, the agent's clock. /proc/uptime is cut off: it is late by less than TICK. */
const clock = () => parseFloat(readFileSync("/proc/uptime", "utf8")) * 1000 + TICK;

const nothing = { granted: false, epoch: 0, until: 0, length: 0, renewed: 0 };

/** When a lead is over under a permission that is received at that instant. */
const endOf = (until, at) => until - Math.max((until - at) / 4, REST);

/** Whether the agent has renewed the lease since then. It is believed if it does not say when. */
const renews = (permission, since) => permission.renewed === 0 || permission.renewed > since;

/** The permission of an event that came at that instant, over a session that was opened before. */
function parse(data, opened, at) {
  if (!data.mayAct) return nothing;
  if (!data.epoch)
    throw new Unsuitable("the group is Classic, and a lead needs a Guarded one (spec.safety)");
  const length = Math.max(0, Math.min(data.remainingMilliseconds, LONGEST));
  const until = data.deadlineBoottimeNanoseconds / 1e6;
  const made = until - length;
  if (!(made >= opened - TICK - ROUNDING && made <= at + ROUNDING))
    throw new Unsuitable("the agent has another clock than /proc/uptime: " +
      "ask the agent in the same pod, not another one");
  const renewed = (data.renewedBoottimeNanoseconds ?? 0) / 1e6;
  return { granted: true, epoch: data.epoch, until, length, renewed };
}

/** What run knows of the lead that its work has. The work gets `given`. */
class Lead {
  #over = new AbortController();

  constructor(permission, at) {
    this.until = permission.until;
    this.renewed = permission.renewed;
    this.end = endOf(permission.until, at);
    this.left = false; // the work has ended
    this.hangsAt = 0; // from then on the work hangs; 0: its permission is not over yet
    this.given = Object.freeze({
      epoch: permission.epoch,
      signal: this.#over.signal,
      check: () => {
        this.look(clock());
        if (this.why) throw this.why;
      },
    });
  }

  /** Why the lead is over, an Over. It is undefined while the lead goes on. */
  get why() {
    return this.#over.signal.reason;
  }

  /** Ends the lead if its time has come. */
  look(at) {
    if (!(at < this.end)) this.finish("the agent did not renew it in time");
  }

  finish(why) {
    if (!this.why) this.#over.abort(new Over(`the lead is over: ${why}`));
  }

  /** Takes a fresh permission, which counts if the agent has renewed the lease since the last. */
  extend(permission, at) {
    this.until = Math.max(this.until, permission.until);
    if (!renews(permission, this.renewed)) return;
    this.renewed = permission.renewed;
    this.end = Math.max(this.end, endOf(this.until, at));
  }

  /** Whether the work has failed because its lead was over. */
  caused(error) {
    return error instanceof Over || error?.name === "AbortError";
  }
}

/** One session with the agent. Its result says how it ended: see run. */
class Session {
  #work;
  #url = `http://${process.env.ELECTOR_PATH || "127.0.0.1:4040"}`;
  #opened = clock();
  #request;
  #settle;
  #heard = false; // the agent has sent something
  #lead; // the newest; undefined until the agent permits one
  #last = nothing; // the event before
  #newest = nothing; // the newest permission that a lead may begin under
  #epoch = 0; // the highest
  #until = 0; // the latest deadline
  #closing = false; // the session is closed when the work has ended
  #ended; // why it has ended, or cannot go on
  #fatal = false; // no other one follows
  #final; // the work's own end
  #timer;
  #posts = 0; // under way

  constructor(work) {
    this.#work = work;
  }

  run(stop) {
    return new Promise((resolve) => {
      const stopped = () => this.#do(() => this.#close("this program has stopped it"));
      stop?.addEventListener("abort", stopped, { once: true });
      this.#settle = (result) => {
        stop?.removeEventListener("abort", stopped);
        resolve(result);
      };
      this.#do(() => this.#open());
    });
  }

  /** Does something, and what is due after it. An error ends the session. */
  #do(something) {
    try {
      something();
      this.#step(clock());
    } catch (error) {
      this.#fatal = true;
      this.#end(error);
      try {
        this.#step(clock());
      } catch { // without a clock it ends when the work has
        if (!this.#works()) this.#finish();
      }
    }
  }

  #open() {
    const headers = { "Podesta-Session": "acknowledged" };
    this.#request = http.get(`${this.#url}/v1/session`, { headers, agent: false }, (response) => {
      let unread = "";
      response.setEncoding("utf8");
      response.on("data", (text) => this.#do(() => {
        const lines = (unread + text).split("\n");
        unread = lines.pop();
        if (response.statusCode !== 200)
          return this.#end(new Error(`the agent answered ${response.statusCode}: ${text.trim()}`));
        if (unread.length > LINE) throw new Error("a line of the agent is too long");
        for (const line of lines)
          if (line.startsWith("data: ")) this.#hear(JSON.parse(line.slice(6)), clock());
      }));
    });
    this.#request.on("error", (error) => this.#do(() => this.#end(error)));
    const closed = new Error("the agent has ended the session");
    this.#request.on("close", () => this.#do(() => this.#end(closed)));
  }

  /** Tells the agent something. It asks again if that fails. */
  #post(path, headers) {
    if (this.#posts === 2) return;
    this.#posts++;
    const post = { method: "POST", headers, agent: false, timeout: PATIENCE };
    http.request(this.#url + path, post)
      .on("response", (response) => response.destroy())
      .on("timeout", function () { this.destroy(); })
      .on("error", () => {})
      .on("close", () => { this.#posts--; })
      .end();
  }

  #hear(data, at) {
    if (data.acknowledge)
      return this.#post("/v1/acknowledge", { "Podesta-Acknowledge": data.acknowledge });
    if (data.mayAct === undefined) return;
    let permission = parse(data, this.#opened, at);
    this.#heard = true;
    this.#reportGap(permission, at);
    const lead = this.#lead;
    lead?.look(at);
    if (lead && (!permission.granted || permission.epoch < this.#epoch)) {
      permission = nothing;
      // else nothing is left that could be given back
      if (at < this.#until) this.#close("the agent revoked it");
    } else if (lead && !lead.why) {
      lead.extend(permission, at);
    }
    this.#newest = permission;
    this.#epoch = Math.max(this.#epoch, permission.epoch);
    this.#until = Math.max(this.#until, permission.until);
  }

  /** Says for how long this program has read nothing, so that the agent asks for longer leases. */
  #reportGap(permission, at) {
    const last = this.#last;
    this.#last = permission;
    const gap = at - (last.until - last.length);
    const follows = last.length && permission.length && last.epoch === permission.epoch;
    if (follows && gap > last.length / 2)
      this.#post("/v1/paused", { "Podesta-Paused": Math.round(gap) });
  }

  /** Ends the lead, and the session when the work has ended. */
  #close(why) {
    this.#closing = true;
    this.#lead?.finish(why);
  }

  #end(error) {
    this.#ended ??= error;
    this.#close(error.message);
  }

  #works() {
    return this.#lead && !this.#lead.left;
  }

  /** Does what is due, and sets the timer for what will be. */
  #step(at) {
    clearTimeout(this.#timer);
    const lead = this.#lead;
    lead?.look(at);
    if (!this.#works()) {
      if (this.#closing) return this.#finish();
      const newest = this.#newest;
      const fresh = newest.granted && (!lead || renews(newest, lead.renewed));
      if (fresh && at < endOf(newest.until, at)) this.#begin(at);
    } else if (lead.why && at >= lead.until) {
      lead.hangsAt ||= at + HANGS;
      if (at >= lead.hangsAt) {
        this.#closing = true;
        this.#request.destroy(); // nothing is left to give back
      }
    }
    const { why, hangsAt, until, end } = this.#lead ?? {};
    if (!this.#works() || (hangsAt && at >= hangsAt)) return;
    const due = why ? hangsAt || until : end;
    // clock() advances by ticks. A timer of Node takes at most 2^31 - 1 ms.
    this.#timer = setTimeout(() => this.#do(() => {}), Math.max(1, Math.min(due - at, LONGEST)));
  }

  #begin(at) {
    const lead = this.#lead = new Lead(this.#newest, at);
    const ends = (result) => this.#do(() => {
      lead.left = true;
      if (lead.why && (!("error" in result) || lead.caused(result.error))) return;
      this.#final = result;
      this.#close("its work has ended");
    });
    Promise.resolve(lead.given).then(this.#work)
      .then((value) => ends({ value }), (error) => ends({ error }));
  }

  /** Closes the session. No work goes on. */
  #finish() {
    clearTimeout(this.#timer);
    this.#closing = true;
    this.#ended ??= this.#lead?.why;
    this.#request?.destroy();
    this.#settle({ final: this.#final, fatal: this.#fatal, why: this.#ended, heard: this.#heard });
  }
}

export async function run(work, { signal: stop, report = () => {} } = {}) {
  if (process.platform !== "linux")
    throw new Unsuitable("agents run on Linux: this system has no CLOCK_BOOTTIME");
  for (let failures = 0; !stop?.aborted;) {
    const { final, fatal, why, heard } = await new Session(work).run(stop);
    if (final && "error" in final) throw final.error;
    if (final) return final.value;
    if (fatal) throw why;
    if (stop?.aborted) return;
    report(why);
    failures = heard ? 1 : failures + 1;
    await pause(Math.random() * Math.min(50 * 2 ** (failures - 1), 2000), stop);
  }
}

function pause(milliseconds, stop) {
  return new Promise((resolve) => {
    const timer = setTimeout(done, milliseconds);
    stop?.addEventListener("abort", done, { once: true });
    function done() {
      clearTimeout(timer);
      stop?.removeEventListener("abort", done);
      resolve();
    }
  });
}
