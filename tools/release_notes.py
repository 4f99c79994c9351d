#!/usr/bin/env python3
"""Prints the notes of a version from CHANGELOG.md. Fails if the version has no date, or if entries
are still under "Unreleased".

Examples:
  tools/release_notes.py 0.1.0
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEAD = re.compile(r"^## \[(?P<name>[^\]]+)\](?: - (?P<date>\S+))?$", re.M)


def sections(text):
    """(name, date or None, body) of each version, in the order of the page."""
    heads = list(HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [(head["name"], head["date"], text[head.end():end].strip())
            for head, end in zip(heads, ends)]


def notes(text, version):
    """The notes. Raises ValueError if the version cannot be released."""
    found = {name: (date, body) for name, date, body in sections(text)}
    if version not in found:
        raise ValueError(f"CHANGELOG.md: no section [{version}]")
    date, body = found[version]
    if not date or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        raise ValueError(f"CHANGELOG.md: [{version}] needs a date, YYYY-MM-DD, got {date}")
    if found.get("Unreleased", (None, ""))[1]:
        raise ValueError("CHANGELOG.md: entries under [Unreleased]: move them to a version")
    if not body:
        raise ValueError(f"CHANGELOG.md: [{version}] has no entries")
    return f"# Weft {version} ({date})\n\n{body}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    version = parser.parse_args().version
    try:
        sys.stdout.write(notes((ROOT / "CHANGELOG.md").read_text(), version))
    except ValueError as error:
        sys.exit(f"release_notes: {error}")


if __name__ == "__main__":
    main()
