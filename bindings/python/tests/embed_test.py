"""Embeddings of texts."""

import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft


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
