#!/usr/bin/env python3
"""Measures `weft serve`: tokens per second of 1, 4 and 32 streams at once, beside `generate`; the
time to the first token, of new prompts and of cached ones; CPU time per token; the cost of idle
connections. Needs a quiet machine.

  bench/serve.py -m 1.1b-Q4_K_M.gguf
  bench/serve.py -m 1.1b-Q4_K_M.gguf --streams 1,4,32 -n 128 --json > serve.json
  bench/serve.py -m 1.1b-Q4_K_M.gguf --url http://127.0.0.1:9000   # another server
"""

import argparse
import asyncio
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
STORY = "Once upon a time there was a small town by the sea, and in that town "
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """`weft serve` as a process of its own, or another one that runs already."""

    def __init__(self, args, slots):
        self.process = None
        if args.url:
            url = urllib.parse.urlsplit(args.url)
            self.host, self.port = url.hostname, url.port
            return
        self.log = tempfile.NamedTemporaryFile("r", prefix="weft-bench-")
        command = [f"{args.bin}/weft", "serve", "-m", args.model, "--port", "0", "-np", str(slots),
                   "-c", str(slots * args.context), "--log-file", "/dev/null", *args.flags]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                        stderr=open(self.log.name, "w"))
        while not (found := re.search(r"listening on http://(.+):(\d+)", self.log.read())):
            if self.process.poll() is not None:
                sys.exit(f"weft serve: exit {self.process.returncode}")
            self.log.seek(0)
            time.sleep(0.05)
        self.host, self.port = found.group(1), int(found.group(2))
        while self.status("/health") != 200:
            time.sleep(0.1)

    def status(self, path):
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.port}{path}") as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code

    def usage(self):
        """CPU seconds and resident bytes that are not pages of files."""
        if not self.process:
            return 0.0, 0
        pid = self.process.pid
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            anonymous = int(re.search(r"RssAnon:\s+(\d+)", file.read()).group(1))
        return (int(fields[11]) + int(fields[12])) / TICKS, anonymous << 10

    def close(self):
        if self.process:
            self.process.terminate()
            self.process.wait()


async def stream(server, prompt, n_tokens, **fields):
    """The times of the pieces of a completion, in seconds since its request."""
    body = json.dumps({"prompt": prompt, "max_tokens": n_tokens, "ignore_eos": True,
                       "temperature": 0, "stream": True, "model": "x", **fields}).encode()
    reader, writer = await asyncio.open_connection(server.host, server.port)
    start, times, tail = time.perf_counter(), [], b""
    writer.write(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                 b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    while data := await reader.read(65536):
        now = time.perf_counter() - start
        pieces = (tail + data).split(b"\ndata: {")
        times += [now] * (len(pieces) - 1)
        tail = pieces[-1][-16:]
    writer.close()
    if not times:
        sys.exit(f"no tokens: {tail!r}")
    return times


async def together(server, n_streams, n_tokens, tag):
    start = time.perf_counter()
    all_times = await asyncio.gather(*[
        stream(server, f"{tag} {i} {STORY}", n_tokens) for i in range(n_streams)])
    return time.perf_counter() - start, all_times


def measure_streams(server, n_streams, args):
    """The median of several rounds."""
    rounds = []
    for r in range(args.rounds):
        cpu = server.usage()[0]
        seconds, times = asyncio.run(together(server, n_streams, args.tokens, f"round {r}"))
        first = max(t[0] for t in times)
        last = max(t[-1] for t in times)
        n = n_streams * args.tokens
        rounds.append({
            "tokens_per_second": n_streams * (args.tokens - 1) / (last - first),
            "seconds": seconds,
            "first_token_ms": 1e3 * statistics.median(t[0] for t in times),
            "slowest_first_token_ms": 1e3 * first,
            "cpu_ms_per_token": 1e3 * (server.usage()[0] - cpu) / n})
    middle = {k: statistics.median(r[k] for r in rounds) for k in rounds[0]}
    return {"streams": n_streams, **middle}


def measure_generate(args):
    """Tokens per second of `generate` with the same prompt, and its CPU time per token."""
    speeds = []
    for _ in range(args.rounds):
        done = subprocess.run(
            [f"{args.bin}/generate", "-m", args.model, "-p", STORY, "-n", str(args.tokens),
             "--ignore-eos", "--temp", "0", "-c", str(args.context), *args.flags],
            capture_output=True, check=True)
        found = re.findall(r"(\d+) tokens +([\d.]+) tokens/s", done.stderr.decode())
        speeds.append(float(found[-1][1]))
    return statistics.median(speeds)


def measure_cached_prefix(server, args):
    """Times to the first token of a long prompt: new, and again."""
    prompt = "the old tower by the sea " * (args.prefix // 6)
    new = asyncio.run(stream(server, prompt, 2))[0]
    cached = asyncio.run(stream(server, prompt, 2))[0]
    return {"prompt_words": len(prompt.split()), "new_ms": 1e3 * new, "cached_ms": 1e3 * cached}


def measure_idle(server, n_connections):
    """Memory and CPU of keep-alive connections that say nothing."""
    head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
    before = server.usage()[1]
    sockets = []
    for _ in range(n_connections):
        sock = socket.create_connection((server.host, server.port))
        sock.sendall(head)
        sock.recv(4096)
        sockets.append(sock)
    cpu, memory = server.usage()
    time.sleep(3)
    result = {"connections": n_connections, "bytes": memory - before,
              "cpu_percent": 100 * (server.usage()[0] - cpu) / 3}
    for sock in sockets:
        sock.close()
    return result


def measure(args):
    results = {"model": pathlib.Path(args.model).name, "tokens": args.tokens, "streams": []}
    if not args.url:
        results["generate_tokens_per_second"] = measure_generate(args)
    for n in args.streams:
        server = Server(args, n)
        try:
            asyncio.run(together(server, n, 4, "warm"))
            results["streams"].append(measure_streams(server, n, args))
            if n == args.streams[0]:
                results["prefix"] = measure_cached_prefix(server, args)
                results["idle"] = measure_idle(server, args.connections)
        finally:
            server.close()
    return results


def render(results):
    lines = ["| streams | tokens/s, all | first token | slowest first | CPU per token |",
             "|---|---|---|---|---|"]
    if "generate_tokens_per_second" in results:
        lines.append(f"| `generate` | {results['generate_tokens_per_second']:.1f} | | | |")
    for s in results["streams"]:
        lines.append(f"| {s['streams']} | {s['tokens_per_second']:.1f} | {s['first_token_ms']:.0f} ms"
                     f" | {s['slowest_first_token_ms']:.0f} ms | {s['cpu_ms_per_token']:.3f} ms |")
    if "generate_tokens_per_second" in results:
        alone = results["streams"][0]["tokens_per_second"]
        generate = results["generate_tokens_per_second"]
        lines.append(f"\nOverhead per token of one stream: {1e6 / alone - 1e6 / generate:.0f} us "
                     f"({100 * alone / generate:.1f} % of generate's speed).")
    p, i = results["prefix"], results["idle"]
    lines.append(f"First token after {p['prompt_words']} words: {p['new_ms']:.0f} ms, again "
                 f"{p['cached_ms']:.0f} ms ({100 * p['cached_ms'] / p['new_ms']:.1f} %).")
    lines.append(f"{i['connections']} idle connections: {i['bytes'] / 2**20:.1f} MiB, "
                 f"{i['cpu_percent']:.1f} % of a CPU.")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", default=str(ROOT / "examples/models/weft-stories.gguf"))
    parser.add_argument("--bin", default=str(ROOT / "build/release/bin"))
    parser.add_argument("--url", help="a server that runs already")
    parser.add_argument("--streams", default="1,4,32", help="numbers of streams at once")
    parser.add_argument("-n", "--tokens", type=int, default=128, help="tokens per stream")
    parser.add_argument("-c", "--context", type=int, default=512, help="tokens per slot")
    parser.add_argument("-r", "--rounds", type=int, default=3)
    parser.add_argument("--prefix", type=int, default=300, help="words of the long prompt")
    parser.add_argument("--connections", type=int, default=900, help="idle ones")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("flags", nargs="*", help="after --: more flags for weft serve and generate")
    args = parser.parse_args()
    args.streams = [int(n) for n in args.streams.split(",")]
    results = measure(args)
    print(json.dumps(results, indent=1) if args.json else render(results))


if __name__ == "__main__":
    main()
