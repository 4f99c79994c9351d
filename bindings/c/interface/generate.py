#!/usr/bin/env python3
"""Makes the header of the C API and what follows from it, from the .toml files of this folder:

  bindings/c/include/weft/weft.h  the header, whose frame is weft.h.in
  bindings/c/weft.map             the symbols of the library
  docs/c_api.md                   the tables of functions and of threads
  docs/options.md                 the options that Python does not take
  bindings/python/weft/_native    modules of the Python package that need no code of their own
  bindings/python/weft/_weft.pyi  the types of what they offer, whose frame is _weft.pyi.in

With --check it writes nothing and shows what would change. bindings/c/README.md describes the files.
"""

import argparse
import difflib
import pathlib
import sys

if sys.version_info < (3, 11):
    sys.exit("generate.py needs Python 3.11, this is " + ".".join(map(str, sys.version_info[:2])))

from generator import checks, data, header, native, page, stub  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
HEADER = ROOT / "bindings/c/include/weft/weft.h"
SYMBOLS = ROOT / "bindings/c/weft.map"
PAGE = ROOT / "docs/c_api.md"
OPTIONS_PAGE = ROOT / "docs/options.md"
NATIVE = ROOT / "bindings/python/weft/_native"
STUB = ROOT / "bindings/python/weft/_weft.pyi"


def loaded(folder):
    """The items and the template; DataError if something is wrong with them."""
    template = (folder / "weft.h.in").read_text()
    items = data.load(folder)
    problems = checks.problems(items, header.version(template))
    if problems:
        raise data.DataError("\n".join(problems))
    return items, template


def made(items, template):
    """The texts of all files, by path. The header is not formatted if there is no clang-format."""
    table = page.replaced("docs/c_api.md", PAGE.read_text(), "functions", page.functions(items))
    text = header.unformatted(items, template)
    sources = {NATIVE / name: text for name, text in native.sources(items).items()}
    return {HEADER: header.formatted(text, HEADER) if header.can_format() else text, **sources, SYMBOLS: header.symbols(items, header.version(template).split(".")[0]),
            PAGE: page.replaced("docs/c_api.md", table, "threads", page.threads(items)),
            OPTIONS_PAGE: page.replaced("docs/options.md", OPTIONS_PAGE.read_text(), "declined",
                                        page.declined(items)),
            STUB: stub.text(items, STUB.with_suffix(".pyi.in").read_text())}


def difference(path, text):
    """What would change in a file, as a unified diff; "": nothing. Without clang-format, where the
    lines of the header break is not compared."""
    old = path.read_text() if path.exists() else ""
    same = old == text
    if path == HEADER and not header.can_format():
        same = header.without_layout(old) == header.without_layout(text)
    if same:
        return ""
    name = path.relative_to(ROOT).as_posix()
    return "".join(difflib.unified_diff(old.splitlines(True), text.splitlines(True), name,
                                        f"{name} as the data says"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if a file differs")
    options = parser.parse_args()
    if not options.check and not header.can_format():
        sys.exit(f"{header.FORMATTER} is missing: run tools/packages/install.sh test")
    try:
        texts = made(*loaded(FOLDER))
    except data.DataError as error:
        sys.exit("\n".join(f"bindings/c/interface/{line}" for line in str(error).split("\n")))
    changed = {path: diff for path, text in texts.items() if (diff := difference(path, text))}
    for path, diff in changed.items():
        if options.check:
            print(diff, end="")
        else:
            path.write_text(texts[path])
            print(f"wrote {path.relative_to(ROOT)}")
    if options.check and changed:
        sys.exit("run bindings/c/interface/generate.py")


if __name__ == "__main__":
    main()
