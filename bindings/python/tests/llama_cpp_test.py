"""The interface of llama-cpp-python: completions."""

import unittest

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import LlamaGrammar, LogitsProcessorList, StoppingCriteriaList


class Completions(unittest.TestCase):
    def test_an_answer_has_the_text_of_greedy_evaluation(self):
        llm = llama()
        answer = llm(STORY, max_tokens=12, temperature=0)
        ids = llm.tokenize(STORY.encode(), special=True)
        text = []
        llm.reset()
        llm.eval(ids)
        for _ in range(12):
            text.append(int(llm._scores[-1].argmax()))
            llm.eval(text[-1:])
        self.assertEqual(answer["choices"][0]["text"], llm.detokenize(text).decode())
        self.assertEqual(answer["choices"][0]["finish_reason"], "length")
        self.assertEqual(answer["usage"], {"prompt_tokens": len(ids), "completion_tokens": 12,
                                           "total_tokens": len(ids) + 12})

    def test_chunks_join_to_the_text_and_hold_back_stops(self):
        llm = llama()
        asked = {"max_tokens": 20, "temperature": 0}
        whole = llm(STORY, **asked)["choices"][0]["text"]
        chunks = list(llm(STORY, stream=True, **asked))
        self.assertEqual("".join(c["choices"][0]["text"] for c in chunks), whole)
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        # Those that begin like a stop, but go on otherwise, are shown.
        for stop in (whole[9:13], [whole[9:13], whole[2:5] + "#"], whole[14:30],
                     [whole[3:25], "#"]):
            cut = llm(STORY, stop=stop, **asked)["choices"][0]
            at = whole.index(stop if isinstance(stop, str) else stop[0])
            self.assertEqual((cut["text"], cut["finish_reason"]), (whole[:at], "stop"))
            text = ""
            chunks = list(llm(STORY, stop=stop, stream=True, **asked))
            for chunk in chunks:
                text += chunk["choices"][0]["text"]
                self.assertEqual(text, whole[:at][:len(text)], "a part of a stop was shown")
            self.assertEqual((text, chunks[-1]["choices"][0]["finish_reason"]),
                             (whole[:at], "stop"))

    def test_a_suffix_is_filled_in_where_the_model_has_tokens_for_it(self):
        marks = {f"tokenizer.ggml.fim_{name}_token_id": id
                 for name, id in (("pre", 5), ("suf", 6), ("mid", 7))}
        seen = []

        def look(ids, scores):
            seen.append(ids.tolist())
            return scores
        for spm in (False, True):
            llm = llama(kv_overrides=marks, spm_infill=spm)
            bos = [llm.token_bos()]
            prompt, end = llm.tokenize(b"Once upon", False), llm.tokenize(b" the end", False)
            answer = llm("Once upon", suffix=" the end", max_tokens=3, logits_processor=look)
            parts = [[6, *end], [5, *prompt]] if spm else [[5, *prompt], [6, *end]]
            self.assertEqual(seen[0], [*bos, *parts[0], *parts[1], 7])
            self.assertNotIn(" the end", answer["choices"][0]["text"])
            seen.clear()
        with self.assertRaisesRegex(weft.UnsupportedError, "spm_infill"):
            llama(spm_infill=True)

    def test_two_streams_of_one_object_do_not_mix(self):
        llm = llama()
        prompts = (STORY, "One day Victor")
        alone = [llm(p, max_tokens=9, temperature=0)["choices"][0]["text"] for p in prompts]
        streams = [llm(p, max_tokens=9, temperature=0, stream=True) for p in prompts]
        texts = ["", ""]
        for pair in zip(*streams):
            for i in range(2):
                texts[i] += pair[i]["choices"][0]["text"]
        self.assertEqual(texts, alone)

    def test_grammars_processors_and_criteria_are_honoured(self):
        llm = llama()
        grammar = LlamaGrammar.from_string('root ::= "yes" | "no"')
        self.assertIn(llm(STORY, grammar=grammar)["choices"][0]["text"], ("yes", "no"))
        seen = []

        def only_five(ids, scores):
            seen.append(len(ids))
            scores[:] = -np.inf
            scores[500] = 0
            return scores
        llm(STORY, max_tokens=3, logits_processor=LogitsProcessorList([only_five]))
        self.assertEqual([n - seen[0] for n in seen], [0, 1, 2])
        ends = StoppingCriteriaList([lambda ids, logits: len(ids) >= 8])
        self.assertLess(llm(STORY, stopping_criteria=ends)["usage"]["completion_tokens"], 9)

    def test_logprobs_are_plain_numbers(self):
        choice = llama()(STORY, max_tokens=3, temperature=0, logprobs=2)["choices"][0]["logprobs"]
        self.assertEqual(len(choice["tokens"]), 3)
        self.assertTrue(all(type(x) is float and x <= 0 for x in choice["token_logprobs"]))

    def test_empty_prompts_are_refused(self):
        llm = llama()
        without = llama(kv_overrides={"tokenizer.ggml.add_bos_token": False,
                                      "tokenizer.ggml.bos_token_id": -1})
        for made in (llm, without, llama(draft_model=lambda ids: [5, 6])):
            for _ in range(2):  # nothing is evaluated, then something is
                for call in (lambda: made([]), lambda: made([], stream=True),
                             lambda: made.generate([])):
                    with self.assertRaisesRegex(weft.ArgumentError, "empty"):
                        call()
                made.eval([9, 10])
        self.assertEqual(llm("", max_tokens=1)["usage"]["prompt_tokens"], 1)
        with self.assertRaisesRegex(weft.ArgumentError, "empty"):
            without("")

    def test_generation_goes_on_behind_what_is_evaluated(self):
        for draft in (None, lambda ids: [5, 6]):
            llm = llama(draft_model=draft)
            with self.assertRaisesRegex(weft.ArgumentError, "nothing is evaluated"):
                llm.generate([], reset=False)
            ids = llm.tokenize(STORY.encode())
            llm.eval(ids)
            best = int(llm._scores[-1].argmax())
            self.assertEqual(next(llm.generate([], temp=0.0, reset=False)), best)
            self.assertEqual(llm.n_tokens, len(ids))

    def test_the_sampling_arguments_mean_the_same_everywhere(self):
        hot = {"top_k": 30, "top_p": 0.9, "min_p": 0.01, "repeat_penalty": 1.3}
        for more in ({}, {"mirostat_mode": 2, "mirostat_tau": 3.0},
                     {"typical_p": 0.5, "top_k": -1}):
            options = {**hot, **more}
            a, b = llama(), llama()
            ids = a.tokenize(STORY.encode())
            written = []
            a(ids, max_tokens=5, temperature=0.7, stopping_criteria=lambda given, _: bool(
                written.append(given.tolist())), **options)
            steps = b.generate(ids, temp=0.7, **options)
            text = [next(steps) for _ in range(5)]
            self.assertEqual(written[-1], ids + text[:4])


if __name__ == "__main__":
    unittest.main()
