"""Ranks that cannot compute a model together say why, and end."""

import pathlib
import re
import shutil
import unittest

from ranks_support import RanksTest, on_every_mpi
from support import BIN, MODEL


class Refusals(RanksTest):
    def refused(self, words, *programs, env=None):
        """All programs end with 1 or 2 and write the words to stderr, and no text to stdout."""
        # Ranks that wait for each other take longer than wait(): the 600 s of --rank-timeout.
        r = self.start(*programs, env=env).wait()
        self.assertIn(r.code, (1, 2), r.err)
        for word in words:
            self.assertIn(word, r.err)
        self.assertEqual(r.out, b"")

    def text(self, *flags, model=MODEL, program="generate"):
        return (program, "-m", model, "-p", "Once", "-n", 20, *flags)

    def copy_of_program(self):
        """In a folder beside which there are no libraries."""
        folder = self.folder / "bin"
        folder.mkdir()
        return pathlib.Path(shutil.copy(BIN / "generate", folder))

    def test_another_number_of_ranks(self):
        self.refused(["needs 2 ranks, but 3 were started"], (3, self.text("--shard", "pp=2")))
        self.refused(["needs 4 ranks, but 2 were started"], (2, self.text("--shard", "tp=2,pp=2")))
        self.refused(["needs 2 ranks, but 3 were started"],
                     (3, ("weft", "selftest", "--shard", "pp=2")))

    def test_several_ranks_of_a_model_that_is_not_divided(self):
        self.refused(["--shard", "2"], (2, self.text()))

    def test_heads_that_do_not_divide(self):
        self.refused(["tp=3", "4 heads"], (3, self.text("--shard", "tp=3")))

    def test_more_stages_than_layers(self):
        self.refused(["pp=5", "4"], (5, self.text("--shard", "pp=5")))

    def test_an_unknown_kind(self):
        self.refused(["tp=N", "pp=N", "sideways=2"], (2, self.text("--shard", "sideways=2")))

    def test_other_models(self):
        other = self.folder / "other.gguf"
        self.runs("weft", "bench", "--make-model", "D=64,F=64,L=2,H=2,G=2,V=64", "Q8_0", other)
        self.refused(["rank 1 has", "model"], (1, self.text("--shard", "pp=2")),
                     (1, self.text("--shard", "pp=2", model=other)))

    def test_a_model_that_is_missing_on_one_rank(self):
        self.refused(["missing.gguf"], (1, self.text("--shard", "pp=2")),
                     (1, self.text("--shard", "pp=2", model=self.folder / "missing.gguf")))

    def test_other_shards(self):
        self.refused(["tp=2", "pp=2"], (1, self.text("--shard", "pp=2")),
                     (1, self.text("--shard", "tp=2")))

    def test_a_program_that_works_alone(self):
        parts = self.folder / "parts"
        self.refused(["2 ranks were started, but weft split-for works alone"],
                     (2, ("weft", "split-for", "-m", MODEL, "--shard", "pp=2", "-o", parts)))
        self.assertFalse(parts.exists())

    def test_other_builds(self):
        other = self.copy_of_program()
        image = other.read_bytes()
        # A note of type 3 by GNU; then comes the build ID.
        notes = list(re.finditer(rb"\x04\0\0\0....\x03\0\0\0GNU\0", image, re.DOTALL))
        if len(notes) != 1:
            self.skipTest("the linker wrote no build ID")
        at = notes[0].end()
        other.write_bytes(image[:at] + bytes([image[at] ^ 0xFF]) + image[at + 1:])
        self.refused(["rank 1 has build"], (1, self.text("--shard", "pp=2")),
                     (1, self.text("--shard", "pp=2", program=other)),
                     env={"WEFT_MPI_PATH": str(BIN.parent / "lib/weft")})

    def test_a_missing_library(self):
        self.refused([self.mpi.library, "tools/packages/install.sh mpi"],
                     (2, self.text("--shard", "pp=2", program=self.copy_of_program())),
                     env={"WEFT_MPI_PATH": str(self.folder)})

    def test_what_else_may_be_no_library(self):
        broken = self.folder / self.mpi.library
        broken.write_text("no library")
        self.refused([str(broken), "tools/packages/install.sh mpi"],
                     (2, self.text("--shard", "pp=2")), env={"WEFT_MPI_PATH": str(self.folder)})


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, on_every_mpi(Refusals)))


if __name__ == "__main__":
    unittest.main()
