#!/usr/bin/env python3
"""Writes the table of docs/architectures.md: one row per architecture.

    tools/architectures_table.py [--bin build/release/bin] [--golden FOLDER] [--forms FILE]
                                 [--results FILE]

Names, pages and their lines come from the builder code. With --golden, the models in that folder
that tests/acceptance.txt names are measured: their largest normalized squared error, and the bytes
of state per token that `weft plan -c 4096` shows. They are pairs NAME.json (the file name under
"gguf", the ids of three prompts under "tokens") and NAME.KEY.npy (their logits or embeddings).
With --forms, architectures without golden models get the errors of a file that
tests/forms/forms_test.py wrote, with an f. With --results, the shares of the machine's limits come
from a file that bench/compare.py wrote; of several models of an architecture, the smallest share
counts. Other columns, and those whose option is not given, are kept as they are in the page.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
import compare_tables
PAGE = ROOT / "docs" / "architectures.md"
COLUMNS = ("architecture", "models", "family", "page", "lines", "error", "state", "prefill",
           "decode", "not supported")
CONTEXT = 4096
UNKNOWN = "–"
OF_FORM = " f"


def pages():
    """For each architecture: its page of builder code, and the lines of the page."""
    found = {}
    for path in sorted((ROOT / "models" / "arch" / "src" / "pages").glob("*.cpp")):
        if path.stem.endswith("_test"):
            continue
        text = path.read_text()
        for name in re.findall(r'Architecture \w+[^;"]*"([\w.-]+)"', text):
            found[name] = (path.name, text.count("\n"))
    return found


def accepted():
    """The golden models that the acceptance tests run."""
    for line in (ROOT / "tests" / "acceptance.txt").read_text().splitlines():
        if line.startswith("archs "):
            return set(line.split()[1:])
    return set()


def json_of(*command):
    done = subprocess.run(command, capture_output=True, check=True)
    return json.loads(done.stdout)


def golden_error(weft, folder, case, key, out):
    """The normalized squared error of one prompt."""
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
    subprocess.run(command, capture_output=True, check=True)
    got = numpy.load(out).astype(float)
    want = numpy.load(folder / f"{case['name']}.{key}.npy").astype(float)
    return ((got - want)**2).sum() / (want**2).sum()


def measure(weft, folder):
    """For each architecture: the largest error and the largest state of its models."""
    errors, states = {}, {}
    names = accepted()
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch) / "o.npy"
        for path in sorted(folder.glob("*.json")):
            case = json.loads(path.read_text())
            if "tokens" not in case or case["name"] not in names:
                continue
            plan = json_of(weft, "plan", "-m", folder / case["gguf"], "-c", str(CONTEXT), "--json")
            name = plan["architecture"]
            states[name] = max(states.get(name, 0), plan["memory"]["state"] / CONTEXT)
            for key in "ABC":
                error = golden_error(weft, folder, case, key, out)
                errors[name] = max(errors.get(name, 0), error)
    return errors, states


def shares(path):
    """By phase and architecture: the share of the arithmetic in prefill, of the reads in decode."""
    found = {"prefill": {}, "decode": {}}
    for result in json.loads(path.read_text()).values():
        runs = result["programs"].get(compare_tables.OURS)
        if not runs or result["depth"] != 0 or result["phase"] not in found:
            continue
        if "architecture" not in runs[0]:
            sys.exit(f"{path}: '{result['model']}' has no architecture: measure it again")
        cell, phase = compare_tables.Cell(runs, runs), found[result["phase"]]
        share = cell.products if result["phase"] == "prefill" else cell.reads
        name = runs[0]["architecture"]
        phase[name] = min(phase.get(name, share), share)
    return found


def error_cell(cell, name, golden, forms):
    """The error of golden models, if there are any, or that of the published formulas. `golden` is
    None if they were not measured."""
    if golden and name in golden:
        return f"{golden[name]:.0e}"
    of_form = cell and cell.endswith(OF_FORM)
    if golden is None and cell and cell != UNKNOWN and not of_form:
        return cell
    return f"{forms[name]:.0e}{OF_FORM}" if name in forms else cell if of_form else None


def kept_rows(text):
    """The cells of the page's table, by architecture and column."""
    rows = {}
    begin = text.index("| architecture |")
    lines = text[begin:text.index("\n\n", begin)].splitlines()
    columns = [cell.strip() for cell in lines[0].strip("|").split("|")]
    for line in lines[2:]:
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[cells[0].strip("`")] = dict(zip(columns, cells))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--golden", type=pathlib.Path)
    parser.add_argument("--forms", type=pathlib.Path)
    parser.add_argument("--results", type=pathlib.Path)
    args = parser.parse_args()
    text = PAGE.read_text()
    kept = kept_rows(text)
    measured = {}
    errors, of_forms = None, json.loads(args.forms.read_text()) if args.forms else {}
    if args.golden:
        errors, states = measure(args.bin / "weft", args.golden)
        measured["state"] = {name: f"{state:.0f} B" for name, state in states.items()}
    if args.results:
        for phase, of in shares(args.results).items():
            measured[phase] = {name: compare_tables.percent(share) for name, share in of.items()}
    known = pages()
    lines = [f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|"]
    for name in sorted(known):
        page, n_lines = known[name]
        row = kept.get(name, {})
        row.update({"architecture": f"`{name}`", "page": f"`{page}`", "lines": str(n_lines)})
        row["error"] = error_cell(row.get("error"), name, errors, of_forms)
        for column in ("error", "state", "prefill", "decode"):
            if column in measured:
                row[column] = measured[column].get(name)
            row[column] = row.get(column) or UNKNOWN
        lines.append("| " + " | ".join(row.get(column, "") for column in COLUMNS) + " |")
    begin = text.index("| architecture |")
    text = text[:begin] + "\n".join(lines) + text[text.index("\n\n", begin):]
    n_pages = len({page for page, _ in known.values()})
    text = re.sub(r"There are \d+ of them, on \d+ pages",
                  f"There are {len(known)} of them, on {n_pages} pages", text)
    PAGE.write_text(text)


if __name__ == "__main__":
    main()
