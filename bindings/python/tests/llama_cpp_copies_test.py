"""The interface of llama-cpp-python: pickles and copies of a Llama."""

import copy
import os
import pathlib
import pickle
import shutil
import tempfile
import unittest
import warnings

from support import STORY, llama  # first: it skips the test without numpy

import weft
from weft.llama_cpp import Llama


class Named(Llama):
    """A subclass whose constructor has other arguments, and with an attribute."""

    def __init__(self, name):
        super().__init__(weft.bundled_model(), n_ctx=128, seed=3, verbose=False)
        self.name = [name]


def said(llm, **asked):
    return llm(STORY, **{"max_tokens": 8, **asked})["choices"]


class Copies(unittest.TestCase):
    def test_they_say_the_same(self):
        for arguments in ({}, {"logits_all": True, "n_ctx": 64}, {"type_k": 8, "seed": 9},
                          {"kv_overrides": {"llama.rope.freq_base": 50000.0}},
                          {"rope_freq_base": 50000.0}, {"vocab_only": True}):
            llm = llama(**arguments)
            for make in (copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)),
                         lambda x: pickle.loads(pickle.dumps(x, 0))):
                made = make(llm)
                self.assertIsNot(made, llm)
                self.assertEqual((made.n_ctx(), made._logits_all, made._seed, made.n_tokens),
                                 (llm.n_ctx(), llm._logits_all, llm._seed, 0))
                self.assertEqual(made.tokenize(b"One"), llm.tokenize(b"One"))
                if "vocab_only" not in arguments:
                    self.assertEqual(said(made, temperature=0), said(llm, temperature=0))
                    self.assertEqual(said(made, seed=4), said(llm, seed=4))
                made.close()
                llm.tokenize(b"One")

    def test_what_was_set_later_is_kept(self):
        llm = Named("Pip")
        llm.set_seed(11)
        llm.chat_format = "chatml"
        llm.eval([5, 6])
        for make in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))):
            made = make(llm)
            self.assertEqual((type(made), made.name, made._seed, made.chat_format, made.n_tokens),
                             (Named, ["Pip"], 11, "chatml", 0))
            self.assertIsNot(made.name, llm.name)
        self.assertIs(copy.copy(llm).name, llm.name)

    def test_attributes_may_refer_to_the_object(self):
        llm = Named("Pip")
        llm.me, llm.friends = llm, [llm, {"name": llm.name}]
        for make in (copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)),
                     lambda x: copy.deepcopy([x])[0]):
            made = make(llm)
            self.assertIs(made.me, made)
            self.assertIs(made.friends[0], made)
            self.assertIs(made.friends[1]["name"], made.name)
            self.assertEqual(said(made, temperature=0), said(llm, temperature=0))
        self.assertIs(copy.copy(llm).me, llm)

    def test_copies_in_a_process_share_the_weights(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.gguf"
            shutil.copy(weft.bundled_model(), path)
            llm = Llama(path, use_mmap=False, verbose=False)
            raw = pickle.dumps(llm)
            os.unlink(path)
            made = copy.deepcopy(llm)
            want = said(llm, temperature=0)
            llm.close()
            self.assertEqual(said(made, temperature=0), want)
            with self.assertRaisesRegex(ValueError, "a.gguf"):
                pickle.loads(raw)

    def test_warnings_are_not_repeated(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            llm = llama(n_gpu_layers=3)
            copy.deepcopy(llm)
            pickle.loads(pickle.dumps(llm))
        self.assertEqual(len(caught), 1)

    def test_what_lives_in_one_process_is_refused(self):
        llm = llama()
        for thing in (llm._ctx, llm._model, llm.ctx, llm.model):
            for make in (copy.copy, copy.deepcopy, pickle.dumps):
                with self.assertRaisesRegex(TypeError, "cannot be pickled or copied: "):
                    make(thing)
        llm.close()
        for make in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(weft.Error, "closed"):
                make(llm)


if __name__ == "__main__":
    unittest.main()
