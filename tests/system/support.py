"""Runs the programs. The environment has WEFT_BIN (their folder), WEFT_SOURCE (root of the source
tree), and WEFT_SANITIZE if they were built with sanitizers."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BIN = pathlib.Path(os.environ["WEFT_BIN"])
SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
MODEL = SOURCE / "examples/models/weft-stories.gguf"
# Runs programs of another processor, if they were built for one.
EMULATOR = os.environ.get("WEFT_EMULATOR", "").split()
TIMEOUT = 240
# Sanitizers use memory and address space, so those of the program cannot be measured.
SANITIZED = bool(os.environ.get("WEFT_SANITIZE"))

CLEAN = {k: v for k, v in os.environ.items() if k != "WEFT_MODEL"} | {"WEFT_TUNE": "off"}


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr.decode("utf-8", "replace")


def run(program, *args, stdin=b"", stdout=subprocess.PIPE, env=None):
    """Runs BIN/program and waits for its end."""
    command = [*EMULATOR, str(BIN / program), *map(str, args)]
    process = subprocess.run(command, input=stdin, stdout=stdout, stderr=subprocess.PIPE,
                             timeout=TIMEOUT,
                             env={**CLEAN, **(env or {})}, check=False)
    return Result(process)


class SystemTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def runs(self, program, *args, **kwargs):
        """The program exits with 0."""
        r = run(program, *args, **kwargs)
        self.assertEqual(r.code, 0, f"{program} {args}: exit {r.code}\n{r.err}")
        return r

    def refuses(self, code, text, program, *args, **kwargs):
        """The program exits with this code, prints nothing to stdout, and its message contains the
        text."""
        r = run(program, *args, **kwargs)
        self.assertEqual(r.code, code, f"{program} {args}: exit {r.code}\n{r.err}")
        self.assertIn(text, r.err)
        self.assertLess(len(r.err), 4000, "a message, not a flood")
        if r.out is not None:
            self.assertEqual(r.out, b"")
        return r
