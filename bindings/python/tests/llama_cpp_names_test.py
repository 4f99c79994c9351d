"""The interface of llama-cpp-python: names of modules, types, functions and chat formats."""

import ctypes
import importlib
import json
import sys
import types
import unittest
import unittest.mock

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
import weft.llama_cpp as lc
from weft.llama_cpp import llama_chat_format as formats
from weft.llama_cpp import llama_tokenizer

# Names that llama-cpp-python 0.3.35 registers.
FORMATS = """alpaca baichuan baichuan-2 chatglm3 chatml chatml-function-calling functionary
functionary-v1 functionary-v2 gemma intel llama-2 llama-3 mistral-instruct mistrallite oasst_llama
open-orca openbuddy openchat phind pygmalion qwen redpajama-incite saiga snoozy vicuna
zephyr""".split()
FORMATTERS = """alpaca qwen oasst_llama baichuan2 baichuan openbuddy redpajama_incite snoozy phind
intel open_orca mistrallite zephyr pygmalion chatml mistral_instruct chatglm3 openchat saiga gemma
llama2 llama3""".split()
VISION = """Llava15 Llava16 Obsidian Moondream NanoLlava Llama3VisionAlpha MiniCPMv26 Qwen25VL MTMD
Gemma4""".split()
TALK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Why?"}]


class Names(unittest.TestCase):
    def test_types_are_in_the_package_and_in_their_module(self):
        names = [n for n in dir(lc.llama_types) if n.startswith((
            "ChatCompletion", "Completion", "Create", "Embedding", "JsonType"))]
        self.assertGreater(len(names), 60)
        for module in ("weft.llama_cpp", "weft.llama_cpp.llama"):
            for name in names:
                exec(f"from {module} import {name}", {})
        self.assertEqual(lc.ChatCompletionTool.__required_keys__, {"type", "function"})
        self.assertEqual(lc.ChatCompletionRequestAssistantMessage.__required_keys__, {"role"})

    def test_all_of_them_exist(self):
        given = {}
        exec("from weft.llama_cpp import *", given)
        self.assertLess({*lc.__all__}, {*given})
        for name in ("llama_cpp", "llama", "llama_cache", "llama_chat_format", "llama_grammar",
                     "llama_speculative", "llama_tokenizer", "llama_types", "mtmd_cpp", "llava_cpp",
                     "server", "_internals", "_utils", "_logger"):
            module = importlib.import_module(f"weft.llama_cpp.{name}")
            self.assertIsInstance(module, types.ModuleType)
            self.assertIs(getattr(lc, name), module)
        self.assertEqual((lc.GGML_TYPE_IQ4_XS, lc.LLAMA_FTYPE_MOSTLY_Q4_K_M,
                          lc.LLAMA_VOCAB_TYPE_WPM, lc.LLAMA_TOKEN_ATTR_CONTROL), (23, 15, 3, 8))
        self.assertIs(lc.llama_cpp.llama_token_to_piece, lc.llama_token_to_piece)

    def test_importing_what_is_not_there_says_why(self):
        for module, name, why in (
                ("weft.llama_cpp", "llama_decode", "weft.Session"),
                ("weft.llama_cpp.llama_cpp", "llama_batch_init", "weft.Session"),
                ("weft.llama_cpp.mtmd_cpp", "mtmd_init_from_file", "images are not supported"),
                ("weft.llama_cpp.llava_cpp", "clip_model_load", "images are not supported"),
                ("weft.llama_cpp.server", "app", "weft serve"),
                ("weft.llama_cpp.server.app", "create_app", "weft serve"),
                ("weft.llama_cpp.llama_grammar", "json_schema_to_gbnf", "from_json_schema"),
                ("weft.llama_cpp._internals", "LlamaSampler", "weft.Sampler")):
            with self.subTest(name), self.assertRaisesRegex(ImportError, why):
                exec(f"from {module} import {name}", {})
        for module in (lc, lc.llama_cpp, lc.mtmd_cpp, formats):
            self.assertFalse(hasattr(module, "llama_no_such"))
            with self.assertRaisesRegex(AttributeError, "llama_no_such"):
                module.llama_no_such

    def test_handlers_of_images_refuse(self):
        for name in VISION:
            kind = getattr(formats, name + "ChatHandler")
            for make in (kind, kind.from_pretrained):
                with self.assertRaisesRegex(weft.UnsupportedError, "images are not supported yet"):
                    make(clip_model_path="a.mmproj")

    def test_tokenizers_of_transformers(self):
        with unittest.mock.patch.dict(sys.modules, {"transformers": None}):
            for make in (llama_tokenizer.LlamaHFTokenizer.from_pretrained,
                         formats.hf_autotokenizer_to_chat_formatter):
                with self.assertRaisesRegex(ImportError, "transformers"):
                    make("a/b")
        own = llama().tokenizer()

        class Auto:
            bos_token_id, eos_token = llama().token_bos(), "</s>"
            from_pretrained = classmethod(lambda cls, path: cls())

            def encode(self, text, add_special_tokens):
                return own.encode(text, add_bos=add_special_tokens)

            def decode(self, ids, skip_special_tokens):
                return own._llama.detokenize(ids, special=not skip_special_tokens).decode()

            def apply_chat_template(self, messages, **more):
                return f"{STORY}. {messages[-1]['content']}"
        fake = types.SimpleNamespace(AutoTokenizer=Auto)
        with unittest.mock.patch.dict(sys.modules, {"transformers": fake}):
            made = lc.LlamaHFTokenizer.from_pretrained("a/b")
            handler = formats.hf_autotokenizer_to_chat_completion_handler("a/b")
        for llm in (llama(tokenizer=made), llama(chat_handler=handler)):
            self.assertEqual(llm(STORY, max_tokens=5, temperature=0)["choices"],
                             llama()(STORY, max_tokens=5, temperature=0)["choices"])
            self.assertTrue(llm.create_chat_completion(TALK[1:2], max_tokens=3)["choices"])
        ids = own.encode(STORY, add_bos=False)
        self.assertEqual(made.tokenize(STORY.encode(), add_bos=False, special=False), ids)
        self.assertEqual(made.detokenize(ids[1:], prev_tokens=ids[:1]),
                         own.detokenize(ids[1:], prev_tokens=ids[:1]))


class Functions(unittest.TestCase):
    def setUp(self):
        self.llm = llama()
        self.vocab = lc.llama_model_get_vocab(self.llm.model)

    def piece(self, token, size=32, lstrip=0, special=True):
        buffer = (ctypes.c_char * size)()
        n = lc.llama_token_to_piece(self.vocab, token, buffer, size, lstrip, special)
        return n if n < 0 else buffer[:n]

    def test_pieces_are_those_of_the_vocabulary(self):
        llm = self.llm
        self.assertEqual(lc.llama_vocab_n_tokens(self.vocab), llm.n_vocab())
        for token in range(0, llm.n_vocab(), 7):
            self.assertEqual(self.piece(token, 64), llm._tokens.token_bytes(token)
                             if not lc.llama_vocab_is_control(self.vocab, token)
                             else llm.detokenize([token], special=True))
        once = llm.tokenize(b" time", add_bos=False)[-1]
        self.assertEqual((self.piece(once), self.piece(once, lstrip=1), self.piece(once, 2)),
                         (b" time", b"time", -5))
        end = llm.token_eos()
        self.assertEqual((self.piece(end), self.piece(end, special=False)),
                         (llm.detokenize([end], special=True), b""))
        with self.assertRaisesRegex(weft.ArgumentError, "vocabulary"):
            self.piece(llm.n_vocab())
        with self.assertRaisesRegex(TypeError, "llm.model"):
            lc.llama_vocab_n_tokens(None)

    def test_texts_go_to_buffers(self):
        ids = self.llm.tokenize(STORY.encode())
        room = (lc.llama_token * 64)()
        n = lc.llama_tokenize(self.vocab, STORY.encode(), len(STORY), room, 64, True, True)
        self.assertEqual(room[:n], ids)
        self.assertEqual(lc.llama_tokenize(self.vocab, STORY.encode(), len(STORY), room, 1, True,
                                           True), -len(ids))
        buffer = ctypes.create_string_buffer(64)
        n = lc.llama_detokenize(self.vocab, room, n, buffer, 64, True, False)
        self.assertEqual(buffer.raw[:n].decode().strip(), STORY)
        n = lc.llama_model_meta_val_str(self.llm.model, b"general.architecture", buffer, 64)
        self.assertEqual((buffer.value, n), (b"llama", 5))
        self.assertEqual(lc.llama_model_meta_val_str(self.llm.model, b"none", buffer, 64), -1)
        self.assertEqual(lc.llama_model_meta_count(self.llm.model), len(self.llm.metadata))

    def test_special_tokens(self):
        llm, vocab = self.llm, self.vocab
        self.assertEqual((lc.llama_vocab_bos(vocab), lc.llama_token_eos(vocab),
                          lc.llama_vocab_nl(vocab)),
                         (llm.token_bos(), llm.token_eos(), llm.token_nl()))
        self.assertTrue(lc.llama_vocab_is_eog(vocab, llm.token_eos()))
        plain = llm.tokenize(b"a", add_bos=False)[0]
        self.assertFalse(lc.llama_vocab_is_eog(vocab, plain))
        self.assertEqual(lc.llama_vocab_get_attr(vocab, llm.token_eos()),
                         lc.LLAMA_TOKEN_ATTR_CONTROL)
        self.assertEqual(lc.llama_vocab_get_add_bos(vocab), llm._adds_bos())

    def test_logits_of_the_last_step(self):
        llm = self.llm
        llm.eval(llm.tokenize(STORY.encode()))
        for got in (lc.llama_get_logits(llm.ctx), lc.llama_get_logits_ith(llm._ctx.ctx, -1)):
            self.assertTrue(np.array_equal(np.array(got[:llm.n_vocab()], np.float32),
                                           llm._scores[-1]))
        self.assertEqual(lc.llama_n_ctx(llm.ctx), 256)
        saved = llm._ctx.ctx
        llm._ctx.ctx = saved
        with self.assertRaisesRegex(weft.UnsupportedError, "save_state"):
            llm._ctx.ctx = llama()._ctx.ctx
        with self.assertRaisesRegex(AttributeError, "sample_top_k"):
            llm._ctx.sample_top_k


    def test_logits_of_a_batch(self):
        ids = self.llm.tokenize(STORY.encode()) * 4
        self.assertGreater(len(ids), 16)
        whole = llama(logits_all=True)
        whole.eval(ids)
        want, v = np.array(whole._scores), whole.n_vocab()

        def row(llm, i):
            return np.array(lc.llama_get_logits_ith(llm.ctx, i)[:v], np.float32)
        for llm in (llama(), whole):
            llm.reset()
            llm._batch.set_batch(ids, 0, logits_all=True)
            llm._ctx.decode(llm._batch)
            got = np.ctypeslib.as_array(lc.llama_get_logits(llm.ctx), (len(ids), v))
            np.testing.assert_allclose(got, want, rtol=0, atol=2e-3)
            for i in (0, 1, len(ids) - 1, -1, -2):
                self.assertTrue(np.array_equal(row(llm, i), got[i]))
            for i in (len(ids), -len(ids) - 1):
                with self.assertRaises(IndexError):
                    row(llm, i)
            for step in (lambda: llm.eval(ids),
                         lambda: (llm._batch.set_batch(ids, 0, logits_all=False),
                                  llm._ctx.decode(llm._batch))):
                llm.reset()
                step()
                last = row(llm, -1)
                np.testing.assert_allclose(last, want[-1], rtol=0, atol=2e-3)
                self.assertTrue(np.array_equal(row(llm, len(ids) - 1), last))
            for i in (0, len(ids) - 2, len(ids), -2):
                with self.assertRaisesRegex(IndexError, "logits_all=True"):
                    row(llm, i)


class Formats(unittest.TestCase):
    def test_all_names_are_known_and_answer(self):
        for name in FORMATS:
            llm = llama(chat_format=name)
            asked = {"max_tokens": 3, "temperature": 0}
            said = llm.create_chat_completion(TALK, **asked)["choices"]
            handler = formats.get_chat_completion_handler(name)
            self.assertEqual(handler(llama=llm, messages=TALK, **asked)["choices"], said)
        with self.assertRaisesRegex(formats.LlamaChatCompletionHandlerNotFoundException, "alpaca"):
            formats.get_chat_completion_handler("no-such")

    def test_prompts_of_messages(self):
        for name, want in (
                ("baichuan", "Be brief.<reserved_102>Hi<reserved_103>Hello<reserved_102>Why?"
                             "<reserved_103>"),
                ("chatglm3", "<|system|>\n Be brief.<|user|>\n Hi<|assistant|>\n Hello<|user|>\n "
                             "Why?<|assistant|>"),
                ("mistrallite", "<|system|>Be brief.</s><|prompter|>Hi</s><|assistant|>Hello</s>"
                                "<|prompter|>Why?</s><|assistant|>"),
                ("pygmalion", "<|system|>Be brief.<|user|>Hi<|model|>Hello<|user|>Why?<|model|>"),
                ("llama2", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>"
                           "[INST] Why? [/INST]")):
            self.assertEqual(getattr(formats, f"format_{name}")(messages=TALK).prompt, want)
        for name in FORMATTERS:
            made = getattr(formats, f"format_{name}")(TALK)
            self.assertIn("Why?", made.prompt)
            self.assertTrue(made.stop)

    def test_calls_of_chatml(self):
        tool = {"type": "function", "function": {"name": "light", "parameters": {
            "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}
        llm = llama(chat_format="chatml-function-calling", n_ctx=1024)
        for choice in ({"type": "function", "function": {"name": "light"}}, "required"):
            called = llm.create_chat_completion(TALK, tools=[tool], tool_choice=choice)
            call = called["choices"][0]["message"]["tool_calls"][0]["function"]
            self.assertEqual((call["name"], [*json.loads(call["arguments"])]), ("light", ["on"]))

    def test_templates_of_tokenizer_configs(self):
        template = "{% for m in messages %}{{ m.content }}{{ eos_token }}{% endfor %}"
        for given in (template, [{"name": "default", "template": template}]):
            made = formats.hf_tokenizer_config_to_chat_formatter({
                "chat_template": given, "bos_token": "<s>",
                "eos_token": {"content": "</s>", "special": True}})(messages=TALK[:2])
            self.assertEqual((made.prompt, made.stop), ("Be brief.</s>Hi</s>", ["</s>", "<s>"]))
        with self.assertRaisesRegex(weft.ArgumentError, "chat_template"):
            formats.hf_tokenizer_config_to_chat_formatter({})
        self.assertEqual(formats.guess_chat_format_from_gguf_metadata(
            {"tokenizer.chat_template": formats.CHATML_CHAT_TEMPLATE}), "chatml")
        self.assertIsNone(formats.guess_chat_format_from_gguf_metadata({}))

    def test_formats_are_guessed_by_their_prompts(self):
        loop = "{{% for message in messages %}}{}{{% endfor %}}"
        ask = "{{% if add_generation_prompt %}}{{{{ '{}' }}}}{{% endif %}}".format
        chatml = loop.format("{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + "
                             "'<|im_end|>' + '\n' }}") + ask("<|im_start|>assistant\n")
        llama_3 = loop.format(
            "{% set text = '<|start_header_id|>' + message['role'] + '<|end_header_id|>\n\n' + "
            "message['content'] | trim + '<|eot_id|>' %}{% if loop.index0 == 0 %}"
            "{% set text = bos_token + text %}{% endif %}{{ text }}")
        llama_3 += ask("<|start_header_id|>assistant<|end_header_id|>\n\n")
        mistral = "{{ bos_token }}" + loop.format(
            "{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + ' [/INST]' }}"
            "{% elif message['role'] == 'assistant' %}{{ message['content'] + eos_token }}"
            "{% else %}{{ raise_exception('system messages are not supported') }}{% endif %}")
        # A template with a system message of its own is another one.
        polite = ("{% if messages[0].role != 'system' %}<|im_start|>system\nBe polite.<|im_end|>\n"
                  "{% endif %}" + chatml)
        for template, want in (
                (chatml, "chatml"), (llama_3, "llama-3"), (mistral, "mistral-instruct"),
                (formats.LLAMA3_INSTRUCT_CHAT_TEMPLATE, "llama-3"),
                (formats.MISTRAL_INSTRUCT_CHAT_TEMPLATE, "mistral-instruct"), (polite, None),
                ("{% if", None), ("", None), ("{{ raise_exception('no') }}", None)):
            self.assertEqual(formats.guess_chat_format_from_gguf_metadata(
                {"tokenizer.chat_template": template}), want)

    def test_handlers_are_registered_by_name(self):
        registry = formats.LlamaChatCompletionHandlerRegistry()
        self.assertIs(registry, formats.LlamaChatCompletionHandlerRegistry())
        registry.register_chat_completion_handler("mine", print)
        with self.assertRaisesRegex(ValueError, "mine"):
            registry.register_chat_completion_handler("mine", print)
        self.assertIs(registry.get_chat_completion_handler_by_name("mine"), print)
        registry.unregister_chat_handler("mine")
        with self.assertRaises(ValueError):
            registry.unregister_chat_handler("mine")


if __name__ == "__main__":
    unittest.main()
