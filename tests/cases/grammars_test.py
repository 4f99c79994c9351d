"""Grammars in GBNF and JSON Schemas: texts that they allow and do not allow, see grammars.json."""

import json
import unittest

from case_support import json_lines, load
from support import SystemTest


class Grammars(SystemTest):
    def check(self, option, written, case, allowed, forbidden):
        path = self.folder / "rules"
        path.write_text(written, "utf-8")
        if "refused" in case:
            self.refuses(1, case["refused"], "weft", "grammar", option, path, "--jsonl",
                         stdin=b'"a"\n')
            return
        r = self.runs("weft", "grammar", option, path, "--jsonl",
                      stdin=json_lines(allowed + forbidden))
        got = [json.loads(line) for line in r.out.decode().splitlines()]
        want = ["accept"] * len(allowed) + ["reject"] * len(forbidden)
        self.assertEqual(list(zip(allowed + forbidden, got)), list(zip(allowed + forbidden, want)))

    def test_gbnf(self):
        for case in load("grammars.json")["gbnf"]:
            with self.subTest(case["name"]):
                self.check("--grammar-file", "\n".join(case["grammar"]) + "\n", case,
                           case.get("accept", []), case.get("reject", []))

    def test_schemas(self):
        for case in load("grammars.json")["schemas"]:
            with self.subTest(case["name"]):
                allowed, forbidden = (
                    [json.dumps(v) for v in case.get(kind, [])] + case.get(f"{kind}_text", [])
                    for kind in ("accept", "reject"))
                self.check("--json-schema-file", json.dumps(case["schema"]), case, allowed,
                           forbidden)


if __name__ == "__main__":
    unittest.main()
