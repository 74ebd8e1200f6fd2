# Acts only while it may, in a Guarded group: python3 lead.py. It ends when it can no longer know,
# and is started again, as the containers of a pod are.
import http.client, json, os, signal, threading, time, urllib.parse

resource = urllib.parse.urlsplit(os.environ["RESOURCE"])
permission, over = {}, False

# Opening a session ties the candidacy of this pod to this program.
agent = http.client.HTTPConnection(os.environ.get("ELECTOR_PATH", "127.0.0.1:4040"))
agent.request("GET", "/v1/session", headers={"Podesta-Session": "open"})
session = agent.getresponse()

def follow():
    global permission
    try:
        for line in session:
            if line.startswith(b"data: "):
                permission = json.loads(line[6:])
    finally:
        stop()  # the session has ended

def stop(*_):
    global over
    over = True

def may_act(p):  # a deadline is an instant on a clock that the agent and this program share
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    return p.get("mayAct") and now < p.get("deadlineBoottimeNanoseconds", 0)

def act(epoch):  # the resource refuses an epoch that is lower than one it has seen
    to = http.client.HTTPConnection(resource.netloc, timeout=1)
    to.request("PUT", resource.path, os.environ["HOSTNAME"], {"Podesta-Epoch": str(epoch)})
    if to.getresponse().status != 200:
        raise SystemExit("refused: another process coordinates")
    to.close()

signal.signal(signal.SIGTERM, stop)
threading.Thread(target=follow, daemon=True).start()
while not over:
    p = permission
    if may_act(p):  # right before each act
        act(p["epoch"])
    time.sleep(0.05)
# The work has stopped: only now does the session end, which gives the permission back.
