"""The options of C++ and the structs of C have the same members: docs/options.md, which tests write
from the descriptions in C++, names the members of C for each of them.

    options_test.py"""

import os
import pathlib
import re
import tomllib
import unittest

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE", pathlib.Path(__file__).parents[3]))
STRUCTS = {"Sessions": "weft_session_options", "Models": "weft_model_options",
           "Texts": "weft_generation_options", "Drafts": "weft_speculation_options"}
# Members that stand for no option: what comes with an array or a callback, ..
HELPERS = re.compile(r"struct_size|reserved|n_(?!max|logprobs)\w+|\w+_user")
# .. and what C opens in place of a model.
OTHERS = {"vocabulary_only"}


def described():
    """{title: names in C} of the tables of the page."""
    page = (SOURCE / "docs/options.md").read_text().partition("\n## Environment variables")[0]
    tables = re.findall(r"^### (\w+)\n\n(.*?)(?=^###|^<!--)", page, re.M | re.S)
    cells = {title: [line.split(" | ")[3] for line in table.splitlines()[2:] if line]
             for title, table in tables}
    return {title: {name for cell in column if cell.startswith("`")
                    for name in cell.strip("`").split(",")} for title, column in cells.items()}


def listed(name):
    """One name, or those of several members of a type."""
    return [name] if isinstance(name, str) else name


def members():
    """{struct: names of its members}."""
    found = {}
    for path in (SOURCE / "bindings/c/interface").glob("*.toml"):
        for item in tomllib.loads(path.read_text())["item"]:
            if "struct" in item:
                found[item["struct"]] = {name for member in item["members"]
                                         for name in listed(member.get("name") or member["callback"])}
    return found


class Options(unittest.TestCase):
    def test_options_of_cpp_have_the_members_of_c(self):
        tables, structs = described(), members()
        self.assertEqual(set(tables), set(STRUCTS))
        for title, struct in STRUCTS.items():
            names = {name for name in structs[struct]
                     if not HELPERS.fullmatch(name) and name not in OTHERS}
            self.assertEqual(tables[title], names, struct)


if __name__ == "__main__":
    unittest.main()
