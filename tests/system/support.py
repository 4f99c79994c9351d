"""Runs the programs. The environment names them: WEFT_BIN (folder), WEFT_SOURCE (root of the source tree),
and, if they are built with sanitizers, WEFT_SANITIZE."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["WEFT_BIN"])
SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
MODEL = SOURCE / "examples/models/weft-stories.gguf"
TIMEOUT = 240
# Sanitizers take memory and address space of their own: nothing can be said of the program's.
SANITIZED = bool(os.environ.get("WEFT_SANITIZE"))

CLEAN = {k: v for k, v in os.environ.items() if k != "WEFT_MODEL"}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode("utf-8", "replace")


def run(program, *args, stdin=b"", stdout=subprocess.PIPE, env=None):
    """Runs BIN/program to its end."""
    command = [str(BIN / program), *map(str, args)]
    process = subprocess.run(command, input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=TIMEOUT,
                             env={**CLEAN, **(env or {})}, check=False)
    return Result(process)


class SystemTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def runs(self, program, *args, **kwargs):
        """The program ends with 0."""
        r = run(program, *args, **kwargs)
        self.assertEqual(r.code, 0, f"{program} {args}: exit {r.code}\n{r.err}")
        return r

    def refuses(self, code, text, program, *args, **kwargs):
        """The program ends with this code, nothing on stdout, and a message that holds the text."""
        r = run(program, *args, **kwargs)
        self.assertEqual(r.code, code, f"{program} {args}: exit {r.code}\n{r.err}")
        self.assertIn(text, r.err)
        self.assertLess(len(r.err), 4000, "a message, not a flood")
        if r.out is not None:
            self.assertEqual(r.out, b"")
        return r
