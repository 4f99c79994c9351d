"""bench/compare.py: alternates programs, stores results, writes tables. A script replaces the other
program."""

import json
import platform
import subprocess
import sys
import unittest

from support import BIN, MODEL, SOURCE, SystemTest

sys.path.insert(0, str(SOURCE / "tools"))
import architectures_table

PEER = """#!{python}
import json, sys
if "--help" in sys.argv:
    print("  -p, --n-prompt <n>\\n  -d, --n-depth <n>")
elif "--broken" in sys.argv:
    sys.exit("no such model")
else:
    print(json.dumps([{{"samples_ts": [100.0, 102.0, 101.0], "build_commit": "abc", "build_number": 7}}]))
"""

PAGE = "before\n<!-- table: speed -->\nold\n<!-- end: speed -->\nafter\n<!-- table: width -->\nkept\n<!-- end: width -->\n"


class Programs(unittest.TestCase):
    def test_all_can_be_imported(self):
        for path in sorted((SOURCE / "bench").glob("*.py")):
            with self.subTest(program=path.name):
                done = subprocess.run([sys.executable, "-c", f"import {path.stem}"],
                                      cwd=path.parent, capture_output=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, b""))


class Compare(SystemTest):
    def setUp(self):
        super().setUp()
        self.peer = self.folder / "llama-bench"
        self.peer.write_text(PEER.format(python=sys.executable))
        self.peer.chmod(0o755)

    def compare(self, *args):
        command = [sys.executable, SOURCE / "bench/compare.py", "--weft", BIN / "weft", "--results",
                   self.folder / "r.json",
                   "--rounds", "2", "-r", "1", "-t", "1", *args]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240,
                              check=False)

    def test_turns_and_tables(self):
        page = self.folder / "page.md"
        page.write_text(PAGE)
        done = self.compare("-m", MODEL, "-p", 8, "-n", 4, "--llama-bench", f"other={self.peer}",
                            "--render", page)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = page.read_text()
        self.assertNotIn("old", text)
        self.assertIn("kept", text)
        self.assertRegex(text, r"\| weft-stories \| weft \| [\d.]+ ± [\d.]+ \| \d+ % \| [\d.]+ ± [\d.]+ \| \d+ % \| \d+ MiB \|")
        self.assertRegex(text, r"\| weft-stories \| other \| 101.0 ± 1.00 \|")
        results = json.loads((self.folder / "r.json").read_text())
        self.assertEqual([len(runs) for r in results.values() for runs in r["programs"].values()],
                         [2, 2, 2, 2])

    def test_shares_of_architectures(self):
        done = self.compare("-m", MODEL, "-p", 8, "-n", 4)
        self.assertEqual(done.returncode, 0, done.stderr)
        shares = architectures_table.shares(self.folder / "r.json")
        for phase in ("prefill", "decode"):
            self.assertEqual(list(shares[phase]), ["llama"])
            self.assertGreater(shares[phase]["llama"], 0)

    def test_alone_and_added_to(self):
        self.compare("-m", MODEL, "-p", 0, "-n", 0, "--widths", "1,3", "--rounds", 1)
        done = self.compare("-m", MODEL, "-p", 0, "-n", 2, "-d", 9, "--rounds", 1)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| model | program, tokens/s | 1 | 3 |", done.stdout)
        self.assertIn("| weft-stories | decode of 2 | 9 | weft |", done.stdout)

    @unittest.skipUnless(platform.machine() in ("x86_64", "AMD64"), "needs SSE2")
    def test_instruction_sets_are_programs(self):
        done = self.compare("-m", MODEL, "-p", 8, "-n", 0, "--rounds", 1, "--isa", "sse2")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| weft-stories | weft, sse2 |", done.stdout)
        self.assertRegex(done.stdout, r"int8, 1 threads \| .*, pmaddwd and paddd xmm \|")

    def test_a_peer_that_fails_is_left_out(self):
        done = self.compare("-m", MODEL, "-p", 8, "-n", 0, "--llama-bench",
                            f"other={self.peer} --broken")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("skipped other", done.stderr)
        self.assertIn("no such model", done.stderr)


if __name__ == "__main__":
    unittest.main()
