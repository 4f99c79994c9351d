#!/usr/bin/env python3
"""Memory over hours: a server in a control group beside a neighbour that takes memory and gives it back,
while conversations of many lengths come and go and the server is ended and killed.

  sudo bench/hours.py --make 9b Q4_K_M --limit 6G --seconds 7200 -o hours
  sudo bench/hours.py --make 1.1b Q4_K_M --limit 1500M --neighbour 300M --seconds 600

Writes OUT.json with a sample every few seconds and OUT.svg. Ends with exit code 1 if the kernel ended a
process, memory was swapped, a charge failed, a text differs from the one that was computed anew, a request
was lost other than by a kill or a refusal with its reason, private memory exceeded the ledger by 24 MiB, or
it grew after the first tenth of the time by more than the noise explains. Needs root for control groups.
"""

import argparse
import asyncio
import json
import mmap
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from agents import make_model
from chart import Chart, write_charts
from control_group import V2
from larger_than_memory import memory_limit, size
from serve_client import ask, free_port, post

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENTS, CONVERSATIONS = 3, 24
PIECE = 16 << 20  # bytes that the neighbour takes at once
ABOVE = 24 << 20  # bytes of private memory beyond the ledger
CHECKED = 0.03  # the part of the texts that is computed anew


# ---- the neighbour

def neighbour(most, seed):
    """Takes up to `most` bytes and gives them back, until its parent is gone."""
    rng, held, parent = random.Random(seed), [], os.getppid()
    while os.getppid() == parent:
        wanted = rng.choice((0, rng.randrange(most), most)) // PIECE
        while len(held) != wanted:
            if len(held) > wanted:
                held.pop().close()
            else:
                held.append(mmap.mmap(-1, PIECE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS))
                held[-1].write(b"x" * PIECE)
                time.sleep(0.05)
        time.sleep(rng.uniform(2, 20))


# ---- the server

class Served:
    """A server in the group, which may be ended and started again."""

    def __init__(self, args, model, folder, group):
        self.group, self.port, self.starts = group, free_port(), 0
        self.command = [str(args.bin / "weft"), "serve", "-m", str(model), "--port", str(self.port), "-np", "2",
                        "-c", str(args.context), "--cache-dir", str(folder / "snapshots"), *args.flags.split()]
        self.log = (folder / "log").open("ab")
        self.process, self.ready, self.failed = None, threading.Event(), ""

    def start(self):
        self.starts += 1
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        preexec_fn=self.group.enter)
        while self.process.poll() is None and self.status() != 200:
            time.sleep(0.2)
        if self.process.poll() is not None:
            self.failed = f"the server ended with {self.process.returncode} at its start {self.starts}"
        self.ready.set()

    def status(self):
        try:
            return asyncio.run(ask(self, b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).status
        except OSError:
            return 0

    def end(self, sig):
        self.ready.clear()
        self.process.send_signal(sig)
        self.process.wait()

    def metrics(self):
        request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        text = asyncio.run(ask(self, request)).body.decode()
        found = {name: float(value) for name, value in
                 re.findall(r"^weft_(\w+)(?:\{model[^}]*\})? ([0-9.e+-]+)$", text, re.MULTILINE)}
        kinds = re.findall(r'^weft_memory_bytes\{kind="(\w+)"\} ([0-9.e+-]+)$', text, re.MULTILINE)
        kinds += re.findall(r'^weft_memory_taken_bytes\{account="(\w+)"\} ([0-9.e+-]+)$', text, re.MULTILINE)
        found["ledger"] = sum(float(value) for kind, value in kinds if kind not in ("weights_mapped", "device"))
        return found

    def anonymous(self):
        return number_in(f"/proc/{self.process.pid}/status", "RssAnon:") * 1024


def number_in(path, key=""):
    try:
        text = pathlib.Path(path).read_text(encoding="ascii")
    except OSError:
        return 0
    found = re.search(rf"^{key}\s*(\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 0


class Group:
    """What the kernel counts for the group."""

    def __init__(self, group):
        self.path = pathlib.Path(group.path)

    def used(self):
        return number_in(self.path / ("memory.current" if V2 else "memory.usage_in_bytes"))

    def failed(self):
        return number_in(self.path / ("memory.events" if V2 else "memory.failcnt"), "max" if V2 else "")

    def killed(self):
        return number_in(self.path / ("memory.events" if V2 else "memory.oom_control"), "oom_kill")

    def swapped(self):
        return number_in(self.path / ("memory.swap.current" if V2 else "memory.stat"), "" if V2 else "total_swap")


# ---- the clients

class Talk:
    """A conversation. Its texts are tokens, so that nothing depends on a vocabulary."""

    def __init__(self, rng):
        self.rng, self.tokens = rng, [rng.randrange(300, 900) for _ in range(rng.choice((20, 100, 400)))]
        self.lock = threading.Lock()

    def body(self, anew=False):
        return {"prompt": self.tokens, "n_predict": 4 + len(self.tokens) % 21, "temperature": 0, "ignore_eos": True,
                "return_tokens": True, "cache_prompt": not anew}

    def goes_on(self, answer):
        self.tokens = [*self.tokens, *answer, *[self.rng.randrange(300, 900) for _ in range(self.rng.choice((5, 30, 120)))]]


class Clients:
    def __init__(self, served, context, seed):
        self.served, self.context, self.rng, self.lock = served, context, random.Random(seed), threading.Lock()
        self.talks = [Talk(random.Random(i)) for i in range(CONVERSATIONS)]
        self.stops = False
        self.count = dict.fromkeys(("answered", "refused", "by a kill", "lost", "wrong", "checked", "tokens"), 0)
        self.problems = []

    def add(self, what, n=1, problem=None):
        with self.lock:
            self.count[what] += n
            if problem:
                self.problems.append(problem)
                print(f"problem: {problem}", file=sys.stderr, flush=True)

    def send(self, body):
        """The answer, or None if there was none."""
        self.served.ready.wait()
        starts = self.served.starts
        try:
            answer = asyncio.run(ask(self.served, post("/completion", body)))
            if answer.status == 200:
                return answer.json
            if answer.status in (429, 503) and b"message" in answer.body:
                self.add("refused")
                time.sleep(1)
                return None
            problem = f"status {answer.status}: {answer.raw[:300]!r}"
        except (OSError, ValueError, KeyError) as error:
            problem = f"{type(error).__name__}: {error}"
        if self.served.starts != starts or not self.served.ready.is_set() or self.served.process.poll() is not None:
            self.add("by a kill")
        else:
            self.add("lost", problem=problem)
        return None

    def one(self):
        talk = self.rng.choice(self.talks)
        if not talk.lock.acquire(blocking=False):  # another client has it
            return
        try:
            self.turn(talk)
        finally:
            talk.lock.release()

    def turn(self, talk):
        answer = self.send(talk.body())
        if not answer:
            return
        tokens = answer["tokens"]
        self.add("answered")
        self.add("tokens", len(tokens))
        again = self.send(talk.body(anew=True)) if self.rng.random() < CHECKED else None
        if again:
            self.add("checked")
            if again["tokens"] != tokens:
                self.add("wrong", problem=f"{tokens} after {len(talk.tokens)} tokens, anew {again['tokens']}")
        talk.goes_on(tokens)
        if len(talk.tokens) > self.context // 2 - 200:
            self.talks[self.talks.index(talk)] = Talk(random.Random(self.rng.random()))

    def loop(self, most):
        while not self.stops and self.count["answered"] < most:
            self.one()


# ---- samples and verdict

def slope(times, values):
    """(slope, its standard error) of the least squares line."""
    n = len(times)
    mt, mv = sum(times) / n, sum(values) / n
    stt = sum((t - mt) ** 2 for t in times)
    b = sum((t - mt) * (v - mv) for t, v in zip(times, values)) / stt
    rest = sum((v - mv - b * (t - mt)) ** 2 for t, v in zip(times, values))
    return b, (rest / max(n - 2, 1) / stt) ** 0.5


def sample(begin, served, group, clients, beside):
    try:
        metrics = served.metrics() if served.ready.is_set() else {}
    except (OSError, ValueError):
        metrics = {}
    return {"seconds": time.monotonic() - begin, "anonymous": served.anonymous(), "group": group.used(),
            "neighbour": number_in(f"/proc/{beside.pid}/status", "RssAnon:") * 1024, "starts": served.starts,
            "failed": group.failed(), "swapped": group.swapped(), "killed": group.killed(),
            "ledger": metrics.get("ledger"), "held": metrics.get("held_bytes"), "level": metrics.get("memory_level"),
            "cached": metrics.get("prompt_tokens_cached_total"), "computed": metrics.get("prompt_tokens_total"),
            **clients.count}


def draw(samples, limit, path):
    n, minute = len(samples), lambda i: f"{samples[i]['seconds'] / 60:.0f}"
    mib = lambda key: [None if s[key] is None else s[key] / 2**20 for s in samples]
    memory = Chart("Memory in the group", "minute", "MiB", n, limit / 2**20, minute)
    colors = {"server": "#2563eb", "neighbour": "#f59e0b", "kept texts": "#16a34a", "group": "#9ca3af"}
    for key, color in zip(("anonymous", "neighbour", "held", "group"), colors.values()):
        memory.line(mib(key), color)
    memory.legend(colors)
    rates = [0.0] + [max(0.0, b["tokens"] - a["tokens"]) / max(b["seconds"] - a["seconds"], 1e-3)
                     for a, b in zip(samples, samples[1:])]
    window = 15
    rates = [sum(rates[max(0, i - window):i + 1]) / len(rates[max(0, i - window):i + 1]) for i in range(n)]
    speed = Chart("New tokens per second, and starts of the server", "minute", "", n, max(rates), minute)
    speed.line(rates, "#2563eb")
    shares = [None if not (s["cached"] or 0) + (s["computed"] or 0) else 100 * s["cached"] / (s["cached"] + s["computed"])
              for s in samples]
    hits = Chart("Tokens of prompts that were not computed, since the start of the server", "minute", "%", n, 100, minute)
    hits.line(shares, "#16a34a")
    level = Chart("What is given up: 1 texts that ended, 2 wide steps, 3 new requests", "minute", "", n, 3, minute)
    level.line([s["level"] for s in samples], "#dc2626")
    level.legend({"given up": "#dc2626", f"{samples[-1]['refused']} refusals": "#9ca3af"})
    most = max(1, samples[-1]["refused"])
    level.line([3 * s["refused"] / most for s in samples], "#9ca3af", dashed=True)
    for i in range(1, n):
        if samples[i]["starts"] != samples[i - 1]["starts"]:
            for chart in (memory, speed, hits):
                chart.mark(i, "#d1d5db")
    write_charts([memory, speed, hits, level], path)


def verdict(samples, clients):
    """Lines about what is wrong."""
    last, problems = samples[-1], [clients.served.failed] if clients.served.failed else []
    for key, text in (("failed", "charges failed"), ("swapped", "bytes were swapped"), ("killed", "processes were ended "
                      "by the kernel"), ("lost", "requests were lost"), ("wrong", "texts were wrong")):
        if last[key] > samples[0].get(key, 0):
            problems.append(f"{last[key] - samples[0].get(key, 0)} {text}")
    above = max((s["anonymous"] - s["ledger"] for s in samples if s["ledger"]), default=0)
    print(f"at most {above / 2**20:.1f} MiB above the ledger")
    if above > ABOVE:
        problems.append(f"{above / 2**20:.1f} MiB above the ledger")
    rest = [s for s in samples if s["seconds"] > last["seconds"] / 10]
    rest = [s for s in rest if s["held"] is not None]
    growth, error = slope([s["seconds"] / 3600 for s in rest], [(s["anonymous"] - s["held"]) / 2**20 for s in rest])
    print(f"memory of the server without kept texts: {growth:+.1f} +- {2 * error:.1f} MiB per hour")
    if growth > max(2 * error, 16):
        problems.append(f"memory grows by {growth:.1f} MiB per hour")
    print(", ".join(f"{n} {what}" for what, n in clients.count.items()))
    return problems


def interrupt(served, clients, args, begin):
    """Ends and kills the server by turns, about every `args.restart` seconds."""
    rng = random.Random(args.seed)
    while not clients.stops:
        end = time.monotonic() + args.restart * rng.uniform(0.7, 1.3)
        while time.monotonic() < end:
            if clients.stops or time.monotonic() - begin > args.seconds - 60:
                return
            time.sleep(0.5)
        served.end(signal.SIGTERM if served.starts % 2 else signal.SIGKILL)
        served.start()


def run(args, model, folder, group):
    served, counts = Served(args, model, folder, group), Group(group)
    beside = subprocess.Popen([sys.executable, __file__, "--be-neighbour", str(args.neighbour), str(args.seed)],
                              preexec_fn=group.enter)
    served.start()
    clients, begin, samples = Clients(served, args.context, args.seed), time.monotonic(), []
    threads = [threading.Thread(target=clients.loop, args=(args.requests,)) for _ in range(CLIENTS)]
    if args.restart:
        threads.append(threading.Thread(target=interrupt, args=(served, clients, args, begin)))
    for thread in threads:
        thread.start()
    try:
        while not served.failed and time.monotonic() - begin < args.seconds and clients.count["answered"] < args.requests:
            samples.append(sample(begin, served, counts, clients, beside))
            time.sleep(args.every)
    finally:
        clients.stops = True
        for thread in threads:
            thread.join()
        beside.kill()
        served.end(signal.SIGTERM)
    return samples, clients


def main():
    if sys.argv[1:2] == ["--be-neighbour"]:
        return neighbour(int(sys.argv[2]), int(sys.argv[3]))
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-m", "--model", type=pathlib.Path)
    p.add_argument("--make", nargs=2, metavar=("SHAPE", "TYPE"), help="a model of random weights")
    p.add_argument("--limit", type=size, default=size("6G"), help="of the control group (6G)")
    p.add_argument("--neighbour", type=size, default=size("400M"), help="the most that the neighbour takes (400M)")
    p.add_argument("--seconds", type=float, default=7200, help="at most (7200)")
    p.add_argument("--requests", type=int, default=1000, help="at most (1000)")
    p.add_argument("--restart", type=float, default=600, help="seconds between ends of the server; 0: none (600)")
    p.add_argument("--every", type=float, default=2, help="seconds between samples (2)")
    p.add_argument("-c", "--context", type=int, default=4096, help="tokens of both slots together (4096)")
    p.add_argument("--flags", default="", help="further flags of the server")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    p.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("hours"))
    args = p.parse_args()
    if bool(args.model) == bool(args.make):
        p.error("give either a model or --make")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="weft-hours-"))
    group = memory_limit(args.limit)
    try:
        model = args.model or make_model(args.bin / "weft", *args.make, folder)
        samples, clients = run(args, model, folder, group)
    finally:
        group.close()
        if (folder / "log").exists():
            shutil.copy(folder / "log", f"{args.out}.log")
        shutil.rmtree(folder)
    pathlib.Path(f"{args.out}.json").write_text(json.dumps(samples) + "\n", encoding="ascii")
    draw(samples, args.limit, f"{args.out}.svg")
    problems = verdict(samples, clients)
    if problems:
        sys.exit("\n".join(problems))
    return None


if __name__ == "__main__":
    main()
