"""For bench/serve.py: servers as processes, and requests to them."""

import asyncio
import json
import os
import pathlib
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

TICKS = os.sysconf("SC_CLK_TCK")
LOADED = 600  # seconds in which a model must be loaded
# Threads of weft serve with this name, and those that they start, compute models.
COMPUTING = "models"


class Program:
    """A server that can be started: a name and a command with {model}, {port}, {slots} and
    {context} (tokens of all slots)."""

    def __init__(self, text):
        self.name, equals, command = text.partition("=")
        if not equals:
            raise ValueError(f"must be NAME=COMMAND, got '{text}'")
        self.command = shlex.split(command)

    def start(self, model, slots, context_of_slot):
        return Server(self, {"model": model, "slots": slots, "context": slots * context_of_slot})


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


class Server:
    """A process that answers. A context manager."""

    def __init__(self, program, values):
        self.port = free_port()
        command = [part.format(**values, port=self.port) for part in program.command]
        with tempfile.NamedTemporaryFile("wb", prefix="weft-bench-", delete=False) as log:
            self.log = pathlib.Path(log.name)
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log)
        end = time.monotonic() + LOADED
        while self.status("/health") != 200:
            if self.process.poll() is not None or time.monotonic() > end:
                self.__exit__()
                sys.exit(f"{shlex.join(command)}: does not answer, exit {self.process.poll()}")
            time.sleep(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.unlink(missing_ok=True)

    def status(self, path):
        try:
            return self.get(path)[0]
        except OSError:
            return 0

    def get(self, path):
        """Status and body."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode("utf-8", "replace")

    def metrics(self):
        """Sums of the samples of weft serve, by name."""
        sums = {}
        for name, value in re.findall(r"^weft_(\w+)(?:\{.*\})? (\S+)$", self.get("/metrics")[1],
                                      re.MULTILINE):
            sums[name] = sums.get(name, 0) + float(value)
        return sums

    def cpu(self):
        """CPU seconds of the process, and those of threads that do not compute."""
        everything = own = 0
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            head, fields = (task / "stat").read_text().rsplit(")", 1)
            ticks = sum(map(int, fields.split()[11:13]))
            everything += ticks
            own += ticks * (head.split("(", 1)[1] != COMPUTING)
        return everything / TICKS, own / TICKS

    def memory(self):
        """Resident bytes that are not pages of files."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"RssAnon:\s+(\d+)", status)[1]) << 10


def post(path, body, headers=b""):
    """The bytes of a request; `body` is bytes or JSON."""
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    return (b"POST %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%b"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
            % (path.encode(), headers, len(body)) + body)


class Answer:
    """The parts of an answer as they came, with the seconds since the request. Nothing is parsed
    before the answer is complete: that would take CPU time from the server."""

    def __init__(self, parts):
        self.parts = parts
        self.raw = b"".join(data for _, data in parts)
        head, _, rest = self.raw.partition(b"\r\n\r\n")
        self.status = int(head[9:12] or 0)
        self.body = unchunked(rest) if b"chunked" in head.lower() else rest

    @property
    def json(self):
        return json.loads(self.body)

    def events(self):
        """The objects of a stream."""
        return [json.loads(line[6:]) for line in self.body.decode().splitlines()
                if line.startswith("data: {")]

    def times(self):
        """When each event of a stream came."""
        times, seen = [], b""
        for at, data in self.parts:
            times += [at] * (seen + data).count(b"data: {")
            seen = (seen + data)[-6:]  # shorter than the counted text
        return times


def unchunked(data):
    parts, at = [], 0
    while at < len(data):
        end = data.index(b"\r\n", at)
        n = int(data[at:end].split(b";")[0], 16)
        parts.append(data[end + 2:end + 2 + n])
        at = end + 4 + n
    return b"".join(parts)


async def ask(server, request, leave_after=None):
    """The answer to a request. `leave_after`: closes the connection after this many seconds."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    start, parts = time.perf_counter(), []
    try:
        writer.write(request)
        if leave_after is not None:
            await asyncio.sleep(leave_after)
            return None
        while data := await reader.read(1 << 16):
            parts.append((time.perf_counter() - start, data))
    finally:
        writer.close()
    return Answer(parts)


def completion(prompt, n_tokens, **fields):
    return {"prompt": prompt, "max_tokens": n_tokens, "ignore_eos": True, "temperature": 0,
            "stream": True, "model": "x", "stream_options": {"include_usage": True}, **fields}
