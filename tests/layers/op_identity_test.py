#!/usr/bin/env python3
"""Ops answer for themselves: no other code compares with the identity of an op (`node.op == &kAdd`).
What it wants to know is a member of OpDef or OpInput. Passes replace certain ops by others, so they
may compare, and tests look for the nodes that they made."""
import collections
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ["WEFT_SOURCE"])
COMPARISON = re.compile(r"\bop_?\s*[!=]=\s*&(?:weft::)?k[A-Z]|&(?:weft::)?k[A-Z]\w+\s*[!=]=\s*\S*\bop\b"
                        r"|\bop->name\s*[!=]=|typeid\(\w+Attrs\)")
# Where it may be, and how often.
EXPECTED = {
    "backends/src/cpu/ops/attention/attention.cpp": 1,  # one kernel of two ops
    "backends/src/cpu/ops/rows/get_rows.cpp": 1,  # likewise
    "models/check/src/borders.cpp": 1,  # which lengths a proof tries: chunks of positions
    "models/run/src/streaming/residency.cpp": 1,  # which experts of all the weight of a rank has
    "scheduler/src/shard/split_projections.cpp": 3,  # a pass
}


def comparisons():
    for folder in ("backends", "bindings", "models", "scheduler", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h") or path.stem.endswith("_test"):
                continue
            if "passes" in path.parts or "tests" in path.relative_to(ROOT).parts:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for _ in COMPARISON.finditer(line):
                    yield path.relative_to(ROOT).as_posix(), f"{number}: {line.strip()}"


class OpIdentityTest(unittest.TestCase):
    def test_few_places_compare_with_an_op(self):
        found = list(comparisons())
        counts = dict(collections.Counter(path for path, _ in found))
        self.assertEqual(counts, EXPECTED, "\n".join(["ask OpDef instead:", *map(str, found)]))

    def test_comparisons_are_found(self):
        self.assertTrue(COMPARISON.search("if (node.op != &kCopy) continue;"))
        self.assertTrue(COMPARISON.search("switch_to(op == &kReshape)"))
        self.assertTrue(COMPARISON.search("args.op == &weft::kLinear"))
        self.assertTrue(COMPARISON.search("if (&kCopy == node.op) continue;"))
        self.assertTrue(COMPARISON.search('node.op->name == "linear"'))
        self.assertTrue(COMPARISON.search("attrs.holds(typeid(ScaleAttrs))"))
        self.assertFalse(COMPARISON.search("type.layout() == &kPanels"))


if __name__ == "__main__":
    unittest.main()
