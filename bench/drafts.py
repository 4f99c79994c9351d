#!/usr/bin/env python3
"""Measures what drafts gain, and prints a table of docs/performance_log.md.

    bench/drafts.py [--bin build/release/bin] [--types Q4_K_M,Q8_0]
                    [--kinds draft-mtp,draft,ngram-simple] [--depths 64,2048] [--max 1,2,4]
                    [-n 64] [-r 3] [--results build/drafts.json]

Rows are kinds, formats and depths (tokens of the prompt); columns the guesses of every step, and
last as many as measured times justify. A cell is how many times as fast the text is as without
drafts, runs in turn: the median, and the least and most of the runs. The models have random weights
(1.1b-mtp; 1.1b with 15m as its draft model), so that guesses are made right with a probability of
0.7 each: what they cost is real, how often they are right is not. For ngram-simple, the prompt
repeats itself, so that there is always something to guess.

Results are added to the file of results, cell by cell; those that it has of the same program, with
the same -n and -r, are not measured again.

    bench/drafts.py --texts [-n 100] [-r 9]

instead measures look-ups in texts of the bundled model. Most of them leave little to guess; the
last prompt is one text four times, which the model goes on with.
"""

import argparse
import hashlib
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUNDLED = ROOT / "examples/models/weft-stories.gguf"
ACCEPTANCE = 0.7
TEXTS = ("Once upon a time", "The fox was", "Tom had a red boat. Tom", "It was dark. The girl",
         "Ben saw a red boat. Ben saw a blue boat. Ben saw a", "a b c d e f g h a b c d e f",
         "The king said no. The queen said no. The", "One day, Mia went to the park with",
         4 * ("Once upon a time there was a fox named Pip. Pip lived in the forest. One day Pip "
              "saw a red boat on the lake. "))
SENTENCES = " ".join(f"The {what} of the {whose} was {how} than the one before it."
                     for what in ("house", "boat", "story", "garden")
                     for whose in ("king", "girl", "fox")
                     for how in ("older", "smaller", "better"))


class Bench:
    def __init__(self, args, folder):
        self.args = args
        self.weft = args.bin / "weft"
        self.folder = folder

    def model(self, shape, kind):
        path = self.folder / f"{shape}-{kind}.gguf"
        if not path.exists():
            subprocess.run([self.weft, "bench", "--make-model", shape, kind, path], check=True,
                           stdout=subprocess.DEVNULL)
        return path

    def prompt(self, depth):
        """A file with a prompt that repeats itself; a word is about a token."""
        words = itertools.islice(itertools.cycle(SENTENCES.split()), depth)
        path = self.folder / f"{depth}.txt"
        path.write_text(" ".join(words), encoding="utf-8")
        return path

    def flags(self, kind, weights, depth):
        if kind == "draft-mtp":
            return ["-m", self.model("1.1b-mtp", weights), "-p", depth]
        model = ["-m", self.model("1.1b", weights)]
        if kind == "draft":
            return [*model, "-md", self.model("15m", weights), "-p", depth]
        # A look-up needs the text of a prompt, and so a vocabulary with texts.
        return ["-m", BUNDLED, "--spec-type", kind, "-f", self.prompt(depth)]

    def measure(self, *flags):
        command = (self.weft, "bench", "--speculate", *flags, "-n", self.args.n, "-r", self.args.r,
                   "--json")
        out = subprocess.run([str(x) for x in command], check=True, capture_output=True, text=True)
        result = json.loads(out.stdout)
        return {"gain": result["gain"]["median"], "all": result["gain"]["all"],
                "without": result["without"]["median"]}

    def texts(self):
        print("| text | times as fast |\n|---|---|")
        for number, text in enumerate(TEXTS):
            path = self.folder / f"{number}.txt"
            path.write_text(text, encoding="utf-8")
            cell = self.measure("-m", BUNDLED, "--spec-type", "ngram-simple", "-f", path)
            print(f"| {text[:60]} .. | {shown(cell)} |")

    def cell(self, kind, weights, depth, most):
        how = (["--spec-draft-n-max", 16] if most is None else
               ["--spec-draft-n-max", most, "--no-spec-adaptive"])
        return self.measure(*self.flags(kind, weights, depth), "--acceptance", ACCEPTANCE, *how)


def shown(cell):
    return f"{cell['gain']:.2f} ({min(cell['all']):.2f} to {max(cell['all']):.2f})"


def table(results, args):
    columns = [str(n) for n in args.max] + ["adaptive"]
    print("| kind | format | depth | tokens/s without | " + " | ".join(columns) + " |")
    print("|---" * (4 + len(columns)) + "|")
    for row, cells in results.items():
        kind, weights, depth = row.split()
        if all(name in cells for name in columns):
            print(f"| `{kind}` | {weights} | {depth} | {cells['adaptive']['without']:.1f} | "
                  + " | ".join(shown(cells[name]) for name in columns) + " |")


def numbers(text):
    return [int(n) for n in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--types", default="Q4_K_M,Q8_0,Q4_0,Q6_K,IQ4_XS")
    parser.add_argument("--kinds", default="draft-mtp,draft,ngram-simple")
    parser.add_argument("--depths", type=numbers, default=[64, 2048])
    parser.add_argument("--max", type=numbers, default=[1, 2, 4])
    parser.add_argument("--texts", action="store_true")
    parser.add_argument("-n", type=int, default=64)
    parser.add_argument("-r", type=int, default=3)
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/drafts.json")
    args = parser.parse_args()
    program = hashlib.sha256((args.bin / "weft").read_bytes()).hexdigest()
    settings = f"{program} -n {args.n} -r {args.r}"
    everything = json.loads(args.results.read_text()) if args.results.exists() else {}
    results = everything.setdefault(settings, {})
    with tempfile.TemporaryDirectory() as folder:
        if args.texts:
            return Bench(args, pathlib.Path(folder)).texts()
        for weights in args.types.split(","):
            bench = Bench(args, pathlib.Path(folder))
            for kind, depth in itertools.product(args.kinds.split(","), args.depths):
                if kind == "ngram-simple" and weights != args.types.split(",")[0]:
                    continue  # the bundled model has one format
                row = results.setdefault(
                    f"{kind} {weights if kind != 'ngram-simple' else 'bundled'} {depth}", {})
                for most in [*args.max, None]:
                    name = "adaptive" if most is None else str(most)
                    if name in row:
                        continue
                    print(f"{kind} {weights}, depth {depth}, {name}", file=sys.stderr)
                    row[name] = bench.cell(kind, weights, depth, most)
                    args.results.write_text(json.dumps(everything, indent=1))
            for path in pathlib.Path(folder).glob("*.gguf"):
                path.unlink()
    table(results, args)


if __name__ == "__main__":
    main()
