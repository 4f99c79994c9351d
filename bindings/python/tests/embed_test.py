"""Embeddings of texts."""

import json
import os
import pathlib
import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/cases"))
from gguf_writer import gguf  # noqa: E402 - the folder is not a package


def reranker():
    """The bundled model with a classifier of random weights."""
    model = weft.Model()
    names = [t["name"] for t in json.loads(weft._weft.inspect_json(bytes(weft.bundled_model())))["tensors"]]
    tensors = [(name, values.shape[::-1], values.ravel())
               for name, values in ((name, model.tensor(name)) for name in names)]
    head = np.random.default_rng(1).standard_normal(model.n_embd)
    return weft.Model.from_bytes(gguf(model.metadata, [
        *tensors, ("cls.output.weight", (model.n_embd, 1), head)]))


def near(a, b):
    return np.allclose(a, b, rtol=2e-5, atol=2e-5)


class Embeddings(unittest.TestCase):
    def test_texts_have_embeddings(self):
        model = weft.Model()
        session = model.session(context=64, embeddings=True)
        one = session.embed("One day")
        self.assertEqual((one.shape, one.dtype), ((model.n_embd,), np.float32))
        two = session.embed(["One day", "Victor found a seed"])
        self.assertTrue(two.shape == (2, model.n_embd) and near(two[0], one))
        self.assertAlmostEqual(float(np.linalg.norm(session.embed("One day", normalize=True))), 1, 4)
        self.assertTrue(near(session.embed("One day"), one))
        self.assertEqual(session.embed([]).shape, (0, model.n_embd))
        self.assertEqual(session.length(), 0)

    def test_texts_can_have_a_row_per_token(self):
        model = weft.Model()
        embedder = weft._weft.Embedder.open(model._native, {"context": 64}, {"pooling": "none"})
        (rows, n), = embedder.embed(["One day"], False, False)
        self.assertEqual(rows.shape, (n, model.n_embd))
        self.assertTrue(near(rows.mean(0), model.session(context=64).embed("One day")))

    def test_the_budget_is_that_of_the_session(self):
        model = weft.Model()
        with model.session(context=64, weights="mapped", mem_budget=16 << 20) as session:
            session.embed("One day")
        with model.session(context=64, weights="mapped", mem_budget=16 << 20,
                           caller_bytes=25 << 19) as session:
            with self.assertRaises(weft.BudgetError):
                session.embed("One day")
            session.feed([1, 2, 3])  # which goes on

    def test_documents_are_ranked(self):
        model = reranker()
        documents = ["A fox is red.", "One day", "Victor found a seed"]
        with model.session(context=64) as session:
            found = session.rerank("Who is red?", documents)
            self.assertEqual(sorted(index for index, _ in found), [0, 1, 2])
            scores = [score for _, score in found]
            self.assertEqual(scores, sorted(scores, reverse=True))
            for index, score in found:
                (other, alone), = session.rerank("Who is red?", [documents[index]])
                self.assertTrue(other == 0 and near(alone, score))
            self.assertEqual(session.embed("One day").shape, (model.n_embd,))
            with self.assertRaises(weft.Error):
                session.rerank("Who is red?", ["word " * 100])
            self.assertEqual(len(session.rerank("Who is red?", ["word " * 100], truncate=True)), 1)
            for wrong in ((5, ["a"]), ("a", [5]), ("a", "b"), ("a", None)):
                with self.assertRaises(TypeError):
                    session.rerank(*wrong)
        with self.assertRaisesRegex(weft.UnsupportedError, "no classifier"):
            weft.Model().session(context=64).rerank("a", ["b"])

    def test_wrong_texts(self):
        session = weft.Model().session(context=16)
        with self.assertRaises(TypeError):
            session.embed(5)
        with self.assertRaises(TypeError):
            session.embed(["a", 5])
        with self.assertRaises(weft.Error):
            session.embed("word " * 100)
        session.close()
        with self.assertRaisesRegex(weft.ClosedError, "closed"):
            session.embed("a")


if __name__ == "__main__":
    unittest.main()
