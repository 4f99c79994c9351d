"""The interface of the C API: what weft.h declares, what libweft.so exports, what the tests call, and
what earlier versions promised.

    interface_test.py LIBRARY COMPILER
    interface_test.py --store COMPILER      stores the interface of the version that weft.h.in names
    interface_test.py --release TAG COMPILER   the same, for good: a release has it

bindings/c/interface has the header of every version, X.Y.h, and its description by libabigail,
X.Y.abi. The interface of the version in weft.h must be as it was stored: whoever changes it
increments the version in weft.h.in (WEFT_API_VERSION_MINOR for additions), runs generate.py and
stores it again. A version that was released (released.txt) is never stored again, and what was added
since the last one is named under "Unreleased" in the changelog. Programs that were built with the
header of an earlier version work with the library of today."""

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("WEFT_SOURCE", pathlib.Path(__file__).parents[3]))
HEADER = SOURCE / "bindings/c/include/weft/weft.h"
STORED = SOURCE / "bindings/c/interface"
RELEASED = STORED / "released.txt"  # lines "VERSION TAG SHA256", see digest()
MODEL = SOURCE / "examples/models/weft-stories.gguf"
LIBRARY = COMPILER = None

PROTOTYPE = re.compile(r"^WEFT_API ([\w \*]+?)(\bweft_\w+)\(([^;]*)\);", re.M)
STRUCT = re.compile(r"typedef struct (weft_\w+) \{(.*?)\} \1;", re.S)
CONSTANT = re.compile(r"\b(WEFT_[A-Z0-9_]+)\b")


def without_comments(text):
    return re.sub(r"/\*.*?\*/", "", text, flags=re.S)


def functions(text):
    return [name for _, name, _ in PROTOTYPE.findall(without_comments(text))]


def version(text):
    return "{}.{}".format(*re.findall(r"#define WEFT_API_VERSION_M\w+ (\d+)", text))


def compiled(folder, name, text, *flags):
    """Compiles C in a folder; returns what the compiler printed, or None if it was content."""
    source = folder / f"{name}.c"
    source.write_text(text)
    r = subprocess.run([COMPILER, "-std=c11", "-Wall", "-Werror", str(source), *flags], check=False,
                       capture_output=True, text=True)
    return None if r.returncode == 0 else r.stderr


def include_folder(folder, header):
    (folder / "weft").mkdir(exist_ok=True)
    shutil.copy(header, folder / "weft/weft.h")
    shutil.copy(HEADER.parent / "initializers.h", folder / "weft")
    return f"-I{folder}"


def members(body):
    """The names of the members of a struct."""
    found = []
    for statement in without_comments(body).split(";"):
        callback = re.search(r"\(\*(\w+)\)", statement)
        if callback:
            found.append(callback[1])
        elif statement.strip():
            # "const float* values", "uint32_t a, b", "weft_dim dims[4]"
            for part in statement.split(","):
                found.append(re.search(r"(\w+)(\[\d+\])?\s*$", part)[1])
    return found


def layout(folder, header, text):
    """Lines "struct.member offset size" and "CONSTANT value" in a header of what `text`, the same or an
    earlier one, declares."""
    lines = ["#include <stdio.h>", "#include <stddef.h>", '#include "weft/weft.h"', "int main(void) {"]
    for name, body in STRUCT.findall(text):
        for member in members(body):
            lines.append(f'printf("{name}.{member} %zu %zu\\n", offsetof({name}, {member}), '
                         f"sizeof((({name}*)0)->{member}));")
    enums = re.findall(r"\benum \w+\s*\{(.*?)\};", without_comments(text), re.S)
    for constant in dict.fromkeys(CONSTANT.findall(" ".join(enums))):
        lines.append(f'printf("{constant} %lld\\n", (long long){constant});')
    error = compiled(folder, "layout", "\n".join(lines) + "\nreturn 0; }\n",
                     include_folder(folder, header), "-o", str(folder / "layout"))
    if error:
        raise AssertionError(error)
    return subprocess.run([str(folder / "layout")], check=True, capture_output=True,
                          text=True).stdout.splitlines()


def breaks(old, new):
    """Why programs that were built with the old header do not work with the new one; empty: they do."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        text = old.read_text()
        try:
            lost = set(layout(folder, old, text)) - set(layout(folder, new, text))
        except AssertionError as not_compiled:  # a name is gone
            return [str(not_compiled)]
        prototypes = [m.group(0) for m in PROTOTYPE.finditer(without_comments(text))]
        error = compiled(folder, "prototypes", '#include "weft/weft.h"\n' + "\n".join(prototypes),
                         include_folder(folder, new), "-fsyntax-only")
        gone = set(functions(text)) - set(functions(new.read_text()))
        return sorted(lost | gone) + ([error] if error else [])


def describe(header, path):
    """Writes libabigail's description of an interface: of a library whose functions do nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        bodies = []
        for result, name, arguments in PROTOTYPE.findall(without_comments(header.read_text())):
            value = "" if result.strip() == "void" else " return 0;"
            bodies.append(f"{result}{name}({arguments}) {{{value} }}")
        library = folder / "libweft.so"
        error = compiled(folder, "probe", '#include "weft/weft.h"\n' + "\n".join(bodies),
                         include_folder(folder, header), f"-fdebug-prefix-map={folder}=.", "-g",
                         "-shared", "-fPIC", "-o", str(library))
        if error:
            raise AssertionError(error)
        text = subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                               str(library)], check=True, capture_output=True, text=True).stdout
        path.write_text(text)


def difference(stored, header):
    """What libabigail finds different from a stored description; empty: nothing."""
    with tempfile.TemporaryDirectory() as scratch:
        now = pathlib.Path(scratch) / "now.abi"
        describe(header, now)
        r = subprocess.run(["abidiff", str(stored), str(now)], check=False, capture_output=True,
                           text=True)
        return "" if r.returncode == 0 else r.stdout


def released(text):
    """(version, tag, digest) of each release, the oldest first."""
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line) for line in lines]


def digest(name):
    """The sha256 of what is stored of a version: of its header, followed by its interface."""
    stored = [(STORED / f"{name}{suffix}").read_bytes() for suffix in (".h", ".abi")]
    return hashlib.sha256(b"".join(stored)).hexdigest()


def unreleased_entries(changelog):
    found = re.search(r"^## \[Unreleased\]$(.*?)(?=^## \[|\Z)", changelog, re.M | re.S)
    return found[1] if found else ""


def names_of(header):
    """Everything that a header declares: functions, types, members of structs and constants."""
    text = without_comments(header)
    found = set(re.findall(r"\b(?:weft|WEFT)_\w+", text))
    return found | {f"{struct}.{member}" for struct, body in STRUCT.findall(header)
                    for member in members(body)}


def unannounced(old, new, changelog):
    """What the new header declares and the old one does not, without members of new structs, that
    the changelog does not name under "Unreleased"."""
    added = names_of(new) - names_of(old)
    added = {name for name in added if name.split(".")[0] not in added or "." not in name}
    announced = set(re.findall(r"\b(?:weft|WEFT)_\w+(?:\.\w+)?", unreleased_entries(changelog)))
    return sorted(added - announced)


class Interface(unittest.TestCase):
    def test_the_library_exports_what_the_header_declares(self):
        lines = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True,
                               capture_output=True, text=True).stdout.split("\n")
        symbols = {line.split()[-1] for line in lines if line and line.split()[-2] != "A"}
        self.assertEqual(symbols, {f"{name}@@WEFT_1" for name in functions(HEADER.read_text())})

    def test_nothing_is_destroyed_while_threads_may_use_it(self):
        """Destructors of statics run at exit, when threads may still compute: statics have none
        (NoDestructor), and only atexit() registers what runs then."""
        code = subprocess.run(["objdump", "-d", "--no-show-raw-insn", LIBRARY], check=True,
                              capture_output=True, text=True).stdout
        function, callers = None, set()
        for line in code.split("\n"):
            if line.endswith(">:"):
                function = line.split("<")[1][:-2]
            elif "<__cxa_atexit@plt>" in line:
                callers.add(function)
        self.assertEqual(callers, {"atexit"})

    def test_every_function_is_called_by_a_test_in_c(self):
        text = "".join(path.read_text() for path in (SOURCE / "bindings/c/tests").glob("*_test.c"))
        called = set(re.findall(r"\b(weft_\w+)\(", text))
        self.assertEqual([f for f in functions(HEADER.read_text()) if f not in called], [])

    def test_the_header_is_c_and_cpp_and_goes_with_that_of_backends(self):
        both = '#include "weft/backends/abi.h"\n#include "weft/weft.h"\n'
        options = [name[:-5] for name in functions(HEADER.read_text()) if name.endswith("_init")]
        both += "void initializers(void);\nvoid initializers(void) {\n"
        for name in options:  # each has an initializer
            both += f"{name} made_{name} = {name.upper()}_INIT; (void)made_{name};\n"
        both += "}\n"
        folders = [f"-I{SOURCE}/backends/include", f"-I{SOURCE}/bindings/c/include"]
        for language in (["-x", "c", "-std=c11", "-pedantic"], ["-x", "c++", "-std=c++11"]):
            r = subprocess.run([COMPILER, *language, "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                                *folders, "-"], check=False, input=both, capture_output=True, text=True)
            self.assertEqual(r.stderr, "")


class Promises(unittest.TestCase):
    def test_the_interface_is_as_stored(self):
        name = version(HEADER.read_text())
        stored = STORED / f"{name}.abi"
        self.assertTrue(stored.is_file(), f"the interface {name} is not stored: interface_test.py --store")
        if not shutil.which("abidiff"):
            self.skipTest("no abidiff: install abigail-tools")
        self.assertEqual(difference(stored, HEADER), "",
                         f"not the interface {name} that was stored: increment the version in weft.h.in, "
                         "then interface_test.py --store")

    def test_released_versions_stay_as_they_are(self):
        for name, tag, sha256 in released(RELEASED.read_text()):
            self.assertEqual(digest(name), sha256, f"{name}.h and {name}.abi are not those of {tag}: "
                             "increment the version in weft.h.in instead")

    def test_additions_since_the_last_release_are_announced(self):
        releases = released(RELEASED.read_text())
        if not releases:
            self.skipTest("there was no release yet")
        old = (STORED / f"{releases[-1][0]}.h").read_text()
        missing = unannounced(old, HEADER.read_text(), (SOURCE / "CHANGELOG.md").read_text())
        self.assertEqual(missing, [], 'name them under "## [Unreleased]" in CHANGELOG.md')

    def test_unannounced_additions_are_noticed(self):
        old = HEADER.read_text()
        new = old.replace("} weft_token_info;", "  uint64_t more;\n} weft_token_info;")
        new = new.replace("WEFT_SUCCESS = 0,", "WEFT_SUCCESS = 0,\n  WEFT_ERROR_NEW = 18,")
        new += "typedef struct weft_made {\n  int x;\n} weft_made;\n"
        new += "WEFT_API weft_status weft_new(void);\n"
        page = "# Changelog\n\n## [Unreleased]\n\n{}\n## [0.1.0] - 2026-12-01\n\n- `weft_new()`.\n"
        added = ["WEFT_ERROR_NEW", "weft_made", "weft_new", "weft_token_info.more"]
        self.assertEqual(unannounced(old, new, page.format("- `weft_newer()`.\n")), added)
        entries = "- `weft_new()`, `weft_made`, `WEFT_ERROR_NEW`, `weft_token_info.more`.\n"
        self.assertEqual(unannounced(old, new, page.format(entries)), [])
        self.assertEqual(unannounced(old, old, page.format("")), [])

    def test_programs_of_earlier_versions_can_use_this_one(self):
        headers = sorted(STORED.glob("*.h"))
        self.assertTrue(headers)
        for old in headers:
            self.assertEqual(breaks(old, HEADER), [], old.name)

    def test_a_program_of_the_first_version_runs(self):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            program = (SOURCE / "bindings/c/tests/first_version.c").read_text()
            where = pathlib.Path(LIBRARY).parent
            error = compiled(folder, "first", program, include_folder(folder, STORED / "1.0.h"),
                             "-o", str(folder / "first"), f"-L{where}", "-lweft", f"-Wl,-rpath,{where}")
            self.assertIsNone(error)
            r = subprocess.run([str(folder / "first"), str(MODEL)], check=False, capture_output=True,
                               text=True, timeout=60)
            self.assertEqual((r.returncode, r.stderr), (0, ""))

    # Each edit of the header must be noticed.
    def test_breaks_are_noticed(self):
        text = HEADER.read_text()
        edits = {
            "a function is gone": ("WEFT_API const char* weft_version(void);", ""),
            "an argument has another type": ("weft_sampler_reseed(weft_sampler* sampler, uint64_t seed",
                                             "weft_sampler_reseed(weft_sampler* sampler, uint32_t seed"),
            "members change places": ("weft_token token;\n  float logit;", "float logit;\n  weft_token token;"),
            "a constant has another value": ("WEFT_ERROR_BUSY = 12", "WEFT_ERROR_BUSY = 18"),
            "a member is inserted": ("typedef struct weft_token_info {\n  uint32_t struct_size;",
                                     "typedef struct weft_token_info {\n  uint32_t struct_size, more;"),
        }
        with tempfile.TemporaryDirectory() as scratch:
            changed = pathlib.Path(scratch) / "weft.h"
            for what, (before, after) in edits.items():
                self.assertEqual(text.count(before), 1, what)
                changed.write_text(text.replace(before, after))
                self.assertNotEqual(breaks(HEADER, changed), [], what)
            end = "} weft_token_info;"
            self.assertEqual(text.count(end), 1)
            changed.write_text(text.replace(end, f"  uint64_t more;\n{end}"))
            self.assertEqual(breaks(HEADER, changed), [])  # a member at the end is an addition
            if shutil.which("abidiff"):
                self.assertNotEqual(difference(STORED / f"{version(text)}.abi", changed), "")


def store(tag=None):
    name = version(HEADER.read_text())
    was_released = {v: t for v, t, _ in released(RELEASED.read_text())}
    if name in was_released:
        sys.exit(f"{name} was released with {was_released[name]}: increment the version in weft.h.in")
    shutil.copy(HEADER, STORED / f"{name}.h")
    describe(HEADER, STORED / f"{name}.abi")
    if tag:
        with RELEASED.open("a") as file:
            file.write(f"{name} {tag} {digest(name)}\n")
    print(f"stored {STORED / name}.h and .abi" + (f", released with {tag}" if tag else ""))


if __name__ == "__main__":
    COMPILER = sys.argv.pop()
    LIBRARY = sys.argv.pop()
    if LIBRARY == "--store":
        store()
    elif sys.argv[-1] == "--release":
        store(LIBRARY)
    else:
        unittest.main()
