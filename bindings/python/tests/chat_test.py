"""Conversations: messages, tools, constraints, streams."""

import asyncio
import json
import sys
import typing
import unittest

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

GREEDY = weft.Sampler(temperature=0)
Size = typing.Literal["small", "big"]


class Chats(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=1024)
        self.made = []

    def paint(self, size: Size, animal: typing.Literal["fox"] = "fox"):
        """Paints an animal."""
        self.made.append((size, animal))
        return {"painted": animal}

    def chat(self, **options):
        return weft.Chat(self.session, **{"sampler": GREEDY, "max_tokens": 80, **options})

    def test_an_answer_is_the_text_after_the_template(self):
        chat = self.chat(system="Tell stories.")
        said = chat.say("Tell me a story about a fox named Pip.")
        self.assertEqual([m["role"] for m in chat.messages], ["system", "user", "assistant"])
        self.assertEqual(chat.messages[-1]["content"], said)
        words = self.model.tokenizer
        prompt = words.encode(words.apply_chat_template(chat.messages[:2]), add_special=False,
                              parse_special=True)
        self.assertEqual(self.model.session(context=1024).generate(
            prompt, sampler=GREEDY, max_tokens=80), said)
        held = self.session.length()
        chat.say("Who is it about?")
        self.assertGreater(self.session.length(), held)

    def test_streams_give_the_same_text(self):
        want = self.chat().say("Tell me a story.")
        answer = self.chat().stream("Tell me a story.")
        self.assertEqual("".join(answer), want)
        self.assertEqual(answer.finish_reason, "length")

        async def read(chat):
            return "".join([piece async for piece in chat.stream("Tell me a story.")])
        chat = self.chat()
        self.assertEqual(asyncio.run(read(chat)), want)
        self.assertEqual(chat.messages[-1]["content"], want)

    def test_a_closed_answer_is_what_was_said(self):
        chat = self.chat()
        answer = chat.stream("Tell me a story.")
        said = next(answer) + next(answer)
        answer.close()
        answer.close()
        self.assertEqual((list(answer), answer.finish_reason), ([], "closed"))
        self.assertEqual(chat.messages[-1], {"role": "assistant", "content": said})

    def test_functions_are_called(self):
        chat = self.chat(tools=[self.paint], tool_choice="paint")
        answer = chat.stream("Paint a fox.")
        text = "".join(answer)
        self.assertEqual(len(self.made), 1)
        self.assertIn(self.made[0][0], ("small", "big"))
        roles = [m["role"] for m in chat.messages]
        self.assertEqual(roles[:3], ["user", "assistant", "tool"])
        self.assertEqual(json.loads(chat.messages[2]["content"]), {"painted": "fox"})
        self.assertEqual(chat.messages[2]["tool_call_id"], chat.messages[1]["tool_calls"][0]["id"])
        self.assertEqual(chat.messages[-1]["content"], text)
        self.assertEqual(chat.calls, [])

    def test_calls_of_others_wait_for_their_result(self):
        tool = {"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {"at": {"enum": ["sky"]}}, "required": ["at"]}}}
        chat = self.chat(tools=[tool], tool_choice="required")
        answer = chat.stream("Look!")
        self.assertEqual((list(answer), answer.finish_reason), ([], "tool_calls"))
        (call,) = chat.calls
        self.assertEqual(call["function"], {"name": "look", "arguments": call["function"]["arguments"]})
        self.assertEqual(json.loads(call["function"]["arguments"]), {"at": "sky"})
        chat.answer_call("It is blue.")
        self.assertEqual(chat.calls, [])
        chat.say()
        self.assertEqual([m["role"] for m in chat.messages], ["user", "assistant", "tool", "assistant"])
        with self.assertRaisesRegex(weft.ArgumentError, "no call"):
            chat.answer_call("again")

    def test_a_call_that_is_cut_is_not_text(self):
        for n in range(1, 9):
            chat = self.chat(tools=[self.paint], tool_choice="required", max_tokens=n)
            answer = chat.stream("Paint a fox.")
            self.assertEqual(("".join(answer), answer.finish_reason), ("", "length"))
            self.assertEqual(chat.calls, [])

    def test_what_a_function_raises_comes_out(self):
        def paint(size: Size):
            raise LookupError("no paint")
        chat = self.chat(tools=[paint], tool_choice="paint")
        with self.assertRaisesRegex(LookupError, "no paint"):
            chat.say("Paint!")
        self.assertEqual(len(chat.calls), 1)
        chat.answer_call("done")
        chat.say()

    def test_descriptions_come_from_annotations(self):
        def f(a: int, b: "list[str]", c: typing.Optional[float] = None, d=1, e: dict = {}):
            """Does it.

            And more."""
        got = weft._tools.description(f)["function"]
        self.assertEqual((got["name"], got["description"]), ("f", "Does it.\n\nAnd more."))
        self.assertEqual(got["parameters"], {"type": "object", "required": ["a", "b"], "properties": {
            "a": {"type": "integer"}, "b": {"type": "array", "items": {"type": "string"}},
            "c": {"anyOf": [{"type": "number"}, {"type": "null"}]}, "d": {}, "e": {"type": "object"}}})
        for wrong in (lambda *a: 1, lambda **k: 1, 5):
            with self.assertRaises(TypeError):
                self.chat(tools=[wrong])

    def test_answers_are_constrained(self):
        schema = {"type": "object", "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
        self.assertIn(json.loads(self.chat(json_schema=schema).say("Hi"))["a"], (1, 2))
        self.assertIn(self.chat(grammar='root ::= "yes" | "no"').say("Hi"), ("yes", "no"))

    def test_wrong_arguments(self):
        with self.assertRaises(TypeError):
            weft.Chat(self.model)
        with self.assertRaises(TypeError):
            self.chat().say(5)
        with self.assertRaisesRegex(weft.ArgumentError, "exclude"):
            self.chat(grammar="root ::= [a-z]", json_schema={})
        with self.assertRaises(weft.Error):
            self.chat(template="{% if %}")
        with self.assertRaises(weft.Error):
            self.chat(tools=[self.paint], tool_choice="draw").say("Hi")
        chat = self.chat()
        chat.messages.append({"role": 5})
        with self.assertRaises(weft.Error):
            chat.say("Hi")
        self.assertEqual(chat.messages, [{"role": 5}])
        self.session.close()
        with self.assertRaises(weft.ClosedError):
            self.chat()


if __name__ == "__main__":
    unittest.main()
