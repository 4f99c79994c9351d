"""Vocabularies of SentencePiece, which put a space in front of a text."""

import os
import pathlib
import sys
import unittest

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft.llama_cpp import Llama

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
MODEL = pathlib.Path(os.environ.get("WEFT_REFERENCE", SOURCE.parent / "shared/reference")) \
    / "models/stories260k/stories260K-f32.gguf"
GREEDY = weft.Sampler(temperature=0)

if not MODEL.is_file():
    print("no reference data: set WEFT_REFERENCE")
    sys.exit(77)


class Spaces(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model(MODEL)
        self.llm = Llama(MODEL, n_ctx=256, verbose=False)

    def test_what_follows_a_prompt_keeps_its_space(self):
        session = self.model.session(context=256)
        text = session.generate("Lily", max_tokens=8, sampler=GREEDY)
        self.assertTrue(text.startswith(" "))
        self.assertEqual("".join(session.stream("Lily", max_tokens=8, sampler=GREEDY)), text)
        self.assertEqual(self.llm("Lily", max_tokens=8, temperature=0)["choices"][0]["text"], text)

    def test_text_and_ids(self):
        words = self.model.tokenizer
        self.assertEqual(words.decode(words.encode("Once upon")), "Once upon")
        ids = self.llm.tokenize(b"Once upon")
        self.assertEqual(self.llm.detokenize(ids), b"Once upon")
        self.assertEqual(self.llm.detokenize(ids[1:]), b" Once upon")
        self.assertEqual(self.llm.detokenize(ids[1:], prev_tokens=ids[:1]), b" Once upon")

    def test_a_suffix_has_no_space_of_its_own(self):
        words = self.model.tokenizer
        for text in ("upon", " upon", "\nupon"):
            ids = self.llm._ids_in_the_middle(text)
            self.assertEqual(words._native.decode(ids, False, False), text.encode())

    def test_offsets_add_up(self):
        for echo, begin in ((False, len("Once upon a time")), (True, 0)):
            found = self.llm("Once upon a time", max_tokens=4, temperature=0, echo=echo, logprobs=1)
            logprobs = found["choices"][0]["logprobs"]
            for text, offset in zip(logprobs["tokens"], logprobs["text_offset"]):
                self.assertEqual(offset, begin)
                begin += len(text)


if __name__ == "__main__":
    unittest.main()
