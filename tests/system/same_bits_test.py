"""The same bits with every instruction set that has fused multiply-add: hashes of all nodes of small
models are those of trace_hashes.json, which any machine can check.

After a change of formulas: increment kKernelsVersion, by which saved sequences of other bits are
refused, then same_bits_test.py --write, in an environment as CTest makes it.
"""

import hashlib
import json
import pathlib
import re
import sys
import unittest

from support import EMULATOR, SANITIZED, SOURCE, SystemTest, run

HASHES = pathlib.Path(__file__).parent / "trace_hashes.json"
TRACE = ["trace", "--hash", "--random", 70, "-c", 128, "-n", 6]
# Flags for the bundled model, and formats of models with random weights.
RUNS = {
    "resident": [],
    "f32 cache": ["--cache-type-k", "f32", "--cache-type-v", "f32"],
    "quantized cache": ["--cache-type-k", "q8_0", "--cache-type-v", "q4_0", "--no-pass", "turn_cache"],
    "turned cache": ["--cache-type-k", "q8_0", "--cache-type-v", "q4_0"],
    "cache of five bits": ["--cache-type-k", "q5_0", "--cache-type-v", "q5_1"],
    "cache of five bits, keys with minima": ["--cache-type-k", "q5_1", "--cache-type-v", "q5_0"],
}
# Those of base 3 have the same codes, and so the same bits.
FORMATS = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K",
           "Q5_K", "Q6_K", "Q4_K_M", "IQ4_NL", "IQ4_XS", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS",
           "IQ2_S", "IQ3_XXS", "IQ3_S", "TQ1_0", "TQ2_0", "Q1_0", "Q2_0", "MXFP4", "NVFP4"]
ORIGIN = SOURCE / "models/run/src/saved/sequence_origin.cpp"
SHAPE = "D=256,F=512,L=2,H=4,G=2,V=512"


def sets():
    """Names of instruction sets of all processors, without sse2, which rounds products."""
    text = (SOURCE / "cmake/instruction_sets.cmake").read_text()
    found = re.findall(r"^weft_instruction_set\((\w+)$", text, re.MULTILINE)
    return [name for name in found if name != "sse2"]


def kernels_version():
    return int(re.search(r"kKernelsVersion = (\d+);", ORIGIN.read_text())[1])


def changed(old, new):
    """Names of hashes that differ although the version of the kernels is the same."""
    if old["kernels"] != new["kernels"]:
        return []
    return [name for name, bits in old["hashes"].items() if new["hashes"].get(name, bits) != bits]


def summary(path):
    """A hash of the paths, ops, shapes and hashes of all nodes."""
    digest = hashlib.sha256()
    for step in json.loads(path.read_text())["steps"]:
        for name, op, _, spec, bits in step["nodes"]:
            digest.update(f"{name} {op} {spec} {bits}\n".encode())
    return digest.hexdigest()[:16]


class SameBitsTest(SystemTest):
    @staticmethod
    def is_missing(r):
        """Whether the machine lacks the set, or has another processor."""
        return any(why in r.err for why in (
            "this machine lacks", "unknown instruction set", "built without kernels"))

    def traces(self, flags):
        """Paths of the traces of every set that the machine has, by its name."""
        paths = {}
        for name in sets():
            path = self.folder / name
            r = run("weft", *TRACE, *flags, "-o", path, env={"WEFT_CPU_ISA": name})
            if not self.is_missing(r):
                self.assertEqual(r.code, 0, r.err)
                paths[name] = path
        if not paths:
            self.skipTest("the machine has none of the instruction sets")
        return paths

    def runs_of_all(self):
        """Pairs of a name and the flags of a run."""
        yield from RUNS.items()
        for name in FORMATS[::6] if SANITIZED or EMULATOR else FORMATS:
            path = self.folder / f"{name}.gguf"
            self.runs("weft", "bench", "--make-model", SHAPE, name, path)
            yield name, ["-m", path]

    def test_traces(self):
        known = json.loads(HASHES.read_text())["hashes"]
        self.assertEqual(list(known), [*RUNS, *FORMATS])
        for kind, flags in self.runs_of_all():
            with self.subTest(kind=kind):
                paths = self.traces(flags)
                first = next(iter(paths))
                for name, path in paths.items():
                    r = run("weft", "trace-diff", paths[first], path)
                    self.assertEqual(r.code, 0, f"{first} and {name}:\n{r.out.decode()}")
                self.assertEqual(summary(paths[first]), known[kind], "bits of every set changed: increment "
                                 "kKernelsVersion and write the hashes")
                mapped = self.folder / "mapped"
                last = list(paths)[-1]
                self.runs("weft", *TRACE, *flags, "--weights", "mapped", "-o", mapped,
                          env={"WEFT_CPU_ISA": last})
                r = run("weft", "trace-diff", paths[first], mapped)
                self.assertEqual(r.code, 0, f"{first} and {last}, mapped:\n{r.out.decode()}")

    def test_story(self):
        text = ["-p", "Once upon a time", "-n", 60, "--seed", 7, "--temp", 0.4]
        results = [run("generate", *text, env={"WEFT_CPU_ISA": name}) for name in sets()]
        stories = {r.out for r in results if not self.is_missing(r)}
        self.assertEqual([r.err for r in results if r.code != 0 and not self.is_missing(r)], [])
        self.assertEqual(len(stories), 1)

    def test_version(self):
        """The hashes are those of the version that saved sequences are checked by."""
        known = json.loads(HASHES.read_text())
        self.assertEqual(known["kernels"], kernels_version(),
                         f"{HASHES.name} is of another version than {ORIGIN.name}")
        other = {"kernels": known["kernels"], "hashes": {**known["hashes"], "resident": "0"}}
        self.assertEqual(changed(known, other), ["resident"])
        self.assertEqual(changed(known, {**other, "kernels": known["kernels"] + 1}), [])
        more = {**known, "hashes": {**known["hashes"], "a new format": "0"}}
        self.assertEqual(changed(known, more), [])

    def write(self):
        hashes = {kind: summary(next(iter(self.traces(flags).values())))
                  for kind, flags in self.runs_of_all()}
        made = {"kernels": kernels_version(), "hashes": hashes}
        self.assertEqual(changed(json.loads(HASHES.read_text()), made), [],
                         f"other bits: increment kKernelsVersion in {ORIGIN}")
        HASHES.write_text(json.dumps(made, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        sys.exit(not unittest.TextTestRunner().run(SameBitsTest("write")).wasSuccessful())
    unittest.main()
