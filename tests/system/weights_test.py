"""Weight modes, mapped and resident: the predicted and the actual memory."""

import json
import os
import resource
import subprocess
import tempfile
import unittest

from support import BIN, CLEAN, TIMEOUT, SANITIZED, SystemTest, run

MIB = 1 << 20
SLACK = 40 * MIB  # the program itself: code, libraries, threads, tables
WIDE = ["--mem-budget", "64G"]  # plans whose total counts the program, too


class Weights(SystemTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.model = os.path.join(folder.name, "random.gguf")
        r = run("weft", "bench", "--make-model", "D=1024,F=2816,L=12,H=16,G=16,V=8000", "Q8_0",
                cls.model)
        assert r.code == 0, r.err
        assert os.path.getsize(cls.model) > 3 * SLACK

    def plan(self, *args):
        return json.loads(self.runs("weft", "plan", "--json", "-m", self.model, *args).out)

    def peak(self, *args, tokens=("--tokens", "1,2,3")):
        """The max bytes of the program at a time."""
        command = [str(BIN / "weft"), "logits", "-m", self.model, *tokens, "-o",
                   str(self.folder / "out.npy"), *args]
        process = subprocess.Popen(command, env=CLEAN)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, 0)
        return usage.ru_maxrss * 1024

    @unittest.skipIf(SANITIZED, "memory cannot be measured")
    def test_no_weight_is_held_twice(self):
        cache = ["--cache-type-k", "f32", "--cache-type-v", "f32"]
        for mode in ("mapped", "resident"):
            with self.subTest(mode=mode):
                total = self.plan("--weights", mode, *cache)["memory"]["total"]
                self.assertLess(self.peak("--weights", mode, *cache), total + SLACK)

    @unittest.skipIf(SANITIZED, "memory cannot be measured")
    def test_the_process_keeps_its_budget_or_does_not_start(self):
        sizes = ["-c", "512", "-b", "128", "--cache-type-k", "f16", "--cache-type-v", "f16"]
        tokens = ["--tokens", ",".join(str(1 + n % 7000) for n in range(512))]
        modes = set()
        for mib in range(20, 260, 24):
            args = [*sizes, "--mem-budget", f"{mib}M"]
            planned = run("weft", "plan", "--json", "-m", self.model, *args)
            if planned.code != 0:
                self.assertRegex(planned.err, "the least that it needs is |a context of 1 x .* fits")
                continue
            modes.add(json.loads(planned.out)["weights"]["mode"])
            with self.subTest(mib=mib, mode=modes):
                self.assertLessEqual(self.peak(*args, tokens=tokens), mib * MIB)
        self.assertGreaterEqual(len(modes), 2)

    def test_weight_cache(self):
        out, kept = self.folder / "out.npy", self.folder / "packed"
        logits = ["weft", "logits", "-m", self.model, "--weights", "resident", "--tokens", "1,2,3",
                  "-o", out]
        self.runs(*logits)
        expected = out.read_bytes()
        for flag in ("--weight-cache", "--panel-cache"):  # the older name of the flag
            with self.subTest(flag=flag):
                r = self.runs(*logits, flag, kept)
                self.assertEqual(r.err, "")
                self.assertEqual(out.read_bytes(), expected)
        (path,) = kept.iterdir()
        os.truncate(path, path.stat().st_size // 2)
        r = self.runs(*logits, "--weight-cache", kept)
        self.assertRegex(r.err, r"^warning: .*: expected \d+ bytes, got \d+; "
                                r"packing the weights again\n$")
        self.assertEqual(out.read_bytes(), expected)

    def test_quantized_while_loading(self):
        """The same as with a quantized file, and with no more memory."""
        wide = os.path.join(self.folder, "wide.gguf")
        self.runs("weft", "bench", "--make-model", "D=1024,F=2816,L=6,H=16,G=16,V=8000", "F16",
                  wide)
        small = os.path.join(self.folder, "small.gguf")
        self.runs("weft", "quantize", wide, small, "Q8_0")
        self.model, expected, got = small, self.folder / "a.npy", self.folder / "b.npy"
        tokens = ["--tokens", "1,2,3", "-o"]
        self.runs("weft", "logits", "-m", small, "--weights", "resident", *tokens, expected)
        self.runs("weft", "logits", "-m", wide, "--quantize", "q8_0", *tokens, got)
        self.assertEqual(expected.read_bytes(), got.read_bytes())
        self.model = wide
        cache = ["--cache-type-k", "f32", "--cache-type-v", "f32", "--quantize", "q8_0"]
        plan = self.plan(*cache)
        self.assertEqual(plan["weights"]["mode"], "resident")
        self.assertIn("become q8_0", plan["weights"]["reason"])
        if not SANITIZED:
            self.assertLess(self.peak(*cache), plan["memory"]["total"] + SLACK)
        self.assertLess(plan["memory"]["weights_resident"], 0.6 * os.path.getsize(wide))
        self.refuses(1, "cannot stay mapped", "weft", "plan", "-m", wide, "--quantize", "q8_0",
                     "--weights", "mapped")
        self.refuses(2, "known: ", "weft", "plan", "-m", wide, "--quantize", "q8")

    def test_plan_says_which_and_why(self):
        for mode in ("mapped", "resident"):
            plan = self.plan("--weights", mode)
            self.assertEqual(plan["weights"]["mode"], mode)
            self.assertEqual(plan["weights"]["reason"], "requested")
            self.assertEqual(plan["memory"]["weights_resident"] > 0, mode == "resident")
        text = self.runs("weft", "plan", "-m", self.model, "--weights", "mapped").out.decode()
        self.assertIn("weights mapped: requested\n", text)
        self.assertIn("\nstart: ", text)
        self.assertIn("directly from the file", text)
        self.assertIn("of new memory", self.runs("weft", "plan", "-m", self.model, "--weights",
                                                 "resident").out.decode())
        self.assertIn("backend reference", self.plan("--backend", "reference")["weights"]["reason"])
        self.refuses(2, "--weights", "weft", "plan", "--weights", "paged")

    def test_a_budget_without_room_to_spare_leaves_them_in_the_file(self):
        args = ["-b", "1", "--cache-type-k", "f16"]
        total = self.plan("--weights", "mapped", *WIDE, *args)["memory"]["total"]
        plan = self.plan("--mem-budget", str(total), *args)
        self.assertEqual(plan["weights"]["mode"], "mapped")
        self.assertLessEqual(plan["memory"]["total"], total)
        less = ["--mem-budget", str(total - 1), *args]
        self.refuses(1, "needs ", "weft", "plan", "-m", self.model, "--weights", "mapped", *less)
        self.assertEqual(self.plan(*less)["weights"]["mode"], "streamed")

    def test_the_cache_shrinks_only_where_nobody_gave_its_type(self):
        memory = self.plan("-b", "1", "--weights", "mapped", *WIDE)["memory"]
        args = ["-b", "1", "--mem-budget", str(memory["total"] - memory["state"] // 4)]
        plan = self.plan(*args)
        self.assertTrue(any(c.startswith("cache F16 -> Q8_0: saves ") for c in plan["concessions"]),
                        plan["concessions"])
        self.assertLess(plan["memory"]["state"], memory["state"])
        said = run("weft", "bench", "-m", self.model, "-c", "4096", "-p", "1", "-n", "0", "-r", "1",
                   "--no-bandwidth", *args)
        self.assertEqual(said.code, 0, said.err)
        self.refuses(1, "needs ", "weft", "plan", "-m", self.model, "--cache-type-k", "f16",
                     "--weights", "mapped", *args)

    def test_prefill_is_wide_again_after_the_cache_shrank(self):
        total = self.plan("--weights", "mapped", "--cache-type-k", "q8_0", "--cache-type-v", "q8_0",
                          *WIDE)["memory"]["total"]
        said = self.plan("--mem-budget", str(total), "--weights", "mapped")["concessions"]
        self.assertEqual([c.split(":")[0] for c in said], ["cache F16 -> Q8_0"])
        # The rest beside the cache is enough for resident weights, if they are faster.
        plan = self.plan("--mem-budget", str(total))
        self.assertEqual(plan["weights"]["mode"], self.plan()["weights"]["mode"])
        self.assertTrue(plan["concessions"][0].startswith("cache F16 -> Q8_0: "))

    def test_same_logits_for_any_number_of_workers(self):
        for mode in ("mapped", "resident"):
            outs = []
            for workers in (1, 2):
                out = self.folder / f"{mode}-{workers}.npy"
                self.runs("weft", "logits", "-m", self.model, "--weights", mode, "-t", workers,
                          "--tokens", "1,2,3,4,5", "-o", out)
                outs.append(out.read_bytes())
            self.assertEqual(outs[0], outs[1])

    @unittest.skipIf(SANITIZED, "more address space is needed than the limit leaves")
    def test_a_file_that_cannot_be_mapped_is_refused(self):
        def limit():
            size = os.path.getsize(self.model)
            resource.setrlimit(resource.RLIMIT_AS, (size, size))

        process = subprocess.run([BIN / "weft", "plan", "-m", self.model], env=CLEAN,
                                 preexec_fn=limit, capture_output=True,
                                 timeout=TIMEOUT, check=False)
        self.assertEqual(process.returncode, 1)
        self.assertIn(b"cannot map", process.stderr)


if __name__ == "__main__":
    unittest.main()
