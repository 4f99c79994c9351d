"""The examples: each runs, and does what it says."""

import ast
import importlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

BUILD = pathlib.Path(os.environ["WEFT_BUILD_DIR"])
EXAMPLES = pathlib.Path(os.environ["WEFT_SOURCE"]) / "examples"


def run(*args):
    return subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=200,
                          check=False)


class NewArchitecture(unittest.TestCase):
    """granite.py, beside granite.cpp and granite.c. tests/new_architecture_test.py compares those."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name in ("granite.py", "granite.dot"):
            shutil.copy(EXAMPLES / "new_architecture" / name, self.folder)

    def granite(self, *args):
        return run(sys.executable, self.folder / "granite.py", *args)

    def test_its_checks_pass_and_the_graph_is_that_of_c_plus_plus(self):
        r = self.granite()
        self.assertEqual((r.returncode, r.stderr), (0, ""), r.stdout)
        self.assertRegex(r.stdout, r"passed +snapshot +as in .*granite\.dot\n16 passed, 0 failed")

    def test_a_changed_graph_is_a_failure(self):
        snapshot = self.folder / "granite.dot"
        snapshot.write_text(snapshot.read_text().replace("rms_norm", "layer_norm", 1))
        r = self.granite()
        self.assertEqual(r.returncode, 1)
        self.assertRegex(r.stdout, r"FAILED +snapshot(?s:.)*15 passed, 1 failed")

    def test_it_has_the_bits_of_c(self):
        extension = BUILD / "plugins/test/libc_api_extension.so"
        if not extension.is_file():
            self.skipTest("granite.c was not built")
        model = self.folder / "model.gguf"
        sys.path.insert(0, str(EXAMPLES / "new_architecture"))
        self.addCleanup(sys.path.pop, 0)
        importlib.import_module("granite")
        weft.write_made_model("granit3", model, keys={
            "granit3.embedding_scale": 12.0, "granit3.residual_scale": 0.22,
            "granit3.attention.scale": 0.3, "granit3.logit_scale": 4.0})
        r = run(BUILD / "bin/weft", "logits", "-m", model, "--extension", extension, "--tokens",
                "1,2,3,40", "-o", self.folder / "c.npy")
        self.assertEqual(r.returncode, 0, r.stderr)
        r = self.granite(model, 1, 2, 3, 40)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        here = np.array([line.split() for line in r.stdout.splitlines()], np.float32)
        self.assertTrue(np.array_equal(here, np.load(self.folder / "c.npy")))

    def test_wrong_files(self):
        r = self.granite("/nonexistent.gguf", 1)
        self.assertEqual((r.returncode, r.stdout), (1, ""))
        self.assertTrue(r.stderr.startswith("granite.py: /nonexistent.gguf: "), r.stderr)


def shown(value):
    """What a notebook shows."""
    for name in ("_repr_html_", "_repr_svg_"):
        text = getattr(value, name, lambda: None)()
        if text is not None:
            return text
    return repr(value)


class Notebook(unittest.TestCase):
    """two_layers.ipynb, cell by cell, as a notebook runs it."""

    def test_every_cell_runs_and_shows_itself(self):
        cells = json.loads((EXAMPLES / "python/two_layers.ipynb").read_text())["cells"]
        names, results = {"__name__": "__main__"}, []
        for i, cell in enumerate(c for c in cells if c["cell_type"] == "code"):
            tree = ast.parse("".join(cell["source"]), f"cell {i}")
            last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
            exec(compile(tree, f"cell {i}", "exec"), names)
            if last is not None:
                value = eval(compile(ast.Expression(last.value), f"cell {i}", "eval"), names)
                results.append((value, shown(value)))
        names["folder"].cleanup()
        model, graph, plan, proof, report, logits, profile = results
        self.assertIn("two_layers", model[1])
        if shutil.which("dot"):
            self.assertRegex(graph[1], "(?s)<svg.*>two_layers, decode<")
        for picture in (plan, profile):
            self.assertRegex(picture[1], "(?s)<table>.*<svg")
        self.assertTrue(proof[0].passed and report[0].passed)
        self.assertRegex(proof[1], "blk.1.ffn_norm(?s:.)* 0 failed")
        self.assertEqual(logits[0][0], (names["model"].n_vocab,))


class Chat(unittest.TestCase):
    def test_it_answers_until_its_input_ends(self):
        source = EXAMPLES / "python/chat_with_tools.py"
        self.assertLessEqual(len(source.read_text().splitlines()), 25)
        r = subprocess.run([sys.executable, str(source), str(weft.bundled_model())], text=True,
                           input="Tell me a story.\n", capture_output=True, timeout=200, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ""))
        self.assertGreater(len(r.stdout), 20)


if __name__ == "__main__":
    unittest.main()
