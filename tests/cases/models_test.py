"""Models: logits of tiny ones against plain Python (tiny_decoder.py), chunks, greedy choices."""

import unittest

import tiny_decoder
from case_support import load
from codec_test import numbers
from support import MODEL, SystemTest


class Models(SystemTest):
    def logits(self, model, tokens, *flags):
        out = self.folder / "l.npy"
        self.runs("weft", "logits", "-m", model, "--tokens", ",".join(map(str, tokens)), "-o", out,
                  *flags)
        return numbers(out)

    def test_tiny_models(self):
        book = load("models.json")
        for case in book["cases"]:
            with self.subTest(case["name"]):
                o = tiny_decoder.options(**case["options"])
                weights = tiny_decoder.make(o)
                path = self.folder / "tiny.gguf"
                path.write_bytes(tiny_decoder.file_of(o, weights))
                want = [x for row in tiny_decoder.Decoder(o, weights).logits(book["prompt"])
                        for x in row]
                # With a cache of F32, only roundings of binary32 remain.
                got = self.logits(path, book["prompt"], "--cache-type-k", "f32", "--cache-type-v",
                                  "f32")
                self.assertEqual(len(got), len(want))
                worst = max(abs(a - b) for a, b in zip(got, want))
                self.assertLess(worst, 1e-4 * max(map(abs, want)))
                self.assertEqual(got, self.logits(path, book["prompt"], "--split", "3,1,4",
                                                  "--cache-type-k", "f32", "--cache-type-v", "f32"))

    def test_chunks_of_the_bundled_model(self):
        tokens = [0] + list(range(300, 340))
        whole = self.logits(MODEL, tokens)
        for split in ("1,40", "20,1,20", "8,8,8,8,9"):
            self.assertEqual(self.logits(MODEL, tokens, "--split", split), whole)

    def test_greedy_is_the_largest_logit(self):
        prompt = b"Once upon a time"
        text = self.runs("generate", "-m", MODEL, "-p", prompt.decode(), "-n", 8, "--temp", 0).out
        again = self.runs("generate", "-m", MODEL, "-p", prompt.decode(), "-n", 8, "--temp", 0).out
        self.assertEqual(text, again)
        whole = prompt + text.rstrip(b"\n") if not text.startswith(prompt) else text.rstrip(b"\n")
        ids = [int(i) for i in self.runs("weft", "tokenize", "-m", MODEL, stdin=whole).out.split()]
        n_prompt = len(self.runs("weft", "tokenize", "-m", MODEL, stdin=prompt).out.split())
        logits, vocab = self.logits(MODEL, ids), 2048
        for i in range(n_prompt - 1, len(ids) - 1):
            row = logits[i * vocab:i * vocab + vocab]
            self.assertEqual(row.index(max(row)), ids[i + 1])


if __name__ == "__main__":
    unittest.main()
