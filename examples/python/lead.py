# Acts only while it leads: python3 lead.py. It needs the package podesta.
import os, signal, urllib.request
import podesta

def work(lead):
    while True:
        fields = {"Podesta-Epoch": str(lead.epoch)}  # the resource refuses one that is stale
        put = urllib.request.Request(
            os.environ["RESOURCE"], os.environ["HOSTNAME"].encode(), fields, method="PUT")
        lead.check()  # right before each act: raises podesta.Over
        urllib.request.urlopen(put, timeout=1).close()
        lead.over.wait(0.05)

signal.signal(signal.SIGTERM, podesta.stop)  # the work ends first
podesta.run(work)
