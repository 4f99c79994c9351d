"""Embedders and cross-encoders in the files of their publishers, made small: `weft embed` and
`weft rerank` against what the publishers' code computes in float64, and the bits of a directory
against those of the file that it is converted to."""

import json
import unittest

import numpy as np

from blocks import linear
from decoder_classes import gemma3, qwen3
from encoder_classes import (bert, bert_score, modern_bert_score, normalized, pooled_first,
                             xlm_roberta_score)
from published import Published
from support import SystemTest

# As in forms_test.py: sums in another order lose at most two bits more than numpy in float32.
MORE = 4
SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 96}


def position_ids(name, n):
    """A tensor that older checkpoints have."""
    return name + "embeddings.position_ids", "I64", [1, n], np.arange(n).tobytes()


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


def embedding_gemma(m, ids):
    """embeddinggemma-300m: the mean of all tokens, two matrices, normalized."""
    x = linear(m, "2_Dense.linear", gemma3(m, ids).mean(axis=0), 160)
    return normalized(linear(m, "3_Dense.linear", x, m.D))


GEMMA = {"hidden_size": 48, "num_hidden_layers": 6, "num_attention_heads": 3, "head_dim": 16,
         "intermediate_size": 80, "layer_types": 5 * ["sliding_attention"] + ["full_attention"]}
QWEN = {**SMALL, "num_key_value_heads": 2, "head_dim": 32}
LONG = 350  # times two tokens: longer than a window of 512
BERT_TEXTS = {"The old red fox saw THE MOONS.": "[CLS] the old red fox saw the moon ##s . [SEP]",
              "a blue boat?": "[CLS] a blue boat ? [SEP]",
              "Zebra": "[CLS] [UNK] [SEP]"}
EMBEDDERS = {
    "all-MiniLM-L6-v2": Embedder(
        Published("all-MiniLM-L6-v2", **SMALL,
                  modules={"1_Pooling": {"word_embedding_dimension": 64}}),
        minilm, BERT_TEXTS, [position_ids("", 512)]),
    "embeddinggemma-300m": Embedder(
        Published("embeddinggemma-300m", **GEMMA,
                  modules={"1_Pooling": {"word_embedding_dimension": 48},
                           "2_Dense": {"in_features": 48, "out_features": 160},
                           "3_Dense": {"in_features": 160, "out_features": 48}}),
        embedding_gemma,
        {"the old\nmoon.": "<bos> t h e ▁old <0x0A> m o o n . <eos>",
         "a" + LONG * " red fox": "<bos> a" + LONG * " ▁red ▁fox" + " <eos>"}),
    "Qwen3-Embedding-0.6B": Embedder(
        Published("Qwen3-Embedding-0.6B", "BF16", **QWEN,
                  modules={"1_Pooling": {"word_embedding_dimension": 64}}),
        lambda m, ids: normalized(qwen3(m, ids)[-1]),
        {"the old moon.\nthe boat": "the Ġold Ġmoon . Ċ the Ġboat <|endoftext|>",
         "Query: near a boat": "Q u e r y : Ġnear Ġa Ġboat <|endoftext|>"}),
}
QUERY = {"Who saw the moon?": "who saw the moon ?"}
BERT_DOCUMENTS = {"The fox saw that.": "the fox saw that .",
                  "A boat": "a boat",
                  "the old red fox saw the moons near the blue boat":
                      "the old red fox saw the moon ##s near the blue boat",
                  "moon moon moon": "moon moon moon"}
UNIGRAM_DOCUMENTS = {"the fox  saw that.": "▁the ▁fox ▁saw ▁that .",
                     "a\u00a0boat ": "▁a ▁boat",
                     "the old red fox saw the moons": "▁the ▁old ▁red ▁fox ▁saw ▁the ▁moon s",
                     "moon moon moon": "▁moon ▁moon ▁moon"}
BPE_DOCUMENTS = {"the fox saw that.": "t h e Ġfox Ġsaw Ġthat .",
                 "boat": "b o a t",
                 "s" + 60 * " the old moon": "s" + 60 * " Ġthe Ġold Ġmoon",
                 "moon moon moon": "m o o n Ġmoon Ġmoon"}
CROSS_ENCODERS = {
    "ms-marco-MiniLM-L6-v2": CrossEncoder(
        Published("ms-marco-MiniLM-L6-v2", **SMALL), bert_score, QUERY, BERT_DOCUMENTS,
        lambda q, d: [(0, f"[CLS] {q} [SEP]"), (1, f"{d} [SEP]")],
        [position_ids("bert.", 512)]),
    "bge-reranker-base": CrossEncoder(
        Published("bge-reranker-base", **{**SMALL, "hidden_size": 96}), xlm_roberta_score,
        {"Who saw the moon\uff1f": "▁ <unk> ▁saw ▁the ▁moon ?"}, UNIGRAM_DOCUMENTS,
        lambda q, d: [(0, f"<s> {q} </s> </s> {d} </s>")], [position_ids("roberta.", 514)]),
    "gte-reranker-modernbert-base": CrossEncoder(
        Published("gte-reranker-modernbert-base", "F16", **{**SMALL, "num_hidden_layers": 5}),
        modern_bert_score, {"who saw the moon?": "w h o Ġsaw Ġthe Ġmoon ?"}, BPE_DOCUMENTS,
        lambda q, d: [(0, f"[CLS] {q} [SEP] {d} [SEP]")]),
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
