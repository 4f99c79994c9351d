"""Packages that another user makes elsewhere have the same bytes as those in build/packages."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def hashes(folder):
    """The hash of each package by its name."""
    return {name: value for value, name in (line.split() for line in (folder / "SHA256SUMS").read_text().splitlines())}


class SameBytes(unittest.TestCase):
    def test_another_clone(self):
        with tempfile.TemporaryDirectory() as folder:
            clone = pathlib.Path(folder, "elsewhere")
            subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
            subprocess.run(["tools/package.sh", "all"], cwd=clone, check=True, umask=0o077, stdout=subprocess.DEVNULL,
                           env={"PATH": os.environ["PATH"], "HOME": folder, "TZ": "Asia/Tokyo", "LC_ALL": "C",
                                "CCACHE_DISABLE": "1"})
            self.assertEqual(hashes(clone / "build/packages"), hashes(ROOT / "build/packages"))


if __name__ == "__main__":
    unittest.main()
