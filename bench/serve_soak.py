"""For bench/serve.py: many requests of all kinds to `weft serve`, with clients that leave and bad
input. Afterwards nothing may be different: texts, slots, memory."""

import asyncio
import random
import sys

from serve_client import ask, post

CLIENTS = 16
SLOTS = 4
CONTEXT = 512
TEXTS = 24  # different ones, whose bytes are known from the beginning
GROWTH = 4 << 20  # bytes of memory between half of the requests and the end
SETTLE = 20  # seconds in which everything must have ended
STARTS = ("Once upon a time", "The old fisherman", "In a dark forest", "Pip had a red ball")
BAD = [b"{", b"[" * 5000, b'{"prompt": 5}', b'{"prompt": "x", "max_tokens": -3}',
       b'{"prompt": "x", "temperature": "hot"}', b"\xff\xfe", b"", b'{"prompt": "' + b"x" * 40000]


class Soak:
    def __init__(self, server, seed):
        self.server, self.random = server, random.Random(seed)
        self.expected, self.statuses, self.problems = {}, {}, []
        self.bodies = [{"prompt": f"{STARTS[i % len(STARTS)]} {i}", "max_tokens": 1 + 63 * i // (TEXTS - 1),
                        "temperature": i % 2, "seed": i, "ignore_eos": True} for i in range(TEXTS)]

    def note(self, problem):
        self.problems.append(problem)
        print(f"problem: {problem}", file=sys.stderr)

    async def text(self, i, stream):
        answer = await ask(self.server, post("/v1/completions", {**self.bodies[i], "stream": stream}))
        self.count(answer)
        if answer.status != 200:
            return None
        parts = answer.events() if stream else [answer.json]
        return "".join(c["text"] for part in parts for c in part["choices"])

    def count(self, answer):
        self.statuses[answer.status] = self.statuses.get(answer.status, 0) + 1
        if answer.status >= 500 or answer.status < 200:
            self.note(f"status {answer.status}: {answer.raw[:300]!r}")

    async def expect(self, status, request):
        answer = await ask(self.server, request)
        self.count(answer)
        if answer.status != status:
            self.note(f"status {answer.status}, expected {status}: {answer.raw[:300]!r}")

    async def one(self):
        i, kind = self.random.randrange(TEXTS), self.random.random()
        if kind < 0.6:
            text = await self.text(i, stream=kind < 0.3)
            if text != self.expected[i]:
                self.note(f"text {i} is {text!r}, not {self.expected[i]!r}")
        elif kind < 0.7:
            chat = {"messages": [{"role": "user", "content": self.bodies[i]["prompt"]}],
                    "max_tokens": 1 + i, "stream": kind < 0.65}
            await self.expect(200, post("/v1/chat/completions", chat))
        elif kind < 0.75:
            await self.expect(200, post("/v1/embeddings", {"input": self.bodies[i]["prompt"]}))
        elif kind < 0.85:
            await self.expect(400, post("/v1/completions", self.random.choice(BAD)))
        elif kind < 0.87:
            await self.expect(404, post("/v1/nothing", {}))
        else:  # a client that leaves at any time
            body = {**self.bodies[i], "max_tokens": 64, "stream": kind < 0.95}
            await ask(self.server, post("/v1/completions", body), self.random.uniform(0, 0.05))

    async def client(self, requests):
        for _ in requests:
            try:
                await self.one()
            except (OSError, ValueError, KeyError, IndexError) as error:
                self.note(f"no answer: {error!r}")
            if len(self.problems) > 20:
                return

    async def run(self, n):
        requests = iter(range(n))
        await asyncio.gather(*[self.client(requests) for _ in range(CLIENTS)])

    async def wait_until_idle(self):
        """Waits until all abandoned requests have ended."""
        for _ in range(SETTLE * 20):
            m = self.server.metrics()
            if not m["requests_processing"] and not m["requests_deferred"]:
                return
            await asyncio.sleep(0.05)
        self.note(f"{m['requests_processing']:.0f} slots are busy")


async def run_soak(server, n, seed):
    soaked = Soak(server, seed)
    for i in range(TEXTS):  # one by one
        soaked.expected[i] = await soaked.text(i, stream=False)
    memory = []
    for part in range(4):
        await soaked.run(n // 4)
        await soaked.wait_until_idle()
        memory.append(server.memory())
        print(f"{(part + 1) * (n // 4)} requests, {memory[-1] / 2**20:.1f} MiB", file=sys.stderr)
    if memory[3] - memory[1] > GROWTH:
        soaked.note(f"memory grew from {memory[1]} to {memory[3]} bytes")
    for i in range(TEXTS):
        if await soaked.text(i, stream=True) != soaked.expected[i]:
            soaked.note(f"text {i} differs at the end")
    metrics = server.metrics()
    if metrics["texts_failed_total"]:
        soaked.note(f"{metrics['texts_failed_total']:.0f} requests failed")
    return soaked


def soak(program, model, n, seed):
    """Returns the exit code: 0 if nothing was wrong."""
    with program.start(model, SLOTS, CONTEXT) as server:
        soaked = asyncio.run(run_soak(server, n, seed))
    counts = ", ".join(f"{k}: {v}" for k, v in sorted(soaked.statuses.items()))
    print(f"{n} requests ({counts}; the others left), {len(soaked.problems)} problems")
    return 1 if soaked.problems else 0
