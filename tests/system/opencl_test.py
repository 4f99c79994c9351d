"""The backend opencl, on the first device that OpenCL finds: PoCL in tests."""

import json
import os
import pathlib
import tempfile
import unittest

from support import BIN, MODEL, SystemTest

LIBRARY = pathlib.Path(os.environ.get("WEFT_OPENCL", BIN.parent / "plugins/libweft-opencl.so"))
ON = ["--backend-path", LIBRARY, "--backend", "opencl"]


class OpenCL(SystemTest):
    @classmethod
    def setUpClass(cls):
        # The cache of compiled kernels, for the tests of this file.
        folder = tempfile.TemporaryDirectory(prefix="weft-opencl-")
        cls.addClassCleanup(folder.cleanup)
        cls.env = {"POCL_CACHE_DIR": folder.name}

    def test_conforms(self):
        for op in ["add", "attention", "cache_write", "concat", "get_rows", "mul", "rms_norm",
                   "rms_norm_mul", "rope",
                   "rope_angles", "scale", "silu", "silu_mul", "gated_linear"]:
            out = self.runs("weft-conform", "-q", "--op", op, LIBRARY, env=self.env).out.decode()
            self.assertRegex(out, rf"\n{op} +\d+ +[1-9]\d* +0 ")

    def test_the_bundled_model_runs_whole_and_is_resident(self):
        plan = json.loads(self.runs("weft", "plan", "--json", "-m", MODEL, *ON, env=self.env).out)
        for one in plan["plans"]:
            others = {s["path"] for s in one["steps"] if s["backend"] != "opencl"}
            self.assertEqual(others, set())
        use = plan["memory"]
        self.assertEqual((use["weights_mapped"], use["weights_resident"], use["state"]), (0, 0, 0))
        self.assertGreater(use["device"], plan["plans"][0]["devices"][0]["weights"])

    def test_verified(self):
        out = self.runs("weft", "verify", "-m", MODEL, *ON, env=self.env).out.decode()
        self.assertIn("attention opencl", out)
        self.assertEqual(out.count("all within their bounds"), 2)

    def test_proven(self):
        r = self.runs("weft", "selftest", "-m", MODEL, *ON, env=self.env)
        self.assertIn(b", 0 failed, ", r.out)
        traces = [self.folder / name for name in "ab"]
        for trace in traces:
            self.runs("weft", "trace", "--hash", "-o", trace, "--tokens", "1,2,3", "-m", MODEL, *ON,
                      env=self.env)
        self.assertIn(b"no difference", self.runs("weft", "trace-diff", *traces).out)
        self.refuses(1, "bisect can only switch kernels in host memory", "weft", "bisect", "-q",
                     "--tokens", "1,2", "-m", MODEL, *ON, env=self.env)

    def test_profiled_and_drawn(self):
        report = self.folder / "report.json"
        report.write_bytes(self.runs("weft", "profile", "--json", "-p", "8", "-n", "4", "-r", "1",
                                     "-m", MODEL, *ON, env=self.env).out)
        text = self.runs("weft", "dot", "--profile", report, "-m", MODEL, *ON,
                         env=self.env).out.decode()
        self.assertIn("% of the time", text)
        self.assertIn("opencl", text)
        self.refuses(1, "the profile of another plan 'decode': step 0 is", "weft", "dot",
                     "--profile", report, "-m", MODEL)

    def test_same_text_as_cpu(self):
        text = ["-m", MODEL, "-p", "Once upon a time", "-n", 24, "--temp", 0]
        self.assertEqual(self.runs("generate", *text, *ON, env=self.env).out,
                         self.runs("generate", *text, "--backend", "reference").out)

    def test_some_layers_on_each(self):
        out = self.runs("weft", "verify", "-m", MODEL, "--backend-path", LIBRARY, "--route",
                        "blk.1.*=opencl,blk.3.ffn_*=opencl,*=cpu", env=self.env).out.decode()
        self.assertIn("copy from opencl", out)
        self.assertEqual(out.count("all within their bounds"), 2)


if __name__ == "__main__":
    unittest.main()
