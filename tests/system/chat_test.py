"""`chat` on the bundled model, from a pipe."""

import json
import re
import subprocess
import unittest

from support import BIN, CLEAN, EMULATOR, MODEL, SystemTest, TIMEOUT, run


class FromPipe(SystemTest):
    def chat(self, text, *args, code=0):
        r = run("chat", "--temp", "0", "-n", "24", *args, stdin=text.encode())
        self.assertEqual(r.code, code, r.err)
        return r

    def test_a_reply_per_line_and_no_prompts(self):
        r = self.chat("Tell me a story about a fox named Pip.\n\nWho was it about?\n")
        self.assertGreaterEqual(len(r.out.decode().strip().split("\n")), 2)
        self.assertNotIn(b"> ", r.out)

    def test_same_text_every_time(self):
        text = "Tell me a story about a fox named Pip.\nWho was it about?\n"
        self.assertEqual(self.chat(text).out, self.chat(text, "-t", "1").out)

    def test_replies_do_not_depend_on_the_width_of_steps(self):
        text = "Tell me a story about a fox named Pip.\nWho was it about?\n"
        wide = self.chat(text, "-n", "-1").out
        self.assertGreater(len(wide), 50)
        self.assertEqual(wide, self.chat(text, "-n", "-1", "-b", "3").out)

    def test_reset_forgets(self):
        once = self.chat("Tell me a story about a fox named Pip.\n").out
        twice = self.chat("Tell me a story about a fox named Pip.\n/reset\nTell me a story about a fox named Pip.\n").out
        self.assertEqual(twice, once * 2)

    def test_commands(self):
        r = self.chat("/help\n/stats\n/frobnicate\n/again\n/quit\nnever reached\n", code=1)
        self.assertEqual(r.out, b"")
        for text in ("/reset", "context", "Unknown command /frobnicate", "No messages yet"):
            self.assertIn(text, r.err)

    def test_edited_messages(self):
        story, who, then = "Tell me a story about a fox named Pip.\n", "Who was it about?\n", "Go on.\n"
        both = self.chat(story + who).out
        first = self.chat(story).out
        edited = self.chat(story + then + then + "/edit 2 " + who + "/stats\n")
        self.assertEqual(edited.out[-len(both) + len(first):], both[len(first):])
        computed, reused = (int(re.search(rf"{name} +(\d+) tokens", edited.err)[1])
                            for name in ("last prompt", "reused"))
        self.assertLess(computed, 20)
        self.assertGreater(reused, 40)
        again = self.chat(story + who + "/again\n/stats\n")
        self.assertEqual(again.out, both + both[len(first):])
        self.assertRegex(again.err, r"last prompt +1 tokens")
        for line in ("/edit", "/edit 1", "/edit 0 Hi", "/edit 2 Hi", "/edit 1x Hi", "/edit -1 Hi"):
            with self.subTest(line):
                r = self.chat(story + line + "\n", code=1)
                self.assertIn("/edit N TEXT: N is 1", r.err)
                self.assertEqual(r.out, first)

    def test_commands_as_people_type_them(self):
        story = "Tell me a story about a fox named Pip.\n"
        once = self.chat(story).out
        for line in ("/clear", "/clear  ", "/CLEAR", "/New", "/reset\t"):
            with self.subTest(line):
                self.assertEqual(self.chat(story + line + "\n" + story).out, once * 2)
        for line in ("/exit", "/Quit ", "/bye", "/q"):
            with self.subTest(line):
                self.assertEqual(self.chat(line + "\n" + story).out, b"")
        self.assertIn("/prefill TEXT", self.chat("/?\n").err)

    def test_unknown_commands_are_answered_with_the_list(self):
        for line in ("/foo", "/foo bar", "/"):
            with self.subTest(line):
                r = self.chat(line + "\n", code=1)
                self.assertEqual(r.out, b"")
                self.assertIn(f"Unknown command {line.split()[0]}.", r.err)
                self.assertIn("/prefill TEXT", r.err)

    def test_paths_are_messages(self):
        for line in ("/usr/bin/x is what?", "/etc/hosts", "/tmp.txt"):
            with self.subTest(line):
                r = self.chat(line + "\n")
                self.assertNotEqual(r.out.strip(), b"")
                self.assertEqual(r.out, self.chat("/" + line + "\n").out)

    def test_a_byte_order_mark_is_not_part_of_a_line(self):
        story = "Tell me a story about a fox named Pip.\n"
        self.assertEqual(self.chat("\ufeff" + story).out, self.chat(story).out)
        self.assertEqual(self.chat("\ufeff/quit\n" + story).out, b"")
        self.assertEqual(self.chat(story + "\ufeff/quit\n").out, self.chat(story).out)
        with (self.folder / "lines.txt").open("w+b") as file:
            file.write(("\ufeff" + story).encode())
            file.seek(0)
            out = subprocess.run([*EMULATOR, BIN / "chat", "--temp", "0", "-n", "24"], stdin=file,
                                 capture_output=True, env=CLEAN, timeout=TIMEOUT, check=True).stdout
        self.assertEqual(out, self.chat(story).out)

    def test_the_exit_code_tells_that_a_line_was_refused(self):
        taken = self.folder / "taken.chat"
        taken.write_text("not a conversation")
        for line in ("/frobnicate", "/again", "/edit 1 Hi", "/result 5", "/save", f"/save {taken}", f"/load {taken}",
                     "/load none.chat", f"/export {self.folder}/none/talk.md"):
            r = self.chat(line + "\nTell me a story.\n", code=1)
            self.assertGreater(len(r.out.strip()), 0, "the lines that follow are answered")
        self.chat(f"/help\n\n/stats\n/reset\n/save! {self.folder}/new.chat\n/quit\n")

    def test_export(self):
        path = self.folder / "talk.md"
        r = self.chat(f"Tell me a story.\n/export {path}\n/export {self.folder}/none/talk.md\n",
                      "--system", "Be brave.", code=1)
        saved = path.read_text()
        self.assertIn("## system\n\nBe brave.", saved)
        self.assertIn("## user\n\nTell me a story.", saved)
        self.assertIn("## assistant", saved)
        self.assertIn("none/talk.md", r.err)

    def test_several_lines(self):
        one = self.chat('"""Tell me\na story."""\n').out
        self.assertGreater(len(one.strip()), 0)
        self.assertEqual(self.chat("Tell me\\\na story.\n").out, one)

    def test_context_full(self):
        r = self.chat("Tell me a story about a fox named Pip.\n" * 3, "-c", "40", "-n", "-1", code=1)
        self.assertIn("/reset starts over", r.err)

    def test_long_message_is_refused_and_forgotten(self):
        r = self.chat("Tell me a story. " * 50 + "\nTell me a story.\n", "-c", "64", code=1)
        self.assertIn("was not accepted", r.err)
        self.assertGreater(len(r.out.strip()), 0)

    def test_forced_calls(self):
        tools = self.folder / "tools.json"
        tools.write_text(json.dumps([{"type": "function", "function": {"name": name, "parameters": {
            "type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"],
            "additionalProperties": False}}} for name in ("lamp", "fan")]))
        r = self.chat("Hello\n", "--tools", tools, "--tool-choice", "fan",
                      "--no-parallel-tool-calls", "-c", "512", "-n", "100")
        self.assertRegex(r.out.decode(), r'^\[call fan\] \{"on": ?(true|false)\}\n$')
        self.assertIn("/result TEXT", r.err)
        r = self.chat("/tool-choice lamp\nHello\n/tool-choice fly\n", "--tools", tools,
                      "--no-parallel-tool-calls", "-c", "512", "-n", "100", code=1)
        self.assertIn(b"[call lamp]", r.out)
        self.assertIn('no tool is named "fly"', r.err)
        self.refuses(1, "--tool-choice: no tool is named", "chat", "--tools", tools,
                     "--tool-choice", "fly")
        self.refuses(1, "--tool-choice: there are no tools", "chat", "--tool-choice", "required")

    def test_prefill(self):
        r = self.chat("Tell me a story.\n/prefill A frog\nAnother.\nAgain.\n", "--prefill", "The fox")
        replies = r.out.decode()
        self.assertTrue(replies.startswith("The fox "), replies)
        self.assertIn("\nA frog ", replies)
        self.assertEqual(replies.count("The fox "), 2, replies)

    def test_no_template(self):
        data = MODEL.read_bytes()
        path = self.folder / "plain.gguf"
        path.write_bytes(data.replace(b"tokenizer.chat_template", b"tokenizer.chat_templatX"))
        self.refuses(1, "--chat-template", "chat", "-m", path)
        r = run("chat", "-m", path, "--chat-template", "chatml", "--temp", "0", "-n", "24",
                stdin=b"Tell me a story.\n")
        self.assertEqual((r.code, r.out), (0, self.chat("Tell me a story.\n").out))


if __name__ == "__main__":
    unittest.main()
