"""Measurements that a machine makes once and stores: limits, and the values of choices."""

import json
import os
import unittest

from support import SystemTest, run


class MachineTest(SystemTest):
    def test_tuned_values_are_stored(self):
        env = {"XDG_CACHE_HOME": str(self.folder), "WEFT_TUNE": ""}
        self.refuses(1, "nothing to choose with sse2", "weft", "tune",
                     env={**env, "WEFT_CPU_ISA": "sse2"})
        if os.environ.get("WEFT_CPU_ISA") == "sse2":
            return
        r = json.loads(self.runs("weft", "tune", "--seconds", 0.1, "--json", env=env).out)
        files = list(self.folder.glob("weft/tuned-*.txt"))
        self.assertEqual(len(files), 1)
        text = files[0].read_text()
        for choice in r["choices"]:
            self.assertIn(f"\n{choice['name']} {choice['value']} ", text)
            self.assertIn(choice["standard"], [s["value"] for s in choice["speeds"]])
        plan = ["weft", "plan", "--json"]
        head, tail = text.split("\n")[:2], "end\n"
        formats = ("q2_k", "q3_k", "q4_0", "q4_k", "q5_0", "q5_k", "q6_k", "q8_0")
        lines = [f"prefetch.{f}.1 4096 1.5" for f in formats]
        files[0].write_text("\n".join([*head, *lines, tail]))
        tuned = json.loads(self.runs(*plan, env=env).out)["tuned"]
        self.assertTrue(tuned)
        self.assertEqual({(t["value"], t["gain"]) for t in tuned}, {(4096, 1.5)})
        self.assertIn("4096 (1.50 times the standard)", self.runs(*plan[:2], env=env).out.decode())
        for damaged in (b"", b"\0" * 100, text.encode()[:-5], text.replace(" x", " y", 1).encode()):
            files[0].write_bytes(damaged)
            self.assertEqual(json.loads(self.runs(*plan, env=env).out)["tuned"], [])
        self.runs("weft", "tune", "--seconds", 0.1, "--dry-run", env=env)
        self.assertEqual(files[0].read_bytes(), damaged)
        self.refuses(1, "WEFT_TUNE: expected 'off' or nothing, got 'on'", *plan,
                     env={"WEFT_TUNE": "on"})
        nowhere = {**env, "XDG_CACHE_HOME": "", "HOME": ""}
        r = run("weft", "tune", "--seconds", 0.1, env=nowhere)
        self.assertEqual(r.code, 1)
        self.assertIn("set XDG_CACHE_HOME or HOME", r.err)

    @unittest.skipIf(os.environ.get("WEFT_CPU_ISA") == "sse2", "has nothing to choose")
    def test_large_models_measure_once(self):
        path = self.folder / "large.gguf"
        self.runs("weft", "bench", "--make-model", "D=1024,F=4096,L=4,H=16,G=16,V=8192", "F32", path)
        bench = ["weft", "bench", "-m", path, "-p", 1, "-n", 0, "-r", 1, "--no-limits"]
        env = {"XDG_CACHE_HOME": str(self.folder), "WEFT_TUNE": ""}
        self.assertNotIn("measuring the fastest settings", self.runs(*bench).err)
        for first in (True, False):
            told = "measuring the fastest settings" in self.runs(*bench, env=env).err
            self.assertEqual(told, first)
        self.assertEqual(len(list(self.folder.glob("weft/tuned-*.txt"))), 1)

    def test_limits_are_kept(self):
        env = {"XDG_CACHE_HOME": str(self.folder)}
        first = self.runs("weft", "limits", "--json", "-t", 1, env=env).out
        self.assertEqual(self.runs("weft", "limits", "--json", "-t", 1, env=env).out, first)
        (self.folder / "weft/limits.json").write_text('{"version":1,"machines":[]}')
        self.runs("weft", "limits", "--json", "-t", 1, env=env)


if __name__ == "__main__":
    unittest.main()
