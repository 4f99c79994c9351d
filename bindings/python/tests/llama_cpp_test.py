"""The interface of llama-cpp-python."""

import json
import pickle
import sys
import unittest
import unittest.mock
import warnings

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft.llama_cpp._formats import find_format, format_names
from weft.llama_cpp import Llama, LlamaGrammar, LlamaRAMCache, LogitsProcessorList, StoppingCriteriaList

STORY = "Once upon a time"


def llama(**arguments):
    return Llama(weft.bundled_model(), **{"n_ctx": 256, "seed": 1, "verbose": False, **arguments})


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
        whole = llm(STORY, max_tokens=20, temperature=0)["choices"][0]["text"]
        chunks = list(llm(STORY, max_tokens=20, temperature=0, stream=True))
        self.assertEqual("".join(c["choices"][0]["text"] for c in chunks), whole)
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        stop = whole[9:13]
        cut = llm(STORY, max_tokens=20, temperature=0, stop=[stop])["choices"][0]
        self.assertEqual((cut["text"], cut["finish_reason"]), (whole[:whole.index(stop)], "stop"))

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

    def test_marks_of_calls_are_part_of_what_is_read(self):
        llm = llama()
        start = llm.tokenize(b"<|im_start|>", False, special=True)
        for shown, text in (([], ""), (start, "<|im_start|>" * 2)):
            with unittest.mock.patch.object(weft._weft.ChatPlan, "shown", lambda plan: shown):
                answer = llm.create_chat_completion([{"role": "user", "content": "Hi"}],
                                                    max_tokens=2, logit_bias={start[0]: 1000})
            self.assertEqual(answer["choices"][0]["message"]["content"], text)

    def test_formats_of_chats_by_their_names(self):
        messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
                    {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Why?"}]
        for name, want in (
                ("llama-2", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>[INST] Why? [/INST]"),
                ("alpaca", "Be brief.\n\n### Instruction:\nHi\n\n### Response:\nHello\n\n"
                           "### Instruction:\nWhy?\n\n### Response:\n"),
                ("gemma", "<start_of_turn>user\nBe brief.<end_of_turn>\n<start_of_turn>user\nHi<end_of_turn>\n"
                          "<start_of_turn>model\nHello<end_of_turn>\n<start_of_turn>user\nWhy?<end_of_turn>\n"
                          "<start_of_turn>model\n"),
                ("vicuna", "Be brief. USER: Hi ASSISTANT: Hello</s>USER: Why? ASSISTANT:"),
                ("mistral-instruct", "[INST] Be brief. [/INST][INST] Hi [/INST]Hello</s>[INST] Why? [/INST]"),
                ("zephyr", "<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n<|assistant|>\nHello</s>\n"
                           "<|user|>\nWhy?</s>\n<|assistant|>\n")):
            template = find_format(name).template
            got = weft._weft.render_template(template, json.dumps({
                "messages": messages, "bos_token": "<s>", "eos_token": "</s>",
                "add_generation_prompt": True}))
            self.assertEqual(got, want, name)
        for name in format_names():
            llm = llama(chat_format=name)
            answer = llm.create_chat_completion(messages[1:2], max_tokens=3, temperature=0)
            self.assertEqual(answer["choices"][0]["message"]["role"], "assistant", name)
        with self.assertRaisesRegex(weft.UnsupportedError, "'no-such'.*alpaca.*llama-2"):
            llama(chat_format="no-such")
        plain = llama(kv_overrides={"tokenizer.chat_template": ""})
        self.assertTrue(plain.create_chat_completion(messages, max_tokens=3)["choices"])

    def test_rope_is_scaled_by_keys_of_the_file(self):
        def logits(**arguments):
            llm = llama(**arguments)
            llm.eval(llm.tokenize(STORY.encode()))
            return llm._scores[-1].copy()
        plain = logits()
        self.assertTrue(np.array_equal(plain, logits(rope_freq_base=10000.0, rope_freq_scale=1.0)))
        yarn = {"rope_scaling_type": 2, "rope_freq_scale": 0.5, "yarn_orig_ctx": 128}
        key = "llama.rope.scaling."
        self.assertTrue(np.array_equal(logits(**yarn), logits(kv_overrides={
            key + "type": "yarn", key + "factor": 2.0, key + "original_context_length": 128})))
        seen = [plain, logits(**yarn)]
        for more in ({"yarn_beta_fast": 2.0}, {"yarn_beta_slow": 0.5}, {"yarn_ext_factor": 0.5},
                     {"yarn_ext_factor": 0.0, "yarn_attn_factor": 2.0}):
            seen.append(logits(**yarn, **more))
            self.assertFalse(any(np.array_equal(seen[-1], other) for other in seen[:-1]), more)
        with self.assertRaisesRegex(weft.UnsupportedError, "rope_scaling_type"):
            llama(rope_scaling_type=9)

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


class Chats(unittest.TestCase):
    def test_answers_and_calls(self):
        llm = llama(n_ctx=512)
        messages = [{"role": "user", "content": "Hi"}]
        said = llm.create_chat_completion(messages, max_tokens=5, temperature=0)
        self.assertEqual(said["choices"][0]["message"]["role"], "assistant")
        tool = {"type": "function", "function": {"name": "light", "parameters": {
            "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}
        called = llm.create_chat_completion(
            messages, tools=[tool], tool_choice={"type": "function", "function": {"name": "light"}})
        call = called["choices"][0]["message"]["tool_calls"][0]
        self.assertEqual(call["function"]["name"], "light")
        self.assertEqual(called["choices"][0]["finish_reason"], "tool_calls")


class Objects(unittest.TestCase):
    def test_arguments_that_cannot_be_honoured_are_refused_by_name(self):
        for name, value in (("n_gpu_layers", 3), ("use_mlock", True), ("tensor_split", [1.0])):
            with self.assertRaisesRegex(weft.UnsupportedError, name):
                llama(**{name: value})
        with self.assertRaisesRegex(TypeError, "n_ctxx"):
            llama(n_ctxx=1)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            llama(n_gpu_layers=-1)
        self.assertEqual([w.category for w in caught], [RuntimeWarning])
        with self.assertRaises(ValueError):
            Llama("/none/such.gguf", verbose=False)

    def test_states_go_on_in_other_objects(self):
        llm, other = llama(), llama()
        ids = llm.tokenize(STORY.encode())
        llm.eval(ids)
        state = pickle.loads(pickle.dumps(llm.save_state()))
        llm.eval([9])
        other.load_state(state)
        other.eval([9])
        self.assertTrue((other._scores[-1] == llm._scores[-1]).all())
        cache = LlamaRAMCache()
        cache[ids] = state
        self.assertIn(ids + [1], cache)

    def test_closed_objects_say_so(self):
        llm = llama()
        llm.close()
        llm.close()
        with self.assertRaisesRegex(weft.Error, "closed"):
            llm(STORY)


if __name__ == "__main__":
    unittest.main()
