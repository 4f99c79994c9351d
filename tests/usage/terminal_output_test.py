"""Control characters of files and models on a terminal: programs show them and do not send them."""

import os
import pathlib
import pty
import select
import struct
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from support import BIN, CLEAN, MODEL, SystemTest
from waiting import PATIENCE

TITLE = b"\x1b]0;"  # what sets the title of a terminal
SHOWN = b"\\x1b]0;"


def text(value):
    return struct.pack("<Q", len(value)) + value


def hostile_model():
    """The bundled model with another name, and whose token " was" begins a control sequence. All
    lengths stay the same."""
    data = MODEL.read_bytes()
    for old, new in ((text("Ġwas".encode()), text("ě]0;".encode())),
                     (text(b"Weft Stories"), text(b"\x1b]0;PWNED\x07\xc2\x9b"))):
        assert data.count(old) == 1 and len(old) == len(new)
        data = data.replace(old, new)
    return data


def token_of_was():
    data = MODEL.read_bytes()
    at = data.index(b"tokenizer.ggml.tokens") + len(b"tokenizer.ggml.tokens") + 16
    for token in range(struct.unpack_from("<Q", data, at - 8)[0]):
        n = struct.unpack_from("<Q", data, at)[0]
        if data[at + 8:at + 8 + n] == "Ġwas".encode():
            return token
        at += 8 + n
    raise AssertionError("the model has no such token")


class TerminalOutput(SystemTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "hostile.gguf"
        self.model.write_bytes(hostile_model())

    def on_terminal(self, *command, typed=b""):
        """The bytes that the terminal gets until the program ends."""
        env = {**CLEAN, "TERM": "xterm", "XDG_STATE_HOME": str(self.folder)}
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(BIN / command[0], [os.fsencode(part) for part in command], env)
        seen = b""
        try:
            while select.select([fd], [], [], PATIENCE)[0]:
                seen += os.read(fd, 65536)
                if typed and b"> " in seen:
                    os.write(fd, typed)
                    typed = b""
        except OSError:  # the program closed it
            pass
        finally:
            os.close(fd)
            os.waitpid(pid, 0)
        return seen

    def shows(self, *command, typed=b"", shown=SHOWN):
        seen = self.on_terminal(*command, typed=typed)
        self.assertIn(shown, seen)
        self.assertNotIn(TITLE, seen)
        for control in "\x9b\u202e\a\x7f":
            self.assertNotIn(control, seen.decode())
        return seen

    def generate(self):
        return ["generate", "-m", str(self.model), "-p", "There", "-n", "2", "--temp", "0", "-l",
                f"{token_of_was()}+100"]

    def test_a_token_of_generate(self):
        self.assertIn(b"There" + SHOWN, self.shows(*self.generate()))

    def test_a_pipe_gets_the_bytes_as_they_are(self):
        self.assertIn(b"There" + TITLE, self.runs(*self.generate()).out)

    def test_a_token_of_chat_and_the_name_of_the_model(self):
        seen = self.shows("chat", "-m", str(self.model), "-n", "2", "--temp", "0", "-l",
                          f"{token_of_was()}+100", typed=b"Hi\r/quit\r")
        self.assertIn(b"\\x1b]0;PWNED\\x07\\u009b, context", seen)
        self.assertGreater(seen.count(SHOWN), 1)
        self.assertIn(b"\x1b[?2004h", seen, "marks of pastes are the program's own")

    def test_metadata(self):
        for how in ((), ("--json",)):
            self.shows("weft", "inspect", str(self.model), *how, shown=b"PWNED")

    def test_a_template(self):
        template = self.folder / "hostile.jinja"
        template.write_bytes(b"\x1b]0;title\a\xe2\x80\xae\x7f ok{{ raise_exception('\x1b]0;x') }}")
        seen = self.shows("weft", "template", "-m", str(self.model), "--chat-template-file",
                          str(template))
        self.assertIn(b"\\x1b]0;title\\x07\\u202e\\x7f ok", seen)
        seen = self.shows("generate", "-m", str(self.model), "--chat-template-file",
                          str(template), "--conversation", "-p", "Hi")
        self.assertIn(b"generate: ", seen)

    def test_errors_about_arguments(self):
        for command in (("weft", "\x1b]0;x"), ("weft", "inspect", "a", "\x1b]0;x"),
                        ("generate", "--\x1b]0;x"), ("chat", "-m", "\x1b]0;x")):
            self.shows(*command)


if __name__ == "__main__":
    unittest.main()
