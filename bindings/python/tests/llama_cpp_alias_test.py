"""weft.as_llama_cpp: programs that import llama_cpp get weft.llama_cpp."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

import support  # noqa: F401 - it skips the test without numpy

PROGRAM = """
import importlib, importlib.util, sys
{first}
assert importlib.util.find_spec("llama_cpp") is not None
import llama_cpp.llama_types as types          # a module first
import llama_cpp
from llama_cpp import Llama, llama_chat_format
from llama_cpp.llama_chat_format import Jinja2ChatFormatter
from llama_cpp.llama_grammar import LlamaGrammar
import weft.llama_cpp
assert llama_cpp is weft.llama_cpp and Llama is weft.llama_cpp.Llama
assert types is weft.llama_cpp.llama_types and types.__name__ == "weft.llama_cpp.llama_types"
assert llama_chat_format is weft.llama_cpp.llama_chat_format
assert LlamaGrammar is weft.llama_cpp.LlamaGrammar
assert llama_cpp.__spec__.name == llama_cpp.__name__ == "weft.llama_cpp"
assert importlib.util.find_spec("llama_cpp.no_such") is None
try:
    import llama_cpp.no_such
except ModuleNotFoundError as error:
    assert error.name == "llama_cpp.no_such", error.name
else:
    raise AssertionError
own = sys.modules["llama_cpp.own"] = type(sys)("llama_cpp.own")
own.__path__ = []
try:
    import llama_cpp.own.part
except ModuleNotFoundError as error:
    assert error.name == "llama_cpp.own.part"
import importlib.metadata
for name in ("llama-cpp-python", "llama_cpp_python"):
    assert importlib.metadata.version(name) == "0.3.35"
assert [d.metadata["Name"] for d in importlib.metadata.distributions()].count(
    "llama-cpp-python") == 1
try:
    importlib.metadata.version("no-such-package")
except importlib.metadata.PackageNotFoundError:
    pass
print(sys.argv[1:], __name__)
"""


class Alias(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def run_python(self, *arguments):
        return subprocess.run([sys.executable, "-W", "error", *arguments], cwd=self.folder,
                              capture_output=True, text=True)

    def check(self, *arguments):
        r = self.run_python(*arguments, "--its", "x")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "['--its', 'x'] __main__\n", ""))

    def test_an_import_is_enough(self):
        for first in ("import weft.as_llama_cpp",
                      "import weft.llama_cpp, weft.as_llama_cpp, weft.as_llama_cpp"):
            (self.folder / "program.py").write_text(PROGRAM.format(first=first))
            self.check("program.py")

    def test_a_program_may_be_run_as_it_is(self):
        (self.folder / "program.py").write_text("import beside\n" + PROGRAM.format(first=""))
        (self.folder / "beside.py").write_text("")
        self.check("-m", "weft.as_llama_cpp", "program.py")
        self.check("-m", "weft.as_llama_cpp", "-m", "program")
        r = self.run_python("-m", "weft.as_llama_cpp")
        self.assertEqual(r.returncode, 2)
        self.assertIn("program.py", r.stdout)

    def test_it_goes_before_an_installed_one_but_does_not_follow_it(self):
        (self.folder / "llama_cpp.py").write_text("Llama = None")
        (self.folder / "program.py").write_text(PROGRAM.format(first="import weft.as_llama_cpp"))
        self.check("program.py")
        r = self.run_python("-c", "import llama_cpp, weft.as_llama_cpp")
        self.assertRegex(r.stderr, "ImportError: llama_cpp is already imported from .*llama_cpp.py")


if __name__ == "__main__":
    unittest.main()
