"""The programs of examples/new_architecture, in C++ and in C: their own checks, and their logits
against another engine's.

Usage: new_architecture_test.py PROGRAM FOLDER-OF-WEFT"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
WEFT = pathlib.Path(sys.argv.pop(1))
SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
REFERENCE = pathlib.Path(os.environ.get("WEFT_REFERENCE",
                                        SOURCE.parent / "shared/reference")) / "golden/archs"


PROGRAMS = {"cpp": PROGRAM, "c": PROGRAM + "_c"}


def run(*args, language="cpp"):
    return subprocess.run([PROGRAMS[language], *map(str, args)], capture_output=True, text=True,
                          timeout=240, check=False)


class Granite(unittest.TestCase):
    def test_the_file_is_short(self):
        lines = (SOURCE / "examples/new_architecture/granite.cpp").read_text().splitlines()
        self.assertLess(len(lines), 70)

    def test_checks(self):
        r = run()
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn(", 0 failed, 0 skipped", r.stdout)
        self.assertRegex(r.stdout, r"passed +snapshot +as in .*granite\.dot")

    def test_checks_in_c(self):
        r = run(language="c")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        checks = {check["name"]: check for check in json.loads(r.stdout)["checks"]}
        self.assertEqual({check["verdict"] for check in checks.values()}, {"passed"})
        self.assertRegex(checks["snapshot"]["detail"], r"as in .*granite\.dot")

    def test_wrong_files(self):
        for language, name in (("cpp", "granite: "), ("c", "granite_c: ")):
            r = run("/nonexistent", 1, language=language)
            self.assertEqual(r.returncode, 1)
            self.assertTrue(r.stderr.startswith(name), r.stderr)

    # The programs of Weft run it from a shared library.
    def test_extension(self):
        extension = ["--extension", str(pathlib.Path(PROGRAM).parent / "libgranite.so")]

        def weft(*args):
            return subprocess.run([WEFT / args[0], *map(str, args[1:]), *extension], text=True,
                                  capture_output=True, timeout=240, check=False)
        r = weft("weft", "new-model-check", "granit3")
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        if not REFERENCE.is_dir():
            self.skipTest("no reference data: set WEFT_REFERENCE")
        model = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "granit3.gguf"
        model.write_bytes((REFERENCE / "granite.gguf").read_bytes().replace(b"granite", b"granit3"))
        for command in (["weft", "verify", "-m", model, "--tokens", "1,2,3"],
                        ["weft", "dot", "-m", model], ["weft", "plan", "-m", model]):
            r = weft(*command)
            self.assertEqual((r.returncode, r.stderr), (0, ""), command)
            self.assertIn("blk.0", r.stdout)
        r = weft("weft", "verify", "-m", model, "--extension", model)
        self.assertEqual(r.returncode, 1)
        self.assertIn("cannot load an extension", r.stderr)

    @unittest.skipUnless(REFERENCE.is_dir(), "no reference data: set WEFT_REFERENCE")
    def test_golden_logits(self):
        about = json.loads((REFERENCE / "granite.json").read_text())
        # The name of the example, where Weft has an architecture of its own.
        model = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "granit3.gguf"
        model.write_bytes((REFERENCE / "granite.gguf").read_bytes().replace(b"granite", b"granit3"))
        hashes = [run(model, language=language).stdout for language in PROGRAMS]
        self.assertRegex(hashes[0], "^[0-9a-f]{16}\n$")
        self.assertEqual(hashes[0], hashes[1])
        for sequence in "ABC":
            r = run(model, *about["tokens"][sequence])
            self.assertEqual(r.returncode, 0, r.stderr)
            in_c = run(model, *about["tokens"][sequence], language="c")
            as_f32 = [[struct.pack("<f", float(x)) for x in p.stdout.split()] for p in (r, in_c)]
            self.assertEqual(as_f32[0], as_f32[1])
            got = [float(x) for x in r.stdout.split()]
            data = (REFERENCE / f"granite.{sequence}.npy").read_bytes()
            start = 10 + int.from_bytes(data[8:10], "little")
            want = [v for (v,) in struct.iter_unpack("<f", data[start:])]
            self.assertEqual(len(got), len(want))
            error = sum((g - w) ** 2 for g, w in zip(got, want)) / sum(w * w for w in want)
            self.assertLessEqual(error, 1e-9)  # the tolerance that comes with the data


if __name__ == "__main__":
    unittest.main()
