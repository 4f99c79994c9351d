"""pip: the wheel of this build tree, what it holds, and the package and programs it installs."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
BACKEND = SOURCE / "bindings/python/backend"
# A folder on Python's path would hide what is installed.
CLEAN = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "WEFT_MODEL")}


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env={**CLEAN, **options})


def succeed(*command, **options):
    done = run(*command, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def backend(expression, **options):
    return run(sys.executable, "-c", f"import weft_build; print(weft_build.{expression})",
               PYTHONPATH=str(BACKEND), **options)


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="weft-install-")
        cls.addClassCleanup(cls.scratch.cleanup)
        folder = pathlib.Path(cls.scratch.name)
        made = run(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv")
        if made.returncode != 0:
            print("venv or pip is not installed")
            sys.exit(77)
        cls.bin = folder / "venv/bin"
        cls.python = cls.bin / "python"
        offline = ("--no-index", "--no-deps", "--disable-pip-version-check")
        succeed(cls.python, "-m", "pip", "wheel", *offline, "-w", folder, SOURCE)
        [cls.wheel] = folder.glob("*.whl")
        succeed(cls.python, "-m", "pip", "install", *offline, cls.wheel)
        package = succeed(cls.python, "-c", "import weft; print(weft.__path__[0])")
        cls.package = pathlib.Path(package.strip())

    def test_record_has_the_hash_of_every_file(self):
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            [record] = [n for n in names if n.endswith(".dist-info/RECORD")]
            rows = {r[0]: r[1:] for r in csv.reader(io.StringIO(archive.read(record).decode()))}
            self.assertEqual((sorted(rows), len(names)), (sorted(names), len(set(names))))
            for name in set(names) - {record}:
                data = archive.read(name)
                digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode()
                self.assertEqual(rows[name], [f"sha256={digest.rstrip('=')}", str(len(data))])

    def test_one_wheel_serves_all_versions_of_python(self):
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        self.assertTrue(self.wheel.name.endswith(f"-py3-none-{machine}.whl"))
        with zipfile.ZipFile(self.wheel) as archive:
            names = archive.namelist()
            [wheel] = [n for n in names if n.endswith(".dist-info/WHEEL")]
            self.assertIn(f"Tag: py3-none-{machine}\n", archive.read(wheel).decode())
        self.assertEqual([n for n in names if re.search(r"\.so\b", n) and not n.startswith("weft/lib/")], [])
        for name in ("weft/_weft.pyi", "weft/_native/module.py", "weft/py.typed", "weft/models/weft-stories.gguf",
                     "weft/lib/libweft.so.1"):
            self.assertIn(name, names)
        for name in ("LICENSE", "NOTICE"):
            self.assertTrue(any(n.endswith(f"/licenses/{name}") for n in names))

    def test_libraries_come_from_the_wheel(self):
        binaries = list(self.package.glob("bin/*"))
        brought = {p.name for p in self.package.glob("lib/*")}
        used = succeed(self.python, "-c", "import weft\nprint(open('/proc/self/maps').read())").split()
        for path in {pathlib.Path(word) for word in used if word.startswith("/")}:
            if path.name in brought:
                self.assertEqual(path, (self.package / "lib" / path.name).resolve())
        for binary in binaries:
            for line in succeed("ldd", binary).splitlines():
                name, _, rest = line.strip().partition(" => ")
                if name in brought:
                    path = pathlib.Path(rest.split(" (")[0]).resolve()
                    self.assertEqual(path, (self.package / "lib" / name).resolve(), binary.name)

    def test_the_installed_package_runs(self):
        said = succeed(self.python, "-c", "import importlib.metadata, weft\n"
                       "assert weft.__version__ == importlib.metadata.version('weft')\n"
                       "print(weft.Model().session().generate('Once', max_tokens=4))")
        self.assertTrue(said.strip())
        self.assertTrue(self.package.is_relative_to(self.bin.parent))

    def test_programs_run(self):
        if not (self.package / "bin").is_dir():
            self.skipTest("this tree is built without programs")
        for command in ([self.python, "-m", "weft"], [self.bin / "weft"]):
            for arguments in ([], ["--help"], ["chat", "--help"], ["generate", "--help"]):
                self.assertIn("Usage: ", succeed(*command, *arguments))
            wrong = run(*command, "no-such-command")
            self.assertTrue(wrong.returncode > 0 and wrong.stderr)
        text = succeed(self.bin / "weft", "generate", "-p", "Once", "-n", "4", "--temp", "0")
        self.assertTrue(text.startswith("Once "))

    def test_a_missing_program_is_one_message(self):
        hidden = self.package / "hidden"
        programs = self.package / "bin"
        if programs.is_dir():
            programs.rename(hidden)
            self.addCleanup(hidden.rename, programs)
        done = run(self.python, "-m", "weft", "chat")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("chat", done.stderr)


class Backend(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="weft-backend-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_source_archives_hold_what_builds_need(self):
        name = backend(f"build_sdist({str(self.folder)!r})").stdout.strip()
        base = name.removesuffix(".tar.gz")
        with tarfile.open(self.folder / name) as archive:
            names = {n.removeprefix(f"{base}/") for n in archive.getnames()}
        for needed in ("PKG-INFO", "pyproject.toml", "CMakeLists.txt",
                       "bindings/python/backend/weft_build.py", "examples/models/weft-stories.gguf"):
            self.assertIn(needed, names)
        self.assertFalse([n for n in names if n.startswith(("build/", ".git/"))])

    def test_editable_wheels_point_into_the_build_tree(self):
        name = backend(f"build_editable({str(self.folder)!r})").stdout.strip()
        with zipfile.ZipFile(self.folder / name) as archive:
            path = archive.read("__editable__.weft.pth").decode().strip()
        self.assertEqual(pathlib.Path(path), pathlib.Path(os.environ["WEFT_BUILD_DIR"]) / "python")

    def test_what_is_missing_is_named(self):
        wheel = f"build_wheel({str(self.folder)!r})"
        query = self.folder / "dpkg-query"
        query.write_text("#!/bin/sh\nexit 1\n")
        query.chmod(0o755)
        failed = backend(wheel, WEFT_BUILD_DIR="", PATH=str(self.folder))
        self.assertEqual(failed.returncode, 1)
        self.assertIn("cmake is not installed", failed.stderr)
        self.assertRegex(failed.stderr, r"apt-get install .*\bcmake\b")
        self.assertNotIn("Traceback", failed.stderr)
        failed = backend(wheel, WEFT_BUILD_DIR=str(self.folder))
        self.assertIn("not a build tree", failed.stderr)


if __name__ == "__main__":
    if "WEFT_BUILD_DIR" not in os.environ:
        print("WEFT_BUILD_DIR does not name a build tree")
        sys.exit(77)
    unittest.main()
