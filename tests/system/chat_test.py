"""`chat` on the bundled model: from a pipe, and on a terminal."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import termios
import time
import unittest

from support import BIN, CLEAN, MODEL, SystemTest, TIMEOUT, run


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

    def test_the_exit_code_tells_that_a_line_was_refused(self):
        taken = self.folder / "taken.chat"
        taken.write_text("not a conversation")
        for line in ("/frobnicate", "/again", "/result 5", "/save", f"/save {taken}", f"/load {taken}",
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


class Terminal(SystemTest):
    """A program on a terminal of its own."""

    def setUp(self):
        super().setUp()
        self.ended = set()

    def start(self, *args, columns=0):
        env = {**CLEAN, "TERM": "vt100", "XDG_STATE_HOME": str(self.folder)}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if columns:
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
            os.execve(BIN / "chat", ["chat", *args], env)
        self.addCleanup(self.stop, self.pid, self.fd)
        self.seen = ""
        self.prompt()

    def stop(self, pid, fd):
        os.close(fd)
        if pid not in self.ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def until(self, text):
        """Reads until the text appears; returns what precedes it."""
        deadline = time.monotonic() + TIMEOUT
        while text not in self.seen:
            self.assertLess(time.monotonic(), deadline, f"waiting for {text!r}, seen {self.seen!r}")
            if select.select([self.fd], [], [], 1)[0]:
                try:
                    self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
                except OSError:
                    self.fail(f"the program ended, seen {self.seen!r}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def prompt(self):
        """Waits for the prompt, and until a line can be edited. The terminal interprets earlier
        input."""
        self.until("> ")
        deadline = time.monotonic() + TIMEOUT
        while termios.tcgetattr(self.fd)[3] & termios.ICANON:
            self.assertLess(time.monotonic(), deadline, "waiting for the line editor")
            time.sleep(0.001)

    def type(self, text):
        os.write(self.fd, text.encode())

    def exit_code(self):
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            try:
                while select.select([self.fd], [], [], 0)[0] and os.read(self.fd, 65536):
                    pass
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.ended.add(pid)
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        self.fail("the program did not end")

    def test_reply_and_leave(self):
        self.start("--temp", "0", "-n", "8")
        self.type("Tell me a story.\r")
        self.until("limit of -n")
        self.prompt()
        self.type("\x04")
        self.assertEqual(self.exit_code(), 0)
        self.assertIn("story", (self.folder / "weft/chat_history").read_text())

    def test_resuming_shows_where_it_was(self):
        path = self.folder / "talk.chat"
        self.runs("chat", "--temp", "0", "-n", "8",
                  stdin=f"Tell me a story.\n/save {path}\n".encode())
        self.start("--temp", "0", "-n", "8", "--resume", str(path))
        self.until("Tell me a story.")
        self.prompt()
        self.type("/stats\r")
        self.until(" of ")
        self.prompt()
        self.type("\x04")
        self.assertEqual(self.exit_code(), 0)

    def test_interrupts(self):
        self.start("--temp", "0", "-c", "4096")
        self.type("Tell me a story.\r")
        self.until("a")
        self.type("\x03")  # stops the reply, or comes after its end: both lead to the prompt
        self.prompt()
        self.type("half a line")
        self.until("half a line")
        self.type("\x03")  # discards the line
        self.prompt()
        self.type("/stats\r")
        self.until(" of 4096")
        self.prompt()
        self.type("\x04")
        self.assertEqual(self.exit_code(), 0)

    def test_the_first_interrupt_says_how_to_leave(self):
        self.start()
        self.type("half a line")
        self.until("half a line")
        self.type("\x03")
        self.assertNotIn("Ctrl-D", self.until("[Ctrl-D or /quit exits]"))
        self.prompt()
        self.type("\x03")
        self.assertNotIn("Ctrl-D", self.until("> "))

    def test_breaks_lines_between_words(self):
        message = "Tell me a story about a fox named Pip."
        story = self.runs("chat", "--temp", "0", stdin=(message + "\n").encode()).out.decode()
        self.assertGreater(max(map(len, story.split("\n"))), 30, "a pipe gets the text as it is")
        self.start("--temp", "0", columns=30)
        self.type(message + "\r")
        self.until("Pip.\r\n")
        lines = self.until("\r\n> ").split("\r\n")
        self.assertLessEqual(max(map(len, lines)), 30)
        self.assertEqual(" ".join(lines).split(), story.split())

    def test_history_of_an_earlier_run(self):
        self.start("-n", "4")
        self.type("/help\r")
        self.until("Ctrl-D")
        self.prompt()
        self.type("\x04")
        self.exit_code()
        self.start("-n", "4")
        self.type("\x1b[A")  # arrow up
        self.until("/help")
        self.type("\x03")
        self.prompt()
        self.type("\x04")
        self.assertEqual(self.exit_code(), 0)

    def test_several_lines(self):
        self.start("--temp", "0", "-n", "4")
        self.type("Tell me\\\r")
        self.until(". ")
        self.type("a story.\r")
        self.until("limit of -n")


if __name__ == "__main__":
    unittest.main()
