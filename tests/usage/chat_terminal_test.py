"""`chat` on the bundled model, on a terminal."""

import fcntl
import json
import os
import pathlib
import pty
import select
import signal
import struct
import sys
import termios
import threading
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from support import BIN, CLEAN, SystemTest
from waiting import PATIENCE, eventually

# The program asks the terminal to mark pasted texts, and not to.
MARKS, NO_MARKS = "\x1b[?2004h", "\x1b[?2004l"
# A reply that goes on until it is stopped: no end token is chosen.
ENDLESS = ("--temp", "0", "-c", "32768", "-l", "0-inf", "-l", "2-inf")


class Terminal(SystemTest):
    """A program on a terminal of its own."""

    def setUp(self):
        super().setUp()
        self.ended = set()

    def start(self, *args, columns=0, terminal="vt100", shell=()):
        """Starts `chat`, or a shell that starts it when it is told so."""
        env = {**CLEAN, "TERM": terminal, "XDG_STATE_HOME": str(self.folder), "PS1": "shell$ "}
        command = [*shell] or [str(BIN / "chat"), *args]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            if columns:
                self.resize(0, columns)
            os.execve(command[0], command, env)
        self.addCleanup(self.stop, self.pid, self.fd)
        self.seen = ""
        if not shell:
            self.prompt()

    @staticmethod
    def resize(fd, columns):
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))

    def stop(self, pid, fd):
        os.close(fd)
        if pid not in self.ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def shows(self, text, seconds):
        """Reads until the text appears, or nothing comes for so long; returns whether it did."""
        while text not in self.seen and select.select([self.fd], [], [], seconds)[0]:
            try:
                self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
            except OSError:
                self.fail(f"the program ended, seen {self.seen!r}")
        return text in self.seen

    def until(self, text):
        """Reads until the text appears; returns what precedes it."""
        self.assertTrue(self.shows(text, PATIENCE), f"waiting for {text!r}, seen {self.seen!r}")
        before, self.seen = self.seen.split(text, 1)
        return before

    def prompt(self):
        """Waits for the prompt, and until a line can be edited. The terminal interprets earlier
        input."""
        self.until("> ")
        eventually(lambda: not termios.tcgetattr(self.fd)[3] & termios.ICANON, "the line editor")

    def type(self, text):
        os.write(self.fd, text.encode())

    def exit_code(self):
        def ended():
            try:
                while select.select([self.fd], [], [], 0)[0] and os.read(self.fd, 65536):
                    pass
            except OSError:
                pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            return pid and (pid, status)
        pid, status = eventually(ended, "the end of the program")
        self.ended.add(pid)
        return os.waitstatus_to_exitcode(status)

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

    def paste(self, text):
        self.type(f"\x1b[200~{text}\x1b[201~")

    def messages(self):
        """The user's messages up to now."""
        path = self.folder / "talk.json"
        self.type(f"/save! {path}\r")
        self.until("messages in")
        self.prompt()
        return [m["content"] for m in json.loads(path.read_text())["messages"]
                if m["role"] == "user"]

    def test_a_pasted_text_is_one_message(self):
        self.start("--temp", "0", "-n", "4")
        self.until(MARKS)
        text = "def f():\n\treturn 1\n/quit\n\"\"\"end\\"
        self.paste(text.replace("\n", "\r"))
        self.until("end")
        self.type("\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), [text])

    def test_a_paste_during_a_reply_is_one_message(self):
        self.start("--temp", "0", "-n", "60", "-c", "4096")
        self.type("Tell me a story.\r")
        self.until("story.\r\n")
        self.assertNotIn(NO_MARKS, self.until("a"))  # of the reply: the terminal marks pastes
        text = "one\n/quit\n\ttwo"
        self.paste(text.replace("\n", "\r"))
        self.prompt()
        self.until("two")
        self.type("\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), ["Tell me a story.", text])

    def test_pasted_texts_are_no_commands(self):
        texts = ["/quit", "/quit\nnow", "//two", "\"\"\"fence", "back\\", "crlf\none", "/stats "]
        self.start("--temp", "0", "-n", "1", "-c", "4096")
        for text in texts:
            self.paste(text.replace("\n", "\r\n"))
            self.type("\r")
            self.until("limit of -n")
            self.prompt()
        self.assertEqual(self.messages(), texts)
        self.type("/help\x1b[A\x1b[A\r")  # behind /save!
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages()[-1], "/stats")  # without the spaces at its end

    def test_a_command_may_have_a_pasted_argument(self):
        self.start("--temp", "0", "-n", "1")
        self.type("/system ")
        self.paste("Be brave.\rBe brief.")
        self.type("\r")
        self.until("System prompt set")
        self.prompt()
        self.paste("quit")
        self.type("\x01/\r")  # Ctrl-A: a slash before it
        self.assertEqual(self.exit_code(), 0)

    def test_a_pasted_text_does_not_break_out(self):
        self.start("--temp", "0", "-n", "1", "-c", "4096")
        self.paste("a\x1b[201~\r/quit\rb\x03\x04\x1a\x1c\x13\x16\x15c\x1b[200~d\x1b[201~\r/quit\re")
        self.until("e")
        self.type("\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), ["a\n/quit\nbcd\n/quit\ne"])

    def test_a_long_paste(self):
        self.start("-n", "1", "-c", "64")
        text = "\r".join(f"line {i} of many" for i in range(4000)) + "\x1b[201~\r/quit\r"
        writer = threading.Thread(target=self.paste, args=(text,))
        writer.start()
        self.until("3999")
        self.until("/quit")
        writer.join()
        self.type("\r")
        self.until("was not accepted")
        self.prompt()
        self.type("/stats\r")
        self.until(" of 64")

    def test_a_paste_without_an_end_can_be_left(self):
        self.start("-n", "1")
        self.type("\x1b[200~lost")

        def is_left():
            self.type("\x03")  # part of the paste if it comes right behind it; ends it after a pause
            return self.shows("> ", 1)
        eventually(is_left, "the prompt")
        self.prompt()
        self.type("/quit\r")
        self.assertEqual(self.exit_code(), 0)

    def test_tab_is_a_tab(self):
        self.start("--temp", "0", "-n", "1")
        self.type("a\tb\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), ["a\tb"])

    def test_a_terminal_without_marks(self):
        self.start("-n", "1", terminal="dumb")
        self.type("/stats\r")
        self.assertNotIn("\x1b", self.until("context"))

    def test_stopped_and_continued(self):
        self.start(shell=["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.until("shell$ ")
        self.type(f"{BIN}/chat --temp 0 -n 1\n")
        self.until("/help")
        self.until("> ")
        for _ in range(2):
            self.until(MARKS)
            self.type("half")
            self.until("half")
            self.type("\x1a")
            self.until(NO_MARKS)
            self.until("Stopped")
            self.until("shell$ ")
            self.assertTrue(termios.tcgetattr(self.fd)[3] & termios.ICANON)
            self.type("fg\n")
            self.until("> half")
        self.until(MARKS)
        self.assertFalse(termios.tcgetattr(self.fd)[3] & termios.ICANON)
        self.type("\r")
        self.until("limit of -n")
        self.until(MARKS)
        self.assertEqual(self.messages(), ["halfhalf"])

    def test_signals_while_a_line_is_typed(self):
        self.start("--temp", "0", "-n", "1", columns=40)
        self.type("half")
        self.until("half")
        for sent in (signal.SIGCONT, signal.SIGWINCH, signal.SIGTSTP):
            os.kill(self.pid, sent)
            self.until("> half")
        self.resize(self.fd, 60)
        self.until("> half")
        self.type(" a line\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), ["half a line"])
        os.kill(self.pid, signal.SIGTERM)
        self.until(NO_MARKS)
        self.assertEqual(self.exit_code(), -signal.SIGTERM)

    def test_leaving_restores_the_terminal(self):
        for keys in ("\x04", "/quit\r"):
            self.start("-n", "1")
            self.until(MARKS)
            self.type(keys)
            self.until(NO_MARKS)
            self.assertEqual(self.exit_code(), 0)

    def has_echo(self):
        return bool(termios.tcgetattr(self.fd)[3] & termios.ECHO)

    def test_signals_during_a_reply_restore_the_terminal(self):
        for sent in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            with self.subTest(sent=sent):
                self.start(*ENDLESS)
                self.type("Tell me a story.\r")
                self.until("story.\r\n")
                self.until("a")
                self.assertFalse(self.has_echo())
                os.kill(self.pid, sent)
                self.until(NO_MARKS)
                self.assertEqual(self.exit_code(), -sent)
                self.assertTrue(self.has_echo())

    def test_stopped_and_continued_during_a_reply(self):
        self.start(shell=["/bin/bash", "--norc", "--noprofile", "--noediting", "-i"])
        self.until("shell$ ")
        self.type(f"{BIN}/chat {' '.join(ENDLESS)}\n")
        self.until("/help")
        self.until(MARKS)
        self.type("Tell me a story.\r")
        self.until("story.\r\n")
        self.until("a")
        for _ in range(2):
            self.type("\x1a")
            self.until(NO_MARKS)
            self.until("Stopped")
            self.until("shell$ ")
            self.assertTrue(self.has_echo())
            self.type("fg\n")
            self.until(MARKS)
            self.until("a")
        self.assertFalse(self.has_echo())
        self.type("\x03")
        self.until(MARKS)
        self.type("\x04")
        self.until(NO_MARKS)
        self.until("shell$ ")
        self.assertTrue(self.has_echo())

    def test_what_is_typed_during_a_reply_is_in_the_next_line(self):
        self.start(*ENDLESS)
        self.type("Tell me a story.\r")
        self.until("story.\r\n")
        self.until("a")
        self.type("next")
        self.paste("one\rtwo\x1b[C")
        self.type("\x03")  # discards what is typed ahead
        reply = self.until("[stopped]")
        for text in ("next", "[200~", "one", "[C"):
            self.assertNotIn(text, reply)

    def test_a_byte_order_mark_is_not_part_of_a_line(self):
        self.start("--temp", "0", "-n", "1")
        self.paste("\ufeffone")
        self.type("\r")
        self.until("limit of -n")
        self.prompt()
        self.type("\ufefftwo\r")
        self.until("limit of -n")
        self.prompt()
        self.assertEqual(self.messages(), ["one", "two"])


if __name__ == "__main__":
    unittest.main()
