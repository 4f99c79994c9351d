"""Embedders and cross-encoders in the files of their publishers, made small: `weft embed` and
`weft rerank` against what the publishers' code computes in float64, and the bits of a directory
against those of the file that it is converted to."""

import json
import unittest

import numpy as np

from encoder_classes import bert, bert_score, normalized, pooled_first
from published import Published
from support import SystemTest

# As in forms_test.py: sums in another order lose at most two bits more than numpy in float32.
MORE = 4
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 96}
POSITION_IDS = ("I64", [1, 512], np.arange(512).tobytes())


def nmse(got, want):
    return float(((got - want)**2).sum() / (want**2).sum())


class Embedder:
    """A form of the vector of ids, and texts with their tokens."""

    def __init__(self, published, form, texts, others=()):
        self.published, self.form, self.texts, self.others = published, form, texts, others

    def compute(self, dtype):
        """The weights, and a vector per text."""
        m = self.published.weights(dtype)
        return m, np.stack([self.form(m, self.published.ids(tokens))
                            for tokens in self.texts.values()])


class CrossEncoder:
    """A form of the score of a pair. `pair`: its tokens, with the numbers of types in front."""

    def __init__(self, published, form, query, documents, pair, others=()):
        self.published, self.form, self.pair, self.others = published, form, pair, others
        (self.query, self.query_tokens), = query.items()
        self.documents = documents

    def compute(self, dtype):
        """The weights, and a score per document."""
        m, scores = self.published.weights(dtype), []
        for document in self.documents.values():
            parts = self.pair(self.query_tokens, document)
            ids = [self.published.ids(tokens) for _, tokens in parts]
            types = [kind for (kind, _), part in zip(parts, ids) for _ in part]
            scores.append(self.form(m, sum(ids, []), types))
        return m, np.concatenate(scores)


def minilm(m, ids):
    """all-MiniLM-L6-v2: the mean of all tokens, normalized."""
    x = bert(m, ids)
    pooled_first(m, x, "")  # is stored, and not used
    return normalized(x.mean(axis=0))


BERT_TEXTS = {"The old red fox saw THE MOONS.": "[CLS] the old red fox saw the moon ##s . [SEP]",
              "a blue boat?": "[CLS] a blue boat ? [SEP]",
              "Zebra": "[CLS] [UNK] [SEP]"}
EMBEDDERS = {
    "all-MiniLM-L6-v2": Embedder(
        Published("all-MiniLM-L6-v2", **SMALL,
                  modules={"1_Pooling": {"word_embedding_dimension": 64}}),
        minilm, BERT_TEXTS, [("embeddings.position_ids", *POSITION_IDS)]),
}
QUERY = {"Who saw the moon?": "who saw the moon ?"}
BERT_DOCUMENTS = {"The fox saw that.": "the fox saw that .",
                  "A boat": "a boat",
                  "the old red fox saw the moons near the blue boat":
                      "the old red fox saw the moon ##s near the blue boat",
                  "moon moon moon": "moon moon moon"}
CROSS_ENCODERS = {
    "ms-marco-MiniLM-L6-v2": CrossEncoder(
        Published("ms-marco-MiniLM-L6-v2", **SMALL), bert_score, QUERY, BERT_DOCUMENTS,
        lambda q, d: [(0, f"[CLS] {q} [SEP]"), (1, f"{d} [SEP]")],
        [("bert.embeddings.position_ids", *POSITION_IDS)]),
}


class PublishedTest(SystemTest):
    def close(self, name, got, want, rounded):
        self.assertEqual(got.shape, want.shape)
        error, limit = nmse(got, want), MORE**2 * nmse(rounded, want)
        print(f"{name}: error {error:.1e}, limit {limit:.1e}")
        self.assertLess(limit, 1e-9)
        self.assertLess(error, limit)

    def check(self, model, name, read):
        """`read`: the numbers that Weft computes with a model at a path."""
        folder, file = self.folder / name, self.folder / f"{name}.gguf"
        exact, want = model.compute(np.float64)
        model.published.write(folder, exact, model.others)
        got = read(model, folder)
        self.close(name, got, want, model.compute(np.float32)[1].astype(np.float64))
        self.runs("weft", "convert", folder, file)
        np.testing.assert_array_equal(read(model, file), got)
        return got, want

    def vectors(self, model, path):
        out = self.folder / "o.npy"
        self.runs("weft", "embed", "-m", path, "-o", out, *model.texts)
        return np.load(out)

    def scores(self, model, path):
        r = self.runs("weft", "rerank", "-m", path, "--json", "-q", model.query, *model.documents)
        results = json.loads(r.out)["results"]
        order = [x["index"] for x in results]
        scores = [x["relevance_score"] for x in results]
        self.assertEqual(sorted(scores, reverse=True), scores)
        return np.array([scores[order.index(i)] for i in range(len(order))])

    def test_embedders(self):
        for name, model in EMBEDDERS.items():
            with self.subTest(name):
                self.check(model, name, self.vectors)

    def test_cross_encoders(self):
        for name, model in CROSS_ENCODERS.items():
            with self.subTest(name):
                got, want = self.check(model, name, self.scores)
                self.assertEqual(list(np.argsort(-got)), list(np.argsort(-want)))


if __name__ == "__main__":
    unittest.main()
