"""The interface of llama-cpp-python: calls of tools, and what chats list of tokens."""

import json
import re
import unittest

from support import llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import LlamaGrammar, LogitsProcessorList
from weft.llama_cpp._formats import find_format

ASK = [{"role": "user", "content": "Hi"}]
TOOL = {"type": "function", "function": {"name": "light", "parameters": {
    "type": "object", "properties": {"on": {"type": "boolean"}, "room": {"enum": ["hall", "attic"]}},
    "required": ["on", "room"]}}}
NAMED = {"type": "function", "function": {"name": "light"}}
CALL = '<tool_call>\n{"name": "light", "arguments": {"on": true, "room": "hall"}}\n</tool_call>'


def told(llm, text):
    """A processor that makes the model write a text and end, and its tokens."""
    ids = llm.tokenize(text.encode(), add_bos=False, special=True)
    begin = []

    def choose(given, scores):
        begin[:] = begin or [len(given)]
        k = len(given) - begin[0]
        scores[:] = -np.inf
        scores[ids[k] if k < len(ids) else llm.token_eos()] = 0
        return scores
    return {"logits_processor": LogitsProcessorList([choose]), "temperature": 0}, ids


def deltas(chunks):
    return [c["choices"][0]["delta"] for c in chunks]


def joined(chunks):
    """The content, the calls and the reason of a stream, as clients join them."""
    content, calls = "", {}
    for delta in deltas(chunks):
        content += delta.get("content") or ""
        for part in delta.get("tool_calls") or ():
            call = calls.setdefault(part["index"], {"name": "", "arguments": ""})
            for key in ("name", "arguments"):
                call[key] += part["function"].get(key, "")
    return content, calls, chunks[-1]["choices"][0]["finish_reason"]


class Tools(unittest.TestCase):
    def setUp(self):
        self.llm = llama(n_ctx=1024, chat_format="chatml-function-calling")

    def ask(self, text, **more):
        asked, ids = told(self.llm, text)
        return self.llm.create_chat_completion(
            ASK, tools=[TOOL], **{**asked, "max_tokens": len(ids) + 4, **more})

    def test_what_belongs_to_a_call_is_in_its_first_chunk_only(self):
        for choice, text in ((NAMED, CALL), ("auto", CALL + "\n" + CALL), (None, "Hm.\n" + CALL)):
            parts = [part for delta in deltas(self.ask(text, tool_choice=choice, stream=True))
                     for part in delta.get("tool_calls", ())]
            begun = set()
            for part in parts:
                if part["index"] in begun:
                    self.assertEqual([*part], ["index", "function"])
                    self.assertEqual([*part["function"]], ["arguments"])
                else:
                    self.assertEqual([*part], ["index", "id", "type", "function"])
                    self.assertRegex(part["id"], "^call_[0-9a-z]{24}$")
                begun.add(part["index"])
            self.assertEqual(len(begun), text.count("<tool_call>"))

    def test_arguments_come_while_they_are_written(self):
        for choice in (NAMED, "required", "auto", None):
            chunks = list(self.ask(CALL, tool_choice=choice, stream=True))
            pieces = [part["function"]["arguments"] for delta in deltas(chunks)
                      for part in delta.get("tool_calls", ())]
            self.assertGreater(len([piece for piece in pieces if piece]), 5, choice)
            _, calls, reason = joined(chunks)
            self.assertEqual(json.loads(calls[0]["arguments"]), {"on": True, "room": "hall"})
            self.assertEqual((calls[0]["name"], reason), ("light", "tool_calls"))

    def test_a_malformed_call_is_content(self):
        text = '<tool_call>\n{"name": "light", "arguments": {"on": oops}}\n</tool_call>'
        said = self.ask(text)["choices"][0]
        self.assertEqual((said["message"]["content"], said["finish_reason"]), (text, "stop"))
        self.assertNotIn("tool_calls", said["message"])
        content, _, reason = joined(list(self.ask(text, stream=True)))
        self.assertEqual((content, reason), (text, "stop"))
        content, calls, reason = joined(list(self.ask(text + CALL, stream=True)))
        self.assertEqual((content, reason), (text, "tool_calls"))
        self.assertEqual(json.loads(calls[1]["arguments"]), {"on": True, "room": "hall"})

    def test_a_named_tool_is_called_once(self):
        for asked in ({"tools": [TOOL], "tool_choice": NAMED},
                      {"tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False},
                      {"functions": [TOOL["function"]], "function_call": {"name": "light"}}):
            said = self.llm.create_chat_completion(ASK, temperature=0, **asked)["choices"][0]
            self.assertEqual(len(said["message"]["tool_calls"]), 1)
            self.assertEqual(said["finish_reason"], "tool_calls")
            stream = self.llm.create_chat_completion(ASK, temperature=0, stream=True, **asked)
            self.assertEqual(len(joined(list(stream))[1]), 1)
        # A free reply has at most one, too.
        said = self.llm.create_chat_completion(
            ASK, tools=[TOOL], parallel_tool_calls=False, max_tokens=200, temperature=0,
            logit_bias={self.llm.tokenize(b"<tool_call>", False, special=True)[0]: 30})
        self.assertLessEqual(len(said["choices"][0]["message"].get("tool_calls", ())), 1)
        with self.assertRaisesRegex(TypeError, "parallel_tool_calls"):
            self.llm.create_chat_completion(ASK, tools=[TOOL], parallel_tool_calls=1)
        with self.assertRaisesRegex(weft.UnsupportedError, "parallel_tool_calls"):
            self.llm.create_chat_completion(ASK, tools=[TOOL], parallel_tool_calls=False,
                                            grammar=LlamaGrammar.from_string('root ::= "yes"'))

    def test_chats_call_a_named_tool_once(self):
        made = []

        def light(on: bool) -> str:
            """Switches the light."""
            made.append(on)
            return "done"
        session = weft.Model().session(context=1024)
        chat = weft.Chat(session, tools=[light], tool_choice="light", max_tokens=100,
                         sampler=weft.Sampler(temperature=0),
                         template=find_format("chatml-function-calling").template)
        chat.say("Hi")
        self.assertEqual(len(made), 1)

    def test_handlers_of_programs_get_the_arguments_of_llama_cpp_python(self):
        seen = []
        llm = llama(chat_handler=lambda **given: seen.append(given) or "said")
        self.assertEqual(llm.create_chat_completion(ASK), "said")
        llm.create_chat_completion(ASK, parallel_tool_calls=False)
        self.assertEqual(["parallel_tool_calls" in given for given in seen], [False, True])

    def test_a_truncated_reply_ends_with_length(self):
        for text in (CALL + "\n" + CALL, "Hm. " + CALL, CALL):
            _, ids = told(self.llm, text)
            n_whole = (text.count("<tool_call>") - 1)
            want = "Hm." if text.startswith("Hm.") else None if n_whole else ""
            end = len(told(self.llm, '"}}\n</tool_call>')[1])
            for n_cut in range(end, end + 30, 5):
                cut = {"max_tokens": len(ids) - n_cut}
                said = self.ask(text, **cut)["choices"][0]
                self.assertEqual(said["finish_reason"], "length")
                self.assertEqual(said["message"]["content"], want)
                self.assertEqual(len(said["message"].get("tool_calls", ())), n_whole)
                content, _, reason = joined(list(self.ask(text, stream=True, **cut)))
                self.assertEqual((content, reason), (want or "", "length"))

    def test_ids_of_calls_are_unlike(self):
        ids = set()
        for _ in range(3):
            said = self.ask(CALL + "\n" + CALL)["choices"][0]["message"]
            ids.update(call["id"] for call in said["tool_calls"])
        self.assertEqual(len(ids), 6)

    def test_streams_of_functions_have_both_forms(self):
        asked, ids = told(self.llm, CALL)
        stream = self.llm.create_chat_completion(
            ASK, functions=[TOOL["function"]], max_tokens=len(ids) + 4, stream=True, **asked)
        parts = [delta["function_call"] for delta in deltas(stream) if "function_call" in delta]
        self.assertEqual(parts[0], {"name": "light", "arguments": ""})
        self.assertEqual(json.loads("".join(part["arguments"] for part in parts)),
                         {"on": True, "room": "hall"})


class Logprobs(unittest.TestCase):
    TEXT = "A f\u00e9e \U0001f600, then END of it"

    def setUp(self):
        self.llm = llama(n_ctx=512)

    def listed(self, **more):
        """The bytes of the tokens of an answer and of its stream, and the text."""
        asked, ids = told(self.llm, self.TEXT)
        asked = {**asked, "max_tokens": len(ids) + 4, "logprobs": True, "top_logprobs": 2, **more}
        said = self.llm.create_chat_completion(ASK, **asked)["choices"][0]
        chunks = list(self.llm.create_chat_completion(ASK, stream=True, **asked))
        parts = [c["choices"][0]["logprobs"] for c in chunks]
        streamed = [x for part in parts if part for x in part["content"]]
        self.assertEqual(streamed, said["logprobs"]["content"])
        json.dumps(streamed)
        return streamed, said["message"]["content"]

    def test_bytes_are_always_listed(self):
        entries, text = self.listed()
        self.assertEqual(text, self.TEXT)
        raw = b"".join(bytes(entry["bytes"]) for entry in entries)
        self.assertEqual(raw.decode(), self.TEXT)
        for entry in entries:
            for one in (entry, *entry["top_logprobs"]):
                self.assertEqual(bytes(one["bytes"]).decode("utf-8", "replace"), one["token"])

    def test_tokens_of_a_stop_string_are_not_listed_and_those_before_it_are(self):
        for stop in ("END", " then END", "END of it and more", ", then"):
            entries, text = self.listed(stop=[stop])
            raw = b"".join(bytes(entry["bytes"]) for entry in entries).decode()
            self.assertEqual(text, self.TEXT.split(stop)[0])
            self.assertTrue(raw.startswith(text))
            last = bytes(entries[-1]["bytes"]).decode("utf-8", "replace")
            self.assertLess(len(raw) - len(text), len(last), "the last one begins in the text")

    def test_completions_list_the_tokens_of_the_text(self):
        for stop in ([], ["END"], ["END of it and more"]):
            asked, ids = told(self.llm, self.TEXT)
            asked = {**asked, "max_tokens": len(ids) + 4, "logprobs": 1, "stop": stop}
            said = self.llm("Hm", **asked)["choices"][0]
            listed = said["logprobs"]
            parts = [c["choices"][0]["logprobs"] for c in self.llm("Hm", stream=True, **asked)]
            for name, values in listed.items():
                self.assertEqual([x for part in parts if part for x in part[name]], values, name)
            raw = b"".join(
                bytes(int(x, 16) for x in re.findall(r"\\x(..)", token))
                if token.startswith("bytes:") else token.encode() for token in listed["tokens"])
            self.assertTrue(raw.decode().startswith(said["text"]))
            for token, offset, top in zip(listed["tokens"], listed["text_offset"],
                                          listed["top_logprobs"]):
                self.assertIn(token, top)
                if not token.startswith("bytes:"):
                    at = offset - len("Hm")
                    self.assertTrue(said["text"][at:].startswith(token[:len(said["text"]) - at]))


if __name__ == "__main__":
    unittest.main()
