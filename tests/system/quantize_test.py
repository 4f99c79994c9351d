"""weft quantize: its output, its refusals, and that no partial file ever has the final
name."""

import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
import unittest

from support import BIN, CLEAN, TIMEOUT, SANITIZED, SystemTest, run

MIB = 1 << 20
SLACK = 24 * MIB  # the program itself: code, libraries, threads, pieces in flight


class Quantize(SystemTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.model = os.path.join(folder.name, "random.gguf")
        r = run("weft", "bench", "--make-model", "D=1024,F=2816,L=6,H=16,G=4,V=8000", "F16",
                cls.model)
        assert r.code == 0, r.err

    def start(self, *args, **kwargs):
        return subprocess.Popen([str(BIN / "weft"), "quantize", *map(str, args)], env=CLEAN,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)

    def files(self):
        return sorted(p.name for p in self.folder.iterdir())

    def test_same_bytes_for_any_number_of_workers(self):
        outs = []
        for workers in (1, 2):
            out = self.folder / f"{workers}.gguf"
            self.runs("weft", "quantize", self.model, out, "q4_0", "-t", workers)
            outs.append(out.read_bytes())
        self.assertEqual(*outs)
        tokens = ["--tokens", "1,2,3", "-o", self.folder / "l.npy"]
        self.runs("weft", "logits", "-m", self.folder / "2.gguf", *tokens)

    def test_dry_run_says_what_the_run_writes(self):
        out = self.folder / "out.gguf"
        args = ["Q8_0", "--tensor-type", "attn_[kv]=F16", "--tensor-type", "ffn_down=bf16"]
        dry = self.runs("weft", "quantize", self.model, *args, "--dry-run").out.decode()
        self.assertEqual(self.runs("weft", "quantize", self.model, out, *args,
                                   "--dry-run").out.decode(), dry)
        self.assertEqual(self.files(), [])
        self.assertEqual(self.runs("weft", "quantize", self.model, out, *args).out.decode(), dry)
        shown = self.runs("weft", "inspect", out).out.decode()
        for name, kind in [("blk.2.attn_v.weight", "F16"), ("blk.2.attn_q.weight", "Q8_0"),
                           ("blk.2.ffn_down.weight", "BF16"), ("blk.2.ffn_norm.weight", "F32")]:
            self.assertRegex(dry, rf"(?m)^  {re.escape(name)} .*\b{kind} +\d+$")
            self.assertRegex(shown, rf"{re.escape(name)} .*\b{kind}\b")
        total = int(re.search(r"-> (\d+) bytes", dry)[1])
        self.assertLess(abs(out.stat().st_size - total), 64 << 10)

    @unittest.skipIf(SANITIZED, "memory cannot be measured")
    def test_memory_does_not_grow_with_the_file(self):
        self.assertGreater(os.path.getsize(self.model), 3 * SLACK)
        process = self.start(self.model, self.folder / "out.gguf", "Q8_0")
        process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        process.stderr.close()
        self.assertEqual(process.returncode, 0)
        self.assertLess(usage.ru_maxrss * 1024, SLACK)

    def half_way(self):
        """A run that has written some tensors."""
        process = self.start(self.model, self.folder / "out.gguf", "Q6_K", "-t", 1)
        for _ in range(4):
            process.stdout.readline()
        process.send_signal(signal.SIGSTOP)  # it cannot end before the signal
        return process

    def test_killed_half_way(self):
        with self.half_way() as process:
            process.kill()  # stopped or not
        self.assertNotIn("out.gguf", self.files())
        self.runs("weft", "quantize", self.model, self.folder / "out.gguf", "Q8_0")
        self.assertIn("out.gguf", self.files())

    def test_stopped_by_the_user(self):
        (self.folder / "out.gguf").write_bytes(b"older")
        with self.half_way() as process:
            process.send_signal(signal.SIGINT)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, err), (130, b""))
        self.assertEqual(self.files(), ["out.gguf"])
        self.assertEqual((self.folder / "out.gguf").read_bytes(), b"older")

    def test_no_room(self):
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 * MIB, 8 * MIB))
        with self.start(self.model, self.folder / "out.gguf", "Q8_0", preexec_fn=limit) as process:
            _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"out.gguf: ", err)
        self.assertEqual(self.files(), [])
        with open("/dev/full", "wb"):
            self.refusal(1, "No space left", self.model, "/dev/full", "Q8_0")

    def refusal(self, code, text, *args):
        r = run("weft", "quantize", *args)
        self.assertEqual(r.code, code, r.err)
        self.assertIn(text, r.err)
        self.assertLess(len(r.err), 4000)

    def test_refusals(self):
        out = self.folder / "out.gguf"
        self.refusal(2, "", self.model)
        self.refusal(2, "output file", self.model, "Q8_0")
        self.refusal(2, "known: ", self.model, out, "Q8")
        self.refusal(2, "REGEX=TYPE", self.model, out, "Q8_0", "--tensor-type", "ffn")
        self.refusal(2, "not a usable regular expression", self.model, out, "Q8_0", "--tensor-type",
                     "(=Q8_0")
        self.refusal(2, "known: ", self.model, out, "Q8_0", "--tensor-type", "ffn=Q9_0")
        self.refusal(1, "the pattern 'ffn_dwon' matches no tensor", self.model, out, "Q8_0",
                     "--tensor-type", "ffn_dwon=Q8_0")
        self.refusal(1, "the pattern 'ffn_dwon' matches no tensor", self.model, "Q8_0", "--dry-run",
                     "--tensor-type", "ffn_dwon=Q8_0")
        self.refusal(1, "must not be a file of the input", self.model, self.model, "Q8_0")
        self.refusal(1, "no-such-folder", self.model, self.folder / "no-such-folder/out.gguf",
                     "Q8_0")
        self.refusal(1, str(self.folder), self.model, self.folder, "Q8_0")
        self.refusal(1, "no-such-imatrix", self.model, out, "Q8_0", "--imatrix", "no-such-imatrix")
        self.assertEqual(self.files(), [])
        self.runs("weft", "quantize", self.model, out, "Q8_0")
        self.refusal(1, "it is already Q8_0", out, self.folder / "again.gguf", "Q4_0")
        self.refusal(1, "it is already Q8_0", out, "Q4_0", "--dry-run")
        self.runs("weft", "quantize", out, self.folder / "again.gguf", "Q4_0", "--allow-requantize")

    def importance_matrix(self, layers, without=()):
        """Of a model with D = F = 256, in the old format: importances of 1."""
        parts = ["attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"]
        names = [f"blk.{i}.{part}.weight" for i in range(layers) for part in parts]
        names = [name.encode() for name in names if name not in without]
        data = struct.pack("<i", len(names))
        for name in names:
            data += struct.pack("<i", len(name)) + name + struct.pack("<2i256f", 1, 256, *[1] * 256)
        path = self.folder / f"of{len(names)}.imatrix"
        path.write_bytes(data)
        return path

    def test_tensors_without_importances_are_named(self):
        model, out = self.folder / "m.gguf", self.folder / "out.gguf"
        self.runs("weft", "bench", "--make-model", "D=256,F=256,L=8,H=4,G=4,V=64", "F32", model)
        without = [f"blk.{i}.ffn_{part}.weight" for i in (2, 5) for part in ("gate", "up", "down")]
        full = self.importance_matrix(8)
        holes = self.importance_matrix(8, without)
        short = self.importance_matrix(1)

        r = self.runs("weft", "quantize", model, out, "Q4_0", "--imatrix", full)
        self.assertNotIn("importances", r.err)
        for args in ((out, "Q4_0"), ("Q4_0", "--dry-run")):
            r = self.runs("weft", "quantize", model, *args, "--imatrix", holes)
            self.assertIn(f"weft quantize: warning: {holes}: no importances for 6 of 56 "
                          "tensors, whose errors are not weighted: blk.2.ffn_gate.weight, "
                          "blk.2.ffn_up.weight, blk.2.ffn_down.weight, ...\n", r.err)
        out.unlink()

        # A type that needs importances is refused, with all names of a few layers.
        r = run("weft", "quantize", model, out, "IQ2_XXS", "--imatrix", holes)
        self.assertEqual(r.code, 1)
        self.assertIn("tensor 'blk.2.ffn_gate.weight' cannot become IQ2_XXS: ", r.err)
        self.assertIn(f"; the same is true of {', '.join(without[1:])}\n", r.err)
        r = run("weft", "quantize", model, out, "IQ2_XXS", "--imatrix", short)
        self.assertEqual(r.code, 1)
        names = re.search("the same is true of (.*)\n", r.err).group(1).split(", ")
        self.assertEqual(len(names), 33)
        self.assertRegex(names[-1], r"^\d+ more$")
        self.assertFalse(out.exists())

    def test_a_reader_that_leaves_does_not_stop_it(self):
        out = self.folder / "out.gguf"
        with self.start(self.model, out, "Q8_0") as process:
            process.stdout.close()
            process.stderr.read()
        self.assertEqual(process.returncode, 0)
        self.runs("weft", "inspect", out)


if __name__ == "__main__":
    unittest.main()
