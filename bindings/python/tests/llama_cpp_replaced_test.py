"""The interface of llama-cpp-python: generate(), sample() and eval() of subclasses, or patched."""

import types
import unittest
import unittest.mock

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import Llama, LlamaGrammar, LogitsProcessorList

CALLS = []


class Watched(Llama):
    """Passes all on."""

    def generate(self, *a, **k):
        CALLS.append("generate")
        yield from super().generate(*a, **k)

    def sample(self, *a, **k):
        CALLS.append("sample")
        return super().sample(*a, **k)

    def eval(self, tokens):
        CALLS.append("eval")
        super().eval(tokens)


def watched(**arguments):
    return Watched(weft.bundled_model(), **{"n_ctx": 256, "seed": 1, "verbose": False, **arguments})


def choice_of(llm, prompt=STORY, **asked):
    return llm(prompt, **{"max_tokens": 8, **asked})["choices"][0]


class Replaced(unittest.TestCase):
    def setUp(self):
        CALLS.clear()

    def test_what_passes_all_on_changes_nothing(self):
        llm = llama()
        ban = LogitsProcessorList([lambda ids, scores: np.where(
            np.arange(len(scores)) == 300, -np.inf, scores)])
        for asked in ({"temperature": 0}, {}, {"seed": 5, "top_k": 5, "repeat_penalty": 1.3},
                      {"logit_bias": {300: 50.0}, "seed": 3}, {"logits_processor": ban, "seed": 3},
                      {"logit_bias": {300: 50.0}, "logits_processor": ban, "seed": 3},
                      {"grammar": LlamaGrammar.from_string('root ::= " red" | " blue"')},
                      {"mirostat_mode": 2, "seed": 4}, {"stop": ["e"], "temperature": 0},
                      {"logprobs": 2, "temperature": 0},
                      {"stopping_criteria": lambda ids, logits: len(ids) > 9, "seed": 2}):
            with self.subTest(asked):
                llm.set_seed(7)
                mine = watched(seed=7)
                self.assertEqual(choice_of(mine, **asked), choice_of(llm, **asked))
                self.assertLessEqual({"generate", "sample", "eval"}, {*CALLS})
                llm.set_seed(7)
                chunks = watched(seed=7)(STORY, stream=True, max_tokens=8, **asked)
                self.assertEqual("".join(c["choices"][0]["text"] for c in chunks),
                                 choice_of(llm, **asked)["text"])
        drafted = watched(draft_model=lambda ids: [5, 6])
        self.assertEqual(choice_of(drafted, temperature=0), choice_of(llm, temperature=0))
        messages = [{"role": "user", "content": "Hi"}]
        self.assertEqual(
            watched().create_chat_completion(messages, max_tokens=5, temperature=0)["choices"],
            llm.create_chat_completion(messages, max_tokens=5, temperature=0)["choices"])

    def test_each_of_them_may_be_patched(self):
        want = choice_of(llama(), temperature=0)
        for name in ("generate", "sample", "eval"):
            llm, seen = llama(), []

            def patched(self, *a, _name=name, **k):
                seen.append(_name)
                return getattr(Llama, _name)(self, *a, **k)
            setattr(llm, name, types.MethodType(patched, llm))
            self.assertEqual(choice_of(llm, temperature=0), want)
            self.assertTrue(seen)
            seen.clear()
            own, other = getattr(Llama, name), llama()
            with unittest.mock.patch.object(
                    Llama, name, lambda self, *a, **k: (seen.append(1), own(self, *a, **k))[1]):
                self.assertEqual(choice_of(other, temperature=0), want)
            self.assertTrue(seen)

    def test_what_they_change_is_in_the_text(self):
        llm = llama()
        ids = llm.tokenize(b" red blue", add_bos=False)
        llm.sample = lambda **k: ids[(llm.n_tokens - 1) % 2]
        said = llm.tokenize(choice_of(llm)["text"].encode(), add_bos=False)
        self.assertEqual({*said}, {*ids[:2]})
        llm = llama()
        llm.generate = lambda tokens, **k: iter([*ids, llm.token_eos()])
        self.assertEqual((choice_of(llm)["text"], choice_of(llm)["finish_reason"]),
                         (llm.detokenize(ids).decode(), "stop"))

        class Colder(Llama):
            def generate(self, tokens, **k):
                yield from super().generate(tokens, **{**k, "temp": 0.0})

        class Greedy(Llama):
            def sample(self, **k):
                return super().sample(**{**k, "temp": 0.0})
        for kind in (Colder, Greedy):
            made = kind(weft.bundled_model(), n_ctx=256, verbose=False)
            self.assertEqual(choice_of(made, temperature=2.0), choice_of(llama(), temperature=0))

    def test_grammars_hold(self):
        grammar = LlamaGrammar.from_string('root ::= " red" | " blue"')
        llm = llama()
        llm.generate = lambda tokens, **k: iter([500] * 9)
        with self.assertRaises(weft.Error):
            choice_of(llm, grammar=grammar)

        class Greedy(Llama):
            def sample(self, **k):
                return super().sample(**{**k, "temp": 0.0})
        made = Greedy(weft.bundled_model(), n_ctx=256, verbose=False)
        self.assertIn(choice_of(made, grammar=grammar)["text"], (" red", " blue"))

    def test_the_parts_of_eval_may_be_called(self):
        """As text-generation-webui's eval() does."""
        def own_eval(self, tokens):
            self._ctx.kv_cache_seq_rm(-1, self.n_tokens, -1)
            for i in range(0, len(tokens), self.n_batch):
                batch = tokens[i:i + self.n_batch]
                n_past, n_tokens = self.n_tokens, len(batch)
                self._batch.set_batch(batch=batch, n_past=n_past,
                                      logits_all=self.context_params.logits_all)
                self._ctx.decode(self._batch)
                self.input_ids[n_past:n_past + n_tokens] = batch
                rows = n_tokens if self.context_params.logits_all else 1
                logits = self._ctx.get_logits()[:rows * self._n_vocab]
                if rows == 1:
                    self.scores[n_past + n_tokens - 1, :] = logits
                else:
                    self.scores[n_past:n_past + n_tokens, :].reshape(-1)[:] = logits
                self.n_tokens += n_tokens
        for more in ({}, {"n_batch": 3}, {"logits_all": True}):
            llm = llama(**more)
            want = choice_of(llm, temperature=0)
            with unittest.mock.patch.object(Llama, "eval", own_eval):
                self.assertEqual(choice_of(llama(**more), temperature=0), want)


if __name__ == "__main__":
    unittest.main()
