"""The interface of llama-cpp-python: arguments of Llama()."""

import inspect
import os
import pathlib
import unittest
import unittest.mock
import warnings

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import Llama

REFERENCE = pathlib.Path(os.environ.get(
    "WEFT_REFERENCE", pathlib.Path(os.environ["WEFT_SOURCE"]).parent / "shared/reference"))
# Arguments that say how something is computed, not what.
WITHOUT_EFFECT = {"offload_kqv", "flash_attn", "op_offload", "swa_full", "no_perf", "verbose"}


def logits(llm):
    llm.eval(llm.tokenize(STORY.encode()))
    return llm._scores[-1].copy()


class Refusals(unittest.TestCase):
    def test_arguments_that_cannot_be_honoured_are_refused_by_name(self):
        for name, value in (("n_gpu_layers", 3), ("use_mlock", True), ("tensor_split", [1.0]),
                            ("split_mode", 3), ("main_gpu", 1), ("numa", 1), ("pooling_type", 4),
                            ("attention_type", 1), ("rope_scaling_type", 9), ("type_k", 3),
                            ("type_v", 9999), ("lora_base", "/none"), ("spm_infill", True),
                            ("chat_format", "no-such"), ("n_gqa", 8), ("f16_kv", False),
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
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            Llama(weft.bundled_model(), n_ctx=256, seed=1, verbose=False, n_gpu_layers=-1)
        self.assertEqual([w.category for w in caught], [RuntimeWarning])
        self.assertEqual(caught[0].filename, __file__)
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
