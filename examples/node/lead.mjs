// Acts only while it leads: node lead.mjs. It needs the package podesta.
import { setTimeout } from "node:timers/promises";
import { run } from "podesta";

const { RESOURCE, HOSTNAME } = process.env, stop = new AbortController();

async function work({ epoch, signal, check }) {
  for (;;) {
    const headers = { "Podesta-Epoch": epoch }; // the resource refuses one that is stale
    check(); // right before each act: throws Over
    const answer = await fetch(RESOURCE, { method: "PUT", headers, body: HOSTNAME, signal });
    if (!answer.ok) throw new Error("refused: another process leads");
    await setTimeout(50, null, { signal });
  }
}

process.once("SIGTERM", () => stop.abort()); // the work ends first
await run(work, { signal: stop.signal });
