"""The tables that bench/compare.py makes of its results."""

import os
import pathlib
import re
import statistics

OURS = "weft"


def spread(values):
    """Median distance from the median."""
    return statistics.median(abs(v - statistics.median(values)) for v in values)


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


def is_ours(name):
    """Whether it is weft; with a given instruction set it is called "weft, avx2"."""
    return name == OURS or name.startswith(f"{OURS}, ")


def ours_of(result):
    """All runs of weft, by name."""
    return {name: runs for name, runs in result["programs"].items() if is_ours(name)}


def cells_of(result):
    """Other programs have shares only if weft ran with one set: their own set is not known."""
    ours = ours_of(result)
    only = next(iter(ours.values())) if len(ours) == 1 else None
    return {name: Cell(runs, ours.get(name, only)) for name, runs in result["programs"].items()}


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
    return sorted(names, key=lambda name: not is_ours(name))


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
    """The parts of weft's steps."""
    rows = []
    for r in results:
        ours = ours_of(r)
        if not ours or r["phase"] == "step":
            continue
        row = next(iter(ours.values()))[0]["row"]
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
            if is_ours(name):
                rows.append([model, "its share of the reads"]
                            + [percent(c.reads) if c else "" for c in cells])
                rows.append([model, "its share of the arithmetic"]
                            + [percent(c.products) if c else "" for c in cells])
    return table(["model", "program, tokens/s"] + [str(w) for w in widths], rows)


def machine_table(results):
    runs = [one for r in results for mine in ours_of(r).values() for one in mine]
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
            for instruction in dict.fromkeys(one[kind]["instruction"] for one in limits):
                figures(f"{kind}, {threads}", "G multiply-adds/s",
                        [one[kind]["multiply_adds_per_second"] for one in limits
                         if one[kind]["instruction"] == instruction], instruction)
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
