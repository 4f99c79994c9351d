"""Models that are divided among processes give the texts and logits of one process."""

import os
import tempfile
import unittest

from ranks_support import RanksTest, on_every_mpi
from support import MODEL, run

TEXT = ["-p", "Once upon a time", "-n", 40, "--temp", 0.7, "--seed", 3]
EXPERTS = ["qwen3-30b-a3b,L=2,D=128,H=4,G=4,V=512", "Q4_0"]
DENSE = ["D=128,F=256,L=4,H=4,G=4,V=512", "Q8_0"]


class Same(RanksTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.models = [os.path.join(folder.name, name) for name in ("experts.gguf", "dense.gguf")]
        for shape, model in zip((EXPERTS, DENSE), cls.models):
            made = run("weft", "bench", "--make-model", *shape, model)
            assert made.code == 0, made.err

    def text(self, *flags):
        return self.runs("generate", "-m", MODEL, *TEXT, *flags).out

    def text_of_ranks(self, ranks, shard, **kwargs):
        return self.runs_as_ranks(ranks, "generate", "-m", MODEL, *TEXT, "--shard", shard,
                                  **kwargs).out

    def test_stages_write_the_text_of_one_rank(self):
        alone = self.text()
        self.assertGreater(len(alone), 80)
        for shard, ranks in (("pp=2", 2), ("pp=4", 4)):
            with self.subTest(shard=shard):
                self.assertEqual(self.text("--shard", shard), alone)
                self.assertEqual(self.text_of_ranks(ranks, shard), alone)

    def test_parts_of_layers_write_the_text_of_one_process(self):
        for shard, ranks in (("tp=2", 2), ("tp=2,pp=2", 4)):
            with self.subTest(shard=shard):
                self.assertEqual(self.text_of_ranks(ranks, shard), self.text("--shard", shard))

    def test_logits_are_those_of_one_process(self):
        for model in self.models:
            for shard in ("tp=4", "tp=2,pp=2"):
                for env in ({}, {"WEFT_SHARD_ALL": "1"}):
                    with self.subTest(model=os.path.basename(model), shard=shard, env=env):
                        self.check_logits(model, shard, env)

    def test_scattered_sums_are_those_of_one_process(self):
        """A step of 512 tokens and 128 columns: each of the four ranks adds up a quarter."""
        self.check_logits(self.models[1], "tp=4", {}, [i * i % 499 for i in range(513)], "512,1")

    def check_logits(self, model, shard, env, tokens=range(1, 8), split="4,1,1,1"):
        inside, over = self.folder / "inside.npy", self.folder / "over.npy"
        command = ["weft", "logits", "-m", model, "--tokens", ",".join(map(str, tokens)), "--split",
                   split, "--shard", shard, "-o"]
        self.runs(*command, inside, env=env)
        self.runs_as_ranks(4, *command, over, env=env)
        self.assertEqual(over.read_bytes(), inside.read_bytes())

    def test_every_rank_is_verified(self):
        for shard in ("tp=2", "pp=2"):
            with self.subTest(shard=shard):
                r = self.runs_as_ranks(2, "weft", "verify", "-m", MODEL, "--shard", shard,
                                       "--tokens", "1,2,3,4")
                self.assertIn(b"on rank 1\n", r.out)

    def test_ranks_pass_the_selftest(self):
        for shard, ranks in (("tp=2", 2), ("tp=2,pp=2", 4)):
            with self.subTest(shard=shard):
                r = self.runs_as_ranks(ranks, "weft", "selftest", "--shard", shard)
                self.assertIn(b"4 passed, 0 failed", r.out)
        for shard, ranks in (("pp=2", 2), ("tp=2,pp=2", 4)):  # rank 0 ends before the others
            with self.subTest(shard=shard, model=MODEL):
                r = self.runs_as_ranks(ranks, "weft", "selftest", "-m", MODEL, "--shard", shard)
                self.assertIn(b"13 passed, 0 failed", r.out)

    def test_a_second_model_in_the_same_run(self):
        """Guesses of a model that is not divided, which rank 0 loads, too."""
        shard = ["generate", "-m", MODEL, *TEXT, "--shard", "tp=2"]
        r = self.runs_as_ranks(2, *shard, "-md", MODEL)
        self.assertEqual(r.out, self.runs(*shard).out)


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, on_every_mpi(Same)))


if __name__ == "__main__":
    unittest.main()
