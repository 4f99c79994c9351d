"""Backends as plug-ins: found, listed, routed to, copied to and from, refused, and failing in a
run."""

import json
import os
import pathlib
import unittest

from support import BIN, MODEL, SystemTest, run

PLUGINS = pathlib.Path(os.environ.get("WEFT_TEST_PLUGINS", BIN.parent / "plugins/test"))
SKELETON, FAULTY = PLUGINS / "libskeleton.so", PLUGINS / "libfaulty.so"
TEXT = ["-p", "Once upon a time", "-n", 12, "--temp", 0]


def on(library, *args):
    return ["--backend-path", library, "--backend", library.stem.removeprefix("lib"), *args]


class Listing(SystemTest):
    def lines(self, *args, env=None):
        return {b["name"]: b for b in json.loads(self.runs("weft", "backends", "--json", *args,
                                                           env=env).out)}

    def test_built_in_and_loaded(self):
        found = self.lines("--backend-path", SKELETON)
        self.assertEqual(list(found), ["cpu", "reference", "skeleton"])
        self.assertEqual(found["skeleton"]["runs"], ["rms_norm_mul"])
        self.assertIn("attention", found["skeleton"]["leaves"])
        self.assertFalse(found["skeleton"]["host_memory"])
        self.assertNotIn("skeleton", self.lines())

    def test_environment_and_folders(self):
        folder = self.folder / "backends"
        folder.mkdir()
        (folder / "libskeleton.so").write_bytes(SKELETON.read_bytes())
        (folder / "notes.txt").write_text("no library")
        (folder / "libbroken.so").write_text("no library either")
        for args, env in (["--backend-path", folder],
                          {}), ([], {"WEFT_BACKEND_PATH": f"/nowhere:{folder}"}):
            text = self.runs("weft", "backends", *args, env=env).out.decode()
            self.assertIn("skeleton", text)
            self.assertIn("cannot be used: ", text)
            self.assertIn("libbroken.so: cannot be loaded", text)
        self.runs("generate", *TEXT, "--backend", "skeleton",
                  env={"WEFT_BACKEND_PATH": str(folder)})


class Refused(SystemTest):
    def test_libraries_that_are_no_backends(self):
        for name, text in [
            ("version", "uses version 9 of the backend ABI, expected version 3"),
            ("silent", "does not support version 3 of the backend ABI"),
            ("table", "its table of functions has 24 bytes"),
            ("lacks", "lacks run"),
            ("entry", "not a Weft backend: it does not export weft_backend_entry()"),
        ]:
            library = PLUGINS / f"libfaulty_{name}.so"
            self.refuses(1, f"{library}: {text}", "weft", "plan", "--backend-path", library)
        self.refuses(1, "cannot find a backend", "weft", "plan", "--backend-path",
                     self.folder / "nothing.so")
        self.refuses(1, "cannot be loaded", "weft", "plan", "--backend-path", MODEL)

    def test_two_of_one_name(self):
        copy = self.folder / "libother.so"
        copy.write_bytes(SKELETON.read_bytes())
        self.refuses(1, "a backend 'skeleton' already exists", "weft", "plan", "--backend-path",
                     SKELETON,
                     "--backend-path", copy)

    def test_routes(self):
        for route, text in [
            ("blk.0.ffn_akt=reference",
             "matches the pattern 'blk.0.ffn_akt' of the route (similar paths: blk.0.ffn_act"),
            ("*=skelton", "unknown backend 'skelton' (known: cpu, reference, skeleton)"),
            ("*", "must be PATTERN=BACKEND, got '*'"),
            ("=cpu", "must be PATTERN=BACKEND, got '=cpu'"),
        ]:
            self.refuses(1, text, "weft", "plan", "--backend-path", SKELETON, "--route", route)


class Running(SystemTest):
    def plan(self, *args):
        return json.loads(self.runs("weft", "plan", "--json", *args).out)

    def test_same_text_and_verified(self):
        # Without 8-bit activations, whose rounding amplifies differences in the last bit of two
        # norms.
        plain = self.runs("generate", *TEXT, "--no-pass", "quantize_activations").out
        self.assertEqual(self.runs("generate", *TEXT, "--no-pass", "quantize_activations",
                                   *on(SKELETON)).out, plain)
        report = self.runs("weft", "verify", *on(SKELETON)).out.decode()
        self.assertIn("rms_norm_mul f32 skeleton", report)
        self.assertIn("copy to skeleton", report)
        self.assertIn("all within their bounds", report)

    def test_what_stays_on_cpu_is_rewritten_for_it(self):
        def kernels(*args):
            return {s["path"]: s["kernel"] for plan in self.plan(*args)["plans"] for s
                    in plan["steps"] if s["backend"] == "cpu"}
        alone, beside = kernels(), kernels(*on(SKELETON))
        self.assertIn("blk.0.attn_norm.q8a", beside)
        self.assertEqual(beside, {path: kernel for path, kernel in alone.items() if path in beside})
        self.assertGreater(len(beside), len(alone) // 2)
        self.assertNotIn("blk.0.attn_norm.q8a", kernels(*on(SKELETON), "--no-pass",
                                                        "quantize_activations"))

    def test_proven(self):
        r = self.runs("weft", "selftest", *on(SKELETON))
        self.assertIn(b", 0 failed, ", r.out)
        self.assertIn(b"backend: skeleton", r.out)
        self.assertIn(b"growth not looked at: ", r.out)
        a, b = self.folder / "a", self.folder / "b"
        for trace in (a, b):
            self.runs("weft", "trace", "--hash", "-o", trace, "--tokens", "1,2,3,4", *on(SKELETON))
        self.assertIn(b"no difference", self.runs("weft", "trace-diff", a, b).out)
        self.refuses(1, "--isa and --all-isas are for the cpu backend", "weft", "verify", "--isa",
                     "sse2", *on(SKELETON))
        self.refuses(1, "bisect can only switch kernels in host memory, but --route uses a device of backend skeleton",
                     "weft", "bisect", "-q", "--tokens", "1,2", *on(SKELETON))

    def test_proofs_of_what_fails(self):
        for command in (["verify"], ["selftest"], ["trace", "--hash", "-o", self.folder / "t",
                                                   "--tokens", "1,2"]):
            r = run("weft", *command, *on(FAULTY), env={"WEFT_FAULT": "run",
                                                        "WEFT_FAULT_AFTER": "2"})
            self.assertEqual(r.code, 1, r.err)
            self.assertIn("backend faulty: rms_norm_mul 'blk.1.attn_norm': failed: run: too hot",
                          r.err + r.out.decode())
            self.assertFalse((self.folder / "t").exists())

    def test_copies_are_steps_and_counted(self):
        plan = self.plan(*on(SKELETON))
        decode = plan["plans"][0]
        steps = {s["path"]: s for s in decode["steps"]}
        self.assertEqual(steps["blk.1.ffn_norm"]["backend"], "skeleton")
        self.assertEqual(steps["blk.1.ffn_act"]["backend"], "cpu")
        self.assertEqual(steps["blk.1.ffn_norm.to_host"]["op"], "copy")
        device = decode["devices"][0]
        copies_in = [s for s in decode["steps"] if s["kernel"] == "copy to skeleton"]
        self.assertEqual(device["bytes_in"], sum(s["cost"]["bytes_written"] for s in copies_in))
        self.assertGreater(device["bytes_in"], 0)
        self.assertGreater(plan["memory"]["device"], device["arena"])

    def test_routes_override(self):
        steps = self.plan("--backend-path", SKELETON, "--route",
                          "blk.3.ffn_*=reference,blk.2.ffn_norm=skeleton,*=cpu")["plans"][0]["steps"]
        backends = {s["path"]: s["backend"] for s in steps}
        self.assertEqual(backends["blk.3.ffn_act"], "reference")
        self.assertEqual(backends["blk.2.ffn_norm"], "skeleton")
        self.assertEqual(backends["blk.2.ffn_act"], "cpu")
        self.assertEqual(backends["blk.3.attn_norm"], "cpu")
        for command in (["generate", *TEXT], ["weft", "verify"],
                        ["weft", "bench", "-p", "4", "-n", "2", "-r", "1"]):
            self.runs(*command, "--route", "blk.3.ffn_*=reference,*=cpu")

    def test_failing_half_way(self):
        for fault, after, text in [
            ("open", 0, "backend faulty: opening its device: failed: open: no driver"),
            ("supports", 0,
             "backend faulty: cache_write 'blk.0.cache_k': invalid: supports: no idea"),
            ("buffer", 3, "out of memory: buffer: full"),
            ("prepare", 4,
             "backend faulty: rms_norm_mul 'blk.2.attn_norm': failed: prepare: no compiler"),
            ("run", 2, "backend faulty: rms_norm_mul 'blk.1.attn_norm': failed: run: too hot; "
                       "the step does not count, the session can continue"),
            ("lost", 2, "'blk.1.attn_norm': device lost: run: fell off the bus; "
                        "the device is lost, the session cannot continue"),
        ]:
            r = run("generate", *TEXT, *on(FAULTY), env={"WEFT_FAULT": fault,
                                                         "WEFT_FAULT_AFTER": str(after)})
            self.assertEqual(r.code, 1, r.err)
            self.assertIn(text, r.err)

    def test_conforms(self):
        r = self.runs("weft-conform", SKELETON)
        self.assertIn(b"rms_norm_mul f32 skeleton", r.out)
        self.assertIn(b"conforms", r.out)
        self.assertIn("no cases for op 'nothing'", run("weft-conform", SKELETON, "--op",
                                                       "nothing").err)


if __name__ == "__main__":
    unittest.main()
