#!/usr/bin/env python3
"""Measures every weight format and writes the table of docs/formats.md.

    bench/formats.py --golden DIR [--types Q4_0,Q4_K] [--shape 1.1b]
                     [--results build/formats.json] [--render docs/formats.md]
    bench/formats.py --render docs/formats.md            # from existing results

Columns:
  bits/weight  of the format
  error        of encoding the matrix DIR/input.npy: root mean square of the rows' errors, each relative
               to its row; in brackets with the importances DIR/imatrix.npy, weighted by them
  speed        prefill and decode of a model of that shape with random weights, all in this format
  perplexity   of the bundled model over a text like those it was trained on, all its matrices in this
               format (from Q8_0, with the importances of another such text). For types that need
               importances, the token embedding stays Q8_0: its rows are looked up, so there are no
               importances of its columns

Needs numpy. Results are added to the file of results, type by type.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = ("F32 F16 BF16 Q8_0 Q6_K Q5_K Q5_1 Q5_0 Q4_K Q4_1 Q4_0 IQ4_NL IQ4_XS MXFP4 NVFP4 Q3_K IQ3_S IQ3_XXS Q2_K IQ2_S IQ2_XS "
         "IQ2_XXS TQ2_0 Q2_0 IQ1_M IQ1_S TQ1_0 Q1_0").split()
NEEDS_IMPORTANCES = {"IQ2_XS", "IQ2_XXS", "IQ1_S"}
BEGIN, END = "<!-- table: formats -->", "<!-- end: formats -->"


def call(*command, stdin=None):
    return subprocess.run([str(c) for c in command], check=True, capture_output=True,
                          input=stdin).stdout


def relative_error(weft, golden, name, folder, importance=None):
    import numpy as np
    x = np.load(golden / "input.npy").astype(np.float64)
    flags = ["--imatrix", golden / "imatrix.npy"] if importance is not None else []
    call(weft, "codec", "encode", name, golden / "input.npy", folder / "x.bin", *flags)
    call(weft, "codec", "decode", name, folder / "x.bin", folder / "x.npy", "--shape",
         ",".join(map(str, x.shape)))
    y = np.load(folder / "x.npy").astype(np.float64).reshape(x.shape)
    w = np.ones(x.shape[1]) if importance is None else importance.astype(np.float64)
    whole = (w * x**2).sum(axis=1)
    rows = (w * (x - y) ** 2).sum(axis=1)[whole > 0] / whole[whole > 0]
    return float(np.sqrt(rows.mean())), (folder / "x.bin").stat().st_size * 8 / x.size


def speeds(weft, shape, name, folder):
    model = folder / "random.gguf"
    call(weft, "bench", "--make-model", shape, name, model)
    out = json.loads(call(weft, "bench", "-m", model, "-p", "128", "-n", "16", "-r", "2", "--json"))
    model.unlink()
    rows = {row["phase"]: row for row in out["rows"]}
    return {"prefill": rows["prefill"]["median"], "decode": rows["decode"]["median"],
            "share_of_reads": rows["decode"]["share_of_reads"]}


def perplexity(weft, name, folder):
    bundled = ROOT / "examples/models/weft-stories.gguf"
    corpus = ROOT / "tools/train/corpus.py"
    for file, seed in (("text", 4711), ("other", 4712)):
        if (folder / file).exists():
            continue
        documents = call(sys.executable, corpus, "--seed", seed, "--count",
                         3000).decode().split("\n\n----\n")
        (folder / file).write_text("\n\n".join(d for d in documents if d and "<|" not in d),
                                   encoding="utf-8")  # stories, no chats
    imatrix = folder / "imatrix.gguf"
    if not imatrix.exists():
        call(weft, "imatrix", "-m", bundled, "-f", folder / "other", "-o", imatrix)
    model = folder / "bundled.gguf"
    kept = ["--tensor-type", "token_embd=Q8_0"] if name in NEEDS_IMPORTANCES else []
    call(weft, "quantize", bundled, model, "MXFP4_MOE" if name == "MXFP4" else name,
         "--allow-requantize", "--pure", "--imatrix", imatrix,
         *kept, "--tensor-type", f".={name}")
    out = json.loads(call(weft, "perplexity", "-m", model, "-f", folder / "text", "--json"))
    return out["perplexity"]


def measure(args, name, folder):
    row = {}
    if args.golden:
        import numpy as np
        golden = pathlib.Path(args.golden)
        importance = np.load(golden / "imatrix.npy")
        if name not in NEEDS_IMPORTANCES:
            row["error"], row["bits"] = relative_error(args.weft, golden, name, folder)
        row["weighted_error"], row["bits"] = relative_error(args.weft, golden, name, folder,
                                                            importance)
    row.update(speeds(args.weft, args.shape, name, folder))
    row["perplexity"] = perplexity(args.weft, name, folder)
    return row


def percent(value):
    return "" if value is None else f"{100 * value:.2f} %"


def table(results):
    lines = ["| format | bits/weight | error (weighted) | prefill, tokens/s | decode, tokens/s | of the reads | perplexity |",
             "|---|---|---|---|---|---|---|"]
    for name in (n for n in TYPES if n in results):
        r = results[name]
        p = r["perplexity"]
        lines.append(f"| {name} | {r.get('bits', 0):.2f} | {percent(r.get('error')) or 'needs importances'} ({percent(r.get('weighted_error'))}) | "
                     f"{r['prefill']:.0f} | {r['decode']:.1f} | {100 * (r['share_of_reads'] or 0):.0f} % | {p['value']:.3f} ± {p['error']:.3f} |")
    return "\n".join(lines)


def render(path, results):
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    path.write_text(f"{before}{BEGIN}\n{table(results)}\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--golden")
    parser.add_argument("--types", default="")
    parser.add_argument("--shape", default="1.1b")
    parser.add_argument("--weft", default=str(ROOT / "build/release/bin/weft"))
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "build/formats.json")
    parser.add_argument("--render", type=pathlib.Path)
    args = parser.parse_args()

    results = json.loads(args.results.read_text()) if args.results.exists() else {}
    names = args.types.split(",") if args.types else TYPES if args.golden else []
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                results[name] = measure(args, name, pathlib.Path(folder))
            except subprocess.CalledProcessError as error:
                print(f"{name}: {error.stderr.decode(errors='replace').strip()}", file=sys.stderr)
                continue
        print(name, json.dumps(results[name]), file=sys.stderr)
        args.results.parent.mkdir(parents=True, exist_ok=True)
        args.results.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    if args.render:
        render(args.render, results)
    else:
        print(table(results))


if __name__ == "__main__":
    main()
