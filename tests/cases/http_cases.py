"""Sends the requests of a data file to `weft serve` and checks the answers.

A request: `send` ("METHOD /path"), `body` (JSON) or `raw` (text), `headers`. An answer: `status`
(200 if absent), and by paths into its JSON such as choices.0.text: `equal`, `contains`, `greater`,
`kind` (of KINDS), `absent`; `header`: a header and a part of its value. A text "{NAME}" is replaced
by the value of an earlier answer that `keep` named.
"""

import json

from case_support import at
from serve_support import ServeTest

KINDS = {"text": str, "number": (int, float), "list": list, "object": dict, "null": type(None)}


def filled(value, kept):
    """The value with values of earlier answers."""
    if isinstance(value, dict):
        return {k: filled(v, kept) for k, v in value.items()}
    if isinstance(value, list):
        return [filled(v, kept) for v in value]
    if isinstance(value, str) and value[1:-1] in kept and value == "{" + value[1:-1] + "}":
        return kept[value[1:-1]]
    return value


class HttpCases(ServeTest):
    def send(self, server, step, kept):
        method, path = step["send"].split(" ", 1)
        body = filled(step.get("body"), kept)
        if "raw" in step:
            body = step["raw"].encode("latin-1")
        elif body is not None and not isinstance(body, dict):
            body = json.dumps(body).encode()
        return server.request(method, path, body, headers=step.get("headers"))

    def check_fields(self, step, got, kept):
        for path, want in step.get("equal", {}).items():
            self.assertEqual(at(got, path), filled(want, kept), path)
        for path, want in step.get("contains", {}).items():
            self.assertIn(filled(want, kept), at(got, path), path)
        for path, want in step.get("greater", {}).items():
            self.assertGreater(at(got, path), want, path)
        for path, want in step.get("kind", {}).items():
            self.assertIsInstance(at(got, path), KINDS[want], path)
        for path in step.get("absent", []):
            with self.assertRaises(LookupError, msg=path):
                at(got, path)

    def check(self, server, step, kept):
        """Sends a request and returns the answer."""
        r = self.send(server, step, kept)
        self.assertEqual(r.status, step.get("status", 200), r.body[:400])
        for name, part in step.get("header", {}).items():
            self.assertIn(part, r.headers.get(name, "(no header)"), name)
        if set(step) & {"equal", "contains", "greater", "kind", "absent", "keep"}:
            self.check_fields(step, r.json, kept)
        for name, path in step.get("keep", {}).items():
            kept[name] = at(r.json, path)
        return r

    def check_all(self, server, cases):
        kept = {}
        for case in cases:
            with self.subTest(case["name"]):
                for step in case.get("steps", [case]):
                    self.check(server, step, kept)
        self.assertEqual(server.get("/health").status, 200)
