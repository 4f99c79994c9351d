"""`generate` with a diffusion model: the bundled model, read as LLaDA, whose layers are the same."""

import unittest

from support import MODEL, SystemTest


class Diffusion(SystemTest):
    MASK = "0"

    def setUp(self):
        super().setUp()
        self.model = self.folder / "llada.gguf"
        data = MODEL.read_bytes()
        key = b"general.architecture"
        at = data.index(b"llama", data.index(key))
        data = data[:at] + b"llada" + data[at + 5:]
        self.model.write_bytes(data.replace(b"llama.", b"llada."))

    def generate(self, *args, **kwargs):
        return self.runs("generate", "-m", self.model, "-p", "Once upon", "-n", 12, "-s", 3,
                         "--diffusion-steps", 6, "--diffusion-mask-token", self.MASK, *args,
                         **kwargs)

    def test_text_of_every_algorithm_depends_on_the_seed_alone(self):
        for algorithm in ("confidence", "entropy", "margin", "random"):
            with self.subTest(algorithm=algorithm):
                args = ("--diffusion-algorithm", algorithm)
                text = self.generate(*args).out
                self.assertTrue(text.startswith(b"Once upon"))
                self.assertEqual(self.generate(*args, "-t", 1).out, text)
        self.assertNotEqual(self.generate("-s", 4).out, self.generate().out)

    def test_guidance(self):
        guided = self.generate("--diffusion-cfg-scale", 4).out
        self.assertTrue(guided.startswith(b"Once upon"))
        self.assertNotEqual(guided, self.generate().out)

    def test_steps_are_visible(self):
        r = self.generate("--diffusion-visual", "--diffusion-block-length", 4)
        lines = [line for line in r.err.splitlines() if line.startswith("step ")]
        self.assertEqual(len(lines), 6)
        self.assertIn("step 6/6: ", lines[-1])
        self.assertGreater(lines[0].count("_"), lines[-1].count("_"))
        self.assertRegex(r.err, r"steps +6 in ")

    def test_samples(self):
        self.assertEqual(self.generate("--samples", 3).out.count(b"\n--- "), 2)

    def test_wrong_use(self):
        def refuses(code, text, *args):
            self.refuses(code, text, "generate", "-m", self.model, "-n", 12, *args)
        mask = ("--diffusion-mask-token", self.MASK)
        refuses(1, "has no mask token")
        refuses(1, "the steps for 3 blocks must be 3..1048576, got 2", *mask, "--diffusion-steps", 2,
                "--diffusion-block-length", 4)
        refuses(1, "eps must be at least 0 and below 1", *mask, "--diffusion-eps", 2)
        refuses(1, "the scale of guidance must be", *mask, "--diffusion-cfg-scale", -1)
        refuses(1, "is outside the vocabulary", "--diffusion-mask-token", 1 << 30)
        refuses(1, "at most 8 fit", *mask, "-c", 8)
        refuses(2, "--beams cannot be used", *mask, "--beams", 2)
        refuses(2, "stop strings cannot be used", *mask, "--stop", "x")
        refuses(2, "--diffusion-algorithm", *mask, "--diffusion-algorithm", "greedy")
        self.refuses(2, "not a diffusion model, so --diffusion-steps cannot be used", "generate",
                     "--diffusion-steps", 4)


if __name__ == "__main__":
    unittest.main()
