"""`chat`: conversations that are saved and continued, and replies under constraints."""

import json
import os
import re
import unittest

from support import MODEL, SystemTest, run

FIRST, SECOND = "Tell me a story about a fox named Pip.", "Who was it about?"

# Writes calls in the most common syntax.
TOOL_TEMPLATE = """{% if tools %}<tools>{{ tools | tojson }}</tools>
For a call write <tool_call>{"name": NAME, "arguments": ARGUMENTS}</tool_call>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{{ c.function | tojson }}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
"""


class Chat(SystemTest):
    def chat(self, *lines, args=(), code=0):
        text = "".join(line + "\n" for line in lines)
        r = run("chat", "--temp", "0", "-n", "24", *args, stdin=text.encode())
        self.assertEqual(r.code, code, r.err)
        r.text = r.out.decode()
        return r

    def write(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


class Saved(Chat):
    def setUp(self):
        super().setUp()
        self.talk = self.folder / "talk.chat"
        self.whole = self.chat(FIRST, SECOND, args=("--system", "Be brief.")).text
        first = self.chat(FIRST, f"/save {self.talk}", args=("--system", "Be brief."))
        self.assertIn("3 messages in", first.err)
        self.assertIn("computed", first.err)
        self.first = first.text

    def resumed(self, path, *args):
        r = self.chat(SECOND, "/stats", args=("--resume", path, *args))
        r.prompt = int(re.search(r"last prompt +(\d+)", r.err)[1])
        return r

    def test_goes_on_as_if_never_left(self):
        r = self.resumed(self.talk)
        self.assertEqual(self.first + r.text, self.whole)
        self.assertIn("3 messages from", r.err)
        self.assertIn("already computed", r.err)
        self.assertLess(r.prompt, 30)
        loaded = self.chat("Something else.", f"/load {self.talk}", SECOND)
        self.assertTrue(loaded.text.endswith(r.text))

    def test_as_text_alone(self):
        path = self.folder / "talk.json"
        self.chat(f"/load {self.talk}", f"/save {path}")
        saved = json.loads(path.read_text())
        self.assertEqual([m["role"] for m in saved["messages"]], ["system", "user", "assistant"])
        self.assertEqual(saved["messages"][1]["content"], FIRST)
        r = self.resumed(path)
        self.assertEqual(self.first + r.text, self.whole)
        self.assertIn("computed again", r.err)
        self.assertGreater(r.prompt, 30)
        bare = self.write("bare.json", json.dumps(saved["messages"]))
        self.assertEqual(self.resumed(bare).text, r.text)

    def test_states_computed_otherwise_are_recomputed(self):
        for args in (("--cache-type-k", "f32"), ("--backend", "reference"), ("-c", "48")):
            r = self.chat("/save! " + str(self.folder / "other.json"),
                          args=("--resume", self.talk, *args))
            self.assertIn("computed again", r.err)
            self.assertEqual(len(json.loads((self.folder / "other.json").read_text())["messages"]),
                             3)
        plain = self.chat(FIRST, SECOND, args=("--system", "Be brief.", "--cache-type-k",
                                               "f32")).text
        self.assertTrue(plain.endswith(self.resumed(self.talk, "--cache-type-k", "f32").text))

    def test_another_template_is_no_excuse_for_old_tokens(self):
        template = self.write("t", "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:")
        path = self.folder / "talk.json"
        self.chat(f"/load {self.talk}", f"/save {path}")
        args = ("--chat-template-file", template)
        self.assertEqual(self.resumed(self.talk, *args).text, self.resumed(path, *args).text)

    def test_damage_is_told_and_nothing_changes(self):
        good = self.talk.read_bytes()
        for name, data in (("cut", good[:-100]), ("flipped", good[:300] + bytes([good[300] ^ 1])
                                                  + good[301:]),
                           ("short", good[:8])):
            bad = self.write(name, data)
            self.refuses(1, name, "chat", "--resume", bad)
            r = self.chat(FIRST, f"/load {bad}", SECOND, args=("--system", "Be brief."), code=1)
            self.assertEqual(r.text, self.whole)

    def test_files_that_are_no_conversations(self):
        cache = self.folder / "cache"
        self.runs("generate", "-n", "1", "--prompt-cache", cache)
        for name, data, text in (("none", None, "cannot open"), ("empty", "", "not JSON"),
                                 ("prose", "Hello", "not JSON"),
                                 ("number", "5", "must be an object"),
                                 ("other", "{}", "has no messages"),
                                 ("messages", '{"messages": {}}', "messages must be an array"),
                                 ("message", '[5]', "messages[0] must be an object"),
                                 ("role", '[{"content": "x"}]', "messages[0] has no role"),
                                 ("content", '[{"role": "user", "content": 5}]',
                                  "messages[0].content must be a string"),
                                 ("calls", '[{"role": "assistant", "tool_calls": 5}]',
                                  "tool_calls must be an array"),
                                 ("call", '[{"role": "assistant", "tool_calls": [{}]}]',
                                  "tool_calls[0] has no name"),
                                 ("arguments",
                                  '[{"role": "assistant", "tool_calls": [{"name": "f", "arguments": "{oops"}]}]',
                                  "arguments: not JSON"),
                                 ("tools", '{"messages": [], "tools": 5}',
                                  "tools must be an array"),
                                 ("kwargs", '{"messages": [], "template_kwargs": []}',
                                  "template_kwargs must be an object"),
                                 ("deep", "[" * 100000, "deep"),
                                 ("long", " " * (33 << 20) + "[]", "too many"),
                                 ("bytes", b'["\xff"]', "not JSON")):
            path = self.folder / name if data is None else self.write(name, data)
            r = self.refuses(1, text, "chat", "--resume", path)
            self.assertIn(name, r.err)
        self.refuses(1, "a prompt cache, not a conversation", "chat", "--resume", cache)
        self.refuses(1, "directory", "chat", "--resume", self.folder)
        self.refuses(2, "--system", "chat", "--resume", self.talk, "--system", "x")

    def test_what_cannot_be_written_leaves_the_old_file(self):
        r = self.chat(f"/save {self.folder}/no/where", "/save", "/load", "/export", FIRST,
                      args=("--system", "Be brief."), code=1)
        self.assertIn("no/where", r.err)
        self.assertIn("/save needs the name of a file", r.err)
        self.assertEqual(r.text, self.first)
        self.assertEqual(sorted(os.listdir(self.folder)), ["talk.chat"])
        for name, text in (("other", "precious"), ("other.json", "precious"),
                           ("package.json", '{"name": "precious"}')):
            path = self.write(name, text)
            for command in ("/save", "/save!"):
                self.assertIn("not replaced", self.chat(f"{command} {path}", code=1).err)
            self.assertEqual(path.read_text(), text)
        good = self.talk.read_bytes()
        cache = self.folder / "cache"
        self.runs("generate", "-n", "1", "--prompt-cache", cache)
        for path, why in ((cache, "a prompt cache, not a conversation: not replaced"),
                          (self.write("damaged", good[:300] + bytes([good[300] ^ 1]) + good[301:]),
                           "damaged: ")):
            before = path.read_bytes()
            r = self.chat(f"/save! {path}", FIRST, args=("--system", "Be brief."), code=1)
            self.assertIn(f"{path}: {why}", r.err)
            self.assertIn("not replaced", r.err)
            self.assertEqual(path.read_bytes(), before)
            self.assertEqual(r.text, self.first)  # the conversation continues
        self.refuses(1, "a conversation, not a prompt cache", "generate", "-n", "1",
                     "--prompt-cache", self.talk)
        self.assertEqual(self.talk.read_bytes(), good)
        self.runs("generate", "-n", "1", "--prompt-cache", self.talk, "--prompt-cache-ro")
        self.assertIn("/save! ", self.chat(f"/save {self.talk}", code=1).err)
        self.assertEqual(self.talk.read_bytes(), good)
        self.chat(f"/save! {self.talk}")  # a conversation is replaced
        self.assertIn("0 messages from", self.chat(f"/load {self.talk}").err)

    def test_home_folder(self):
        r = self.runs("chat", "-n", "4", stdin=b"/save ~/at home.json  \n",
                      env={"HOME": str(self.folder)})
        self.assertIn("0 messages in", r.err)
        self.assertEqual(json.loads((self.folder / "at home.json").read_text())["messages"], [])

    def test_each_file_brings_its_own_variables(self):
        template = self.write("t", "{% for m in messages %}{{ m.content }}{% endfor %}{{ mood }}:")
        first = self.write("first.json", json.dumps({"messages": [],
                                                     "template_kwargs": {"mood": "merry"}}))
        second = self.write("second.json", json.dumps({"messages": []}))
        saved = self.folder / "saved.json"
        args = ("--chat-template-file", template)
        self.chat(f"/load {first}", f"/save {saved}", args=args)
        self.assertEqual(json.loads(saved.read_text())["template_kwargs"], {"mood": "merry"})
        self.chat(f"/load {first}", f"/load {second}", f"/save! {saved}", args=args)
        self.assertNotIn("template_kwargs", json.loads(saved.read_text()))
        self.chat(f"/load {first}", f"/save! {saved}", args=(*args, "--template-kwargs",
                                                             '{"mood": "sad"}'))
        self.assertEqual(json.loads(saved.read_text())["template_kwargs"], {"mood": "sad"})
        self.refuses(1, "--template-kwargs: not JSON", "chat", "--template-kwargs", "{bad",
                     stdin=b"/save x\n")

    def test_a_conversation_without_messages(self):
        path = self.folder / "nothing.chat"
        self.chat(f"/save {path}")
        self.assertEqual(self.chat(FIRST, args=("--resume", path)).text, self.chat(FIRST).text)


class Constraints(Chat):
    def test_grammar_of_every_reply(self):
        grammar = 'root ::= ("yes" | "no") "."'
        for reply in self.chat("Is it so?", "Really?", args=("--grammar",
                                                             grammar)).text.splitlines():
            self.assertIn(reply, ("yes.", "no."))
        with_file = self.chat("Is it so?", args=("--grammar-file", self.write("g", grammar)))
        self.assertIn(with_file.text, ("yes.\n", "no.\n"))

    def test_json_schema(self):
        schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8},
                                                   "good": {"type": "boolean"}},
                  "required": ["name", "good"], "additionalProperties": False}
        for args in (("--json-schema", json.dumps(schema)), ("--json-schema-file",
                                                             self.write("s", json.dumps(schema)))):
            text = self.chat("Who?", "And now?", args=(*args, "-n", "100")).text
            for _ in range(2):
                value, end = json.JSONDecoder().raw_decode(text)
                text = text[end:].lstrip()
                self.assertEqual(list(value), ["name", "good"])
                self.assertLessEqual(len(value["name"]), 8)

    def test_constrained_turns_go_on_like_fresh_ones(self):
        """After a reply that the grammar ended, the next turn sees the conversation as the template
        renders it."""
        args = ("--regex", "[a-z]{3,6} [a-z]{3,6}")
        self.assertEqual(self.chat(FIRST, SECOND, args=args).text,
                         self.chat(FIRST, SECOND, args=(*args, "-b", "3")).text)

    def test_stop_strings(self):
        plain = self.chat(FIRST, args=("-n", "60")).text
        word = re.findall(r"\w{4,}", plain)[4]
        r = self.chat(FIRST, args=("-n", "60", "--stop", word))
        self.assertEqual(r.text, plain[:plain.index(word)] + "\n")
        self.assertNotIn(word, self.chat(FIRST, args=("-n", "60", "--ban", word)).text)

    def test_bad_ones(self):
        for args, text in ((("--grammar", "root ::= ("), "1:10: the group"),
                           (("--json-schema", "{"), "JSON 1:2"),
                           (("--json-schema", '{"type": "thing"}'), "#/type"),
                           (("--regex", "("), "pattern"),
                           (("--grammar-file", self.folder / "none"), "o such file")):
            self.refuses(1, text, "chat", *args, stdin=b"Hello\n")
        self.refuses(2, "--grammar", "chat", "--grammar", "root ::= \"a\"", "--regex", "a")

    def test_calls_and_results(self):
        tools = self.write("tools.json", json.dumps(
            [{"type": "function", "function": {"name": "weather", "parameters": {
                "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}}}]))
        template = self.write("t", TOOL_TEMPLATE)
        call = ('root ::= "<tool_call>\\n{\\"name\\": \\"weather\\", \\"arguments\\": {\\"city\\": \\"" [A-Z] [a-z]{2,8} '
                '"\\"}}\\n</tool_call>"')
        path = self.folder / "call.json"
        args = ("--chat-template-file", template, "--tools", tools, "-n", "60")
        r = self.chat("How is the weather?", f"/save! {path}", args=(*args, "--grammar", call))
        self.assertRegex(r.text, r'\[call weather\] \{"city": "[A-Z][a-z]{2,8}"\}\n')
        self.assertIn("/result TEXT gives the result of weather", r.err)
        saved = json.loads(path.read_text())
        self.assertEqual(saved["tools"][0]["function"]["name"], "weather")
        function = saved["messages"][-1]["tool_calls"][0]["function"]
        self.assertEqual(function["name"], "weather")
        self.assertEqual(list(json.loads(function["arguments"])), ["city"])
        # After the conversation is loaded, the call still waits for its result, and the tools are
        # there.
        again = self.chat("/result sunny", "/result more", f"/save! {path}",
                          args=("--chat-template-file", template, "--resume", path), code=1)
        self.assertIn("/result TEXT gives the result of weather", again.err)
        self.assertIn("No open tool call", again.err)
        messages = json.loads(path.read_text())["messages"]
        self.assertEqual([m["role"] for m in messages], ["user", "assistant", "tool", "assistant"])
        self.assertEqual(messages[2]["content"], "sunny")
        self.assertEqual(messages[2]["tool_call_id"], saved["messages"][1]["tool_calls"][0]["id"])


if __name__ == "__main__":
    unittest.main()
