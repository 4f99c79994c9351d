"""`weft plan` says what generate and `weft serve` then use, byte for byte."""

import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest
from support import BIN, CLEAN, EMULATOR, MODEL, run
from waiting import eventually

MTP = "1.1b-mtp,D=128,F=256,L=2,H=4,G=2,V=2048,E=32"
HYBRID = "qwen35-like-mtp,D=256,F=256,L=4,H=4,G=2,V=2048,E=64"
EXPERTS = "qwen3-30b-a3b,D=256,F=512,L=3,H=4,G=2,V=2048,E=64"


def with_tokenizer(path):
    """Replaces the key of a made model that says that it has no vocabulary by the tokenizer of the
    bundled one, which has as many tokens."""
    def begin(gguf, name):
        return gguf.index(struct.pack("<Q", len(name)) + name)
    made, bundled = path.read_bytes(), MODEL.read_bytes()
    keys = [begin(gguf, b"tokenizer.ggml.model") for gguf in (made, bundled)]  # the last ones
    tensors = [begin(gguf, b"token_embd.weight") for gguf in (made, bundled)]
    added = bundled[keys[1]:tensors[1]]
    size = keys[0] + len(added)
    # Tensors stay aligned, behind a key that fills the place: 10 keys become of 1.
    name = b"general.description"
    fill = (tensors[0] - size - 20 - len(name)) % 32
    added += struct.pack("<Q", len(name)) + name + struct.pack("<IQ", 8, fill) + bytes(fill)
    n_keys = struct.unpack_from("<Q", made, 16)[0] + 10
    path.write_bytes(made[:16] + struct.pack("<Q", n_keys) + made[24:keys[0]] + added + made[tensors[0]:])


class Plan(ServeTest):
    def made(self, shape, kind="Q8_0"):
        path = self.folder / f"{shape.split(',')[0]}.gguf"
        self.runs("weft", "bench", "--make-model", shape, kind, path)
        with_tokenizer(path)
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

    def as_told(self, model, *flags):
        """The plan of a session, after it was compared with what generate and chat report."""
        plan = self.plan(model, *flags)
        total_of = lambda *more: re.search(
            r"(?m)^ *total +(\S+ \S+)",
            self.runs("weft", "plan", "-m", model, "-c", "1024", *flags, *more).out.decode()).group(1)
        total = total_of()
        r = self.runs("generate", "-m", model, "-c", "1024", *flags, "-p", "Once", "-n", "4")
        self.assertIn(f"memory    {total} in all", r.err)
        self.assertIn(f", {total_of('--chat')} of memory.", self.greeting(model, *flags))
        return plan

    def greeting(self, model, *flags):
        """What chat says first in a terminal."""
        chat, terminal = os.openpty()
        self.addCleanup(os.close, chat)
        command = [*EMULATOR, BIN / "chat", "-m", model, "-c", "1024", *flags]
        with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=subprocess.PIPE,
                              env=CLEAN | {"TERM": "dumb"}) as process:
            os.close(terminal)
            err = process.stderr.readline()
            while b" of memory." not in err and process.poll() is None:
                err += process.stderr.readline()

            def has_ended():
                os.write(chat, b"\x15\x04")  # empties the line, and ends it
                return process.poll() is not None
            try:
                eventually(has_ended, "the end of chat")
            finally:
                process.kill()
        self.assertEqual(process.returncode, 0, err)
        return err.decode()

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
        self.as_told(MODEL)
        plan = self.as_told(MODEL, "-md", MODEL)
        self.assertIsNotNone(plan["drafts"]["model"])
        self.as_told(MODEL, "--spec-type", "ngram-simple", "--mem-budget", "128M")
        for shape in (MTP, HYBRID):
            plan = self.as_told(self.made(shape))
            self.assertGreater(plan["drafts"]["guess_bytes"], 0)

    def test_flags_without_an_effect_are_refused(self):
        for flags in (["-md", MODEL], ["--spec-type", "ngram-simple"]):
            self.refuses(2, "--embeddings has no drafts", "weft", "plan", "--embeddings", *flags)

    def test_ranks(self):
        for shard in ("tp=2", "pp=2"):
            self.as_served(MODEL, "--shard", shard, "-t", "1")
            self.as_told(MODEL, "--shard", shard, "-t", "1")
            for flags in ([], ["--server"]):  # the table of ranks is of the same session
                text = self.runs("weft", "plan", "--shard", shard, *flags).out.decode()
                rank = re.search(r"(?m)^ *0(?:  +\S+ \S+){3}  +(\S+ \S+)", text).group(1)
                total = re.search(r"(?m)^  total +(\S+ \S+)", text).group(1)
                self.assertEqual(rank, total)


if __name__ == "__main__":
    unittest.main()
