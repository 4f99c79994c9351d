#!/usr/bin/env python3
"""Measures `weft serve`, and other servers of OpenAI's interface if given: tokens per second of 1, 4
and 32 streams at once and of `generate`, the CPU time of the server itself, the time to the first
token of a prompt that is cached, the cost of idle connections. Needs a quiet machine.

Results are added to a file: measure piece by piece, then render.

  bench/serve.py -m 1.1b-Q4_K_M.gguf
  bench/serve.py -m 1.1b-Q4_K_M.gguf --peer "llama.cpp=llama-server -m {model} --port {port} \\
      -np {slots} -c {context} -t 2"
  bench/serve.py --soak 20000                       # many requests; exit code 1 if a check fails
  bench/serve.py -m 1.1b-Q4_K_M.gguf --hostile      # one stream beside hostile clients; the same
  bench/serve.py --render docs/server.md
"""

import argparse
import asyncio
import itertools
import json
import os
import pathlib
import re
import resource
import socket
import statistics
import subprocess
import sys
import time

from compare_tables import table, write_tables
from serve_client import Program, ask, completion, post
from serve_hostile import MAX_CLIENTS, hostile, hostile_waits, with_keys
from serve_soak import soak

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = "weft"
STORY = "Once upon a time there was a small town by the sea, and in that town "
IDLE_SECONDS = 3


# ---- measuring -----------------------------------------------------------------------------------

class Stream:
    """A completion without cached tokens: the times of its pieces, and its text."""

    def __init__(self, answer):
        if answer.status != 200:
            sys.exit(f"status {answer.status}: {answer.body[:300]!r}")
        events = answer.events()
        pieces = [(at, e["choices"][0]["text"]) for at, e in zip(answer.times(), events)
                  if e.get("choices") and e["choices"][0].get("text")]
        self.times = [at for at, _ in pieces]
        self.text = "".join(text for _, text in pieces)
        self.usage = next((e["usage"] for e in events if e.get("usage")), {})


def round_tag(r):
    return f"round {r}"


def prompt_of(tag, i):
    return f"{tag} {i} {STORY}"


async def streams_at_once(server, n_streams, n_tokens, tag):
    """All begin at the same time; the tag makes their prompts new."""
    answers = await asyncio.gather(*[
        ask(server, post("/v1/completions", completion(prompt_of(tag, i), n_tokens)))
        for i in range(n_streams)])
    return [Stream(a) for a in answers]


def rate_of(streams, n_tokens):
    """Tokens per second of all streams while all of them were generating. A piece may hold several
    tokens, or none."""
    begin, end = max(s.times[0] for s in streams), min(s.times[-1] for s in streams)
    if end <= begin:
        sys.exit(f"{n_tokens} tokens per stream are too few to measure their rate (-n)")
    n = sum(sum(begin < t <= end for t in s.times) * n_tokens / len(s.times) for s in streams)
    return n / (end - begin)


def measure_streams(server, n_streams, args):
    """Medians of several rounds."""
    rounds, texts = [], {}
    for r in range(args.rounds):
        tag = round_tag(r)
        cpu, start = server.cpu(), time.perf_counter()
        streams = asyncio.run(streams_at_once(server, n_streams, args.tokens, tag))
        seconds = time.perf_counter() - start
        cpu = [b - a for a, b in zip(cpu, server.cpu())]
        texts[tag] = [s.text for s in streams]
        rounds.append({
            "tokens_per_second": rate_of(streams, args.tokens),
            "seconds": seconds,
            "first_token_ms": 1e3 * statistics.median(s.times[0] for s in streams),
            "slowest_first_token_ms": 1e3 * max(s.times[0] for s in streams),
            "own_cpu_share": cpu[1] / max(cpu[0], 1e-9)})
    return {"texts": texts, **{k: statistics.median(r[k] for r in rounds) for k in rounds[0]}}


def measure_generate(args):
    """Tokens per second of `generate` with the same prompt."""
    speeds = []
    for _ in range(args.rounds):
        done = subprocess.run(
            [f"{args.bin}/generate", "-m", args.model, "-p", STORY, "-n", str(args.tokens),
             "--ignore-eos", "--temp", "0", "-c", str(args.context)], capture_output=True,
            check=True)
        found = re.findall(r"^generated +\d+ tokens +([\d.]+) tokens/s", done.stderr.decode(), re.M)
        speeds.append(float(found[-1]))
    return statistics.median(speeds)


def measure_prefix(server, args):
    """Times to the first token of a long prompt: new, and again."""
    new, cached, n = [], [], 0
    for r in range(args.rounds):
        words = f"round {r} " + "the old tower by the sea " * args.prefix
        ids = json.loads(asyncio.run(ask(server, post("/tokenize", {"content": words}))).body)
        prompt = ids["tokens"][:args.prefix]
        for times in (new, cached):
            request = post("/v1/completions", completion(prompt, 2))
            stream = Stream(asyncio.run(ask(server, request)))
            times.append(1e3 * stream.times[0])
            n = stream.usage.get("prompt_tokens", len(prompt))
    return {"prompt_tokens": n, "new_ms": statistics.median(new),
            "cached_ms": statistics.median(cached)}


def measure_hostile(program, model, args):
    """Exit code 1 if hostile clients slow a stream, or let a request wait, by more than their bounds
    allow."""
    tags = itertools.count()

    def rate(server):
        streams = asyncio.run(streams_at_once(server, 1, args.tokens, f"pair {next(tags)}"))
        return rate_of(streams, args.tokens)

    with with_keys(program).start(model, MAX_CLIENTS + 1, args.context) as server:
        too_long = hostile_waits(server)
    print()
    with program.start(model, 1, args.context) as server:
        rate(server)
        return hostile(server, rate, args.rounds) | too_long


def measure_idle(server, n_connections):
    """Memory and CPU of keep-alive connections that say nothing, and CPU without any."""
    def cpu_percent():
        before = server.cpu()[0]
        time.sleep(IDLE_SECONDS)
        return 100 * (server.cpu()[0] - before) / IDLE_SECONDS

    alone, before, sockets = cpu_percent(), server.memory(), []
    for _ in range(n_connections):
        sock = socket.create_connection(("127.0.0.1", server.port))
        sock.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if not sock.recv(4096).startswith(b"HTTP/1.1 200"):
            sys.exit(f"connection {len(sockets)} was refused")
        sockets.append(sock)
    result = {"connections": n_connections, "bytes": server.memory() - before,
              "cpu_percent": cpu_percent(), "cpu_percent_alone": alone}
    for sock in sockets:
        sock.close()
    return result


def texts_alone(server, n_streams, n_tokens):
    """The texts of the streams of the first round, one after the other."""
    ask_one = lambda i: ask(
        server, post("/v1/completions", completion(prompt_of(round_tag(0), i), n_tokens)))
    return [Stream(asyncio.run(ask_one(i))).text for i in range(n_streams)]


def same_texts(by_streams, alone):
    """Whether each stream has one text, independent of other streams. `by_streams`: a dictionary of
    the texts of each round for each number of streams; `alone`: texts of the first round."""
    known = {(round_tag(0), i): text for i, text in enumerate(alone)}
    return all(known.setdefault((tag, i), text) == text for texts in by_streams
               for tag, of_round in texts.items() for i, text in enumerate(of_round))


def measure(program, args):
    results = {"tokens": args.tokens, "streams": {}}
    with program.start(args.model, max(args.streams), args.context) as server:
        asyncio.run(streams_at_once(server, 2, 4, "warm"))
        for n in args.streams:
            print(f"{program.name}: {n} streams", file=sys.stderr)
            results["streams"][str(n)] = measure_streams(server, n, args)
        alone = texts_alone(server, max(args.streams), args.tokens)
        results["idle"] = measure_idle(server, args.connections)
    with program.start(args.model, 1, args.prefix + 64) as server:
        asyncio.run(streams_at_once(server, 1, 4, "warm"))
        results["prefix"] = measure_prefix(server, args)
    by_streams = [s.pop("texts") for s in results["streams"].values()]
    results["same_texts"] = same_texts(by_streams, alone)
    if program.name == OURS:
        results["generate_tokens_per_second"] = measure_generate(args)
    return results


# ---- tables --------------------------------------------------------------------------------------

def streams_table(results):
    rows = []
    for key, r in results.items():
        model, name = key.split(" ", 1)
        if "generate_tokens_per_second" in r:
            rows.append([model, "`generate`", "1", f"{r['generate_tokens_per_second']:.1f}", "", "",
                         ""])
        for n, s in r["streams"].items():
            own = f"{100 * s['own_cpu_share']:.1f} %" if name == OURS else ""
            rows.append([model, name, n, f"{s['tokens_per_second']:.1f}",
                         f"{s['first_token_ms']:.0f} ms", f"{s['slowest_first_token_ms']:.0f} ms",
                         own])
    return table(["model", "program", "streams", "tokens/s, all", "first token", "the slowest one",
                  "CPU time besides the model"], rows)


def bounds_table(results):
    rows = []
    for key, r in results.items():
        model, name = key.split(" ", 1)
        by_streams = [s["tokens_per_second"] for s in r["streams"].values()]
        add = lambda what, figure, bound="": rows.append([model, name, what, figure, bound])
        if len(by_streams) > 1:
            first, *_, last = r["streams"]
            add(f"decode of {last} streams against {first}",
                f"{by_streams[-1] / by_streams[0]:.2f} times", "at least 3.5 times")
            add("the same texts alone and beside others", "yes" if r["same_texts"] else "no", "yes")
        if "generate_tokens_per_second" in r:
            share = by_streams[0] / r["generate_tokens_per_second"]
            add("one stream against `generate`", f"{100 * share:.1f} %", "at least 97 %")
            own = next(iter(r["streams"].values()))["own_cpu_share"]
            add("CPU time besides the model, one stream", f"{100 * own:.1f} %", "under 3 %")
        p, i = r["prefix"], r["idle"]
        add(f"first token of a cached prompt of {p['prompt_tokens']} tokens",
            f"{p['cached_ms']:.1f} of {p['new_ms']:.0f} ms "
            f"({100 * p['cached_ms'] / p['new_ms']:.1f} %)", "under 5 %")
        add(f"{i['connections']} idle connections",
            f"{i['bytes'] / 2**20:.1f} MiB, {i['cpu_percent']:.1f} % of a CPU",
            "under 40 MB, no CPU")
        add("idle", f"{i['cpu_percent_alone']:.1f} % of a CPU", "0 %")
    return table(["model", "program", "what", "measured", "bound"], rows)


TABLES = {"serve streams": streams_table, "serve bounds": bounds_table}


# ---- the program ---------------------------------------------------------------------------------

def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", help="GGUF file to measure with")
    add("--bin", default=str(ROOT / "build/release/bin"), help="folder of our programs")
    add("--peer", dest="peers", type=Program, action="append", default=[], metavar="NAME=COMMAND",
        help="another server to compare with; {model}, {port}, {slots}, {context} are replaced")
    add("--streams", default="1,4,32", help="numbers of streams at once (default 1,4,32)",
        type=lambda text: [int(n) for n in text.split(",")])
    add("-n", "--tokens", type=int, default=128, help="tokens per stream (default 128)")
    add("-c", "--context", type=int, default=512, help="tokens per slot (default 512)")
    add("-r", "--rounds", type=int, default=3)
    add("--prefix", type=int, default=4096, help="tokens of the long prompt (default 4096)")
    add("--connections", type=int, default=1000, help="idle ones (default 1000)")
    add("--soak", type=int, default=0, metavar="N", help="check weft serve with N mixed requests")
    add("--hostile", action="store_true",
        help="measure one stream of weft serve alone and beside hostile clients, in pairs, and how "
             "long a small request waits beside costly ones")
    add("--seed", type=int, default=1, help="of the mix of --soak")
    add("--results", type=pathlib.Path, default=ROOT / "build/serve.json",
        help="file of results (default build/serve.json)")
    add("--render", metavar="FILE", help="write the tables of all results into this file")
    return parser.parse_args(arguments)


def main(arguments):
    args = parse(arguments)
    ours = Program(f"{OURS}={args.bin}/weft serve -m {{model}} --port {{port}} -np {{slots}} "
                   f"-c {{context}} --log-file /dev/null")
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, args.connections + 1000), most))
    bundled = str(ROOT / "examples/models/weft-stories.gguf")
    if args.soak:
        return soak(ours, args.model or bundled, args.soak, args.seed)
    if args.hostile:
        return measure_hostile(ours, args.model or bundled, args)
    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    if args.model:
        if os.getloadavg()[0] > 0.3 * (os.cpu_count() or 1):
            print(f"warning: the machine is busy (load {os.getloadavg()[0]:.2f})", file=sys.stderr)
        for program in [ours, *args.peers]:
            results[f"{pathlib.Path(args.model).stem} {program.name}"] = measure(program, args)
        args.results.parent.mkdir(parents=True, exist_ok=True)
        args.results.write_text(json.dumps(results, indent=1) + "\n")
    tables = {name: list(make(results)) for name, make in TABLES.items()}
    if args.render:
        write_tables(args.render, tables)
    else:
        print("\n\n".join("\n".join(lines) for lines in tables.values() if len(lines) > 2))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
