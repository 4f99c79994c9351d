"""`weft embed` and `weft rerank` on the bundled model, which is not made for them, but computes."""

import json
import math
import unittest

from support import SystemTest

TEXTS = ["a red fox", "the moon, and a boat", "Pip"]


class Embed(SystemTest):
    def lines(self, *args, **kwargs):
        out = self.runs("weft", "embed", *args, **kwargs).out.decode()
        return [[float(x) for x in line.split()] for line in out.splitlines()]

    def test_several_texts_have_the_numbers_of_each_alone(self):
        together = self.runs("weft", "embed", *TEXTS).out.splitlines()
        self.assertEqual(len(together), len(TEXTS))
        for text, line in zip(TEXTS, together):
            self.assertEqual(self.runs("weft", "embed", text).out.splitlines(), [line])
        self.assertEqual(self.runs("weft", "embed", "--texts-per-step", 1, "-b", 3,
                                   *TEXTS).out.splitlines(), together)

    def test_files_and_stdin(self):
        together = self.runs("weft", "embed", *TEXTS).out
        file = self.folder / "texts.txt"
        file.write_bytes("\r\n".join(TEXTS).encode() + b"\n")
        self.assertEqual(self.runs("weft", "embed", "-f", file).out, together)
        self.assertEqual(self.runs("weft", "embed", "-f", "-", stdin=file.read_bytes()).out,
                         together)
        self.assertEqual(self.runs("weft", "embed", "-p", TEXTS[0], *TEXTS[1:]).out, together)
        marked = self.runs("weft", "embed", "-f", "-",
                           stdin=b"\xef\xbb\xbf" + "\n\n".join(TEXTS).encode())
        self.assertEqual(marked.out, together)
        self.assertIn("line 2 is empty: skipped", marked.err)

    def test_json(self):
        answer = json.loads(self.runs("weft", "embed", "--json", *TEXTS).out)
        self.assertEqual([d["index"] for d in answer["data"]], [0, 1, 2])
        self.assertEqual([d["embedding"] for d in answer["data"]], self.lines(*TEXTS))
        self.assertGreater(answer["usage"]["prompt_tokens"], 6)
        rows = json.loads(self.runs("weft", "embed", "--json", "--pooling", "none",
                                    *TEXTS).out)["data"]
        self.assertEqual(sum(len(d["embedding"]) for d in rows), answer["usage"]["prompt_tokens"])

    def test_norms(self):
        plain = self.lines("--normalize", "-1", TEXTS[0])[0]
        for flags, length in (((), 2), (("--normalize", "1"), 1), (("--normalize", "3"), 3)):
            values = self.lines(*flags, TEXTS[0])[0]
            self.assertAlmostEqual(sum(abs(x) ** length for x in values), 1, places=5)
            self.assertAlmostEqual(values[0] / values[1], plain[0] / plain[1], places=3)
        largest = self.lines("--normalize", "0", TEXTS[0])[0]
        self.assertAlmostEqual(max(map(abs, largest)), 32760, places=2)
        self.assertFalse(math.isclose(sum(x * x for x in plain), 1, abs_tol=1e-3))

    def test_long_texts(self):
        text = "a fox " * 100
        self.refuses(1, "text 2 of 2 has", "weft", "embed", "-c", "64", "x", text)
        self.refuses(1, "(--truncate cuts texts)", "weft", "embed", "-c", "64", "x", text)
        self.assertEqual(len(self.lines("-c", "64", "--truncate", "x", text)), 2)

    def test_wrong_use(self):
        self.refuses(1, "no texts to embed", "weft", "embed")
        self.refuses(1, "no texts to embed", "weft", "embed", "-f", "-")
        self.refuses(1, "text 2 of 3 is empty", "weft", "embed", "a", "", "b")
        self.refuses(1, "all are empty", "weft", "embed", "-f", "-", stdin=b"\n\n")
        self.refuses(1, "the model has no classifier", "weft", "embed", "--pooling", "rank", "a")
        self.refuses(1, "no-such-file", "weft", "embed", "-f", "no-such-file")
        for flags in (("--normalize", "-2"), ("--tokens", "1", "-p", "a"), ("--tokens", "1", "a"),
                      ("--json", "-o", "x.npy", "a"), ("--texts-per-step", "0", "a")):
            self.refuses(2, "", "weft", "embed", *flags)


class Rerank(SystemTest):
    def test_needs_a_classifier(self):
        self.refuses(1, "the model has no classifier (tensor cls.weight or cls.output.weight)",
                     "weft", "rerank", "-q", "a fox?", *TEXTS)

    def test_wrong_use(self):
        self.refuses(2, "--query is required", "weft", "rerank", *TEXTS)
        self.refuses(1, "no documents to rank", "weft", "rerank", "-q", "a fox?")
        self.refuses(1, "no documents to rank", "weft", "rerank", "-q", "a fox?", "-f", "-")


if __name__ == "__main__":
    unittest.main()
