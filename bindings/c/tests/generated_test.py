"""The interface as data: weft.h and what else is made from it are as generate.py makes them, what is
wrong with the data is found with its line, and the Python package calls what the data says.

    WEFT_SOURCE=... generated_test.py"""

import ast
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE", pathlib.Path(__file__).parents[3]))
INTERFACE = SOURCE / "bindings/c/interface"
PYTHON = SOURCE / "bindings/python"
NATIVE = PYTHON / "weft/_native"
sys.path.insert(0, str(INTERFACE))

import generate  # noqa: E402
from generator import checks, data, header, native, options, page  # noqa: E402

VERSION = "1.1"
# The beginning of all wrong files: 16 lines.
BEGINNING = '''title = "A"

[[item]]
type = "weft_status"
since = "1.0"
alias = "int32_t"

[[item]]
enum = "weft_status_code"
since = "1.0"
values = [
  { name = "WEFT_SUCCESS", value = 0 },
  { name = "WEFT_ERROR_IO", value = 6 },
]

[[item]]
'''
FUNCTION = '''function = "weft_f"
since = "1.0"
doc = "What it does."
params = ["int32_t n"]
threads = "any"
no_python = "it is nowhere"
'''
STRUCT = '''struct = "weft_s"
since = "1.0"
role = "filled"
members = [
  { type = "uint32_t", name = "struct_size" },
  { type = "int32_t", name = ["a", "b"] },
]
'''
# What is changed in an item, and all that is then said.
WRONG_FUNCTIONS = [
    ('doc = "What', 'dok = "What', "19: unknown key of a function: expected one of as, blank_before, "
     "doc, errors, forward, no_python, params, python, returns, since, stub, threads, got dok"),
    ('since = "1.0"\n', "", "17: weft_f: expected since, got none"),
    ('since = "1.0"', "since = 1.0", "18: since of weft_f: expected a text, got 1.0"),
    ('["int32_t n"]', '"int32_t n"', "20: params of weft_f: expected a list of texts, got 'int32_t n'"),
    ('since = "1.0"', 'since = "1"', '18: since of weft_f: expected "MAJOR.MINOR", got 1'),
    ('since = "1.0"', 'since = "1.2"',
     "18: since of weft_f: expected at most 1.1, the version of weft.h.in, got 1.2"),
    ('threads = "any"\n', "", "17: weft_f: expected threads, got none"),
    ('"any"', '"some"', "21: threads of weft_f: expected one of any, handle, always, got some"),
    ('no_python = "it is nowhere"\n', "", "17: weft_f: expected forward, python or no_python, got none"),
    ("no_python", 'python = ["f"]\nno_python',
     "17: weft_f: expected forward, python or no_python, got both"),
    ('no_python = "it is nowhere"', 'python = ["f"]',
     "22: python of weft_f: expected a name with a stub, got f"),
    ('no_python = "it is nowhere"', 'python = ["f"]\nstub = "def g() -> None"',
     "23: stub of weft_f: expected one of its python names, got g\n"
     "wrong.toml:22: python of weft_f: expected a name with a stub, got f"),
    ('no_python = "it is nowhere"', 'forward = "A.f"',
     "22: forward of weft_f: expected a class of a type, got A"),
    ('no_python = "it is nowhere"', 'forward = "f"\nas = { m = "bool" }',
     "23: as of weft_f: expected a parameter with one of bool, bytes, str, optional, got m = bool"),
    ('["int32_t n"]\nthreads = "any"\nno_python = "it is nowhere"',
     '["void* user"]\nthreads = "any"\nforward = "f"',
     "20: forward of weft_f: expected parameters that have a form in Python, got void* user"),
    ("int32_t n", "weft_t n",
     "20: type in weft_f: expected one that is declared before, got weft_t"),
    ("int32_t n", "void (*f)(weft_t* user)",
     "20: type in weft_f: expected one that is declared before, got weft_t"),
    ("int32_t n", "int32_t", '20: declaration in weft_f: expected "TYPE NAME", got "int32_t"'),
    ("What it does", "WEFT_ERROR_IO",
     "19: errors of weft_f: expected IO, which its doc names, got none"),
    ("threads", 'errors = ["IO", "ID"]\nthreads',
     "21: errors of weft_f: expected statuses of weft_status_code, got ID"),
    ("What it does", "What " * 20,
     "19: a line of a comment: expected at most 97 columns, got 101"),
    ('"weft_f"', '"weft_status"', "17: name weft_status: expected a new one, got that of wrong.toml:4"),
]
WRONG_STRUCTS = [
    ('name = ["a"', 'nane = ["a"', "22: unknown key of a member of weft_s: expected one of by_hand, "
     "callback, doc, name, no_python, params, returns, since, type, got nane\n"
     "wrong.toml:17: a member of weft_s: expected name, got none"),
    ('role = "filled"', 'role = "full"',
     "19: role of weft_s: expected one of options, given, filled, value, got full"),
    ('role = "filled"', 'role = "options"',
     "17: options weft_s: expected a function weft_s_init, got none"),
    ('role = "filled"', 'role = "value"', "19: first member of weft_s, role value: expected another one, "
     "got uint32_t struct_size"),
    ("uint32_t", "int32_t", "19: first member of weft_s, role filled: expected uint32_t struct_size, got "
     "int32_t struct_size"),
    ('name = "struct_size"', 'name = "struct_size", since = "1.1"',
     "22: member of weft_s of version 1.0 after one of 1.1: expected new members at the end, got a"),
    ('"b"] }', '"b"], since = "1.2" }',
     "22: since of a: expected at most 1.1, the version of weft.h.in, got 1.2"),
    ('type = "int32_t", name = ["a"', 'type = "int31_t", name = ["a"',
     "22: type in weft_s: expected one that is declared before, got int31_t"),
]
# Options that the package reads.
OPTIONS = '''struct = "weft_o"
since = "1.0"
role = "options"
members = [
  { type = "uint32_t", name = "struct_size" },
  { type = "int32_t", name = "a" },
  { type = "void*", name = "b", by_hand = true },
]

[[item]]
function = "weft_o_init"
since = "1.0"
params = ["weft_o* o"]
threads = "any"
python = ["*"]
'''
WRONG_OPTIONS = [
    (", by_hand = true", "", "23: member b of weft_o, which no generated code can take: expected by_hand "
     "or no_python, got none"),
    ("by_hand = true", 'by_hand = true, no_python = "x"',
     "23: member b of weft_o: expected by_hand or no_python, got both"),
    ("by_hand = true", "by_hand = 1", "23: by_hand of a member of weft_o: expected true, got 1"),
]
WRONG_FILES = [
    (BEGINNING + "function = weft_f\n", "17: Invalid value: expected TOML, got 'function = weft_f'"),
    (BEGINNING + "function = \"weft_f\n", "17: Illegal character '\\n': expected TOML, got "
     "'function = \"weft_f'"),
    ("", "1: keys of the file: expected title, [[item]], got none"),
    ('name = "A"\n', "1: keys of the file: expected title, [[item]], got name"),
    (BEGINNING + 'fun = "weft_f"\n', "16: the kind of the item: expected one of function, struct, enum, "
     "type, callback, define, text, got fun"),
]


def said(text):
    """What is said about a file wrong.toml."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "wrong.toml").write_text(text)
        try:
            return "\n".join(checks.problems(data.load(folder), VERSION))
        except data.DataError as error:
            return str(error)


class Generated(unittest.TestCase):
    def check(self, **environment):
        return subprocess.run([sys.executable, "-B", str(INTERFACE / "generate.py"), "--check"],
                              check=False, capture_output=True, text=True,
                              env={**os.environ, **environment})

    def test_the_files_are_as_the_data_says(self):
        r = self.check()
        self.assertEqual((r.stdout, r.stderr, r.returncode), ("", "", 0))

    def test_the_check_needs_no_clang_format(self):
        r = self.check(PATH="")
        self.assertEqual((r.stdout, r.stderr, r.returncode), ("", "", 0))

    def test_what_differs_is_shown(self):
        page_text = generate.PAGE.read_text()
        shown = generate.difference(generate.PAGE, page_text.replace("# C API\n", "# The C API\n", 1))
        self.assertRegex(shown, r"^--- docs/c_api.md\n\+\+\+ .*\n@@ -1.*\n-# C API\n\+# The C API\n")
        self.assertEqual(generate.difference(generate.PAGE, page_text), "")

    def test_only_the_layout_is_left_out_then(self):
        text = "/* One\n * two. */\nint32_t f(int32_t a,\n          int32_t b);\n"
        other = "/* One two. */\nint32_t f(int32_t a, int32_t b);\n"
        self.assertEqual(header.without_layout(text), header.without_layout(other))
        self.assertNotEqual(header.without_layout(text), header.without_layout(text.replace("b)", "c)")))

    def test_the_page_needs_its_markers(self):
        with self.assertRaisesRegex(data.DataError, "expected the lines .* once, got 0"):
            page.replaced("docs/c_api.md", "<!-- threads: generated -->\n", "threads", "")


class Data(unittest.TestCase):
    def find(self, item, wrong):
        self.assertEqual(said(BEGINNING + item), "")
        for before, after, expected in wrong:
            with self.subTest(after):
                self.assertIn(before, item)
                changed = BEGINNING + item.replace(before, after, 1)
                self.assertEqual(said(changed), f"wrong.toml:{expected}")

    def test_wrong_functions_are_found(self):
        self.find(FUNCTION, WRONG_FUNCTIONS)

    def test_wrong_structs_are_found(self):
        self.find(STRUCT, WRONG_STRUCTS)

    def test_members_are_taken_or_declined(self):
        self.find(OPTIONS, WRONG_OPTIONS)

    def test_structs_without_a_size_do_not_grow(self):
        text = ('struct = "weft_s"\nsince = "1.0"\nrole = "value"\nmembers = [\n'
                '  { type = "int32_t", name = "a" },\n  { type = "int32_t", name = "b", since = "1.1" },\n]\n')
        self.assertEqual(said(BEGINNING + text), "wrong.toml:22: weft_s has no struct_size: expected no "
                         "new members, got b")

    def test_wrong_files_are_found(self):
        for text, expected in WRONG_FILES:
            with self.subTest(expected):
                self.assertEqual(said(text), f"wrong.toml:{expected}")


class Python(unittest.TestCase):
    items = data.load(INTERFACE)
    functions = {item.name: item for item in data.functions(items)}

    def called(self, paths):
        text = "".join(path.read_text() for path in paths)
        return set(re.findall(r"\bweft_\w+", text)) & set(self.functions)

    def test_the_package_calls_what_the_data_says(self):
        paths = set(NATIVE.glob("*.py"))
        made = {NATIVE / name for name in native.sources(self.items)}
        self.assertEqual(made - paths, set(), "run bindings/c/interface/generate.py")
        forwards = {name for name, item in self.functions.items() if "forward" in item.fields}
        by_hand = {name for name, item in self.functions.items() if "python" in item.fields}
        freed = {name for name in by_hand if name.endswith("_free")}  # by the classes, which are made
        called = self.called(paths - made)
        of_made = self.called(made - {NATIVE / "functions.py"})
        self.assertEqual(called - by_hand, set(), "called by hand, but without python = [...]")
        self.assertEqual(by_hand - freed - called, set(), "with python = [...], but not called by hand")
        self.assertEqual(of_made - freed, forwards)
        self.assertEqual(freed - called - of_made, set(), "with python = [...], but not called")
        self.assertEqual(self.called([NATIVE / "functions.py"]), forwards | by_hand)

    def test_members_that_are_taken_by_hand_are(self):
        paths = [path for path in NATIVE.glob("*.py") if path.name not in native.sources(self.items)]
        text = "".join(path.read_text() for path in paths)
        for item in options.readers(self.items):
            for _, name, member in options.members(item):
                if member.get("by_hand"):
                    self.assertRegex(text, rf'\b\w+\.{name}\b|refer\(o, "{name}"', item.name)

    def test_no_source_is_left_from_an_earlier_data(self):
        made = {path.name for path in NATIVE.glob("*.py") if path.read_text().startswith("# Made by ")}
        self.assertEqual(made, set(native.sources(self.items)))

    def test_structs_are_those_of_c(self):
        """The places and sizes of all members, as a C compiler sees them."""
        named = [(item.name, re.sub(r"\[.*", "", name)) for item in self.items if item.kind == "struct"
                 for member in item.members for name in data.member_names(member)]
        asked = "".join(f'  printf("{struct}.{name} %zu %zu %zu\\n", sizeof({struct}), offsetof({struct}, {name}), '
                        f"sizeof((({struct}*)0)->{name}));\n" for struct, name in named)
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "sizes.c")
            source.write_text(f"#include <stdio.h>\n#include <weft/weft.h>\nint main(void) {{\n{asked}}}\n")
            subprocess.run(["cc", f"-I{SOURCE}/bindings/c/include", source, "-o", f"{folder}/sizes"], check=True)
            said = subprocess.run([f"{folder}/sizes"], check=True, capture_output=True, text=True).stdout
        structs = {"__name__": "structs"}
        exec((NATIVE / "structs.py").read_text(), structs)
        found = [(struct, name, getattr(structs[struct], name)) for struct, name in named]
        self.assertEqual(said.splitlines(), [
            f"{struct}.{name} {ctypes.sizeof(structs[struct])} {member.offset} {member.size}"
            for struct, name, member in found])

    def test_what_python_lacks_has_a_reason(self):
        for item in self.items:
            for fields in (item.fields, *item.members):
                reason = fields.get("no_python")
                if reason is not None:
                    self.assertGreaterEqual(len(reason.split()), 3, f"{item.name}: {reason}")
                    self.assertNotIn("missing", reason, item.name)

    def test_the_stub_has_the_names(self):
        known = {"*"}
        for node in ast.parse((PYTHON / "weft/_weft.pyi").read_text()).body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                known.add(node.name)
            if isinstance(node, ast.ClassDef):
                known |= {f"{node.name}.{method.name}" for method in node.body
                          if isinstance(method, ast.FunctionDef)}
        for item in self.functions.values():
            names = [*item.get("python", []), item.get("forward", "*")]
            self.assertEqual(set(names) - known, set(), item.name)


if __name__ == "__main__":
    unittest.main()
