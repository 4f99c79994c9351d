"""Chat templates: their output, see templates.json."""

import json
import unittest

from case_support import json_lines, load
from support import SystemTest


class Templates(SystemTest):
    def check(self, case):
        path = self.folder / "template.jinja"
        path.write_bytes(case["template"].encode())
        command = ("weft", "template", "--chat-template-file", path, "--jsonl")
        stdin = json_lines([case.get("with", {})])
        if "refused" in case:
            self.refuses(1, case["refused"], *command, stdin=stdin)
            return
        got = json.loads(self.runs(*command, stdin=stdin).out)
        if "error" in case:
            self.assertNotIn("output", got)
            self.assertIn(case["error"], got["error"])
        else:
            self.assertEqual(got, {"output": case["output"]})

    def test_templates(self):
        for case in load("templates.json")["cases"]:
            with self.subTest(case["name"]):
                self.check(case)

    def test_a_line_that_fails_does_not_end_the_others(self):
        path = self.folder / "template.jinja"
        path.write_text("{{ 6 // x }}")
        r = self.runs("weft", "template", "--chat-template-file", path, "--jsonl",
                      stdin=json_lines([{"x": 2}, {"x": 0}, {"x": 3}]))
        got = [json.loads(line) for line in r.out.splitlines()]
        self.assertEqual([line.get("output") for line in got], ["3", None, "2"])


if __name__ == "__main__":
    unittest.main()
