"""Starts `weft serve` and talks to it."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import uuid

from support import BIN, CLEAN, MODEL, SystemTest, TIMEOUT
from waiting import eventually

GREEDY = {"temperature": 0, "max_tokens": 12}
CHAT = {"messages": [{"role": "user", "content": "Tell me a story about a fox."}], **GREEDY}


class Reply:
    def __init__(self, response):
        self.status = response.status
        self.headers = {k.lower(): v for k, v in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    def events(self):
        """The data of a stream of events, [DONE] included."""
        return [line[6:] for line in self.body.decode().split("\n") if line.startswith("data: ")]


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=TIMEOUT)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Server:
    """A process and its address. `key` is sent with every request."""

    def __init__(self, folder, *flags, env=None, key=None, model=MODEL, launcher=(), **kwargs):
        self.key = key
        self.log_path = folder / f"serve.{uuid.uuid4().hex}.log"
        command = [*launcher, str(BIN / "weft"), "serve", *(["-m", str(model)] if model else []),
                   "--port", "0", "-c", "1024", "-np", "2", *map(str, flags)]
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, env={**CLEAN, **(env or {})}, **kwargs)
        self.address = self.wait_for(r"listening on (\S+)\n").group(1)

    @property
    def log(self):
        return self.log_path.read_text("utf-8", "replace")

    def wait_for(self, pattern):
        """Waits until the log has this pattern."""
        def found():
            ended = self.process.poll() is not None
            match = re.search(pattern, self.log)
            assert match or not ended, f"no {pattern!r} in the log:\n{self.log}"
            return match
        return eventually(found, lambda: f"{pattern!r} in the log:\n{self.log}")

    def connection(self):
        if self.address.startswith("unix:"):
            return UnixConnection(self.address[5:])
        return http.client.HTTPConnection(self.address.split("//")[1], timeout=TIMEOUT)

    def request(self, method, path, body=None, headers=None):
        sent = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        sent.update(headers or {})
        if isinstance(body, dict):
            body = json.dumps(body).encode()
        connection = self.connection()
        try:
            connection.request(method, path, body, sent)
            return Reply(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **kwargs):
        return self.request("GET", path, **kwargs)

    def post(self, path, body, **kwargs):
        return self.request("POST", path, body, **kwargs)

    def slot(self, action, name, slot=0):
        """Saves or restores a slot."""
        return self.post(f"/slots/{slot}?action={action}", {"filename": name})

    def wait_ready(self):
        eventually(lambda: self.get("/health").status == 200, lambda: self.log)
        return self

    def metric(self, name):
        """The sum of a metric over its labels; None if there is none."""
        text = self.get("/metrics").body.decode()
        found = re.findall(rf"(?m)^weft_{name}(?:\{{.*\}})? (\S+)$", text)
        return sum(map(float, found)) if found else None

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """SIGTERM, and the exit code."""
        self.signal(signal.SIGTERM)
        return self.process.wait(TIMEOUT)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class ServeTest(SystemTest):
    def serve(self, *flags, **kwargs):
        server = Server(self.folder, *flags, **kwargs)
        self.addCleanup(server.kill)
        return server.wait_ready()
