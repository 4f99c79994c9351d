"""Commands that check a model: verify, bisect, selftest, trace, new-model-check."""

import json
import os
import struct
import unittest
import zipfile

from support import MODEL, SystemTest, run


def npy(shape, values, descr="<f4", fortran=False):
    """The bytes of a .npy file, version 1."""
    code = {"<f2": "e", "<f4": "f", "<f8": "d", "<i4": "i"}[descr]
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}{code}", *values)


class Proof(SystemTest):
    def npz(self, arrays, name="d.npz", method=zipfile.ZIP_STORED):
        path = self.folder / name
        with zipfile.ZipFile(path, "w", method) as archive:
            for key, data in arrays.items():
                archive.writestr(key + ".npy", data)
        return path


class Verify(Proof):
    IDS = ("--tokens", "1,2,3,4,5")

    def reports(self, *args):
        return json.loads(self.runs("weft", "verify", "--json", *args).out)

    def test_every_row_fused_and_unfused(self):
        reports = self.reports("--all-isas", "--unfused-too", *self.IDS)
        backends = {r["backend"] for r in reports}
        self.assertTrue(any(b.startswith("cpu, SSE2") for b in backends), backends)
        self.assertEqual(len(reports), 4 * len(backends))
        for r in reports:
            self.assertTrue(r["report"]["passed"])
            limit = 1e-2 if not r["passes_off"] else 1e-8
            self.assertLess(r["logits_nmse"], limit)
        fused, unfused = (len(reports[i]["report"]["nodes"]) for i in (0, 2))
        self.assertLess(fused, unfused)

    def test_one_row(self):
        r = self.reports("--isa", "sse2", *self.IDS)[0]
        self.assertTrue(any(n["kernel"].endswith("sse2") for n in r["report"]["nodes"]))
        self.assertFalse(any("avx" in n["kernel"] for n in r["report"]["nodes"]))
        self.refuses(1, "unknown instruction set 'mmx' (known: ", "weft", "verify", "--isa", "mmx")
        self.refuses(1, "--isa and --all-isas are for the cpu backend", "weft", "verify", "--isa",
                     "sse2", "--backend", "reference")

    def test_random_ids(self):
        a, b, c = (self.runs("weft", "verify", "--random", "5", "-s", s, "--no-plain").out for s
                   in ("1", "1", "2"))
        self.assertEqual(a, b)
        self.assertNotEqual(a, c)

    def test_numbers_of_a_node(self):
        for n in self.reports(*self.IDS)[0]["report"]["nodes"]:
            self.assertLessEqual(n["worst_ratio"], 1)
            for key in ("worst_ulps", "worst_relative", "bound"):
                self.assertGreaterEqual(n[key], 0)
            self.assertEqual(n["not_numbers"], 0)

    def logits(self, ids):
        out = self.folder / "l.npy"
        self.runs("weft", "logits", "--tokens", ids, "--backend", "reference", "--no-pass", "all",
                  "-o", out)
        data = out.read_bytes()
        start = 10 + int.from_bytes(data[8:10], "little")
        return [v for (v,) in struct.iter_unpack("<f", data[start:])]

    def test_dump(self):
        values = self.logits("1,2,3,4,5")
        vocabulary = len(values) // 5
        f32 = ("--cache-type-k", "f32", "--cache-type-v", "f32")
        for method, descr in [(zipfile.ZIP_STORED, "<f4"), (zipfile.ZIP_DEFLATED, "<f4"),
                              (zipfile.ZIP_DEFLATED, "<f8"), (zipfile.ZIP_STORED, "<f2")]:
            with self.subTest(method=method, descr=descr):
                dump = self.npz({"logits": npy((5, vocabulary), values, descr)}, method=method)
                reports = self.reports("--dump", dump, "--no-pass", "all", *f32, *self.IDS)
                for r in reports:
                    self.assertLess(r["dump_nmse"], 1e-9 if descr != "<f2" else 1e-6)
        text = self.runs("weft", "verify", "--dump", dump, *self.IDS).out.decode()
        self.assertIn("dump: 1 tensors compared", text)
        self.assertRegex(text, r"non-finite +plain +dump")

    def test_dumps_that_do_not_fit(self):
        def refuse(code, text, path, *args):
            self.refuses(code, text, "weft", "verify", *self.IDS, "--dump", path, *args)

        refuse(1, "must be [5, 2048], as it has one row for each of the 5 tokens, got [4, 2]",
               self.npz({"logits": npy((4, 2), [0] * 8)}))
        refuse(1, "none of its 1 names is a node", self.npz({"nonsense": npy((1,), [0])}))
        refuse(1, "none of its 0 names", self.npz({}))
        refuse(1, "elements have another type", self.npz({"logits": npy((2,), [1, 2], "<i4")}))
        refuse(1, "in Fortran order", self.npz({"logits": npy((2,), [1, 2], fortran=True)}))
        refuse(1, "fewer bytes than its shape", self.npz({"logits": npy((1 << 40, 1 << 40),
                                                                        [1, 2])}))
        refuse(1, "more bytes than its shape", self.npz({"logits": npy((1,), [1, 2])}))
        refuse(1, "is not a .npy array", self.renamed())
        refuse(1, "cannot open: No such file", self.folder / "absent.npz")

    def renamed(self):
        path = self.folder / "r.npz"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.txt", b"x")
        return path

    def test_damaged_archives(self):
        whole = self.npz({"logits": npy((64,), range(64))},
                         method=zipfile.ZIP_DEFLATED).read_bytes()
        bad = self.folder / "bad.npz"
        for data in [b"", b"PK", whole[:-22], whole[:40], whole[30:], whole + b"PK\x05\x06"]:
            bad.write_bytes(data)
            self.refuses(1, "must be a .npz archive", "weft", "verify", *self.IDS, "--dump", bad)
        # A flipped byte must be refused, or have no effect.
        for i in range(0, len(whole), 11):
            bad.write_bytes(whole[:i] + bytes([whole[i] ^ 0xFF]) + whole[i + 1:])
            r = run("weft", "verify", "--tokens", "1", "--no-plain", "--dump", bad)
            self.assertIn(r.code, (0, 1), f"byte {i}: {r.err}")


class Bisect(Proof):
    def test_nothing_is_wrong(self):
        r = self.runs("weft", "bisect", "--tokens", "1,2,3,4")
        self.assertTrue(r.out.startswith(b"nothing is wrong"), r.out)
        self.assertIn("without lowering", r.err)
        self.assertEqual(self.runs("weft", "bisect", "-q", "--tokens", "1,2,3,4").err, "")

    def test_what_rounds_is_found_where_nothing_may_round(self):
        r = run("weft", "bisect", "-q", "--tokens", "1,2,3,4", "--max-nmse", "1e-9")
        self.assertEqual(r.code, 1, r.err)
        self.assertIn(b"culprit: pass quantize_activations", r.out)

    def test_what_cannot_run_is_no_wrong_result(self):
        self.refuses(1, "token 99999999 is outside the vocabulary", "weft", "bisect", "-q",
                     "--tokens", "1,99999999")
        self.refuses(1, "its context holds 2", "weft", "bisect", "-q", "-c", "2", "--tokens",
                     "1,2,3")


class Selftest(Proof):
    def test_bundled_model(self):
        r = self.runs("weft", "selftest")
        self.assertIn(b", 0 failed, ", r.out)
        self.assertIn(b"passed   tokenizer", r.out)
        report = json.loads(self.runs("weft", "selftest", "--json", "-p", "A fox").out)
        self.assertTrue(report["passed"])
        self.assertEqual(len(report["checks"]), 9)
        for context in ("8",):
            r = self.runs("weft", "selftest", "-c", context)
            self.assertIn(f"prefill = decode       {context} of {context} positions".encode(),
                          r.out)
            self.assertIn(b", 0 failed, ", r.out)

    def test_ranks(self):
        """Without a model only the ranks are checked."""
        for shard in ("tp=2", "pp=3", "tp=2,pp=2"):
            report = json.loads(self.runs("weft", "selftest", "--json", "--shard", shard).out)
            self.assertTrue(report["passed"], report)
            self.assertEqual([check["name"] for check in report["checks"]],
                             ["messages", "ranks repeat", "ranks = one rank",
                              "nodes of all ranks"])
        for shard in ("tp=2", "pp=2"):
            r = self.runs("weft", "selftest", "-m", MODEL, "--shard", shard)
            self.assertIn(b"13 passed, 0 failed, ", r.out)
        for flags in (["-c", 64], ["-p", "A fox"], ["--weights", "mapped"]):
            self.refuses(2, "needs a model, which -m names", "weft", "selftest", "--shard", "tp=2",
                         *flags)
        self.runs("weft", "selftest", "--shard", "tp=2", "--route", "blk.1.*=reference,*=cpu", "-t",
                  2, "-ctk", "q8_0")

    def test_damage_is_found(self):
        """An infinite scale, with codes that are not all zero."""
        tensors = json.loads(self.runs("weft", "inspect", "--json", MODEL).out)["tensors"]
        at = next(t["offset"] for t in tensors if t["type"] == "Q8_0")
        data = bytearray(MODEL.read_bytes())
        data[at:at + 34] = b"\x00\x7c" + bytes(range(1, 33))
        bad = self.folder / "bad.gguf"
        bad.write_bytes(data)
        r = run("weft", "selftest", "-m", bad)
        self.assertEqual(r.code, 1, r.err)
        self.assertRegex(r.out.decode(),
                         r"FAILED   tensors +1 tensors are damaged: '\S+' has \d+ NaN or Inf")


class Trace(Proof):
    def trace(self, name, *args, **kwargs):
        path = self.folder / name
        self.runs("weft", "trace", "--hash", "-o", path, "--tokens", "1,2,3,4", *args, **kwargs)
        return path

    def test_same_and_different(self):
        a, b = self.trace("a"), self.trace("b", "-t", "2")
        self.assertIn(b"no difference", self.runs("weft", "trace-diff", a, b).out)
        other = "avx2" if os.environ.get("WEFT_CPU_ISA") == "sse2" else "sse2"
        c = self.trace("c", env={"WEFT_CPU_ISA": other})
        r = run("weft", "trace-diff", a, c)
        self.assertEqual(r.code, 1)
        self.assertRegex(r.out.decode(), r"the first node that differs: \S+ '\S+' in step \d")

    def test_what_cannot_be_compared(self):
        a, other = self.trace("a"), self.trace("b", "--no-pass", "all")
        self.refuses(1, "the traces are of different runs: step 0 has node", "weft", "trace-diff",
                     a, other)
        self.refuses(1, "the traces are of different runs", "weft", "trace-diff", a,
                     self.trace("n", "-n", "1"))
        self.refuses(1, "not a trace of weft trace", "weft", "trace-diff", a, MODEL)
        self.refuses(1, "cannot open: No such file", "weft", "trace-diff", a, self.folder / "absent")
        self.refuses(2, "--hash", "weft", "trace", "-o", self.folder / "x")
        self.assertFalse((self.folder / "x").exists())

    def test_a_divided_model(self):
        whole = self.trace("whole")
        for shard in ("tp=2", "pp=2"):
            with self.subTest(shard=shard):
                a, b = self.trace("a", "--shard", shard), self.trace("b", "--shard", shard)
                self.assertIn(b"no difference", self.runs("weft", "trace-diff", a, b).out)
                self.refuses(1, "the traces are of different runs", "weft", "trace-diff", a, whole)
        r = self.runs("weft", "trace", "--hash", "--tokens", "1,2", "-o", a, "--shard", "tp=2")
        self.assertIn("rank 0 of 2: nodes of other ranks are not traced", r.err)


class NewModel(Proof):
    def test_built_in_ones(self):
        for name in ("llama", "qwen2", "qwen3", "bert", "rwkv7"):
            r = self.runs("weft", "new-model-check", name)
            self.assertIn(b", 0 failed, ", r.out)

    def test_snapshot(self):
        path = self.folder / "g.dot"
        args = ("weft", "new-model-check", "llama", "--snapshot", path)
        self.assertIn(b"snapshot               written to", self.runs(*args).out)
        self.assertIn(b"snapshot               as in", self.runs(*args).out)
        path.write_text(path.read_text().replace("rms_norm", "layer_norm", 1))
        r = run(*args)
        self.assertEqual(r.code, 1)
        self.assertRegex(r.out.decode(), r"FAILED   snapshot +the graph differs from line \d+")

    def test_wrong_use(self):
        self.refuses(1, "unsupported architecture 'lama'; nearest known: llama", "weft",
                     "new-model-check", "lama")
        self.refuses(1, "--key must be NAME=VALUE", "weft", "new-model-check", "llama", "--key",
                     "x")
        r = run("weft", "new-model-check", "llama", "--key", "llama.attention.head_count=7")
        self.assertEqual(r.code, 1)
        self.assertIn(b"must be a divisor", r.out)


if __name__ == "__main__":
    unittest.main()
