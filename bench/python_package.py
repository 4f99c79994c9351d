#!/usr/bin/env python3
"""The Python package against `generate`: tokens per second of the same text, alternating, with
medians and spreads; how long imports take.

    bench/python_package.py [--build build/release] [--model FILE] [--tokens 200] [--rounds 15]
    bench/python_package.py --lives 10000       memory over that many models, and ten times as many
                                                sequences

stream: Session.stream; steps: Session.feed and Sampler.sample; llama: Llama.generate. A file without
a vocabulary (weft bench --make-model) is measured by steps from ids, against `weft bench`."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

from c_api import ROOT, rate_of_generate, run, spread, statistics

PROMPT = "Once upon a time"
WAYS = ("stream", "steps", "llama")


def first_of(way, model, n):
    """What gives one token per call, after the prompt."""
    import weft
    if way == "llama":
        from weft.llama_cpp import Llama
        llm = Llama(model, n_ctx=n + 64, verbose=False)
        return llm.generate(llm.tokenize(PROMPT.encode()), temp=0).__next__
    opened = weft.Model(model)
    session = opened.session()
    if way == "stream":
        return session.stream(PROMPT, max_tokens=n + 1, sampler=weft.Sampler(temperature=0)).__next__
    sampler = weft.Sampler(temperature=0)
    logits = [session.feed(opened.tokenizer.encode(PROMPT) if way == "steps" else [1, 2, 3, 4])]

    def step():
        logits[0] = session.feed([sampler.sample(logits[0])])
    return step


def rate(way, model, n):
    """Tokens per second after the first one. A text that ends early counts as far as it went."""
    step = first_of(way, model, n)
    step()
    begin = time.perf_counter()
    made = 0
    for made in range(1, n):
        try:
            step()
        except StopIteration:
            break
    return made / (time.perf_counter() - begin)


def in_another_process(package, *args):
    said = subprocess.run([sys.executable, __file__, "--child", *map(str, args)], check=True,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "PYTHONPATH": str(package)})
    return float(said.stdout)


def report(name, values, unit, digits=1):
    print(f"{name:9} {statistics.median(values):10.{digits}f} {unit}, spread {spread(values):.{digits}f}")


def rate_of_bench(bin_folder, model, n):
    said = run(bin_folder / "weft", "bench", "-m", model, "-p", 0, "-n", n, "-r", 1, "--no-limits", "--json")
    return json.loads(said.stdout)["rows"][0]["median"]


def has_vocabulary(path):
    with open(path, "rb") as file:
        return b"tokenizer.ggml.tokens" in file.read(1 << 20)


def speed(args, package):
    program, ways, baseline = ("generate", WAYS, rate_of_generate) if has_vocabulary(args.model) else (
        "bench", ("ids",), rate_of_bench)
    rates = {what: [] for what in (program, *ways)}
    for _ in range(args.rounds):
        rates[program].append(baseline(args.build / "bin", args.model, args.tokens))
        for way in ways:
            rates[way].append(in_another_process(package, way, args.model, args.tokens))
    for what, values in rates.items():
        report(what, values, "tokens/s")
    for way in ways:
        report(way, [a / b for a, b in zip(rates[way], rates[program])], f"of {program}", 3)


def start(args, package):
    """Imports, without the start of the interpreter."""
    for name, statement in (("numpy", "import numpy"), ("weft", "import weft"),
                            ("llama_cpp", "from weft.llama_cpp import Llama")):
        report(name, [in_another_process(package, "import", statement) for _ in range(args.rounds)],
               "ms to import")


def private_bytes():
    for line in open("/proc/self/status", encoding="ascii"):
        if line.startswith("RssAnon"):
            return int(line.split()[1]) << 10
    raise SystemExit("/proc/self/status has no RssAnon")


def live(model, n):
    """Opens and closes n models, then 10 n sequences of one session; prints private memory."""
    import weft

    def models(count):
        for _ in range(count):
            with weft.Model(model) as m, m.session(context=64) as s:
                s.feed([5, 6, 7])

    with weft.Model(model) as one, one.session(context=64, sequences=8) as session:
        def sequences(count):
            for i in range(count):
                at = i % 8
                session.truncate(0, sequence=at)
                session.feed([5 + i % 50, 6, 7], sequence=at)
                session.copy(at, (at + 1) % 8)

        for name, work, count in (("models", models, n), ("sequences", sequences, 10 * n)):
            work(count // 10)
            before, begin = private_bytes(), time.perf_counter()
            work(count)
            print(f"{name:9} {(private_bytes() - before) / 1024:10.0f} KiB more after {count}, "
                  f"{time.perf_counter() - begin:.1f} s")


def child(what, rest):
    if what == "import":
        begin = time.perf_counter()
        exec(rest[0])
        print(1000 * (time.perf_counter() - begin))
    elif what == "live":
        live(rest[0], int(rest[1]))
    else:
        print(rate(what, rest[0], int(rest[1])))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    p.add_argument("--model", default=ROOT / "examples/models/weft-stories.gguf")
    p.add_argument("--tokens", type=int, default=200)
    p.add_argument("--rounds", type=int, default=15)
    p.add_argument("--lives", type=int)
    p.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.child:
        return child(args.child[0], args.child[1:])
    package = args.build / "python"
    if args.lives:
        subprocess.run([sys.executable, __file__, "--child", "live", str(args.model), str(args.lives)],
                       check=True, env={**os.environ, "PYTHONPATH": str(package)})
        return
    speed(args, package)
    start(args, package)


if __name__ == "__main__":
    main()
