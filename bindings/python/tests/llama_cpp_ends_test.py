"""The interface of llama-cpp-python: what ends texts and sequences, and what long texts cost."""

import os
import pathlib
import sys
import tempfile
import unittest
import unittest.mock

from support import STORY, llama  # first: it skips the test without numpy

import weft
import weft.llama_cpp as lc
from weft.llama_cpp import Llama, _logprobs
from weft.llama_cpp._completion import Text

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/cases"))
from gguf_writer import gguf  # noqa: E402 - the folder is not a package

WORDS = ["<unk>", "<s>", "</s>", "a", "b", "<|im_end|>", "<stop>"]


class Ends(unittest.TestCase):
    def vocabulary(self):
        """A Llama whose file names one end token, has another one by its text, and a third one in
        the list of further ends."""
        folder = self.enterContext(tempfile.TemporaryDirectory())
        path = pathlib.Path(folder) / "ends.gguf"
        path.write_bytes(gguf({
            "general.architecture": "llama", "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.scores": [0.0] * len(WORDS),
            "tokenizer.ggml.token_type": [2, 3, 3, 1, 1, 3, 3],
            "tokenizer.ggml.bos_token_id": 1, "tokenizer.ggml.eos_token_id": 2,
            "weft.tokenizer.more_ends": [6]}))
        return Llama(path, vocab_only=True, verbose=False)

    def test_a_vocabulary_may_have_several_ends(self):
        llm = self.vocabulary()
        ends = [i for i in range(llm.n_vocab()) if lc.llama_vocab_is_eog(llm.model, i)]
        self.assertEqual(ends, [2, 5, 6])
        self.assertEqual([i for i in range(llm.n_vocab()) if llm._model.is_eog(i)], ends)
        with self.assertRaisesRegex(weft.ArgumentError, "vocabulary"):
            llm._model.is_eog(len(WORDS))

    def test_each_of_them_ends_a_completion(self):
        llm = llama()
        whole = [token for token, _ in zip(llm.generate(llm.tokenize(STORY.encode()), temp=0.0),
                                           range(8))]
        self.assertEqual(len(set(whole[:4])), 4)
        llm._ends_text = lambda token: token in (llm.token_eos(), whole[3])
        for answer in (llm(STORY, temperature=0), llm(STORY, temperature=0, logprobs=1)):
            choice = answer["choices"][0]
            self.assertEqual(choice["finish_reason"], "stop")
            self.assertEqual(choice["text"], llm.detokenize(whole[:3]).decode())
            self.assertEqual(answer["usage"]["completion_tokens"], 3)


class Sequences(unittest.TestCase):
    def setUp(self):
        self.llm = llama()
        self.llm.eval(self.llm.tokenize(STORY.encode()))
        self.n = self.llm.n_tokens

    def left(self, *arguments):
        self.assertTrue(self.llm._ctx.kv_cache_seq_rm(*arguments))
        return self.llm.n_tokens

    def test_other_sequences_have_nothing_to_remove(self):
        self.assertEqual(self.left(1, 0, -1), self.n)
        self.assertEqual(self.left(7, 1, 2), self.n)

    def test_the_end_of_ours_is_removed(self):
        self.assertEqual(self.left(0, self.n - 1, -1), self.n - 1)
        self.assertEqual(self.left(-1, self.n - 2, self.n + 9), self.n - 2)
        self.assertEqual(self.left(-1, -1, -1), 0)

    def test_an_empty_range_removes_nothing(self):
        self.assertEqual(self.left(0, 2, 2), self.n)
        self.assertEqual(self.left(0, 3, 1), self.n)
        self.assertEqual(self.left(0, self.n, -1), self.n)

    def test_a_gap_is_refused(self):
        with self.assertRaisesRegex(weft.UnsupportedError, "only the end"):
            self.llm._ctx.kv_cache_seq_rm(-1, 0, 2)
        self.assertEqual(self.llm.n_tokens, self.n)


class Costs(unittest.TestCase):
    def test_each_byte_is_counted_once(self):
        seen = []
        add = _logprobs.Characters.add

        def counted(self, piece):
            seen.append(len(piece))
            add(self, piece)
        with unittest.mock.patch.object(_logprobs.Characters, "add", counted):
            text = Text([])
            for i in range(50):
                self.assertEqual(text.n_characters(text.size), i * 2)
                text.add("aé".encode())
            self.assertLessEqual(sum(seen), text.size)
            seen.clear()
            llm = llama()
            for chunk in llm(STORY, max_tokens=40, temperature=0, logprobs=1, stream=True):
                pass
            n_stream, n_rows = sum(seen), len(seen)
        self.assertLess(n_stream, 3 * len(llm.detokenize(llm._input_ids)), n_rows)

    def test_a_stop_string_is_found_across_pieces(self):
        text = Text([b"stop", b"op!"])
        for piece in (b"a st", b"o", b"p!"):
            text.add(piece)
        self.assertTrue(text.stopped)
        self.assertEqual(text.whole, "a ")

    def test_half_characters_are_not_counted(self):
        text = Text([])
        text.add("é".encode()[:1])
        self.assertEqual(text.n_characters(1), 0)
        text.add("é".encode()[1:] + b"\xff" + "中".encode())
        self.assertEqual(text.n_characters(text.size), 2)


if __name__ == "__main__":
    unittest.main()
