#!/usr/bin/env python3
"""Checks all .md files of the repository: links and their anchors resolve, the source files that they
name exist (those in the table of docs/architecture.md in their folders), lines have at most 100
columns, except in tables and with URLs, every architecture has its row in docs/architectures.md, and
the counts of architectures are right.

Examples:
  tools/check_docs.py
"""
import fnmatch
import pathlib
import re
import subprocess
import sys

import architectures_table

ROOT = pathlib.Path(__file__).resolve().parent.parent
MAX_COLUMNS = 100
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# A path or a file name in a code span.
PLACE = re.compile(r"`([\w./<>*-]+/|[\w./<>*-]+\.(?:cpp|h|cmake|txt|py))`")
# A file name in a code span. Names with an upper-case placeholder (weights_F.inl.h) are skipped.
SOURCE = re.compile(r"`([a-z0-9_./]+\.(?:cpp|h|c|cl|py|sh|cmake|txt|md|pl))`")


def anchors(page):
    """The anchors of the page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def prose(text):
    """The text without blocks of code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return "\n".join(line for line in text.split("\n") if not line.startswith("    "))


def bad_links(page, text):
    for target in LINK.findall(re.sub(r"`[^`]*`", "", text)):
        path, _, anchor = target.partition("#")
        if "://" in target:
            continue
        to = (page.parent / path).resolve() if path else page
        if not to.exists():
            yield f"link to {target}, which does not exist"
        elif anchor and anchor not in anchors(to):
            yield f"link to {target}, which has no such heading"


def missing_sources(text, files):
    """Names of source files that are not the end of any file's path, nor generated."""
    generated = (ROOT / "cmake/isa.cmake").read_text()
    for name in SOURCE.findall(text):
        if not any(f"/{f}".endswith(f"/{name}") for f in files) and f"/{name}" not in generated:
            yield f"names {name}, which does not exist"


def lost_places(table, files):
    """Paths in the rows of the table that do not exist in the repository, nor in a folder that the row
    named before. <name> stands for any name."""
    places = files + sorted({str(p) for f in files for p in pathlib.PurePath(f).parents})
    for row in re.findall(r"^\| .* \| (.*) \|$", table, re.MULTILINE):
        folders = ["", "*/include/"]
        for path in PLACE.findall(row):
            name = re.sub(r"<\w+>", "*", path).rstrip("/")
            if not any(fnmatch.filter(places, f"{folder}{name}") for folder in folders):
                yield f"names {path} in a table, which is not there"
            if "/" in path:
                folder = name if path.endswith("/") else name.rpartition("/")[0]
                folders += [f"{folder}/", f"*/include/{folder}/"]


def long_lines(text):
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_COLUMNS and not line.startswith("|") and "://" not in line:
            yield f"line {number} has {len(line)} columns, max {MAX_COLUMNS}"


def missing_rows(page):
    """Architectures that the table does not have."""
    for name in architectures_table.pages():
        if f"\n| `{name}` |" not in page:
            yield f"has no row for {name}: run tools/architectures_table.py"


def wrong_counts(text):
    """Counts of architectures that are not those of the sources."""
    n_known = len(architectures_table.pages())
    for count in re.findall(r"\b(\d+)\s+\[?architectures\b|There are (\d+) of them", text):
        if int("".join(count)) != n_known:
            yield f"counts {''.join(count)} architectures, there are {n_known}"


def main():
    git = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    files = [f for f in listed.split("\n") if f and (ROOT / f).exists()]
    n_bad = 0
    for name in filter(lambda f: f.endswith(".md"), files):
        text = (ROOT / name).read_text()
        plain = prose(text)
        found = [*bad_links(ROOT / name, plain), *missing_sources(plain, files), *long_lines(text)]
        if ROOT / name == architectures_table.PAGE:
            found += missing_rows(text)
        if name == "docs/architecture.md":
            found += lost_places(text, files)
        if name in ("README.md", "docs/architectures.md"):
            found += wrong_counts(text)
        for problem in found:
            print(f"{name}: {problem}")
        n_bad += len(found)
    return n_bad > 0


if __name__ == "__main__":
    sys.exit(main())
