# Acts only while it may, in a Guarded group: python3 lead.py. It ends when it can no longer know,
# and is started again, as the containers of a pod are.
import http.client, json, os, signal, socket, threading, time, urllib.parse

address = os.environ.get("ELECTOR_PATH", "127.0.0.1:4040")
resource = urllib.parse.urlsplit(os.environ["RESOURCE"])
over = False

class Session:  # opening one ties the candidacy of this pod to this program
    def __init__(self):
        self.permission, self.granted, self.ended, self.question = {}, False, False, None
        agent = http.client.HTTPConnection(address)
        agent.request("GET", "/v1/session", headers={"Podesta-Session": "acknowledged"})
        self.socket, self.events = agent.sock, agent.getresponse()
        threading.Thread(target=self.follow, daemon=True).start()

    def follow(self):
        try:
            for line in self.events:
                if not line.startswith(b"data: "):
                    continue
                event = json.loads(line[6:])
                if "acknowledge" in event:
                    self.question = event["acknowledge"]
                else:
                    self.permission = event
                    self.granted = self.granted or event["mayAct"]
        finally:
            self.ended = True

    def acknowledge(self):  # the agent asks again if it gets no answer
        token, self.question = self.question, None
        if token:
            to = http.client.HTTPConnection(address, timeout=1)
            try:
                to.request("POST", "/v1/acknowledge", headers={"Podesta-Acknowledge": token})
                to.getresponse()
            except OSError:
                pass
            to.close()

    def revoked(self):
        return self.granted and not self.permission["mayAct"]

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)

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
session = Session()
# A child that was forked must not hold the session when this process has died.
os.register_at_fork(after_in_child=lambda: os.close(session.socket.detach()))
while not (over or session.ended):
    session.acknowledge()  # from here, because it says that this loop goes on
    p = session.permission
    if may_act(p):  # right before each act
        act(p["epoch"])
    elif session.revoked():  # the work has stopped, and closing gives back what is left
        last, session = session, Session()
        last.close()
    time.sleep(0.05)
# The work has stopped: only now does the session end, which gives the permission back.
