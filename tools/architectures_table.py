#!/usr/bin/env python3
"""Writes the table of docs/architectures.md: one row per page of builder code.

    tools/architectures_table.py [--bin build/release/bin] [--golden FOLDER]

With --golden, also measures the largest normalized squared error of the models in that folder. They
are pairs NAME.json (the file name under "gguf", the ids of three prompts under "tokens") and
NAME.KEY.npy (their logits or embeddings). Without it, the errors in the table are kept.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "architectures.md"
HEAD = "| page | architectures | error |\n|---|---|---|\n"
ROW = re.compile(r"(?m)^\| `(\w+\.cpp)` .*$")


def pages():
    """For each page of builder code: its lines and its architectures."""
    found = {}
    for path in sorted((ROOT / "models" / "arch" / "src").glob("*.cpp")):
        if path.stem.endswith("_test"):
            continue
        text = path.read_text()
        names = re.findall(r'Architecture \w+[^;"]*"([\w.-]+)"', text)
        if names:
            found[path.name] = (text.count("\n"), sorted(names))
    return found


def golden_error(weft, folder, case, key, out):
    """The normalized squared error of one prompt, or None for one that Weft refuses."""
    import numpy
    encoder = case["mode"] == "enc"
    command = [weft, "embed" if encoder else "logits", "-m", folder / case["gguf"], "--tokens",
               ",".join(map(str, case["tokens"][key])), "-o", out, "-c", "256"]
    if encoder:
        command += ["--pooling", "none"]
    else:
        command += ["--cache-type-k", "f32", "--cache-type-v", "f32"]
    if case["mode"] == "t5":
        command += ["--decoder-tokens", ",".join(map(str, case["decoder_tokens"]))]
    if subprocess.run(command, capture_output=True).returncode != 0:
        return None
    got = numpy.load(out).astype(float)
    want = numpy.load(folder / f"{case['name']}.{key}.npy").astype(float)
    return ((got - want)**2).sum() / (want**2).sum()


def golden_errors(weft, folder):
    """The largest error of the models of each architecture."""
    worst = {}
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(folder.glob("*.json")):
            case = json.loads(path.read_text())
            if "tokens" not in case:
                continue
            inspect = [weft, "inspect", folder / case["gguf"], "--json"]
            inspected = json.loads(subprocess.run(inspect, capture_output=True, check=True).stdout)
            name = inspected["metadata"]["general.architecture"]["value"]
            for key in case["tokens"]:
                error = golden_error(weft, folder, case, key, pathlib.Path(scratch) / "o.npy")
                if error is not None:
                    worst[name] = max(worst.get(name, 0), error)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--golden", type=pathlib.Path)
    args = parser.parse_args()
    text = PAGE.read_text()
    kept = {m[1]: m[0].split("|")[3].strip() for m in ROW.finditer(text) if m[0].count("|") > 3}
    errors = golden_errors(args.bin / "weft", args.golden) if args.golden else None
    rows = []
    for page, (lines, names) in pages().items():
        error = kept.get(page, "")
        if errors is not None:
            known = [errors[name] for name in names if name in errors]
            error = f"{max(known):.0e}" if known else ""
        listed = ", ".join(f"`{name}`" for name in names)
        rows.append(f"| `{page}` ({lines} lines) | {listed} | {error} |")
    begin = text.index("| page |")
    end = text.index("\n\n", begin)
    text = text[:begin] + HEAD + "\n".join(rows) + text[end:]
    n = sum(len(names) for _, names in pages().values())
    text = re.sub(r"There are \d+ of them, on \d+ pages",
                  f"There are {n} of them, on {len(rows)} pages", text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
