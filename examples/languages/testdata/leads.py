# Acts only while it leads, as ../../python/lead.py does, by async with.
import asyncio, contextlib, os, signal, urllib.request
import podesta

def act(epoch):  # the event loop waits, so that nothing is under way when the lead is given up
    fields = {"Podesta-Epoch": str(epoch)}
    put = urllib.request.Request(
        os.environ["RESOURCE"], os.environ["HOSTNAME"].encode(), fields, method="PUT")
    urllib.request.urlopen(put, timeout=1).close()

async def main():
    end = asyncio.current_task().cancel
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, end)
    while True:
        with contextlib.suppress(podesta.Over):
            async with podesta.lead() as lead:
                while True:
                    lead.check()
                    act(lead.epoch)
                    await asyncio.sleep(0.05)

asyncio.run(main())
