"""Several texts of a session: in common steps, forked, searched; and the probabilities of tokens."""

import sys
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

STORY = "Once upon a time"
GREEDY = weft.Sampler(temperature=0)


class Streams(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=256, sequences=4)

    def alone(self, prompt, **options):
        return self.model.session(context=256).generate(
            prompt, **{"sampler": GREEDY, "max_tokens": 12, **options})

    def stream(self, prompt, sequence, **options):
        return self.session.stream(prompt, sequence=sequence,
                                   **{"sampler": GREEDY, "max_tokens": 12, **options})

    def test_texts_in_common_steps_are_those_alone(self):
        prompts = [STORY, "The fox is", "A"]
        streams = [self.stream(prompt, i, max_tokens=4 * i + 4) for i, prompt in enumerate(prompts)]
        texts = {stream: "" for stream in streams}
        for stream, piece in self.session.interleave(streams):
            self.assertTrue(piece)
            texts[stream] += piece
        self.assertEqual(list(texts.values()), [self.alone(prompt, max_tokens=4 * i + 4)
                                                for i, prompt in enumerate(prompts)])
        self.assertEqual([stream.finish_reason for stream in streams], ["length"] * 3)
        self.assertEqual(list(self.session.interleave(streams)), [])
        self.assertEqual(list(self.session.interleave([])), [])

    def test_they_may_continue_one_by_one(self):
        streams = [self.stream(STORY, 0), self.stream("The fox is", 1)]
        texts = ["", ""]
        for stream, piece in self.session.interleave(streams):
            texts[streams.index(stream)] += piece
            if len(streams[0].tokens) > 3:
                break  # in the middle of a step
        texts[0] += "".join(streams[0])
        texts[1] += "".join(streams[1])
        self.assertEqual(texts, [self.alone(STORY), self.alone("The fox is")])

    def test_a_text_may_be_closed_meanwhile(self):
        streams = [self.stream(STORY, 0), self.stream(STORY, 1)]
        for stream, _ in self.session.interleave(streams):
            streams[0].close()
        self.assertEqual([s.finish_reason for s in streams], ["closed", "length"])

    def test_a_closed_session_computes_no_more(self):
        writing = self.session.interleave([self.stream(STORY, 0)])
        next(writing)
        self.session.close()
        with self.assertRaises(weft.ClosedError):
            next(writing)
        with self.assertRaises(weft.ClosedError):
            self.session.interleave([])

    def test_streams_of_others_are_refused(self):
        other = self.model.session(context=64).stream(STORY)
        for call in (lambda: self.session.interleave([other]), lambda: self.session.fork(other, 1)):
            with self.assertRaisesRegex(weft.ArgumentError, "another session"):
                call()
        with self.assertRaises(TypeError):
            self.session.interleave(["text"])
        one = self.stream(STORY, 0)
        with self.assertRaises(weft.ArgumentError):
            list(self.session.interleave([one, one]))

    def test_prompts_are_computed_before(self):
        seen = []
        session = self.model.session(context=256, prefill_width=8)
        stream = session.stream(STORY * 8, max_tokens=12, sampler=GREEDY)
        stream.prefill(lambda done, total: seen.append((done, total)))
        n = len(self.model.tokenizer.encode(STORY * 8, parse_special=True))
        self.assertGreater(len(seen), 1)
        self.assertEqual([total for _, total in seen], [n] * len(seen))
        self.assertEqual([done for done, _ in seen], sorted({done for done, _ in seen}))
        self.assertEqual("".join(stream), self.alone(STORY * 8))

    def test_computing_a_prompt_can_be_cancelled(self):
        session = self.model.session(context=256, prefill_width=8)

        def fail(done, total):
            raise KeyError("from progress")
        for progress, error in ((fail, KeyError), (lambda done, total: False, weft.CancelledError)):
            stream = session.stream(STORY * 8, max_tokens=12, sampler=GREEDY)
            with self.assertRaises(error):
                stream.prefill(progress)
        self.assertEqual("".join(stream), self.alone(STORY * 8))
        with self.assertRaises(weft.ClosedError):
            stream.prefill()

    def test_forks_continue_from_there(self):
        stream = self.stream(STORY, 0)
        begun = next(stream) + next(stream)
        fork = self.session.fork(stream, 1)
        self.assertEqual(fork.tokens, stream.tokens)
        want = self.alone(STORY)
        self.assertEqual((begun + "".join(fork), begun + "".join(stream)), (want, want))
        self.assertEqual(fork.tokens, stream.tokens)
        with self.assertRaises(weft.ClosedError):
            self.session.fork(stream, 2)

    def test_forks_have_their_own_seeds(self):
        sampler = weft.Sampler(temperature=1.5, seed=3, top_k=0, top_p=1, min_p=0)
        stream = self.stream(STORY, 0, sampler=sampler)
        stream.prefill()
        same, other = self.session.fork(stream, 1), self.session.fork(stream, 2, seed=4)
        texts = ["".join(one) for one in (stream, same, other)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])
        with self.assertRaises(weft.ArgumentError):
            self.session.fork(self.stream(STORY, 0), 4)


class Searches(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=128, sequences=4)

    def test_texts_go_on_when_the_context_is_full(self):
        session = self.model.session(context=64)
        endless = weft.Sampler(temperature=0, logit_bias={self.model.tokenizer.eos_id: -100})
        common = {"max_tokens": 150, "sampler": endless}
        for end in ("shift", "window", "evict"):
            stream = session.stream(STORY, context_end=end, keep=3, **common)
            self.assertIsNone(stream.n_dropped)
            list(stream)
            self.assertEqual(len(stream.tokens), 150)
            self.assertGreater(stream.n_dropped, 0)
            self.assertLessEqual(session.length(), 5)  # what is not exact is gone
            again = session.stream(STORY, **common)
            list(again)
            self.assertEqual((again.n_dropped, again.finish_reason), (0, "length"))
            self.assertLess(len(again.tokens), 64)
        with self.assertRaisesRegex(weft.ArgumentError, "stop, shift, window, evict"):
            session.stream(STORY, context_end="roll")
        with self.assertRaisesRegex(weft.UnsupportedError, "texts of a beam search end"):
            self.session.search(STORY, beams=2, context_end="shift")

    def test_the_most_likely_texts_are_found(self):
        found = self.session.search(STORY, beams=4, max_tokens=6)
        self.assertEqual(len(found), 4)
        self.assertEqual([one.score for one in found], sorted((one.score for one in found), reverse=True))
        best = found[0]
        self.assertAlmostEqual(best.score, best.logprob / len(best.tokens), 5)
        ids = self.model.tokenizer.encode(STORY, parse_special=True)
        rows = self.model.session(context=128).feed([*ids, *best.tokens], all_logits=True)
        logprob = sum(weft.logprob_of(row, id) for row, id in zip(rows[len(ids) - 1:], best.tokens))
        self.assertAlmostEqual(best.logprob, logprob, 3)

    def test_one_beam_is_the_greedy_text(self):
        found, = self.session.search(STORY, beams=1, max_tokens=6, sampler=GREEDY)
        self.assertEqual(found.text, self.session.generate(STORY, max_tokens=6, sampler=GREEDY))

    def test_rules_hold(self):
        found = self.session.search(STORY, beams=2, grammar='root ::= " yes" | " no"')
        self.assertEqual({one.text for one in found}, {" yes", " no"})
        self.assertTrue(all(one.ended for one in found))

    def test_wrong_options(self):
        for wrong in ({"beams": 0}, {"beams": 5}, {"stopping": "soon"}):
            with self.assertRaises(weft.ArgumentError, msg=wrong):
                self.session.search(STORY, max_tokens=4, **wrong)
        with self.assertRaises(TypeError):
            self.session.search(STORY, sequence=1)
        self.session.generate(STORY, max_tokens=2)  # which goes on


class Probabilities(unittest.TestCase):
    logits = np.log(np.array([0.1, 0.4, 0.2, 0.3], np.float32))

    def test_samplers_tell_what_they_kept(self):
        sampler = weft.Sampler(temperature=1.0, top_k=2, top_p=1.0, min_p=0.0)
        self.assertEqual(sampler.candidates(), [])
        self.assertIn(sampler.sample(self.logits), (1, 3))
        kept = sampler.candidates()
        self.assertEqual([one.id for one in kept], [1, 3])
        self.assertTrue(np.allclose([one.probability for one in kept], [4 / 7, 3 / 7], atol=1e-6))
        self.assertTrue(np.allclose([one.logit for one in kept], self.logits[[1, 3]]))

    def test_logprobs_are_those_of_the_model(self):
        top = weft.top_logprobs(self.logits, 3)
        self.assertEqual([id for id, _ in top], [1, 3, 2])
        self.assertTrue(np.allclose([logprob for _, logprob in top], self.logits[[1, 3, 2]], atol=1e-6))
        self.assertAlmostEqual(weft.logprob_of(self.logits, 0), float(np.log(0.1)), 5)
        self.assertEqual(weft.top_logprobs(list(self.logits), 4)[0], top[0])
        self.assertEqual(weft.top_logprobs(self.logits, 0), [])

    def test_what_is_not_logits_is_refused(self):
        for n in (5, 1 << 40):
            with self.assertRaises(weft.ArgumentError):
                weft.top_logprobs(self.logits, n)
        for wrong in (None, "abc", [None], object()):
            with self.assertRaises((TypeError, ValueError)):
                weft.logprob_of(wrong, 0)
        with self.assertRaisesRegex(weft.ShapeError, "logits must have one dimension, not 2"):
            weft.logprob_of([self.logits], 0)
        for id in (-1, 4, 1 << 40):
            with self.assertRaises(weft.ArgumentError):
                weft.logprob_of(self.logits, id)


if __name__ == "__main__":
    unittest.main()
