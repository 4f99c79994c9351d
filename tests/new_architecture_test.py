"""The program of examples/new_architecture: its own checks, and its logits against another
engine's.

Usage: new_architecture_test.py PROGRAM"""

import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
REFERENCE = pathlib.Path(os.environ.get("WEFT_REFERENCE",
                                        SOURCE.parent / "shared/reference")) / "golden/archs"


def run(*args):
    return subprocess.run([PROGRAM, *map(str, args)], capture_output=True, text=True, timeout=240,
                          check=False)


class Granite(unittest.TestCase):
    def test_the_file_is_short(self):
        lines = (SOURCE / "examples/new_architecture/granite.cpp").read_text().splitlines()
        self.assertLess(len(lines), 70)

    def test_checks(self):
        r = run()
        self.assertEqual(r.returncode, 0, r.stdout + r.stderr)
        self.assertIn(", 0 failed, 0 skipped", r.stdout)
        self.assertRegex(r.stdout, r"passed +snapshot +as in .*granite\.dot")

    def test_wrong_files(self):
        r = run("/nonexistent", 1)
        self.assertEqual(r.returncode, 1)
        self.assertTrue(r.stderr.startswith("granite: "), r.stderr)

    @unittest.skipUnless(REFERENCE.is_dir(), "no reference data: set WEFT_REFERENCE")
    def test_golden_logits(self):
        about = json.loads((REFERENCE / "granite.json").read_text())
        # The name of the example, where Weft has an architecture of its own.
        model = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "granit3.gguf"
        model.write_bytes((REFERENCE / "granite.gguf").read_bytes().replace(b"granite", b"granit3"))
        for sequence in "ABC":
            r = run(model, *about["tokens"][sequence])
            self.assertEqual(r.returncode, 0, r.stderr)
            got = [float(x) for x in r.stdout.split()]
            data = (REFERENCE / f"granite.{sequence}.npy").read_bytes()
            start = 10 + int.from_bytes(data[8:10], "little")
            want = [v for (v,) in struct.iter_unpack("<f", data[start:])]
            self.assertEqual(len(got), len(want))
            error = sum((g - w) ** 2 for g, w in zip(got, want)) / sum(w * w for w in want)
            self.assertLessEqual(error, 1e-9)  # the tolerance that comes with the data


if __name__ == "__main__":
    unittest.main()
