#!/usr/bin/env python3
"""Ops answer for themselves: no other code compares with the identity of an op (`node.op == &kAdd`).
What it wants to know is a member of OpDef or OpInput. Passes replace certain ops by others, so they
may compare, and tests look for the nodes that they made."""
import os
import pathlib
import re
import unittest

ROOT = pathlib.Path(os.environ["WEFT_SOURCE"])
COMPARISON = re.compile(r"\bop(?:_)?\s*[!=]=\s*&(?:weft::)?k[A-Z]")
MAX = 7  # kernels of two ops, the pass that splits projections among ranks, chunks of positions


def comparisons():
    for folder in ("backends", "bindings", "models", "scheduler", "tools"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in (".cpp", ".h") or path.stem.endswith("_test"):
                continue
            if "passes" in path.parts or "tests" in path.relative_to(ROOT).parts:
                continue
            for number, line in enumerate(path.read_text().splitlines(), 1):
                for _ in COMPARISON.finditer(line):
                    yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


class OpIdentityTest(unittest.TestCase):
    def test_few_places_compare_with_an_op(self):
        found = list(comparisons())
        self.assertLessEqual(len(found), MAX, "\n".join(["ask OpDef instead:", *found]))

    def test_comparisons_are_found(self):
        self.assertTrue(COMPARISON.search("if (node.op != &kCopy) continue;"))
        self.assertTrue(COMPARISON.search("switch_to(op == &kReshape)"))
        self.assertTrue(COMPARISON.search("args.op == &weft::kLinear"))
        self.assertFalse(COMPARISON.search("type.layout() == &kPanels"))


if __name__ == "__main__":
    unittest.main()
