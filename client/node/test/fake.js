// An agent for the tests: it says what a test tells it to, and notes what it is told.
import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";

export const EPOCH = 1048577;
export const HOUR = 3_600_000;

const readProc = fs.readFileSync; // a test replaces what the program reads

/** The machine's clock, in milliseconds. */
export const now = () => parseFloat(readProc("/proc/uptime", "utf8")) * 1000;

/** Queue is bounded by what a test does. */
class Queue {
  items = [];
  waiting = [];

  put(item) {
    const next = this.waiting.shift();
    if (next) next(item);
    else this.items.push(item);
  }

  get() {
    if (this.items.length > 0) return Promise.resolve(this.items.shift());
    return new Promise((resolve) => this.waiting.push(resolve));
  }
}

class Session {
  open = true;

  constructor(response) {
    this.response = response;
    this.closed = once(response, "close").then(() => { this.open = false; });
  }

  send(data) {
    this.response.write(`event: e\ndata: ${JSON.stringify(data)}\n\n`);
  }

  permit(milliseconds, { epoch = EPOCH, at = now(), renewed = at } = {}) {
    this.send({
      mayAct: true,
      epoch,
      deadlineBoottimeNanoseconds: (at + milliseconds) * 1e6,
      renewedBoottimeNanoseconds: renewed * 1e6,
      remainingMilliseconds: milliseconds,
    });
  }

  revoke() {
    this.send({ mayAct: false });
  }
}

/** Starts an agent that ends with the test. */
export async function agent(t) {
  const sessions = new Queue(), told = new Queue();
  const server = http.createServer((request, response) => {
    if (request.method === "GET" && request.headers["podesta-session"] === "acknowledged") {
      response.flushHeaders();
      return sessions.put(new Session(response));
    }
    told.put(request);
    response.writeHead(204).end();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  process.env.ELECTOR_PATH = `127.0.0.1:${server.address().port}`;
  return {
    sessions,
    session: () => sessions.get(),
    /** The next request to a path. */
    async heard(path) {
      for (;;) {
        const request = await told.get();
        if (request.url === path) return request;
      }
    },
  };
}

/** Runs work that the test drives, until the test ends. */
export function running(t, run, options = {}) {
  const leads = new Queue(), results = new Queue(), stop = new AbortController();
  const result = run((lead) => {
    leads.put(lead);
    return results.get().then((f) => f());
  }, { signal: stop.signal, ...options });
  result.catch(() => {});
  t.after(async () => {
    stop.abort();
    results.put(() => {});
    await result.catch(() => {});
  });
  return {
    lead: () => leads.get(),
    ends: (f) => results.put(f), // how the work ends
    result,
    stop,
  };
}

/** Waits until a signal is aborted. */
export const aborted = (signal) => signal.aborted || once(signal, "abort");
