"""The interface of llama-cpp-python: scores, of which only the last rows are kept."""

import pickle
import unittest

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import LlamaRAMCache


class Scores(unittest.TestCase):
    def setUp(self):
        self.llm, self.whole = llama(), llama(logits_all=True)
        self.ids = self.llm.tokenize(STORY.encode())
        for llm in (self.llm, self.whole):
            llm.eval(self.ids)
        self.n = len(self.ids)
        self.want = self.whole.scores[self.n - 1]

    def test_the_last_row_is_read_in_all_ways(self):
        llm, n, want = self.llm, self.n, self.want
        self.assertEqual(llm.scores.shape, (256, llm.n_vocab()))
        self.assertEqual((len(llm.scores), llm.scores.dtype), (256, np.float32))
        self.assertEqual(llm._scores.shape, (n, llm.n_vocab()))
        for row in (llm.scores[n - 1], llm.scores[n - 1, :], llm.scores[np.int64(n - 1)],
                    llm._scores[-1], llm._scores[-1, :], llm.scores[:n][-1], llm._scores[n - 1],
                    llm._scores[-1:][0], np.array(llm._scores[-1:])[0], llm.eval_logits[-1],
                    llm.scores[[n - 1]][0], llm._scores[-1:, :][0], llm.scores.copy()[n - 1]):
            self.assertTrue(np.array_equal(np.array(row, np.float32), want))
        self.assertEqual(llm.scores[n - 1, 5], want[5])
        self.assertEqual(int(llm._scores[-1].argmax()), llm.sample(temp=0.0))
        self.assertEqual(llm._scores[-1:].argmax(), want.argmax())
        self.assertEqual((len(llm.eval_logits), llm.eval_logits.maxlen), (1, 1))
        self.assertEqual((len(self.whole.eval_logits), self.whole.eval_logits.maxlen), (n, 256))

    def test_rows_that_are_not_kept_say_what_to_use(self):
        llm = self.llm
        for read in (lambda: llm.scores[0], lambda: llm._scores[-2], lambda: np.array(llm._scores),
                     lambda: llm.scores[-1], lambda: llm.scores[:3].argmax(), lambda: llm.scores[0],
                     lambda: list(llm._scores), lambda: llm.sample(idx=0),
                     lambda: llm.scores[[0, 1]], lambda: llm.scores[0, 5]):
            with self.assertRaisesRegex(weft.UnsupportedError, "logits_all=True"):
                read()
        with self.assertRaises(IndexError):
            llm.scores[256]
        with self.assertRaises(IndexError):
            llama()._scores[-1]
        with self.assertRaises(AttributeError):
            llm.scores.no_such

    def test_a_row_is_not_changed_by_the_next_step(self):
        row = self.llm._scores[-1]
        self.llm.eval([9])
        self.assertTrue(np.array_equal(row, self.want))
        self.assertFalse(np.array_equal(self.llm._scores[-1], self.want))

    def test_tokens_that_are_taken_back_are_evaluated_for_a_sample(self):
        for llm in (self.llm, self.whole):
            llm.eval([9, 10])
            llm.n_tokens = self.n
        self.assertEqual(self.llm.sample(temp=0.0), int(self.want.argmax()))
        self.assertTrue(np.array_equal(self.llm._scores[-1], self.want))
        self.assertEqual(self.llm.n_tokens, self.n)
        self.llm.n_tokens -= 1
        self.llm.eval(self.ids[-1:])
        self.assertTrue(np.array_equal(self.llm._scores[-1], self.want))

    def test_programs_may_set_them(self):
        llm, n = self.llm, self.n
        before = (llm.n_tokens, llm.input_ids, llm.scores)
        llm.eval([9])
        llm.n_tokens, llm.input_ids, llm.scores = before
        llm.scores[n - 1, :] = np.arange(llm.n_vocab())
        self.assertEqual(llm._scores[-1][7], 7)
        llm.scores[n - 1, 7] = -1
        self.assertEqual(llm.sample(temp=0.0), llm.n_vocab() - 1)
        llm.scores[3] = 5.0
        self.assertEqual(llm.scores[3, 0], 5.0)
        llm.scores[:2] = 1.0
        self.assertEqual(np.array(llm.scores[:2]).tolist(), np.ones((2, llm.n_vocab())).tolist())
        llm.scores = np.zeros((256, llm.n_vocab()), np.float32)
        llm.eval([9])
        self.assertTrue(llm.scores[llm.n_tokens - 1].any())
        self.assertEqual(llm(STORY, max_tokens=3, temperature=0)["choices"],
                         llama()(STORY, max_tokens=3, temperature=0)["choices"])

    def test_states_have_the_last_row(self):
        llm, other = self.llm, llama()
        state = pickle.loads(pickle.dumps(llm.save_state()))
        self.assertEqual(state.scores.shape, (1, llm.n_vocab()))
        self.assertTrue(np.array_equal(state.scores[0], self.want))
        self.assertEqual(self.whole.save_state().scores.shape, (self.n, llm.n_vocab()))
        for target in (other, llama(logits_all=True)):
            target.eval([5, 6, 7])
            target.load_state(state)
            self.assertTrue(np.array_equal(target._scores[-1], self.want))
            self.assertEqual(target.sample(temp=0.0), int(self.want.argmax()))
        other.load_state(self.whole.save_state())
        self.assertTrue(np.array_equal(other._scores[-1], self.want))
        with self.assertRaises(weft.UnsupportedError):
            llama_of(state).scores[0]
        self.assertEqual(llama().save_state().scores.shape, (0, llm.n_vocab()))
        cache = LlamaRAMCache()
        cache[self.ids] = state
        self.assertGreaterEqual(cache.cache_size, state.llama_state_size + state.scores.nbytes)

    def test_nothing_grows_by_the_vocabulary(self):
        llm = llama(n_ctx=1 << 17)
        self.assertEqual(llm.scores.shape, (1 << 17, llm.n_vocab()))
        answer = llm(STORY, max_tokens=40, temperature=0, logprobs=2, echo=True,
                     logit_bias={llm.token_eos(): -100})
        self.assertEqual(len(answer["choices"][0]["logprobs"]["tokens"]), self.n - 1 + 40)
        self.assertLessEqual(len(llm.scores._rows), 16)
        with self.assertRaisesRegex(MemoryError, "logits_all"):
            llama(n_ctx=1 << 40, logits_all=True)

    def test_logprobs_of_prompts_are_those_of_their_rows(self):
        logs = self.llm(STORY, max_tokens=1, temperature=0, logprobs=1, echo=True)
        logs = logs["choices"][0]["logprobs"]["token_logprobs"]
        first = int(self.ids[0] == self.llm.token_bos())
        want = self.llm.logits_to_logprobs(self.whole._scores)
        want = [None] + [float(want[i - 1, self.ids[i]]) for i in range(first + 1, self.n)]
        self.assertEqual(logs[0], None)
        self.assertTrue(np.allclose(logs[1:-1], want[1:], atol=1e-4))


def llama_of(state):
    llm = llama()
    llm.load_state(state)
    return llm


if __name__ == "__main__":
    unittest.main()
