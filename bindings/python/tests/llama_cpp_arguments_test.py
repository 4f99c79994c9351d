"""The interface of llama-cpp-python: arguments of Llama()."""

import copy
import inspect
import os
import pathlib
import types
import unittest
import unittest.mock
import warnings

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import Llama

REFERENCE = pathlib.Path(os.environ.get(
    "WEFT_REFERENCE", pathlib.Path(os.environ["WEFT_SOURCE"]).parent / "shared/reference"))
# Arguments that say how something is computed, not what. They may be anything.
WITHOUT_EFFECT = {"offload_kqv", "flash_attn", "op_offload", "swa_full", "no_perf", "verbose"}


def logits(llm):
    llm.eval(llm.tokenize(STORY.encode()))
    return llm._scores[-1].copy()


class Refusals(unittest.TestCase):
    def test_arguments_that_cannot_be_honoured_are_refused_by_name(self):
        for name, value in (("pooling_type", 4), ("attention_type", 1),
                            ("rope_scaling_type", 9), ("type_k", 9),
                            ("type_v", 9999), ("lora_base", "/none"), ("spm_infill", True),
                            ("chat_format", "no-such"), ("n_gqa", 8), ("rms_norm_eps", 1e-5),
                            ("yarn_ext_factor", 0.5), ("yarn_orig_ctx", 64)):
            with self.subTest(name), self.assertRaisesRegex(weft.UnsupportedError, name):
                llama(**{name: value})
        for name, value in (("n_ctx", -5), ("n_batch", 0), ("n_ubatch", 0), ("n_threads", -2),
                            ("last_n_tokens_size", -1), ("lora_path", "/none/lora.gguf"),
                            ("rope_freq_base", -1.0), ("rope_freq_scale", float("nan"))):
            with self.subTest(name), self.assertRaisesRegex(weft.ArgumentError, name):
                llama(**{name: value})
        with self.assertRaisesRegex(TypeError, "n_ctxx"):
            llama(n_ctxx=1)
        with self.assertRaises(ValueError):
            Llama("/none/such.gguf", verbose=False)

    def test_no_argument_takes_a_senseless_value(self):
        parameters = inspect.signature(Llama.__init__).parameters.values()
        names = [p.name for p in parameters if p.kind != p.VAR_KEYWORD and p.name != "self"]
        self.assertLess(WITHOUT_EFFECT, set(names))
        for name in names:
            if name in WITHOUT_EFFECT:
                llama(**{name: object()})
                continue
            with self.subTest(name), self.assertRaisesRegex(
                    (weft.UnsupportedError, weft.ArgumentError, TypeError), name):
                Llama(**{"model_path": weft.bundled_model(), "verbose": False, name: object()})


class Places(unittest.TestCase):
    """Arguments that only place or speed up work."""

    def test_what_asks_for_something_has_one_warning(self):
        for asked in ({"n_gpu_layers": -1}, {"n_gpu_layers": 1}, {"n_gpu_layers": 35},
                      {"use_mlock": True}, {"numa": 1}, {"main_gpu": 1}, {"split_mode": 3},
                      {"tensor_split": [0.5, 0.5]}, {"tensor_split": (1.0,)}, {"low_vram": True},
                      {"rpc_servers": "host:1"}, {"device": "cuda"},
                      {"n_gpu_layers": 2, "use_mlock": True, "rpc_servers": "host:1"}):
            with self.subTest(asked), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                llm = Llama(weft.bundled_model(), n_ctx=256, seed=1, verbose=False, **asked)
                self.assertEqual([w.category for w in caught], [RuntimeWarning])
                self.assertEqual(caught[0].filename, __file__)
                for name in asked:
                    self.assertIn(name, str(caught[0].message))
                copy.copy(llm)
                self.assertEqual(len(caught), 1)

    def test_what_asks_for_nothing_has_none(self):
        langchain = {"n_ctx": 512, "n_parts": -1, "seed": -1, "f16_kv": False, "logits_all": False,
                     "vocab_only": False, "use_mlock": False, "n_threads": None, "n_batch": 512,
                     "verbose": False, "device": None}
        server = {"n_gpu_layers": 0, "split_mode": 1, "main_gpu": 0, "tensor_split": None,
                  "kv_overrides": None, "rpc_servers": None, "n_ubatch": 512, "mul_mat_q": True,
                  "n_threads_batch": 4, "rope_scaling_type": -1, "rope_freq_base": 0.0,
                  "yarn_ext_factor": -1.0, "offload_kqv": True, "flash_attn": False, "numa": False,
                  "last_n_tokens_size": 64, "lora_base": None, "lora_path": None, "type_k": None,
                  "chat_format": None, "chat_handler": None, "draft_model": None,
                  "tokenizer": None, "verbose": False}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for given in (langchain, server, {"kv_unified": True, "low_vram": None}):
                Llama(weft.bundled_model(), **given)

    def test_none_is_the_default(self):
        defaults = Llama.__init__.__kwdefaults__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            llm = Llama(weft.bundled_model(), **dict.fromkeys(defaults))
        self.assertEqual((llm.n_ctx(), llm.n_batch, llm.last_n_tokens_size), (512, 512, 64))
        self.assertEqual(llm(STORY, max_tokens=4, temperature=0)["choices"],
                         llama()(STORY, max_tokens=4, temperature=0)["choices"])


class Calls(unittest.TestCase):
    """Arguments of methods."""

    def test_they_may_be_any_iterables_and_none(self):
        llm = llama(embedding=True)
        ids = llm.tokenize(STORY.encode())
        want = llm(ids, max_tokens=6, temperature=0)["choices"]
        text = want[0]["text"]
        for prompt in (tuple(ids), np.array(ids), iter(ids), (i for i in ids)):
            self.assertEqual(llm(prompt, max_tokens=6, temperature=0)["choices"], want)
        for stop in ((text[3:6],), iter([text[3:6]]), {text[3:6]}):
            self.assertEqual(llm(ids, max_tokens=6, temperature=0, stop=stop)["choices"][0],
                             {"text": text[:3], "index": 0, "logprobs": None,
                              "finish_reason": "stop"})
        self.assertEqual(
            llm(ids, max_tokens=6, temperature=0, stop=None, seed=None, logit_bias=None, top_k=None,
                top_p=None, min_p=None, grammar=None, logits_processor=None)["choices"], want)
        self.assertEqual(next(llm.generate(iter(ids), temp=0.0)), llm.tokenize(
            text.encode(), add_bos=False)[0])
        llm.reset()
        llm.eval(iter(ids))
        self.assertEqual(llm.n_tokens, len(ids))
        self.assertEqual(llm.detokenize(iter(ids)), llm.detokenize(ids))
        self.assertEqual(llm.embed(("a", "b")), llm.embed(["a", "b"]))
        ends = [lambda given, logits: len(given) > len(ids) + 2]
        for given in (ends, tuple(ends), ends[0]):
            answer = llm(ids, max_tokens=9, stopping_criteria=given)
            self.assertEqual(answer["usage"]["completion_tokens"], 3)
        messages = [{"role": "user", "content": "Hi"}]
        for given in (tuple(messages), iter(messages), [types.MappingProxyType(messages[0])]):
            said = llm.create_chat_completion(given, max_tokens=3, temperature=0)
            self.assertEqual(said["choices"], llm.create_chat_completion(
                messages, max_tokens=3, temperature=0)["choices"])
        with self.assertRaisesRegex(weft.ArgumentError, "messages"):
            llm.create_chat_completion("Hi")

    def test_they_may_be_positional(self):
        llm = llama()
        answer = llm(STORY, None, 3, 0.0, 0.95, 0.05, 1.0, None, True, ("#",))
        self.assertEqual(answer["usage"]["completion_tokens"], 3)
        self.assertTrue(answer["choices"][0]["text"].startswith(STORY))
        self.assertEqual(list(inspect.signature(llm).parameters),
                         list(inspect.signature(llm.create_completion).parameters))


class Honoured(unittest.TestCase):
    def test_rope_is_scaled_by_keys_of_the_file(self):
        def logits_with(**arguments):
            return logits(llama(**arguments))
        plain = logits_with()
        self.assertTrue(np.array_equal(
            plain, logits_with(rope_freq_base=10000.0, rope_freq_scale=1.0)))
        yarn = {"rope_scaling_type": 2, "rope_freq_scale": 0.5, "yarn_orig_ctx": 128}
        key = "llama.rope.scaling."
        self.assertTrue(np.array_equal(logits_with(**yarn), logits_with(kv_overrides={
            key + "type": "yarn", key + "factor": 2.0, key + "original_context_length": 128})))
        seen = [plain, logits_with(**yarn)]
        for more in ({"yarn_beta_fast": 2.0}, {"yarn_beta_slow": 0.5}, {"yarn_ext_factor": 0.5},
                     {"yarn_ext_factor": 0.0, "yarn_attn_factor": 2.0}):
            seen.append(logits_with(**yarn, **more))
            self.assertFalse(any(np.array_equal(seen[-1], other) for other in seen[:-1]), more)
        with self.assertRaisesRegex(weft.UnsupportedError, "rope_scaling_type"):
            llama(rope_scaling_type=9)

    def test_rope_is_not_scaled_if_the_type_is_none(self):
        plain = logits(llama())
        key = "llama.rope."
        for keys in ({}, {"scaling.type": "linear", "scaling.factor": 2.0}, {"scale_linear": 2.0},
                     {"scaling.type": "yarn", "scaling.factor": 2.0,
                      "scaling.original_context_length": 128}):
            keys = {key + name: value for name, value in keys.items()}
            llm = llama(rope_scaling_type=0, kv_overrides=keys)
            self.assertTrue(np.array_equal(plain, logits(llm)), keys)
            if keys:
                self.assertFalse(np.array_equal(plain, logits(llama(kv_overrides=keys))), keys)
            self.assertEqual("none" in llm.metadata.get(key + "scaling.type", ""), bool(keys))
        with self.assertRaisesRegex(weft.UnsupportedError, "rope_freq_scale"):
            llama(rope_scaling_type=0, rope_freq_scale=0.5)

    def test_the_attention_of_the_model_is_accepted(self):
        key = "llama.attention.causal"
        for own, other, overrides in ((0, 1, None), (0, 1, {key: True}), (1, 0, {key: False})):
            llama(attention_type=-1, kv_overrides=overrides)
            llama(attention_type=own, kv_overrides=overrides)
            with self.assertRaisesRegex(weft.UnsupportedError, f"attention_type.*is {own}"):
                llama(attention_type=other, kv_overrides=overrides)

    def test_errors_about_memory_are_passed_on(self):
        with unittest.mock.patch.object(weft._weft.Model, "open",
                                        side_effect=weft.BudgetError("x")):
            with self.assertRaises(weft.BudgetError):
                llama()
        with self.assertRaisesRegex(ValueError, "lora_path"):
            llama(lora_path=weft.bundled_model())

    def test_files_are_read_or_mapped(self):
        plain = logits(llama())
        self.assertTrue(np.array_equal(plain, logits(llama(use_mmap=False))))
        stories = REFERENCE / "models/stories260k"
        if not stories.is_dir():
            self.skipTest("no reference data: set WEFT_REFERENCE")
        whole = logits(Llama(stories / "stories260K-f32.gguf", verbose=False))
        for mapped in (True, False):
            split = Llama(stories / "stories260K-f32-split-00001-of-00003.gguf", use_mmap=mapped,
                          verbose=False)
            self.assertTrue(np.array_equal(whole, logits(split)))


if __name__ == "__main__":
    unittest.main()
