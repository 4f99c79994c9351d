#!/usr/bin/env python3
"""Runs `weft bench`, and the llama-bench of other programs if given, on the same model files in
several rounds, and writes the tables of docs/performance_log.md.

Every measurement is a process of its own, and the programs alternate, so that changes of the
machine's speed affect all of them. Results are added to a file: measure piece by piece, then render.

  bench/compare.py -m 1.1b-Q8_0.gguf -m 1.1b-Q4_K_M.gguf
  bench/compare.py -m 1.1b-Q8_0.gguf --llama-bench "llama.cpp=../llama.cpp/build/bin/llama-bench" \\
      --llama-bench "ik_llama.cpp, repacked=../ik/build/bin/llama-bench -rtr 1 -thp 1"
  bench/compare.py -m 1.1b-Q8_0.gguf -p 0 -n 64 -d 4096,16384
  bench/compare.py -m 1.1b-Q8_0.gguf -p 0 -n 0 --widths 1,2,4,8,16,32,64,128,256,512
  bench/compare.py --render docs/performance_log.md
  bench/compare.py --results build/archs.json --render docs/performance_log.md --section archs
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
OURS = "weft"


# ---- running -------------------------------------------------------------------------------------

class Failed(Exception):
    pass


def busy_seconds():
    """CPU time of all processes since the machine was started."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, open("/proc/stat").readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run(command):
    """Runs a program. Returns its output, its peak RSS in bytes, and how many CPUs other processes
    used."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        busy, start = busy_seconds(), time.monotonic()
        pid = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err).pid
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - start
        others = (busy_seconds() - busy - usage.ru_utime - usage.ru_stime) / seconds
        out.seek(0), err.seek(0)
        if status != 0:
            text = err.read().decode("utf-8", "replace")[-400:].strip()
            raise Failed(f"{shlex.join(command)}: exit {os.waitstatus_to_exitcode(status)}: {text}")
        return out.read().decode(), usage.ru_maxrss * 1024, others


class Weft:
    """weft."""

    def __init__(self, command):
        self.name, self.command = OURS, command

    def can(self, test):
        return True

    def arguments(self, test, options):
        width = test["tokens"] if test["phase"] == "step" else ""
        prompt = test["tokens"] if test["phase"] == "prefill" else 0
        predict = test["tokens"] if test["phase"] == "decode" else 0
        return ["bench", "-m", test["path"], "-p", prompt, "-n", predict, "--widths", width, "-d",
                test["depth"], "-t",
                options.threads, "-r", options.repetitions, "--json"]

    def measure(self, test, options):
        # Do not count the memory that measuring the limits takes.
        out, _, others = run(options.prefix + self.command
                             + list(map(str, self.arguments(test, options))))
        report = json.loads(out)
        row, limits = report["rows"][0], report["limits"][0]
        return {"rates": row["rates"], "rss": row["peak_rss"], "others": others, "row": row,
                "limits": limits, "architecture": report["architecture"]}


class LlamaBench:
    """A program with the flags and the JSON of llama.cpp's llama-bench."""

    def __init__(self, text):
        name, equals, command = text.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"must be NAME=COMMAND, got '{text}'")
        self.name, self.command = name, shlex.split(command)
        about = subprocess.run([self.command[0], "--help"], capture_output=True, text=True,
                               check=False)
        self.flags = set(re.findall(r"(?<![\w-])--?[\w-]+", about.stdout + about.stderr))

    def can(self, test):
        if test["depth"] == 0:
            return True
        return "--n-depth" in self.flags or (test["phase"] == "decode" and "-gp" in self.flags)

    def measure(self, test, options):
        depth, tokens = test["depth"], test["tokens"]
        if test["phase"] == "decode" and depth > 0 and "--n-depth" not in self.flags:
            what = ["-p", 0, "-n", 0, "-gp", f"{depth},{tokens}"]
        else:
            what = ["-p", 0, "-n", tokens] if test["phase"] == "decode" else ["-p", tokens, "-n", 0]
            what += ["-d", depth] if depth else []
        arguments = ["-m", test["path"], "-t", options.threads, "-r", options.repetitions, *what,
                     "-o", "json"]
        out, rss, others = run(options.prefix + self.command + list(map(str, arguments)))
        row = json.loads(out)[0]
        return {"rates": row["samples_ts"], "rss": rss, "others": others,
                "build": f"{row['build_commit']} ({row['build_number']})"}


# ---- measuring -----------------------------------------------------------------------------------

def tests_of(options):
    lists = (("prefill", options.prompts), ("decode", options.predicts), ("step", options.widths))
    for model in options.models:
        for depth in options.depths:
            for phase, counts in lists:
                for tokens in filter(None, counts):
                    yield {"path": model, "model": pathlib.Path(model).stem, "phase": phase,
                           "tokens": tokens, "depth": depth}


def key_of(test):
    return f"{test['model']} {test['phase']} {test['tokens']} {test['depth']}"


def measure_all(options, programs, results):
    for test in tests_of(options):
        found = {}
        for _ in range(options.rounds):
            for program in programs:
                if not program.can(test):
                    continue
                try:
                    got = program.measure(test, options)
                except Failed as failure:
                    print(f"warning: skipped {program.name}: {failure}", file=sys.stderr)
                    continue
                found.setdefault(program.name, []).append(got)
                if not options.prefix and got["others"] > 0.1:
                    print(f"warning: other processes used {got['others']:.2f} CPUs during a run of {program.name}", file=sys.stderr)
        programs_of = results.setdefault(key_of(test), {**test, "threads": options.threads,
                                                        "programs": {}})["programs"]
        for name, runs in found.items():
            programs_of[name] = (programs_of.get(name, []) if options.more else []) + runs
        for name, runs in found.items():
            rates = [r for one in runs for r in one["rates"]]
            print(f"{key_of(test):<40} {name:<30} {statistics.median(rates):10.2f} tokens/s  +- {spread(rates):.2f}", flush=True)


def spread(values):
    """Median distance from the median."""
    return statistics.median(abs(v - statistics.median(values)) for v in values)


# ---- tables --------------------------------------------------------------------------------------

class Cell:
    """The result of one program in one test."""

    def __init__(self, runs, ours):
        rates = [r for one in runs for r in one["rates"]]
        self.rate, self.spread = statistics.median(rates), spread(rates)
        self.rss = max(one["rss"] for one in runs)
        self.build = runs[0].get("build")
        # Per run, because the machine's limits change between rounds. All programs do the same
        # work.
        self.reads = self.share(runs, ours, "bytes_per_token",
                                lambda one: one["limits"]["reads"]["bytes_per_second"])
        self.products = self.share(runs, ours, "multiply_adds_per_token",
                                   lambda one: one["limits"][one["row"]["arithmetic"]]["multiply_adds_per_second"])

    @staticmethod
    def share(runs, ours, amount, limit):
        if not ours:
            return None
        pairs = zip(runs, ours)
        return statistics.median(statistics.median(a["rates"]) * b["row"][amount] / limit(b) for a,
                                 b in pairs)


def cells_of(result):
    ours = result["programs"].get(OURS)
    return {name: Cell(runs, ours) for name, runs in result["programs"].items()}


def digits(value):
    return f"{value:.0f}" if value >= 1000 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate(cell):
    return f"{digits(cell.rate)} ± {digits(cell.spread)}" if cell else ""


def percent(share):
    return f"{100 * share:.0f} %" if share is not None else ""


def size(n):
    return f"{n / 2**20:.0f} MiB" if n < 2**30 else f"{n / 2**30:.2f} GiB"


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def names_of(results):
    names = {name: None for r in results for name in r["programs"]}
    return [OURS] * (OURS in names) + [n for n in names if n != OURS]


def speed_table(results):
    """Prefill and decode with an empty cache: a row for each model and program."""
    flat = [r for r in results if r["depth"] == 0 and r["phase"] in ("prefill", "decode")]
    rows = []
    for model in dict.fromkeys(r["model"] for r in flat):
        mine = [r for r in flat if r["model"] == model]
        for name in names_of(mine):
            cells = {r["phase"]: cells_of(r).get(name) for r in mine}
            prefill, decode = cells.get("prefill"), cells.get("decode")
            rss = max(c.rss for c in (prefill, decode) if c)
            rows.append([model, name, rate(prefill), percent(prefill.products if prefill else None),
                         rate(decode),
                         percent(decode.reads if decode else None), size(rss)])
    tokens = {p: "/".join(str(t) for t in sorted({r["tokens"] for r in flat if r["phase"] == p}))
              for p in ("prefill", "decode")}
    return table(["model", "program", f"prefill of {tokens['prefill']}, tokens/s",
                  "of the arithmetic",
                  f"decode of {tokens['decode']}, tokens/s", "of the reads", "peak RSS"], rows)


def cost_table(results):
    """What the steps of weft consist of."""
    rows = []
    for r in results:
        if OURS not in r["programs"] or r["phase"] == "step":
            continue
        row = r["programs"][OURS][0]["row"]
        rows.append([r["model"], r["phase"], str(r["depth"]),
                     f"{row['bytes_per_token'] / 1e6:.2f} MB",
                     f"{row['multiply_adds_per_token'] / 1e6:.0f} M",
                     f"{row['joins_per_token']:.2f}", f"{row['ns_per_node']:.0f}"])
    return table(["model", "phase", "depth", "bytes/token", "multiply-adds/token", "joins/token",
                  "ns/node"], rows)


def depth_table(results):
    rows = []
    for r in results:
        if r["depth"] > 0 and r["phase"] != "step":
            for name, cell in cells_of(r).items():
                rows.append([r["model"], f"{r['phase']} of {r['tokens']}", str(r["depth"]), name,
                             rate(cell), percent(cell.reads),
                             percent(cell.products), size(cell.rss)])
    return table(["model", "phase", "depth", "program", "tokens/s", "of the reads",
                  "of the arithmetic", "peak RSS"], rows)


def width_table(results):
    steps = [r for r in results if r["phase"] == "step" and r["depth"] == 0]
    widths = sorted({r["tokens"] for r in steps})
    rows = []
    for model in dict.fromkeys(r["model"] for r in steps):
        mine = {r["tokens"]: r for r in steps if r["model"] == model}
        for name in names_of(mine.values()):
            cells = [cells_of(mine[w]).get(name) if w in mine else None for w in widths]
            rows.append([model, name] + [digits(c.rate) if c else "" for c in cells])
            if name == OURS:
                rows.append([model, "its share of the reads"]
                            + [percent(c.reads) if c else "" for c in cells])
                rows.append([model, "its share of the arithmetic"]
                            + [percent(c.products) if c else "" for c in cells])
    return table(["model", "program, tokens/s"] + [str(w) for w in widths], rows)


def machine_table(results):
    runs = [one for r in results for one in r["programs"].get(OURS, [])]
    limits = [one["limits"] for one in runs]
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    rows = [["processor", f"{cpu[1] if cpu else 'unknown'}, {os.cpu_count()} CPUs, "
             f"{size(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))}"]]

    def figures(name, unit, values, how):
        low, high = min(values) / 1e9, max(values) / 1e9
        rows.append([name, f"{statistics.median(values) / 1e9:.1f} {unit} ({low:.1f} to {high:.1f} in {len(values)} runs), {how}"])

    if limits:
        threads = f"{limits[0]['threads']} threads"
        figures(f"reads, {threads}", "GB/s", [one["reads"]["bytes_per_second"] for one in limits],
                statistics.mode(one["reads"]["how"] for one in limits))
        for kind in ("int8", "f32"):
            figures(f"{kind}, {threads}", "G multiply-adds/s",
                    [one[kind]["multiply_adds_per_second"] for one in limits],
                    limits[0][kind]["instruction"])
    for name in names_of(results):
        builds = {one["build"] for r in results for one in r["programs"].get(name, [])
                  if one.get("build")}
        if builds:
            rows.append([name, "build " + ", ".join(sorted(builds))])
    return table(["what", "figure"], rows)


TABLES = {"machine": machine_table, "speed": speed_table, "cost": cost_table, "depth": depth_table,
          "width": width_table}


def write_tables(path, tables):
    """Replaces the text between the markers of tables, given as lines, that have rows."""
    text = pathlib.Path(path).read_text()
    for name, lines in tables.items():
        block = f"<!-- table: {name} -->\n" + "\n".join(lines) + f"\n<!-- end: {name} -->"
        if len(lines) > 2:
            text = re.sub(rf"<!-- table: {name} -->.*?<!-- end: {name} -->",
                          lambda _, b=block: b, text, flags=re.S)
    pathlib.Path(path).write_text(text)


def render(path, results, section):
    write_tables(path, {f"{section} {name}".strip(): list(make(list(results.values())))
                        for name, make in TABLES.items()})


# ---- the program ---------------------------------------------------------------------------------

def numbers(text):
    try:
        return [int(n) for n in text.split(",") if n]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"must be numbers separated by commas, got '{text}'") from error


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("-m", "--model", dest="models", action="append", default=[], metavar="FILE",
        help="GGUF file; may be repeated")
    add("-p", "--n-prompt", dest="prompts", type=numbers, default=[512],
        help="tokens to prefill (default 512)")
    add("-n", "--n-gen", dest="predicts", type=numbers, default=[64],
        help="tokens to decode (default 64)")
    add("-d", "--n-depth", dest="depths", type=numbers, default=[0],
        help="tokens in the cache (default 0)")
    add("--widths", type=numbers, default=[], help="steps of that many tokens")
    add("-t", "--threads", type=int, default=min(2, os.cpu_count() or 1))
    add("-r", "--repetitions", type=int, default=3, help="repetitions within a run (default 3)")
    add("--rounds", type=int, default=3, help="rounds over all programs (default 3)")
    add("--more", action="store_true",
        help="add the rounds to the results of the same tests instead of replacing them")
    add("--weft", type=shlex.split, default=[str(ROOT / "build/release/bin/weft")],
        help="command of weft")
    add("--llama-bench", dest="peers", type=LlamaBench, action="append", default=[],
        metavar="NAME=COMMAND",
        help="another program to compare with, and its arguments; may be repeated")
    add("--prefix", type=shlex.split, default=[],
        help="command to run every program with, such as 'taskset -c 0,1'")
    add("--results", type=pathlib.Path, default=ROOT / "build/compare.json",
        help="file of results (default build/compare.json)")
    add("--render", metavar="FILE", help="write the tables of all results into this file")
    add("--section", default="", metavar="NAME",
        help="render only the tables whose markers begin with this name")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    results = json.loads(options.results.read_text()) if options.results.exists() else {}
    if options.models and os.getloadavg()[0] > 0.3 * (os.cpu_count() or 1):
        print(f"warning: the machine is busy (load {os.getloadavg()[0]:.2f}): figures will be too low", file=sys.stderr)
    if options.models:
        measure_all(options, [Weft(options.weft), *options.peers], results)
        options.results.parent.mkdir(parents=True, exist_ok=True)
        options.results.write_text(json.dumps(results, indent=1) + "\n")
    if options.render:
        render(options.render, results, options.section)
    else:
        for make in TABLES.values():
            lines = list(make(list(results.values())))
            print("\n" + "\n".join(lines) if len(lines) > 2 else "")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (Failed, OSError) as error:
        print(f"compare.py: {error}", file=sys.stderr)
        sys.exit(1)
