"""Code shared by the tests of cases: data files, and the helpers of tests/system."""

import json
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent / "system"))


def load(name):
    """A JSON file of this folder."""
    return json.loads((FOLDER / name).read_text("utf-8"))


def json_lines(values):
    return "".join(json.dumps(v) + "\n" for v in values).encode()


def at(value, path):
    """The value below a path such as choices.0.text. Raises LookupError if there is none."""
    for step in path.split(".") if path else []:
        value = value[int(step)] if isinstance(value, list) else value[step]
    return value
