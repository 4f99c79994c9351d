"""Programs with a model whose experts do not fit: a budget of 40 % of them."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from support import BIN, CLEAN, SystemTest, run

# 4 layers of 128 experts, 85 MB.
SHAPE = ["qwen3-30b-a3b,L=4,D=128,H=2,G=1,V=512,skew=50", "Q4_0"]
SIZES = ["-c", 256, "-b", 64]


def budget_for(model, share):
    """The smallest budget with that share of the experts in memory."""
    low, high = 1 << 20, 1 << 30
    while high - low > 1 << 16:
        middle = (low + high) // 2
        r = run("weft", "plan", "-m", model, *SIZES, "--json", "--weights", "streamed", "--mem-budget", middle)
        fits = r.code == 0 and json.loads(r.out)["residency"]["cached_share"] >= share
        low, high = (low, middle) if fits else (middle, high)
    return high


class Group:
    """A control group with a limit of memory, of version 1 or 2."""

    def __init__(self, limit):
        root = pathlib.Path("/sys/fs/cgroup")
        old = root / "memory"
        self.path = (old if old.is_dir() else root) / f"weft-test-{os.getpid()}"
        self.path.mkdir()
        try:
            self.file("memory.limit_in_bytes", "memory.max").write_text(str(limit))
        except OSError:
            self.remove()
            raise

    def file(self, old, new):
        return self.path / (old if (self.path / old).exists() else new)

    def join(self):
        (self.path / "cgroup.procs").write_text(str(os.getpid()))

    def failures(self):
        """How often memory was not there when it was asked for, before pages were reclaimed."""
        text = self.file("memory.failcnt", "memory.events").read_text()
        return int(re.search(r"(?m)^(?:max )?(\d+)$", text).group(1))

    def remove(self):
        self.path.rmdir()


class LargerThanMemory(SystemTest):
    @classmethod
    def setUpClass(cls):
        cls.made = tempfile.TemporaryDirectory(prefix="weft-test-")
        cls.addClassCleanup(cls.made.cleanup)
        cls.model = os.path.join(cls.made.name, "model.gguf")
        r = run("weft", "bench", "--make-model", *SHAPE, cls.model)
        assert r.code == 0, r.err
        cls.streamed = ["-m", cls.model, *SIZES, "--weights", "streamed", "--mem-budget", budget_for(cls.model, 0.4)]

    def json_of(self, command, *flags):
        return json.loads(self.runs("weft", command, *flags, "--json").out)

    def hash_of_logits(self, *flags):
        return self.json_of("bench", *flags, "-p", 100, "-n", 8, "-r", 1, "--no-limits")["logits_hash"]

    def test_plan_says_what_is_where(self):
        residency = self.json_of("plan", *self.streamed)["residency"]
        self.assertAlmostEqual(residency["cached_share"], 0.4, delta=0.05)
        places = {tensor["name"]: tensor["place"] for tensor in residency["tensors"]}
        self.assertEqual(places["blk.1.ffn_up_exps.weight"], "cached")
        self.assertEqual(places["blk.1.attn_q.weight"], "resident")
        self.assertEqual(places["token_embd.weight"], "rows")

    def test_same_bits_with_every_kind_of_weights(self):
        want = self.hash_of_logits("-m", self.model, *SIZES, "--weights", "mapped")
        self.assertEqual(self.hash_of_logits(*self.streamed), want)
        cache = self.folder / "cache"
        packed = [*self.streamed, "--weight-cache", cache]
        reason = self.json_of("plan", *packed)["weights"]["reason"]
        for _ in range(2):  # makes the packed file, and uses it
            self.assertEqual(self.hash_of_logits(*packed), want)
        self.assertEqual(len(list(cache.glob("*"))), reason.count("packed in"), reason)

    def test_verify_and_selftest_pass(self):
        self.runs("weft", "verify", *self.streamed, "--random", 40)
        self.runs("weft", "selftest", *self.streamed)

    def test_forecasts_before_loading(self):
        forecast = self.json_of("plan", *self.streamed, "--forecast")["forecast"]
        self.assertEqual([row["depth"] for row in forecast["depths"]], [0, 4096, 16384])
        decode = forecast["depths"][0]["decode"]
        self.assertLess(decode["uniform"]["tokens_per_second"], decode["in_memory"])
        self.assertLess(decode["uniform"]["hits"], decode["skewed"]["hits"])
        self.assertGreater(decode["uniform"]["bytes_per_token"], 0)
        text = self.runs("weft", "plan", *self.streamed, "--forecast").out.decode()
        for words in ("disk: ", "start: ", "after 0 tokens", "uniform routers", "skewed routers", "after 16384 tokens"):
            self.assertIn(words, text)

    def test_forecasts_are_of_the_session_in_the_head(self):
        """A draft model leaves less memory for experts."""
        draft = self.folder / "draft.gguf"
        self.runs("weft", "bench", "--make-model", "1.1b,L=2,D=128,F=32768,H=2,G=1,V=512", "Q4_0", draft)
        flags = ["-m", self.model, *SIZES, "--weights", "streamed", "--mem-budget", "80M", "--forecast"]
        shares = []
        for drafts in ([], ["-md", draft]):
            plan = self.json_of("plan", *flags, *drafts)
            self.assertEqual(plan["drafts"]["left_out"], [])
            shares.append(plan["residency"]["cached_share"])
            hits = plan["forecast"]["depths"][0]["decode"]["uniform"]["hits"]
            self.assertAlmostEqual(hits, shares[-1], delta=0.05)
        self.assertLess(shares[1], shares[0] - 0.2)

    def test_waits_and_hits_are_told(self):
        text = self.runs("weft", "profile", *self.streamed, "-p", 0, "-n", 8, "-r", 1).out.decode()
        self.assertIn("right guesses", text)
        row = self.json_of("bench", *self.streamed, "-p", 0, "-n", 8, "-r", 3, "--no-limits")["rows"][0]
        self.assertEqual(len(row["hit_rates"]), 3)
        self.assertGreater(row["guesses"], 0)
        self.assertLessEqual(row["right_guesses"], row["guesses"])

    def test_the_limit_of_a_control_group_is_not_touched(self):
        """By default, what the kernel charges beside the budget fits below the limit, too."""
        try:
            group = Group(160 << 20)
        except OSError as error:
            self.skipTest(f"cannot make a control group: {error}")
        self.addCleanup(group.remove)
        # Tokens of a larger vocabulary: most of the table of embeddings is read, row by row.
        model = self.folder / "model.gguf"
        self.runs("weft", "bench", "--make-model", "qwen3-30b-a3b,L=8,D=256,H=2,G=1,V=16384,skew=50",
                  "Q4_0", model)
        bench = [BIN / "weft", "bench", "-m", model, "-p", "64", "-n", "64", "-r", "2", "--json", "--no-limits"]
        ran = subprocess.run([*map(str, bench)], capture_output=True, preexec_fn=group.join, env=CLEAN, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertGreater(json.loads(ran.stdout)["rows"][0]["hit_rates"][0], 0)  # it was streamed
        self.assertLess(group.failures(), 20)

    def test_a_budget_below_the_smallest_plan_is_refused_with_the_numbers(self):
        self.refuses(1, "2.0 MiB", "weft", "plan", "-m", self.model, "--weights", "streamed", "--mem-budget", "2M")

    def test_flags_that_a_forecast_would_ignore_are_refused(self):
        for flags in (["--server"], ["--phase", "prefill"], ["--svg", self.folder / "plan.svg"]):
            self.refuses(2, "--forecast", "weft", "plan", "-m", self.model, "--forecast", *flags)


if __name__ == "__main__":
    unittest.main()
