"""weft perplexity and weft imatrix: results against their definitions, file formats, wrong
usage."""

import json
import math
import signal
import struct
import subprocess
import unittest

from support import BIN, CLEAN, MODEL, SOURCE, TIMEOUT, SystemTest
from waiting import eventually

TEXT = SOURCE / "LICENSE"  # a text that does not change
WINDOW = 64
EXACT = ("--cache-type-k", "f32", "--cache-type-v", "f32")


def npy_rows(path):
    raw = path.read_bytes()
    length = struct.unpack_from("<H", raw, 8)[0]
    rows, cols = eval(raw[10:10 + length],
                      {"__builtins__": {}})["shape"]  # pylint: disable=eval-used
    values = struct.unpack_from(f"<{rows * cols}f", raw, 10 + length)
    return [values[i * cols:(i + 1) * cols] for i in range(rows)]


def tensors(path):
    """Metadata and F32 tensors of a small GGUF file."""
    raw, at = path.read_bytes(), 8

    def take(kind):
        nonlocal at
        value = struct.unpack_from("<" + kind, raw, at)
        at += struct.calcsize("<" + kind)
        return value[0] if len(value) == 1 else value

    def text():
        nonlocal at
        n = take("Q")
        at += n
        return raw[at - n:at].decode()

    def value(kind):
        if kind == 8:
            return text()
        if kind == 9:
            element, n = take("I"), take("Q")
            return [value(element) for _ in range(n)]
        return take({4: "I"}[kind])

    n_tensors, n_entries = take("Q"), take("Q")
    meta = {}
    for _ in range(n_entries):
        key = text()
        meta[key] = value(take("I"))
    infos = []
    for _ in range(n_tensors):
        name = text()
        size = math.prod(take("Q") for _ in range(take("I")))
        kind, offset = take("I"), take("Q")
        assert kind == 0
        infos.append((name, size, offset))
    base = -(-at // 32) * 32
    return meta, {name: struct.unpack_from(f"<{size}f", raw, base + offset) for name, size, offset
                  in infos}


class Perplexity(SystemTest):
    def figures(self, *args):
        return json.loads(self.runs("weft", "perplexity", "--json", "-c", WINDOW, *args).out)

    def test_against_the_definition(self):
        ids = self.runs("weft", "tokenize", "-m", MODEL, "--no-bos",
                        stdin=TEXT.read_bytes().removesuffix(b"\n")).out.split()
        bos = self.runs("weft", "tokenize", "-m", MODEL, stdin=b"").out.split()
        ids = [int(i) for i in bos + ids]
        n = 3
        nlls = []
        for begin in range(0, n * WINDOW, WINDOW):
            window = ids[begin:begin + WINDOW]
            fed = [int(i) for i in bos] + window[len(bos):]
            out = self.folder / "l.npy"
            self.runs("weft", "logits", "-m", MODEL, "--tokens", ",".join(map(str, fed)), "-o", out)
            for position, row in list(enumerate(npy_rows(out)))[WINDOW // 2:WINDOW - 1]:
                most = max(row)
                nlls.append(most + math.log(math.fsum(math.exp(x - most) for x
                                                      in row)) - row[window[position + 1]])
        got = self.figures("-f", TEXT, "--chunks", n, *EXACT)
        mean = math.fsum(nlls) / len(nlls)
        error = math.sqrt((math.fsum(x * x for x
                                     in nlls) / len(nlls) - mean * mean) / (len(nlls) - 1))
        self.assertEqual((got["windows"], got["window"], got["tokens"]),
                         (n, WINDOW, n * (WINDOW // 2 - 1)))
        self.assertAlmostEqual(got["nll"]["value"], mean, delta=2e-6 * mean)
        self.assertAlmostEqual(got["nll"]["error"], error, delta=1e-5 * error)
        self.assertAlmostEqual(got["perplexity"]["value"], math.exp(mean),
                               delta=1e-4 * math.exp(mean))
        self.assertAlmostEqual(got["perplexity"]["error"], math.exp(mean) * error, delta=1e-3)

    def test_same_figures_for_any_number_of_workers_and_batches(self):
        args = ["-f", TEXT, "--chunks", 4]
        want = self.figures(*args)
        for other in (["-t", 1], ["-t", 2], ["-b", 7], ["-b", 40]):
            self.assertEqual(self.figures(*args, *other), want, other)

    def test_text_and_progress(self):
        r = self.runs("weft", "perplexity", "-f", TEXT, "-c", WINDOW, "--chunks", 2)
        self.assertRegex(r.out.decode(), r"(?m)^Final estimate: PPL = \d+\.\d{4} \+/- \d+\.\d{5}$")
        self.assertRegex(r.err, r"window 1/2: perplexity [\d.]+ \+- [\d.]+, \d+ s left")
        self.assertEqual(self.figures("-f", TEXT, "--from-chunk", 1, "--chunks", 1)["windows"], 1)

    def test_divergence(self):
        base, worse = self.folder / "base", self.folder / "worse.gguf"
        saved = self.figures("-f", TEXT, "--chunks", 4, "--save-logits", base)
        r = json.loads(self.runs("weft", "perplexity", "--json", "--kl", base, "-f", TEXT).out)
        self.assertEqual(r["perplexity"], saved["perplexity"])
        same = r["comparison"]
        self.assertEqual(same["same_top"]["value"], 1)
        # 16 bits over a range of 16 nats: half a step, squared, and rounding of floats near 32.
        self.assertLess(abs(same["divergence"]["value"]), (8 / 65535) ** 2 + 4 * 32 * 2**-24)
        self.runs("weft", "quantize", "--allow-requantize", MODEL, worse, "Q4_0")
        r = json.loads(self.runs("weft", "perplexity", "--json", "-m", worse, "--kl", base).out)
        self.assertGreater(r["comparison"]["divergence"]["value"], 1e-3)
        self.assertLess(r["comparison"]["same_top"]["value"], 1)
        values = [p["divergence"] for p in r["comparison"]["percentiles"]]
        self.assertEqual(values, sorted(values, reverse=True))
        text = self.runs("weft", "perplexity", "-m", worse, "--kl", base, "--chunks",
                         2).out.decode()
        self.assertRegex(text, r"(?m)^same most likely token +\d+\.\d+ \+- \d+\.\d+ %$")

    def test_wrong_use(self):
        base, broken = self.folder / "base", self.folder / "broken"
        for text, args in (("-f is required", []), ("-c must be at least 4", ["-f", TEXT, "-c", 2]),
                           ("exclude each other", ["--kl", base, "--save-logits", broken])):
            self.refuses(2, text, "weft", "perplexity", *args)
        short = self.folder / "short.txt"
        short.write_text("Once upon a time")
        self.refuses(1, "windows of 512, expected at least 1: give a longer text, or smaller windows with -c", "weft", "perplexity", "-f", short)
        self.refuses(1, "No such file", "weft", "perplexity", "-f", self.folder / "none")
        self.refuses(1, "cannot create", "weft", "perplexity", "-c", WINDOW, "-f", TEXT,
                     "--save-logits", self.folder / "no" / "x")
        self.figures("-f", TEXT, "--chunks", 2, "--save-logits", base)
        self.refuses(1, "belong to another text", "weft", "perplexity", "--kl", base, "-f",
                     SOURCE / "README.md")
        raw = base.read_bytes()
        for text, content in (("does not start with '_logits_'", b"x" + raw[1:]),
                              ("rows: expected", raw[:-2]),
                              ("the vocabulary of the model has", raw[:12] + struct.pack("<i", 4)
                               + raw[16:16 + 4 + 2 * WINDOW * 4 + 2 * 31 * 16]),
                              ("token -1 is outside", raw[:20] + b"\xff" * 4 + raw[24:])):
            broken.write_bytes(content)
            self.refuses(1, text, "weft", "perplexity", "--kl", broken)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()),
                         ["base", "broken", "short.txt"])


class Imatrix(SystemTest):
    def collect(self, name, *args):
        out = self.folder / name
        self.runs("weft", "imatrix", "-f", TEXT, "-c", WINDOW, "-o", out, *args)
        return out

    def test_what_is_written(self):
        out = self.collect("m.gguf", "--chunks", 3)
        meta, data = tensors(out)
        self.assertEqual(meta, {"general.type": "imatrix", "imatrix.datasets": [str(TEXT)],
                                "imatrix.chunk_count": 3, "imatrix.chunk_size": WINDOW})
        about = json.loads(self.runs("weft", "inspect", "--json", MODEL).out)
        shapes = {t["name"]: t["shape"] for t in about["tensors"]}
        want = {n for n, s in shapes.items() if n.startswith("blk.") and len(s) == 2}
        self.assertEqual({n.removesuffix(".in_sum2") for n in data if n.endswith(".in_sum2")}, want)
        for name in want:
            self.assertEqual(len(data[name + ".in_sum2"]), shapes[name][-1])
            self.assertEqual(data[name + ".counts"], (3 * WINDOW,))
            self.assertGreater(min(data[name + ".in_sum2"]), 0)
        q, k = (data[f"blk.0.attn_{x}.weight.in_sum2"] for x in "qk")
        self.assertEqual(q, k, "both project the same input")
        with_output = tensors(self.collect("o.gguf", "--chunks", 1, "--process-output"))[1]
        self.assertEqual("output.weight.counts" in with_output, "output.weight" in shapes)

    def test_same_bytes_for_any_number_of_workers(self):
        outs = [self.collect(f"{t}", "--chunks", 4, "-t", t).read_bytes() for t in (1, 2)]
        self.assertEqual(*outs)

    def test_files_add_up(self):
        both, first, second = (self.collect(*a) for a in (("both", "--chunks", 4), ("first",
                                                                                    "--chunks", 3),
                                                          ("second", "--chunks", 1, "--from-chunk",
                                                           3)))
        sum_of_files = self.folder / "sum"
        self.runs("weft", "imatrix", "--in-file", first, "--in-file", second, "-o", sum_of_files)
        added = self.collect("added", "--chunks", 1, "--from-chunk", 3, "--in-file", first)
        resumed = self.collect("first", "--resume", "--chunks", 4)
        want_meta, want = tensors(both)
        for path in (sum_of_files, added, resumed):
            meta, data = tensors(path)
            self.assertEqual(meta["imatrix.chunk_count"], 4)
            self.assertEqual(set(data), set(want))
            for name, values in want.items():
                for a, b in zip(data[name], values):
                    self.assertLessEqual(abs(a - b), 2**-23 * b, name)  # each file is rounded once
        self.assertEqual(tensors(resumed)[0], want_meta)
        self.collect("first", "--resume", "--chunks", 4)  # nothing is left to do
        self.assertEqual(tensors(resumed)[0], want_meta)

    def test_interrupted(self):
        text, out = self.folder / "long.txt", self.folder / "out.gguf"
        text.write_bytes(TEXT.read_bytes() * 200)
        command = [str(BIN / "weft"), "imatrix", "-f", str(text), "-o", str(out), "--save-every",
                   "1"]
        process = subprocess.Popen(command, env=CLEAN, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        eventually(out.exists, "the first save")
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn(b"--resume continues from there", err)
        done = tensors(out)[0]["imatrix.chunk_count"]
        self.runs("weft", "imatrix", "-f", text, "-o", out, "--resume", "--chunks", done + 2)
        self.assertEqual(tensors(out)[0]["imatrix.chunk_count"], done + 2)
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["long.txt", "out.gguf"])

    def test_quantize_takes_it(self):
        m = self.collect("m.gguf", "--chunks", 2)
        plain, weighted = self.folder / "plain.gguf", self.folder / "weighted.gguf"
        self.runs("weft", "quantize", "--allow-requantize", MODEL, plain, "Q4_0")
        self.runs("weft", "quantize", "--allow-requantize", "--imatrix", m, MODEL, weighted, "Q4_0")
        self.assertNotEqual(plain.read_bytes(), weighted.read_bytes())

    def test_older_form(self):
        old, new = self.folder / "old.dat", self.folder / "new.gguf"
        entry = struct.pack("<i", 3) + b"a.b" + struct.pack("<ii3f", 2, 3, 2.0, 4.0, 0.0)
        old.write_bytes(struct.pack("<i", 1) + entry + struct.pack("<ii", 2, 4) + b"text")
        self.runs("weft", "imatrix", "--in-file", old, "-o", new)
        meta, data = tensors(new)
        self.assertEqual(meta["imatrix.datasets"], ["text"])
        self.assertEqual(data, {"a.b.in_sum2": (1024.0, 2048.0, 0.0), "a.b.counts": (1024.0,)})

    def test_wrong_use(self):
        out, other = self.folder / "out", self.folder / "other"
        collect = ["weft", "imatrix", "-o", out, "-c", WINDOW, "--chunks", 1, "-f", TEXT]
        self.refuses(2, "-f is required", "weft", "imatrix", "-o", out)
        self.refuses(2, "-c must be 2 to 8192", *collect, "-c", 1)
        self.refuses(2, "", *collect, "--resume", "--in-file", other)
        self.refuses(2, "run weft imatrix alone, without --shard", *collect, "--shard", "tp=2")
        other.write_bytes(struct.pack("<ii", 1, 3) + b"a.b" + struct.pack("<iif", 1, 1, 1.0))
        self.refuses(1, "has no weight 'a.b': is it of another model?", *collect, "--in-file",
                     other)
        name = b"blk.0.attn_q.weight"
        other.write_bytes(struct.pack("<ii", 1, len(name)) + name + struct.pack("<iif", 1, 1, 1.0))
        self.refuses(1, "has 1 values and 1 counts, expected", *collect, "--in-file", other)
        self.refuses(1, "not an importance matrix", *collect, "--in-file", MODEL)
        other.write_bytes(b"")
        self.refuses(1, "number of entries", *collect, "--in-file", other)
        self.refuses(1, "cannot create", *collect, "-o", self.folder / "no" / "x")
        self.collect("done", "--chunks", 1)
        self.refuses(1, "cannot be resumed", "weft", "imatrix", "-f", TEXT, "-c", 32, "-o",
                     self.folder / "done", "--resume")
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["done", "other"])


if __name__ == "__main__":
    unittest.main()
