"""An agent for the tests: it says what a test tells it to, and notes what it is told."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import threading
import time
from unittest import mock

PATIENCE = 60.0
MS = 1_000_000
EPOCH = 1048577


def now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Session:
    """One connection to /v1/session."""

    def __init__(self, connection):
        self._connection = connection
        self.closed = threading.Event()  # by the program
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        with contextlib.suppress(OSError):
            while self._connection.recv(1024):
                pass
        self._connection.close()
        self.closed.set()

    def send(self, **data):
        with contextlib.suppress(OSError):
            self._connection.sendall(f"event: e\ndata: {json.dumps(data)}\n\n".encode())

    def permit(self, milliseconds, epoch=EPOCH, renewed=None, **data):
        at = now()
        self.send(
            mayAct=True,
            epoch=epoch,
            deadlineBoottimeNanoseconds=at + milliseconds * MS,
            renewedBoottimeNanoseconds=at if renewed is None else renewed,
            remainingMilliseconds=milliseconds,
            **data,
        )

    def revoke(self):
        self.send(mayAct=False)

    def end(self):
        self._connection.shutdown(socket.SHUT_RDWR)


class Agent:
    """sessions gets each Session that is opened; told gets each POST as path and headers."""

    def __init__(self):
        self.sessions, self.told = queue.Queue(), queue.Queue()
        self._server = socket.create_server(("127.0.0.1", 0))
        self._address = "127.0.0.1:%d" % self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def __enter__(self):
        self._environment = mock.patch.dict(os.environ, ELECTOR_PATH=self._address)
        self._environment.start()
        return self

    def __exit__(self, *_):
        self._environment.stop()
        self._server.shutdown(socket.SHUT_RDWR)  # close alone would not end accept
        self._server.close()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                self._answer(self._server.accept()[0])

    def _answer(self, connection):
        head = b""
        while b"\r\n\r\n" not in head:
            head += connection.recv(1024)
        line, *headers = head.decode().strip().split("\r\n")
        method, path, _ = line.split()
        fields = dict(h.split(": ", 1) for h in headers)
        assert fields["Host"] == self._address, fields
        if (method, path) != ("GET", "/v1/session"):
            connection.sendall(b"HTTP/1.0 204 No Content\r\n\r\n")
            connection.close()
            self.told.put((path, fields))
            return
        assert fields["Podesta-Session"] == "acknowledged", fields
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\n")
        self.sessions.put(Session(connection))

    def session(self):
        return self.sessions.get(timeout=PATIENCE)

    def heard(self, path):
        """The headers of the next POST to a path."""
        while True:
            got, fields = self.told.get(timeout=PATIENCE)
            if got == path:
                return fields
