#!/usr/bin/env python3
"""tools/demo.sh with WEFT_PREBUILT: takes an archive that is what SHA256SUMS says, and no other."""
import hashlib
import os
import pathlib
import platform
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NAME = f"weft-1.2.3-linux-{platform.machine()}.tar.zst"


@unittest.skipUnless(shutil.which("zstd"), "zstd is missing")
class PrebuiltTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        (self.folder / "tree/tools").mkdir(parents=True)
        shutil.copy(SOURCE / "tools/demo.sh", self.folder / "tree/tools")
        program = self.folder / "packed/weft-1.2.3/bin/generate"
        program.parent.mkdir(parents=True)
        program.write_text('#!/bin/sh\necho "tells with $*"\n')
        program.chmod(0o755)
        self.archive = self.folder / NAME
        subprocess.run(["tar", "-c", "--zstd", "-f", self.archive, "-C", self.folder / "packed",
                        "weft-1.2.3"], check=True)
        self.sums(hashlib.sha256(self.archive.read_bytes()).hexdigest())

    def sums(self, *hashes, name=NAME):
        text = "".join(f"{one}  {name}\n" for one in hashes)
        (self.folder / "SHA256SUMS").write_text(text)

    def run_demo(self, *words, archive=None):
        return subprocess.run(
            [self.folder / "tree/tools/demo.sh", *words], capture_output=True, text=True,
            check=False, cwd=self.folder, env={**os.environ, "WEFT_PREBUILT": archive or NAME})

    def refuses(self, message, **options):
        done = self.run_demo(**options)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(done.stderr, rf"^WEFT_PREBUILT: [^\n]*{message}[^\n]*\n$")
        self.assertFalse((self.folder / "tree/build/prebuilt").exists())

    def test_tells(self):
        done = self.run_demo("-p", "One day")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("tells with -p One day", done.stdout)
        self.assertIn("tells with -p Once upon a time", self.run_demo().stdout)

    def test_wrong_hash(self):
        self.sums("0" * 64)
        self.refuses("SHA256SUMS says 0000")

    def test_cut_archive(self):
        self.archive.write_bytes(self.archive.read_bytes()[:-20])
        self.refuses("has the sha256")
        self.sums(hashlib.sha256(self.archive.read_bytes()).hexdigest())
        self.refuses("cannot unpack")

    def test_no_hash(self):
        self.sums("0" * 64, name="another")
        self.refuses("expected one sha256")
        self.sums("0" * 64, "1" * 64)
        self.refuses("expected one sha256")
        (self.folder / "SHA256SUMS").unlink()
        self.refuses("SHA256SUMS is not beside")

    def test_no_archive(self):
        self.refuses("there is no file", archive=f"missing/{NAME}")
        other = self.folder / "weft-1.2.3-linux-other.tar.zst"
        other.touch()
        self.refuses("got weft-1.2.3-linux-other", archive=str(other))


if __name__ == "__main__":
    unittest.main()
