#!/usr/bin/env python3
"""Runs `weft bench`, and the llama-bench of other programs if given, on the same model files in
several rounds, and writes the tables of docs/performance_log.md.

Every measurement is a process of its own, and the programs alternate, so that changes of the
machine's speed affect all of them. Results are added to a file: measure piece by piece, then render.

  bench/compare.py -m 1.1b-Q8_0.gguf -m 1.1b-Q4_K_M.gguf
  bench/compare.py -m 1.1b-Q8_0.gguf --llama-bench "llama.cpp=../llama.cpp/build/bin/llama-bench" \\
      --llama-bench "ik_llama.cpp, repacked=../ik/build/bin/llama-bench -rtr 1 -thp 1"
  bench/compare.py -m 1.1b-Q8_0.gguf --isa avx2,avxvnni,avx512vnni
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

from compare_tables import OURS, TABLES, render, spread

ROOT = pathlib.Path(__file__).resolve().parent.parent


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
    """weft, with the best instruction set, or with a given one."""

    def __init__(self, command, isa=None):
        self.name = f"{OURS}, {isa}" if isa else OURS
        self.command = ["env", f"WEFT_CPU_ISA={isa}", *command] if isa else command

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
    add("--isa", dest="isas", type=lambda text: text.split(","), default=[None], metavar="SETS",
        help="instruction sets to run weft with, each as a program of its own: avx2,avxvnni")
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
        ours = [Weft(options.weft, isa) for isa in options.isas]
        measure_all(options, [*ours, *options.peers], results)
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
