"""weft split-for: what it writes, how programs find it, and what is refused."""

import os
import resource
import signal
import subprocess
import unittest

from support import BIN, CLEAN, MODEL, SANITIZED, TIMEOUT, SystemTest

TEXT = ["-p", "Once upon a time", "-n", 30, "--temp", 0]


class SplitFor(SystemTest):
    def split(self, shard, *flags, model=MODEL):
        folder = self.folder / "parts"
        self.runs("weft", "split-for", "-m", model, "--shard", shard, "-o", folder, *flags)
        return folder

    def files(self, folder):
        return sorted(path.name for path in folder.iterdir())

    def test_a_folder_in_place_of_the_model(self):
        for shard in ("tp=2", "pp=2", "tp=2,pp=2"):
            with self.subTest(shard=shard):
                folder = self.split(shard)
                text = ["generate", *TEXT, "--shard", shard, "-m"]
                self.assertEqual(self.runs(*text, folder).out, self.runs(*text, MODEL).out)
                self.runs("weft", "verify", "-m", folder, "--shard", shard, "--tokens", "1,2,3")
                self.runs("weft", "plan", "-m", folder, "--shard", shard, "--rank", 1)
                for name in self.files(folder):
                    os.unlink(folder / name)

    def test_sizes(self):
        model = self.folder / "model.gguf"
        self.runs("weft", "bench", "--make-model", "D=512,F=1536,L=8,H=8,G=4,V=512", "Q8_0", model)
        folder = self.split("tp=2,pp=2", model=model)
        names = [f"rank-{rank}-of-4.gguf" for rank in range(4)]
        self.assertEqual(self.files(folder), names)
        for name in names:
            self.assertLess((folder / name).stat().st_size, 0.33 * model.stat().st_size, name)

    def test_one_rank(self):
        folder = self.split("pp=2", "--rank", 1)
        self.assertEqual(self.files(folder), ["rank-1-of-2.gguf"])
        self.refuses(1, f"{folder}: has no rank-0-of-2.gguf", "generate", "-m", folder, *TEXT,
                     "--shard", "pp=2")

    def test_other_programs_read_its_header(self):
        file = self.split("pp=2") / "rank-1-of-2.gguf"
        self.assertIn(b"weft.split.sharding", self.runs("weft", "inspect", file).out)
        self.assertIn(b"A part of a model", self.runs("weft", "inspect", file).out)
        tokens = ["weft", "tokenize", "-m"]
        self.assertEqual(self.runs(*tokens, file, stdin=b"Once").out,
                         self.runs(*tokens, MODEL, stdin=b"Once").out)

    def test_refusals(self):
        folder = self.split("tp=2")
        has = "rank-0-of-2.gguf: the part of rank 0 of a model divided by tp=2"
        self.refuses(1, f"{has}; give --shard tp=2, or the whole model", "generate", "-m", folder,
                     *TEXT)
        self.refuses(1, f"{has}, expected pp=2", "generate", "-m", folder / "rank-0-of-2.gguf",
                     *TEXT, "--shard", "pp=2")
        split = ["weft", "split-for", "-m", MODEL, "-o", self.folder / "more", "--shard"]
        self.refuses(1, "tp=3 does not divide", *split, "tp=3")
        self.refuses(2, "--rank must be from 0 to 1, got 2", *split, "pp=2", "--rank", 2)
        self.refuses(2, "several ranks", *split, "tp=1")
        self.refuses(2, "--shard", *split, "sideways=2")

    def test_it_is_no_model_for_others(self):
        folder = self.split("tp=2")
        first, out = folder / "rank-0-of-2.gguf", self.folder / "out.gguf"
        for path in (folder, first):
            for command in (["quantize", path, out, "COPY"], ["quantize", path, "COPY", "--dry-run"],
                            ["generate", "-m", MODEL, "-md", path, *TEXT],
                            ["generate", "-m", MODEL, "--lora", path, *TEXT]):
                program = [] if command[0] == "generate" else ["weft"]
                self.refuses(1, f"{first}: a part of a model that is divided among ranks (weft "
                             "split-for), expected a whole model", *program, *command)
        for command in (["convert", folder, out], ["split-for", "-m", folder, "--shard", "tp=2",
                                                   "-o", self.folder / "more"]):
            self.refuses(1, f"{first}: the part of rank 0 of a model divided by tp=2", "weft",
                         *command)
        self.assertFalse(out.exists())

    def test_no_partial_file(self):
        out = self.folder / "parts"
        limit = MODEL.stat().st_size // 8
        process = subprocess.run(
            [BIN / "weft", "split-for", "-m", MODEL, "--shard", "pp=2", "-o", out], env=CLEAN,
            capture_output=True, timeout=TIMEOUT, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertEqual(self.files(out), [])

    @unittest.skipIf(SANITIZED, "too slow to be met at work")
    def test_interrupted(self):
        model = self.folder / "model.gguf"
        self.runs("weft", "bench", "--make-model", "D=1024,F=4096,L=12,H=8,G=4,V=512", "F32", model)
        out = self.folder / "parts"
        process = subprocess.Popen(
            [BIN / "weft", "split-for", "-m", model, "--shard", "pp=2", "-o", out], env=CLEAN,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.readline()  # the first file is complete
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=TIMEOUT)
        self.assertIn(self.files(out), (["rank-0-of-2.gguf"],
                                        ["rank-0-of-2.gguf", "rank-1-of-2.gguf"]))


if __name__ == "__main__":
    unittest.main()
