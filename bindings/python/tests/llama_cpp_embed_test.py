"""The interface of llama-cpp-python: embeddings, and models that only make those."""

import pathlib
import pickle
import tempfile
import unittest

from support import llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import Llama

LONG = "a cat sat " * 60


def near(a, b):
    return np.allclose(a, b, rtol=2e-5, atol=2e-5)


class Embeddings(unittest.TestCase):
    def test_long_texts_do_not_depend_on_the_batch(self):
        for pooling in (0, 1, 3):
            found = [llama(embedding=True, pooling_type=pooling, n_ctx=512, n_batch=n).embed(
                LONG, return_count=True) for n in (32, 100, 512)]
            self.assertGreater(found[0][1], 100)
            for rows, count in found[1:]:
                self.assertEqual(count, found[0][1])
                self.assertTrue(near(rows, found[0][0]))

    def test_texts_longer_than_the_context_are_cut_or_refused(self):
        llm = llama(embedding=True, pooling_type=1, n_ctx=64, n_batch=16)
        self.assertEqual(llm.embed(LONG, return_count=True)[1], 64)
        with self.assertRaisesRegex(ValueError, r"\d+ tokens.*64"):
            llm.embed(LONG, truncate=False)

    def test_an_empty_text_has_the_tokens_of_every_text(self):
        llm = llama(embedding=True, pooling_type=1)
        rows, count = llm.embed(["", "One day", ""], return_count=True)
        bos = llm.tokenize(b"")
        self.assertEqual(len(bos), 1)
        self.assertEqual(count, 2 + len(llm.tokenize(b"One day")))
        self.assertEqual(rows[0], rows[2])
        self.assertGreater(np.linalg.norm(rows[0]), 0)
        self.assertAlmostEqual(float(np.linalg.norm(llm.embed("", normalize=True))), 1, 4)
        per_token = llama(embedding=True).embed("")
        self.assertTrue(near(per_token, [rows[0]]))
        without = llama(embedding=True, kv_overrides={"tokenizer.ggml.add_bos_token": False})
        with self.assertRaisesRegex(ValueError, "empty text"):
            without.embed(["One day", ""])


class Encoders(unittest.TestCase):
    def test_a_model_of_embeddings_writes_no_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "bert.gguf"))
            weft.write_made_model("bert", path)
            llm = Llama(path, verbose=False, n_ctx=64, embedding=True)
            session = weft.Model(path).session(context=64)
            for ask in (lambda: llm([1, 2], max_tokens=2), lambda: next(llm.generate([1, 2])),
                        lambda: list(llm([1, 2], max_tokens=2, stream=True)),
                        lambda: session.generate([1, 2], max_tokens=2)):
                with self.assertRaisesRegex(weft.UnsupportedError,
                                            "bert.gguf: the model makes embeddings, not text"):
                    ask()


class Pickles(unittest.TestCase):
    def test_objects_of_the_process_say_what_to_do(self):
        model = weft.Model()
        session = model.session(context=64)
        for one, instead in ((model, "from its path"), (session, "save"),
                             (session.stream("One"), "begin another"),
                             (weft.Chat(session), "same messages"), (model.tokenizer, "")):
            with self.assertRaisesRegex(TypeError, f"cannot be pickled or copied: .*{instead}"):
                pickle.dumps(one)


if __name__ == "__main__":
    unittest.main()
