"""The interface of llama-cpp-python: chats."""

import json
import unittest
import unittest.mock

from support import STORY, llama  # first: it skips the test without numpy

import weft
from weft.llama_cpp import LlamaGrammar
from weft.llama_cpp import llama_chat_format as formats
from weft.llama_cpp._formats import find_format, format_names

ASK = [{"role": "user", "content": "Hi"}]
TOOL = {"type": "function", "function": {"name": "light", "parameters": {
    "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}}}
FORCED = {"type": "function", "function": {"name": "light"}}
SCHEMA = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"],
          "additionalProperties": False}


@formats.register_chat_format("told")
def told(messages, **more):
    return formats.ChatFormatterResponse(prompt=f"{STORY}. {messages[-1]['content']}", stop=["#"])


def handlers():
    """Objects whose prompts are made by Python functions."""
    jinja = formats.Jinja2ChatFormatter(
        "{% for m in messages %}{{ m.content }}{% endfor %}", "</s>", "<s>")
    return [llama(chat_format="told"), llama(chat_handler=jinja.to_chat_handler())]


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
                ("llama-2", "[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\nHi [/INST] Hello </s><s>"
                            "[INST] Why? [/INST]"),
                ("alpaca", "Be brief.\n\n### Instruction:\nHi\n\n### Response:\nHello\n\n"
                           "### Instruction:\nWhy?\n\n### Response:\n"),
                ("gemma", "<start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n"
                          "<start_of_turn>model\nHello<end_of_turn>\n"
                          "<start_of_turn>user\nWhy?<end_of_turn>\n"
                          "<start_of_turn>model\n"),
                ("vicuna", "Be brief. USER: Hi ASSISTANT: Hello</s>USER: Why? ASSISTANT:"),
                ("mistral-instruct", "[INST] Be brief.\n\nHi [/INST]Hello</s>"
                                     "[INST] Why? [/INST]"),
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

    def test_arguments_that_contradict_each_other_are_refused_by_name(self):
        llm = llama()
        grammar = LlamaGrammar.from_string('root ::= "yes"')
        functions = [TOOL["function"]]
        for error, name, arguments in (
                (weft.UnsupportedError, "grammar",
                 {"tools": [TOOL], "tool_choice": FORCED, "grammar": grammar}),
                (weft.UnsupportedError, "grammar",
                 {"tools": [TOOL], "tool_choice": "required", "grammar": grammar}),
                (weft.UnsupportedError, "grammar",
                 {"response_format": {"type": "json_object"}, "grammar": grammar}),
                (weft.ArgumentError, "tool_choice", {"tool_choice": "required"}),
                (weft.ArgumentError, "tool_choice", {"tools": [], "tool_choice": "required"}),
                (weft.ArgumentError, "tool_choice", {"tool_choice": FORCED}),
                (weft.ArgumentError, "tool_choice",
                 {"functions": functions, "tool_choice": FORCED}),
                (weft.ArgumentError, "function_call", {"function_call": {"name": "light"}}),
                (weft.ArgumentError, "function_call",
                 {"tools": [TOOL], "function_call": {"name": "light"}}),
                (weft.UnsupportedError, "functions", {"functions": functions, "tools": [TOOL]}),
                (weft.UnsupportedError, "top_logprobs", {"top_logprobs": 2})):
            with self.subTest(arguments), self.assertRaisesRegex(error, name):
                llm.create_chat_completion(ASK, max_tokens=2, **arguments)
        for arguments in ({"tool_choice": "auto"}, {"tool_choice": "none"},
                          {"function_call": "auto"}, {"tools": [TOOL], "grammar": grammar}):
            llm.create_chat_completion(ASK, max_tokens=2, **arguments)

    def test_arguments_of_wrong_types_have_clear_errors(self):
        llm = llama()
        for name, arguments in (
                ("tool_choice", {"tools": [TOOL], "tool_choice": 5}),
                ("tool_choice", {"tools": [TOOL], "tool_choice": {"function": "light"}}),
                ("tools", {"tools": [{"function": {}}]}), ("tools", {"tools": ["light"]}),
                ("tools", {"tools": 5}), ("functions", {"functions": [5]}),
                ("response_format", {"response_format": {"type": "json_schema"}}),
                ("response_format", {"response_format": {"type": "json_schema", "json_schema": 5}}),
                ("response_format", {"response_format": {"type": "json_object", "schema": "{}"}}),
                ("response_format", {"response_format": "json_object"}),
                ("response_format", {"response_format": {}}),
                ("content", {"messages": [{"role": "user", "content": ["Hi"]}]}),
                ("content", {"messages": [{"role": "user", "content": 5}]}),
                ("text", {"messages": [{"role": "user", "content": [{"type": "text"}]}]})):
            with self.subTest(arguments):
                try:
                    llm.create_chat_completion(**{"messages": ASK, "max_tokens": 2, **arguments})
                except (weft.ArgumentError, TypeError) as error:
                    self.assertIn(name, str(error))
                else:
                    self.fail("accepted")


class Formatters(unittest.TestCase):
    def test_answers_and_chunks_are_those_of_the_prompt(self):
        for llm in handlers():
            messages = [{"role": "user", "content": "One day"}]
            asked = {"max_tokens": 6, "temperature": 0, "seed": 3}
            said = llm.create_chat_completion(messages, **asked)
            chunks = list(llm.create_chat_completion(messages, stream=True, **asked))
            self.assertEqual(chunks[0]["choices"][0]["delta"], {"role": "assistant"})
            text = "".join(c["choices"][0]["delta"].get("content", "") for c in chunks)
            self.assertEqual(text, said["choices"][0]["message"]["content"])
            self.assertEqual((chunks[-1]["choices"][0]["delta"],
                              chunks[-1]["choices"][0]["finish_reason"]), ({}, "length"))
            self.assertEqual(said["choices"][0]["finish_reason"], "length")
        llm = handlers()[0]
        said = llm.create_chat_completion(messages, **asked)["choices"][0]["message"]["content"]
        self.assertEqual(said, llm(f"{STORY}. One day", **asked)["choices"][0]["text"])
        direct = formats.get_chat_completion_handler("told")(llama=llm, messages=messages, **asked)
        self.assertEqual(direct["choices"][0]["message"]["content"], said)
        with self.assertRaisesRegex(TypeError, "max_tokenz"):
            formats.get_chat_completion_handler("told")(llama=llm, messages=ASK, max_tokenz=2)

    def test_a_response_format_holds(self):
        for llm in [llama(), *handlers()]:
            for wanted in ({"type": "json_object", "schema": SCHEMA},
                           {"type": "json_schema", "json_schema": {"schema": SCHEMA}}):
                for stream in (False, True):
                    said = llm.create_chat_completion(ASK, response_format=wanted, max_tokens=60,
                                                      stream=stream)
                    text = "".join(c["choices"][0]["delta"].get("content", "") for c in said) \
                        if stream else said["choices"][0]["message"]["content"]
                    self.assertEqual([*json.loads(text)], ["on"])
            said = llm.create_chat_completion(ASK, response_format={"type": "json_object"},
                                              max_tokens=3)
            self.assertTrue(said["choices"][0]["message"]["content"].lstrip().startswith("{"))
            with self.assertRaisesRegex(weft.UnsupportedError, "yaml"):
                llm.create_chat_completion(ASK, response_format={"type": "yaml"})
            with self.assertRaisesRegex(weft.UnsupportedError, "grammar"):
                llm.create_chat_completion(ASK, response_format={"type": "json_object"},
                                           grammar=LlamaGrammar.from_string('root ::= "yes"'))

    def test_logprobs_are_listed(self):
        for llm in [llama(), *handlers()]:
            asked = {"max_tokens": 4, "temperature": 0, "logprobs": True, "top_logprobs": 2}
            said = llm.create_chat_completion(ASK, **asked)["choices"][0]
            listed = said["logprobs"]["content"]
            self.assertEqual([len(x["top_logprobs"]) for x in listed], [2] * 4)
            self.assertEqual([x["top_logprobs"][0]["token"] for x in listed],
                             [x["token"] for x in listed])
            json.dumps(listed)
            chunks = llm.create_chat_completion(ASK, stream=True, **asked)
            parts = [c["choices"][0]["logprobs"] for c in chunks]
            self.assertEqual([x for part in parts if part for x in part["content"]], listed)

    def test_calls_that_a_prompt_cannot_describe_are_refused(self):
        for llm in handlers():
            for name, arguments in (
                    ("tool_choice", {"tools": [TOOL], "tool_choice": FORCED}),
                    ("tool_choice", {"tools": [TOOL], "tool_choice": "required"}),
                    ("function_call", {"functions": [TOOL["function"]],
                                       "function_call": {"name": "light"}})):
                with self.assertRaisesRegex(weft.UnsupportedError, name):
                    llm.create_chat_completion(ASK, **arguments)
            llm.create_chat_completion(ASK, tools=[TOOL], tool_choice="auto", max_tokens=2)


if __name__ == "__main__":
    unittest.main()
