"""The ledger: what a server takes beside its models, what it refuses, and what the system says."""

import json
import pathlib
import re
import sys
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest
from support import SANITIZED
from waiting import eventually

MIB = 1 << 20
SLACK = 24 * MIB  # of the system's count above the ledger


def accounts(memory):
    return {a["name"]: a for a in memory["beside"]["accounts"]}


class Ledger(ServeTest):
    def memory(self, server):
        return server.get("/props").json["memory"]

    def resident(self, server):
        """The bytes that the process has for itself alone."""
        status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text("ascii")
        return 1024 * int(re.search(r"RssAnon:\s*(\d+)", status)[1])

    def gives_back(self, server, name):
        eventually(lambda: accounts(self.memory(server))[name]["bytes"] == 0,
                   lambda: self.memory(server))

    def ledger(self, server):
        """The ledger's bytes at their peaks, without pages of files."""
        memory = self.memory(server)
        lines = {line["name"]: line["bytes"] for line in memory["lines"]}
        own = sum(n for name, n in lines.items() if name != "weights, mapped")
        return own + sum(a["peak"] for a in memory["beside"]["accounts"])

    def test_a_body_that_the_budget_has_no_room_for(self):
        server = self.serve("--mem-budget", "40M")
        memory = self.memory(server)
        self.assertLessEqual(memory["beside"]["limit"], memory["budget"] - memory["total"] + 12 * MIB)
        self.assertLessEqual(memory["allocated"], memory["total"])
        body = json.dumps({"prompt": "a", "n_predict": 1, "padding": "x" * (30 * MIB)}).encode()
        reply = server.post("/completion", body)
        self.assertEqual(reply.status, 503)
        self.assertRegex(reply.json["error"]["message"], r"[KM]iB for bodies: .* of \d+\.\d MiB are taken \(bodies")
        self.assertEqual(server.post("/completion", {"prompt": "a", "n_predict": 1}).status, 200)
        self.assertGreater(accounts(self.memory(server))["bodies"]["peak"], MIB)
        self.gives_back(server, "bodies")

    def test_metrics_and_props_agree(self):
        server = self.serve()
        server.post("/completion", {"prompt": "Once", "n_predict": 2,
                                    "json_schema": {"type": "array", "items": {"enum": ["a", "b"]}}})
        text = server.get("/metrics").body.decode()
        found = dict(re.findall(r'weft_memory_taken_peak_bytes\{account="(\w+)"\} (\S+)', text))
        for name, account in accounts(self.memory(server)).items():
            self.assertGreaterEqual(account["peak"], float(found[name]))
        self.assertGreater(float(found["grammars"]), 0)
        self.assertGreater(float(found["texts"]), 0)
        self.assertLessEqual(server.metric("memory_allocated_bytes"), server.metric("memory_bytes"))

    @unittest.skipIf(SANITIZED, "memory cannot be measured")
    def test_the_system_counts_no_more(self):
        server = self.serve("--cache-dir", str(self.folder / "snapshots"))
        grammar = 'root ::= ("a" | "b" | [c-z]){1,400}'
        schema = {"type": "object", "properties": {f"p{i}": {"type": "string", "maxLength": 50}
                                                   for i in range(60)}}
        asks = [{"prompt": list(range(300, 1000)), "n_predict": 20},
                {"prompt": "Once upon a time", "n_predict": 60, "grammar": grammar},
                {"prompt": "A list", "n_predict": 60, "json_schema": schema},
                {"prompt": ["story " * 100] * 64, "n_predict": 1},
                {"prompt": "a", "n_predict": 1, "padding": "x" * (20 * MIB)},
                {"prompt": "a", "n_predict": 1, "logit_bias": [[i % 500, 0.5] for i in range(100_000)]}]

        def client(i):
            for turn in range(12):
                server.post("/completion", asks[(i + turn) % len(asks)])
        threads = [threading.Thread(target=client, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        most = 0
        while any(thread.is_alive() for thread in threads):
            most = max(most, self.resident(server) - self.ledger(server))
        for thread in threads:
            thread.join()
        self.assertLessEqual(most, SLACK)
        self.gives_back(server, "bodies")
        self.gives_back(server, "texts")


if __name__ == "__main__":
    unittest.main()
