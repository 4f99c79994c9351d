"""Ranks that each have only the file that `weft split-for` wrote for them."""

import os
import unittest

from ranks_support import RanksTest, on_every_mpi
from support import MODEL

TEXT = ["-p", "Once upon a time", "-n", 40, "--temp", 0.7, "--seed", 3]


class Files(RanksTest):
    def split(self, shard, folder):
        self.runs("weft", "split-for", "-m", MODEL, "--shard", shard, "-o", folder)

    def folders_of(self, shard, ranks):
        """A folder for each rank, with its file only."""
        self.split(shard, self.folder / "all")
        folders = []
        for rank in range(ranks):
            folder = self.folder / str(rank)
            folder.mkdir()
            name = f"rank-{rank}-of-{ranks}.gguf"
            os.rename(self.folder / "all" / name, folder / name)
            folders.append(folder)
        return folders

    def text(self, model, shard):
        return ("generate", "-m", model, *TEXT, "--shard", shard)

    def check_text(self, shard, ranks):
        folders = self.folders_of(shard, ranks)
        started = self.start(*((1, self.text(folder, shard)) for folder in folders))
        r = started.wait()
        self.assertEqual(r.code, 0, r.err)
        self.assertEqual(r.out, self.runs(*self.text(MODEL, shard)).out)
        self.assertGreater(len(r.out), 80)

    def test_parts_of_layers(self):
        self.check_text("tp=2", 2)

    def test_stages(self):
        self.check_text("pp=2", 2)

    def test_both(self):
        self.check_text("tp=2,pp=2", 4)

    def test_another_rank_has_the_whole_file(self):
        folders = self.folders_of("pp=2", 2)
        started = self.start((1, self.text(MODEL, "pp=2")), (1, self.text(folders[1], "pp=2")))
        r = started.wait()
        self.assertEqual(r.code, 0, r.err)
        self.assertEqual(r.out, self.runs(*self.text(MODEL, "pp=2")).out)

    def refused(self, words, *models):
        started = self.start(*((1, self.text(model, "pp=2")) for model in models))
        r = started.wait()
        self.assertNotEqual(r.code, 0)
        self.assertEqual(r.out, b"")
        for word in words:
            self.assertIn(word, r.err)

    def test_a_missing_file(self):
        folders = self.folders_of("pp=2", 2)
        self.refused([f"{folders[0]}: has no rank-1-of-2.gguf"], folders[0], folders[0])

    def test_a_file_of_another_model(self):
        folders = self.folders_of("pp=2", 2)
        other = self.folder / "other"
        other.mkdir()
        self.runs("weft", "bench", "--make-model", "D=64,F=64,L=2,H=2,G=2,V=64", "Q8_0",
                  other / "whole.gguf")
        self.runs("weft", "split-for", "-m", other / "whole.gguf", "--shard", "pp=2", "--rank", 1,
                  "-o", other)
        self.refused(["rank 1 has", "model"], folders[0], other)


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, on_every_mpi(Files)))


if __name__ == "__main__":
    unittest.main()
