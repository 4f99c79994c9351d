"""Types: the stub has everything that the native module has, and mypy accepts the package."""

import ast
import importlib
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from weft import _weft

PACKAGE = pathlib.Path(_weft.__file__).parent
RIGHT = """\
import numpy as np
import weft

with weft.Model() as model, model.session(context=64) as session:
    ids: list[int] = model.tokenizer.encode("One day")
    logits: np.ndarray[tuple[int, ...], np.dtype[np.float32]] = session.feed(ids)
    token: int = weft.Sampler(temperature=0).sample(logits)
    pieces: list[str] = [piece for piece in session.stream("One day")]
    said: str = weft.Chat(session, tools=[max]).say("Hi")
graph = weft.Graph()
x: weft.Tensor = graph.input("x", (4, 64))
y: weft.Tensor = weft.ops.rms_norm(x, eps=1e-5)
y = weft.ops.my_own(x)
"""
WRONG = """\
import weft

weft.Sampler(temperature="hot")
weft.Model().session().feed("no ids").no_such_name
weft.ops.rms_norm(weft.Graph().input("x", (4,)), epsilon=1e-5)
"""


def public(names):
    return {name for name in names if not name.startswith("_")}


class Stub(unittest.TestCase):
    def setUp(self):
        self.tree = ast.parse((PACKAGE / "_weft.pyi").read_text(encoding="utf-8"))

    def test_it_has_the_names_of_the_module(self):
        kinds = (ast.FunctionDef, ast.ClassDef)
        stub = public(node.name for node in self.tree.body if isinstance(node, kinds))
        stub |= {node.target.id for node in self.tree.body if isinstance(node, ast.AnnAssign)}
        self.assertEqual(stub, public(vars(_weft)))

    def test_it_has_the_members_of_the_classes(self):
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and public([node.name]):
                stub = public(m.name for m in node.body if isinstance(m, ast.FunctionDef))
                self.assertEqual(stub, public(vars(getattr(_weft, node.name))), node.name)


class StubOfOps(unittest.TestCase):
    def test_it_is_up_to_date(self):
        sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tools"))
        self.addCleanup(sys.path.pop, 0)
        made = importlib.import_module("ops_stub").stub()
        self.assertEqual((PACKAGE / "ops.pyi").read_text(encoding="utf-8"), made,
                         "run tools/ops_stub.py")


@unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
class Mypy(unittest.TestCase):
    def test_the_package_and_programs_are_strict(self):
        with tempfile.TemporaryDirectory(prefix="weft-types-") as folder:
            right, wrong = pathlib.Path(folder, "right.py"), pathlib.Path(folder, "wrong.py")
            right.write_text(RIGHT, encoding="utf-8")
            wrong.write_text(WRONG, encoding="utf-8")
            said = subprocess.run(
                [sys.executable, "-m", "mypy", "--strict", "--no-error-summary",
                 "--cache-dir", f"{folder}/cache", PACKAGE, right, wrong], cwd=folder,
                env={**os.environ, "MYPYPATH": str(PACKAGE.parent)}, capture_output=True, text=True)
        lines = said.stdout.splitlines()
        others = [line for line in lines if not line.startswith("wrong.py:")]
        self.assertEqual((others, said.stderr), ([], ""))
        self.assertEqual({line.split(":")[1] for line in lines}, {"3", "4", "5"}, lines)


if __name__ == "__main__":
    unittest.main()
