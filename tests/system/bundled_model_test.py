"""The programs find the bundled model in a folder of any name above their own."""

import os
import shutil
import subprocess
import unittest

from support import BIN, CLEAN, MODEL, SystemTest


class BundledModel(SystemTest):
    def inspected(self, program):
        """The model that a copy of `weft` loads by default."""
        path = self.folder / program
        path.parent.mkdir(parents=True)
        shutil.copy(BIN / "weft", path)
        run = subprocess.run([path, "plan"], capture_output=True, text=True, timeout=60, env=CLEAN,
                             check=False)
        return run.returncode, run.stdout + run.stderr

    def add_model(self, folder):
        models = self.folder / folder
        models.mkdir(parents=True)
        os.symlink(MODEL, models / MODEL.name)

    def test_none(self):
        code, text = self.inspected("bin/weft")
        self.assertEqual(code, 2, text)
        self.assertIn("--model is required", text)

    def test_install_prefix(self):
        for binaries in ("bin", "libexec/weft/bin"):
            with self.subTest(binaries=binaries):
                prefix = f"prefix-{binaries.count('/')}"
                self.add_model(f"{prefix}/share/weft/models")
                code, text = self.inspected(f"{prefix}/{binaries}/weft")
                self.assertEqual(code, 0, text)

    def test_build_folders_of_a_source_tree(self):
        self.add_model("source/examples/models")
        for build in ("build", "build/release", "out/of/the/usual"):
            with self.subTest(build=build):
                code, text = self.inspected(f"source/{build}/bin/weft")
                self.assertEqual(code, 0, text)

    def test_build_folder_elsewhere(self):
        self.assertTrue((BIN.parent / "share/weft/models" / MODEL.name).samefile(MODEL))


if __name__ == "__main__":
    unittest.main()
