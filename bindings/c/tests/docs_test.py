"""docs/c_api.md: its C blocks are compiled and run, and it names functions that exist.

    WEFT_SOURCE=... docs_test.py FOLDER_OF_LIBWEFT C_COMPILER

The first block is a program. Every other block replaces the lines of its main() between "One text"
and the next empty line; its includes, static variables and functions come before main(). A block of
text after one of C is what the program prints."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
LIBRARY, COMPILER = sys.argv.pop(1), sys.argv.pop(1)
MODEL = SOURCE / "examples/models/weft-stories.gguf"
HEADER = "".join((SOURCE / "bindings/c/include/weft" / name).read_text()
                 for name in ("weft.h", "initializers.h"))
PAGES = [SOURCE / "docs/c_api.md", SOURCE / "docs/c_api_from_llama.md"]
# A C block, and the block of text after it.
BLOCK = re.compile(r"^```c\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.S | re.M)
# Includes, variables and functions.
GLOBAL = re.compile(r"^(?:#include [^\n]*\n|static [^\n]*;\n"
                    r"|(?:static|weft_status) [^;{]*\{\n.*?^\}\n)", re.S | re.M)
NAME = re.compile(r"\bweft_\w+\b")


def blocks():
    """Yields (heading, code, expected output or None) of the page."""
    text = PAGES[0].read_text()
    for found in BLOCK.finditer(text):
        heading = re.findall(r"^## (.*)$", text[:found.start()], re.M)[-1]
        yield heading, found[1], found[2]


def program(first, block):
    """The whole program of a block."""
    if "int main(" in block:
        return block
    head, _, rest = first.partition("  /* One text. */\n")
    before, main = head.split("int main(")
    tail = rest.partition("\n\n")[2]
    own = "".join(GLOBAL.findall(block))
    return before + own + "\nint main(" + main + GLOBAL.sub("", block) + "\n" + tail


class Docs(unittest.TestCase):
    def compile_and_run(self, code, folder):
        source, binary = folder / "program.c", folder / "program"
        source.write_text(code)
        compiled = subprocess.run(
            [COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread",
             f"-I{SOURCE}/bindings/c/include", str(source), "-o", str(binary), f"-L{LIBRARY}",
             "-lweft", f"-Wl,-rpath,{LIBRARY}"],
            capture_output=True, text=True, timeout=240, check=False)
        self.assertEqual(compiled.returncode, 0, compiled.stderr)
        return subprocess.run([str(binary), str(MODEL)], cwd=folder, capture_output=True,
                              text=True, timeout=60, check=False)

    def test_blocks_run_and_print_what_the_page_shows(self):
        all_blocks = list(blocks())
        self.assertGreater(len(all_blocks), 10)
        for heading, code, expected in all_blocks:
            with self.subTest(heading), tempfile.TemporaryDirectory(prefix="weft-test-") as folder:
                ran = self.compile_and_run(program(all_blocks[0][1], code), pathlib.Path(folder))
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertEqual(ran.stdout, expected or "")

    def test_names_of_the_pages_exist(self):
        declared = set(NAME.findall(HEADER)) | set(re.findall(r"\bWEFT_\w+\b", HEADER))
        # Families: weft_X_open(), WEFT_STOP_...
        for page in PAGES:
            if not page.exists():
                continue
            for name in re.findall(r"\b(?:weft|WEFT)_\w+\b", page.read_text()):
                if "_X_" not in name and not name.endswith("_"):
                    self.assertIn(name, declared, page.name)


if __name__ == "__main__":
    unittest.main()
