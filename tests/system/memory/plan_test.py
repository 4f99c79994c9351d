"""`weft plan` says what generate and `weft serve` then use, byte for byte."""

import json
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest
from support import MODEL, run

MTP = "1.1b-mtp,D=128,F=256,L=3,H=4,G=2,V=512,E=32"
HYBRID = "qwen35-like-mtp,D=256,F=256,L=5,H=4,G=2,V=512,E=64"
EXPERTS = "qwen3-30b-a3b,D=256,F=512,L=3,H=4,G=2,V=512,E=64"


class Plan(ServeTest):
    def made(self, shape, kind="Q8_0"):
        path = self.folder / f"{shape.split(',')[0]}.gguf"
        self.runs("weft", "bench", "--make-model", shape, kind, path)
        return path

    def plan(self, model, *flags):
        return json.loads(self.runs("weft", "plan", "-m", model, "-c", "1024", *flags, "--json").out)

    def as_served(self, model, *flags):
        """The plan of a server, after it was compared with /props."""
        plan = self.plan(model, "--server", "-np", "2", *flags)
        server = self.serve(*flags, model=model)
        props = server.get("/props").json
        server.kill()
        memory, slots = props["memory"], props["total_slots"]
        self.assertEqual(plan["memory_lines"], memory["lines"], flags)
        self.assertEqual(plan["memory"]["total"], memory["total"], flags)
        self.assertEqual(plan["concessions"], memory["concessions"], flags)
        self.assertEqual(plan["slots"], slots, flags)
        return plan

    def as_generated(self, model, *flags):
        """The plan of a session, after it was compared with what generate reports."""
        plan = self.plan(model, *flags)
        text = self.runs("weft", "plan", "-m", model, "-c", "1024", *flags).out.decode()
        total = re.search(r"(?m)^ *total +(\S+ \S+)", text).group(1)
        r = self.runs("generate", "-m", model, "-c", "1024", *flags, "-p", "Once", "-n", "4")
        self.assertIn(f"memory    {total} in all", r.err)
        return plan

    def test_a_server_of_a_plain_model(self):
        self.as_served(MODEL)
        self.as_served(MODEL, "--cache-ram", "0")
        self.as_served(MODEL, "--cache-ram", "2", "--spec-type", "ngram-simple")

    def test_a_server_with_a_draft_model(self):
        plan = self.as_served(MODEL, "-md", MODEL)
        self.assertIsNotNone(plan["drafts"]["model"])
        self.assertGreater(plan["memory"]["total"], self.as_served(MODEL)["memory"]["total"])

    def test_a_server_of_a_model_with_a_draft_layer(self):
        model = self.made(MTP)
        plan = self.as_served(model)  # which is on by default
        self.assertGreater(plan["drafts"]["guess_bytes"], 0)
        self.assertIn("draft", " ".join(p["name"] for p in plan["plans"]))
        without = self.as_served(model, "--spec-type", "none")
        self.assertLess(without["memory"]["total"], plan["memory"]["total"])

    def test_a_server_of_a_hybrid_model(self):
        model = self.made(HYBRID)
        plan = self.as_served(model)
        few = self.as_served(model, "--spec-draft-n-max", "1")
        self.assertLess(few["memory"]["state"], plan["memory"]["state"])  # fewer states to go back to

    def test_servers_with_streamed_weights(self):
        model = self.made(EXPERTS)
        self.as_served(model, "--weights", "streamed", "--mem-budget", "128M")
        self.as_served(model, "--weights", "streamed", "--mem-budget", "192M", "-md", model)

    def test_servers_from_refused_to_ample(self):
        model = self.made(MTP)
        n_refused = n_conceding = n_ample = 0
        for mib in (24, 28, 30, 32, 34, 36, 40, 48, 64, 128):
            flags = ("--mem-budget", f"{mib}M", "-md", model, "--spec-type", "draft-mtp,draft")
            r = run("weft", "plan", "-m", model, "-c", "1024", "--server", "-np", "2", *flags)
            if r.code:
                n_refused += 1
                continue
            plan = self.as_served(model, *flags)
            self.assertLessEqual(plan["memory"]["total"], mib << 20)
            n_conceding += bool(plan["concessions"] or plan["drafts"]["left_out"])
            n_ample += plan["drafts"]["model"] is not None
        self.assertTrue(n_refused and n_conceding and n_ample, (n_refused, n_conceding, n_ample))

    def test_texts_of_generate(self):
        self.as_generated(MODEL)
        plan = self.as_generated(MODEL, "-md", MODEL)
        self.assertIsNotNone(plan["drafts"]["model"])
        self.as_generated(MODEL, "--spec-type", "ngram-simple", "--mem-budget", "128M")


if __name__ == "__main__":
    unittest.main()
