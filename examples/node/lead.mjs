// Acts only while it may, in a Guarded group: node lead.mjs. It ends when it can no longer know,
// and is started again, as the containers of a pod are.
import { readFileSync } from "node:fs";
import http from "node:http";
import readline from "node:readline";
import { setTimeout } from "node:timers/promises";

const { RESOURCE, HOSTNAME, ELECTOR_PATH = "127.0.0.1:4040" } = process.env;
let permission = {}, granted, session, question, over = false;

// /proc/uptime is CLOCK_BOOTTIME, the agent's clock, cut off after 10 ms: it is at most this late.
const clock = () => parseFloat(readFileSync("/proc/uptime", "utf8")) * 1e9 + 1e7;

function open() { // opening a session ties the candidacy of this pod to this program
  const headers = { "Podesta-Session": "acknowledged" };
  const mine = http.get(`http://${ELECTOR_PATH}/v1/session`, { headers }, (response) => {
    readline.createInterface(response).on("line", (line) => {
      if (!line.startsWith("data: ") || mine !== session) return;
      const p = JSON.parse(line.slice(6));
      if (p.acknowledge) return void (question = p.acknowledge);
      if (p.deadlineBoottimeNanoseconds - p.remainingMilliseconds * 1e6 > clock() + 1e6)
        throw new Error("the agent has another clock than /proc/uptime");
      permission = p;
      granted ||= p.mayAct;
    });
  }).on("close", () => { over ||= mine === session; }); // the agent has ended it
  permission = {}, granted = false, session = mine;
}

async function acknowledge(token) { // the agent asks again if it gets no answer
  const headers = { "Podesta-Acknowledge": token }, signal = AbortSignal.timeout(1000);
  question = undefined;
  await fetch(`http://${ELECTOR_PATH}/v1/acknowledge`, { method: "POST", headers, signal }).catch(() => {});
}

const mayAct = (p) => p.mayAct && clock() < p.deadlineBoottimeNanoseconds;

async function act(epoch) { // the resource refuses an epoch that is lower than one it has seen
  const headers = { "Podesta-Epoch": epoch }, signal = AbortSignal.timeout(1000);
  const response = await fetch(RESOURCE, { method: "PUT", headers, body: HOSTNAME, signal });
  if (!response.ok) throw new Error("refused: another process coordinates");
}

process.on("SIGTERM", () => { over = true; });
for (open(); !over; await setTimeout(50)) {
  if (question) await acknowledge(question); // from here, because it says that this loop goes on
  const p = permission;
  if (mayAct(p)) await act(p.epoch); // right before each act
  else if (granted && !p.mayAct) { // revoked: the work has stopped, and closing gives back what is left
    const last = session;
    open();
    last.destroy();
  }
}
// The work has stopped: only now does the session end, which gives the permission back.
process.exit();
