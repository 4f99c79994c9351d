"""docs/python.md and README.md: their blocks of Python run, and print what stands below them."""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
# A block, and the block of text after it.
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.S | re.M)


class Docs(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder)
        pathlib.Path("model.gguf").symlink_to(weft.bundled_model())

    def run_blocks(self, page, at_least):
        text = (SOURCE / page).read_text(encoding="utf-8")
        blocks = list(BLOCK.finditer(text))
        self.assertGreaterEqual(len(blocks), at_least)
        names = {"__name__": "__main__"}
        for found in blocks:
            line = text[:found.start()].count("\n") + 2
            output = io.StringIO()
            with self.subTest(f"{page}:{line}"), contextlib.redirect_stdout(output):
                exec(compile("\n" * (line - 1) + found[1], page, "exec"), names)
            with self.subTest(f"{page}:{line}: what it prints"):
                self.assertTrue(output.getvalue() or "print" not in found[1])
                if found[2] is not None:
                    self.assertEqual(output.getvalue(), found[2])

    def test_the_page(self):
        self.run_blocks("docs/python.md", 9)

    def test_the_readme(self):
        self.run_blocks("README.md", 1)

    def test_names_exist(self):
        text = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
        for name in set(re.findall(r"\bweft\.([A-Za-z_]\w*)", text)) - {"md"}:
            is_module = importlib.util.find_spec(f"weft.{name}") is not None
            self.assertTrue(is_module or hasattr(weft, name), name)
        classes = {"session": weft.Session, "Session": weft.Session, "chat": weft.Chat,
                   "Sampler": weft.Sampler}
        for owner, name in set(re.findall(r"\b(session|Session|chat|Sampler)\.([a-z_]\w*)", text)):
            self.assertTrue(hasattr(classes[owner], name) or name == "messages", f"{owner}.{name}")


if __name__ == "__main__":
    unittest.main()
