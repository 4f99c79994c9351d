"""The subcommands of `weft` that inspect a model."""

import json
import random
import re
import unittest
from decimal import Decimal

from support import MODEL, SystemTest


class Plan(SystemTest):
    def plan(self, *args):
        return json.loads(self.runs("weft", "plan", "--json", *args).out)

    def test_text(self):
        out = self.runs("weft", "plan").out.decode()
        self.assertIn("plan decode:", out)
        self.assertRegex(out, r"plan prefill \d+: \d+ steps")

    def test_phases(self):
        out = self.runs("weft", "plan", "--phase", "all").out.decode()
        self.assertEqual(len(re.findall(r"(?m)^stage 0\b", out)), len(self.plan()["plans"]))
        self.refuses(2, "--phase must be one of", "weft", "plan", "--phase", "nap")

    def test_overridden_keys(self):
        arch = json.loads(self.runs("weft", "inspect", MODEL, "--json").out)["metadata"][
            "general.architecture"]["value"]
        key = f"{arch}.context_length"
        self.assertEqual(self.plan("--override-kv", f"{key}=int:96")["context"], 96)
        self.assertEqual(
            self.plan("--override-kv", f"general.name=str:a,b,{key}=int:96", "--override-kv",
                      f"{key}=int:64")["context"], 64)
        shown = self.runs("weft", "inspect", MODEL, "--override-kv", f"{key}=int:96", "--json")
        self.assertEqual(json.loads(shown.out)["metadata"][key]["value"], 96)
        new = self.runs("weft", "plan", "--override-kv", "no.such=bool:true")
        self.assertIn("the overridden key 'no.such' is not in the file", new.err)
        self.refuses(1, f"key '{key}' must be an integer, got string", "weft", "plan",
                     "--override-kv", f"{key}=str:long")
        for wrong in ("no", "a=b", "a=int:1.5", "a=float:nan", "split.no=int:1"):
            self.refuses(2, "--override-kv: ", "weft", "plan", "--override-kv", wrong)
        ids = self.runs("weft", "tokenize", "-m", MODEL, stdin=b"a").out.split()
        bare = self.runs("weft", "tokenize", "-m", MODEL, "--override-kv",
                         "tokenizer.ggml.add_bos_token=bool:false", stdin=b"a").out.split()
        self.assertEqual(bare, ids[1:])

    def test_bytes(self):
        plan = self.plan("-c", "128")
        memory = plan["memory"]
        kinds = [k for k in memory if k not in ("total", "budget")]
        self.assertEqual(sum(memory[k] for k in kinds), memory["total"])
        self.assertEqual(sum(line["bytes"] for line in plan["memory_lines"]), memory["total"])
        self.assertIn("state: all tokens", [line["name"] for line in plan["memory_lines"]])
        self.assertEqual(memory["arena"], max(p["bytes"]["arena"] for p in plan["plans"]))
        self.assertGreater(self.plan("-c", "256")["memory"]["state"], memory["state"])

    def test_sequences_share_cells(self):
        args = ("-c", "128", "--sequences", "4")
        own, shared = self.plan(*args), self.plan(*args, "--cache-cells", "200")
        self.assertEqual((own["cells"], shared["cells"]), (512, 256))  # whole blocks of 64
        self.assertEqual(own["memory"]["state"], 2 * shared["memory"]["state"])
        self.assertEqual(self.plan(*args, "--cache-cells", "100000")["cells"],
                         512)  # no more than all can use
        text = self.runs("weft", "plan", *args, "--cache-cells", "200").out.decode()
        self.assertIn("\ncontext 128 x 4 sequences in 256 cells, ", text)
        self.assertIn("\ncontext 128 x 4 sequences, ", self.runs("weft", "plan",
                                                                 *args).out.decode())
        self.assertRegex(self.runs("weft", "plan", "-t", "3").out.decode(),
                         r"\n3 workers, not the default of [12]: \d+ CPUs?, ")
        for wrong in ("-1", "many", str(1 << 31)):
            self.refuses(2, "--cache-cells", "weft", "plan", "--cache-cells", wrong)

    def test_budget_narrows_prefill(self):
        free = self.plan("--mem-budget", "64G")
        floor = free["memory"]["total"] - free["memory"]["arena"] - free["memory"]["scratch"]
        budget = (floor + free["memory"]["total"]) // 2
        tight = self.plan("--mem-budget", str(budget))
        self.assertLessEqual(tight["memory"]["total"], budget)
        self.assertTrue(tight["concessions"])

    def test_executor(self):
        for name in ("flow", "crew"):
            plan = self.plan("-t", "2", "--executor", name)["plans"][-1]
            self.assertEqual(plan["executor"], {"kind": name, "reason": "requested"})
        chosen = self.plan("-t", "2")["plans"][-1]["executor"]
        self.assertIn(chosen["kind"], ("flow", "crew"))
        self.assertIn("of the run", chosen["reason"])
        self.assertEqual(self.plan("-t", "1")["plans"][0]["executor"]["reason"], "one lane")
        self.assertIn("\nexecutor ", self.runs("weft", "plan", "-t", "2").out.decode())

    def test_flags_of_ranks(self):
        plan, hosts = ["weft", "plan"], ["weft", "plan", "--hosts", 2]
        for wrong in (0, -1, 257):
            self.refuses(2, "--hosts", *plan, "--hosts", wrong)
        for other in (["--shard", "tp=2"], ["--rank", 1], ["--json"], ["--phase", "decode"]):
            self.refuses(2, f"{other[0]} excludes --hosts", *hosts, *other)
        self.refuses(2, "give --hosts or --shard", *plan, "--link", "1ms,1Gbit")
        forecast = [*plan, "--shard", "tp=2", "--forecast"]
        self.refuses(2, "--json", *forecast, "--json")
        self.refuses(2, "excludes", *forecast, "--rank", 1)

    def test_same_plan_every_time(self):
        budget = ("--mem-budget", "1G")  # otherwise it depends on the free memory
        self.assertEqual(self.runs("weft", "plan", *budget).out,
                         self.runs("weft", "plan", *budget).out)

    def test_lanes(self):
        one = self.plan("-t", "1")
        self.assertEqual({p["lanes"] for p in one["plans"]}, {1})
        self.assertEqual({p["joins"] for p in one["plans"]}, {0})


class Verify(SystemTest):
    def test_all_nodes_pass(self):
        for args in [(), ("--tokens", "1,2,3,4,5"), ("--tokens", "7"), ("--no-pass", "all"),
                     ("--backend", "reference")]:
            with self.subTest(args=args):
                reports = json.loads(self.runs("weft", "verify", "--json", *args).out)
                if "--tokens" in args:
                    self.assertEqual(reports[-1]["plan"], "decode")
                else:
                    self.assertLess({"decode", "prefill 8", "prefill 512"},
                                    {r["plan"] for r in reports})
                for report in reports:
                    self.assertTrue(report["report"]["passed"], report["report"]["first_bad"])
                    self.assertGreater(len(report["report"]["nodes"]), 10)

    def test_text(self):
        text = self.runs("weft", "verify").out
        for position in (b"63", b"64"):  # both sides of the border of a block of cells
            self.assertIn(b"plan decode, a token from position " + position, text)

    def test_token_out_of_range(self):
        self.refuses(1, "", "weft", "verify", "--tokens", "99999999")
        for bad in ("1,,2", ""):
            self.refuses(1, "numbers with commas", "weft", "verify", "--tokens", bad)


class Embed(SystemTest):
    def rows(self, *args):
        """The values of the .npy file, as bytes by row."""
        out = self.folder / "e.npy"
        self.runs("weft", "embed", "-o", out, *args)
        data = out.read_bytes()
        start = 10 + int.from_bytes(data[8:10], "little")
        n, width = map(int, re.search(rb"'shape': \((\d+), (\d+)\)", data[:start]).groups())
        self.assertEqual(len(data) - start, n * width * 4)
        return [data[start + i * width * 4:start + (i + 1) * width * 4] for i in range(n)]

    def test_pooling(self):
        rows = self.rows("--tokens", "5,6,7", "--pooling", "none")
        self.assertEqual(len(rows), 3)
        self.assertEqual(self.rows("--tokens", "5,6,7", "--pooling", "last"), rows[-1:])
        self.assertEqual(self.rows("--tokens", "5,6,7", "--pooling", "cls"), rows[:1])
        self.assertEqual(len(self.rows("--tokens", "5,6,7", "--pooling", "mean")), 1)
        self.assertEqual(self.rows("--tokens", "5,6,7", "--pooling", "none", "-b", "2"), rows)

    def test_text(self):
        self.assertGreater(len(self.rows("-p", "a red fox", "--pooling", "none")), 2)

    def test_wrong_use(self):
        out = self.folder / "e.npy"
        self.refuses(2, "", "weft", "embed", "--tokens", "1", "--pooling", "median", "-o", out)
        for bad in ("1,,2", ""):
            self.refuses(1, "numbers with commas", "weft", "embed", "--tokens", bad, "-o", out)
        self.assertFalse(out.exists())


class Tokenize(SystemTest):
    def test_lines(self):
        r = self.runs("weft", "tokenize", "-m", MODEL, "--jsonl", "--no-bos",
                      stdin=b'"a"\n"a b"\r\n""\n')
        self.assertEqual([bool(json.loads(line)) for line in r.out.splitlines()],
                         [True, True, False])

    def test_line_that_is_no_string(self):
        for bad in (b"", b"[1]", b'"cut', b'"\xff"'):
            with self.subTest(line=bad):
                self.refuses(1, "line 1: must be a JSON string", "weft", "tokenize", "-m", MODEL,
                             "--jsonl", stdin=bad + b"\n")


class Grammar(SystemTest):
    def test_lines(self):
        lines = '"aa"\n"b"\n"\\u00e9"\n7\n"\\ud800"\n'
        r = self.runs("weft", "grammar", "--regex", "a+|\u00e9", "--jsonl", stdin=lines.encode())
        answers = [json.loads(line) for line in r.out.splitlines()]
        self.assertEqual(answers[:3], ["accept", "reject", "accept"])
        self.assertTrue(all("error" in a for a in answers[3:]))

    def answers(self, texts, *args):
        r = self.runs("weft", "grammar", "--jsonl", *args, stdin="".join(json.dumps(t) + "\n" for t
                                                                         in texts).encode())
        return [json.loads(line) for line in r.out.splitlines()]

    def test_patterns_mean_what_they_mean_in_python(self):
        chance = random.Random(1)
        one = chance.choice

        def term(depth):
            atoms = ["a", "b", "c", ".", "[ab]", "[^a]", "[a-c]", "\\w", "\\d", "\\.", "1", "é"]
            groups = [f"({either(depth - 1)})", f"(?:{either(depth - 1)})"] if depth else []
            return one(atoms + 4 * groups) + one(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{2,}",
                                                  "*?"])

        def either(depth):
            return "|".join("".join(term(depth) for _ in range(one([1, 2, 3]))) for _
                            in range(one([1, 1, 2])))

        for _ in range(100):
            pattern = one(["", "", "^", "(?=.*b)",
                           "(?!aa)"]) + f"(?:{either(1)})" + one(["", "", "$"])
            texts = ["".join(one("aabbc1.é") for _ in range(chance.randrange(8))) for _
                     in range(40)]
            want = ["accept" if re.fullmatch(pattern, t, re.ASCII) else "reject" for t in texts]
            if "accept" in want:  # a pattern that matches nothing is refused
                self.assertEqual(self.answers(texts, "--regex", pattern), want, (pattern, texts))

    def test_numbers_of_a_schema(self):
        chance = random.Random(1)
        schema = self.folder / "numbers.json"
        for _ in range(60):
            low, high = sorted(chance.choice(["-12", "-1.5", "0", "0.25", "3", "10", "99.5", "1e2"])
                               for _ in range(2))
            step = chance.choice(["0.05", "0.5", "1", "3", "2.5", "7"])
            schema.write_text(f'{{"type": "number", "minimum": {low}, "exclusiveMaximum": {high}, "multipleOf": {step}}}')
            texts = [chance.choice(["-", ""]) + str(chance.randrange(120))
                     + chance.choice(["", ".0", ".5", ".25", ".050"])
                     for _ in range(60)]
            want = [Decimal(low) <= Decimal(t) < Decimal(high) and Decimal(t) % Decimal(step) == 0
                    for t in texts]
            if True in want:
                self.assertEqual([a == "accept" for a in self.answers(texts, "--json-schema-file",
                                                                      schema)], want,
                                 (schema.read_text(), texts))

    def test_what_cannot_be_honoured(self):
        schema = self.folder / "schema.json"
        schema.write_text('{"properties": {"a": {"type": "array", "uniqueItems": true}}}')
        self.refuses(1, "#/properties/a/uniqueItems", "weft", "grammar", "--json-schema-file",
                     schema)


class Bench(SystemTest):
    SMALL = ("-p", "16", "-n", "4", "-r", "2", "--no-bandwidth")

    def bench(self, *args):
        return json.loads(self.runs("weft", "bench", "--json", *self.SMALL, *args).out)

    def test_numbers(self):
        rows = self.bench()["rows"]
        self.assertEqual([(r["phase"], r["tokens"], r["depth"]) for r in rows],
                         [("prefill", 16, 0), ("decode", 4, 0)])
        for r in rows:
            self.assertEqual(len(r["rates"]), 2)
            self.assertLessEqual(r["min"], r["median"])
            self.assertIsNone(r["share_of_reads"])
            for name in ("bytes_per_token", "multiply_adds_per_token", "joins_per_token",
                         "ns_per_node", "peak_rss"):
                self.assertGreater(r[name], 0, name)

    def test_lists(self):
        rows = self.bench("-p", "3,5", "-n", "2", "-d", "0,7", "--widths", "1,9", "-t",
                          "1,2")["rows"]
        self.assertEqual(len(rows), 2 * 2 * 5)
        self.assertEqual([r["workers"] for r in rows], 10 * [1] + 10 * [2])

    def test_what_a_token_costs(self):
        """A llama of known shape reads every weight except the embedding once, and all earlier keys
        and values."""
        model = self.folder / "m"
        self.runs("weft", "bench", "--make-model", "D=64,F=96,L=3,H=4,G=2,V=50", "F16", model)
        n, depth, D, F, L, KV, V = 4, 10, 64, 96, 3, 2 * 16, 50
        r = self.bench("-m", model, "-p", "0", "-n", n, "-d", depth)["rows"][0]
        matrices = L * (2 * D * D + 2 * D * KV + 3 * D * F) + V * D
        cells = depth + (n + 1) / 2
        self.assertEqual(r["cache_bytes_per_token"], cells * L * 2 * KV * 2)
        norms = (2 * L + 1) * D
        self.assertEqual(r["bytes_per_token"] - r["cache_bytes_per_token"], 2 * (matrices + D)
                         + 4 * norms)
        self.assertEqual(r["multiply_adds_per_token"], matrices + L * cells * 2 * D)
        self.assertEqual(r["arithmetic"], "f32")

    def test_limits(self):
        r = json.loads(self.runs("weft", "bench", "--json", "-p", "8", "-n", "2", "-r", "1").out)
        for row in r["rows"]:
            self.assertGreater(row["share_of_reads"], 0)
            self.assertTrue(0 < row["share_of_arithmetic"] < 1, row["share_of_arithmetic"])
        self.assertGreater(r["limits"][0]["reads"]["bytes_per_second"], 1e8)
        self.assertIn("GB/s read", self.runs("weft", "bench", "--limits", "-t", "1").out.decode())

    def test_executors_side_by_side(self):
        rows = self.bench("-p", "16", "-n", "0", "-t", "1,2", "--executor", "flow,crew")["rows"]
        self.assertEqual([(r["workers"], r["executor"]) for r in rows],
                         [(1, "alone"), (1, "alone"), (2, "flow"), (2, "crew")])
        self.refuses(2, "--executor", "weft", "bench", "--executor", "queue")

    def test_hash_does_not_depend_on_workers_or_batches(self):
        hashes = {self.bench(*args)["logits_hash"]
                  for args in [(), ("-t", "1"), ("-t", "2"), ("-b", "5"), ("--executor", "flow"),
                               ("--executor", "crew")]}
        self.assertEqual(len(hashes), 1)

    def test_one_phase_only(self):
        for args, phase in ((("-n", "0"), "prefill"), (("-p", "0"), "decode")):
            self.assertEqual([r["phase"] for r in self.bench(*args)["rows"]], [phase])
        self.refuses(2, "nothing to measure", "weft", "bench", "-p", "0", "-n", "0")
        self.refuses(2, "do not fit a context of 8", "weft", "bench", "-c", "8")
        self.refuses(1, "-d must be numbers", "weft", "bench", "-d", "1,,2")

    def test_text(self):
        out = self.runs("weft", "bench", *self.SMALL).out.decode()
        self.assertTrue(re.search(r"prefill +16 +0 ", out), out)


class MakeModel(SystemTest):
    SHAPE = "D=256,F=512,L=8,H=4,G=2,V=300"

    def make(self, name, kind="Q8_0", shape=SHAPE):
        path = self.folder / name
        self.runs("weft", "bench", "--make-model", shape, kind, path)
        return path

    def test_every_type_runs(self):
        for kind in ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K", "Q6_K", "q4_k_m"):
            self.runs("weft", "bench", "-m", self.make(kind, kind), "-p", 3, "-n", 2, "-r", 1,
                      "--no-bandwidth")

    def test_same_bytes(self):
        self.assertEqual(self.make("a").read_bytes(), self.make("b").read_bytes())

    def test_the_usual_mix(self):
        about = json.loads(self.runs("weft", "inspect", "--json", self.make("m", "Q4_K_M")).out)
        better = {t["name"] for t in about["tensors"] if t["type"] == "Q6_K"}
        layers = (0, 3, 6, 7)
        self.assertEqual(better, {"output.weight"} | {f"blk.{i}.{name}.weight" for i in layers
                                                      for name in ("attn_v", "ffn_down")})

    def test_wide_heads_and_shared_output(self):
        about = json.loads(self.runs("weft", "inspect", "--json",
                                     self.make("m", shape=self.SHAPE + ",E=128,tied=1")).out)
        shapes = {t["name"]: t["shape"] for t in about["tensors"]}
        self.assertEqual(shapes["blk.0.attn_q.weight"], [512, 256])
        self.assertNotIn("output.weight", shapes)

    def test_what_cannot_be_made(self):
        out = self.folder / "x"
        for text, shape, kind in (("neither one of the shapes", "2b", "F16"),
                                  ("lacks L=", "D=64,F=64,H=2,G=2,V=9", "F16"),
                                  ("G must divide H", "D=64,F=64,H=2,G=3,V=9,L=1", "F16"),
                                  ("type 'Q9'", "15m", "Q9"),
                                  ("not fixed rows of whole blocks",
                                   "D=288,F=768,H=6,G=6,V=9,L=1", "Q4_K")):
            self.refuses(1, text, "weft", "bench", "--make-model", shape, kind, out)
        self.refuses(1, "cannot create", "weft", "bench", "--make-model", self.SHAPE, "F16",
                     self.folder / "no" / "x")
        self.assertEqual(list(self.folder.iterdir()), [])


class Profile(SystemTest):
    def profile(self, *args):
        return self.runs("weft", "profile", "-p", 40, "-n", 4, "-r", 1, "-b", 16, *args,
                         env={"XDG_CACHE_HOME": str(self.folder)})

    def test_accounts_for_the_time(self):
        told = json.loads(self.profile("--json").out)
        self.assertEqual([p["phase"] for p in told["phases"]], ["prefill", "decode"])
        for phase, steps in zip(told["phases"], (3, 4)):
            self.assertEqual((phase["steps"], phase["dropped_calls"]), (steps, 0))
            known = sum(n["ns"] for n in phase["nodes"]) + phase["waiting_ns"]
            self.assertAlmostEqual(known / phase["wall_ns"], 1, delta=0.01)
        self.assertTrue((self.folder / "weft/limits.json").exists())

    def test_trace(self):
        path = self.folder / "trace.json"
        self.profile("-o", path)
        events = json.loads(path.read_text())["traceEvents"]
        tracks = {e["tid"]: e["args"]["name"] for e in events if e["ph"] == "M"}
        self.assertEqual(tracks[0], "steps")
        steps = [e for e in events if e["ph"] == "X" and e["tid"] == 0]
        self.assertEqual(len(steps), 3 + 4)
        for call in (e for e in events if e["ph"] == "X" and e["tid"] > 0):
            self.assertTrue(any(s["ts"] <= call["ts"] and call["ts"] + call["dur"] <= s["ts"]
                                + s["dur"] + 0.01 for s in steps))

    def test_the_rank_that_is_shown(self):
        shard, rank = ["--shard", "tp=2"], "rank 0 of 2 (tp=2)"
        self.assertIn(f"{rank}; other ranks are not shown", self.profile(*shard).out.decode())
        self.assertEqual(json.loads(self.profile("--json", *shard).out)["rank"], rank)

    def test_bad_flags(self):
        self.refuses(2, "nothing to profile", "weft", "profile", "-p", 0, "-n", 0)
        self.refuses(2, "do not fit", "weft", "profile", "-c", 16)
        self.refuses(1, "cannot create", "weft", "profile", "-p", 4, "-n", 0, "-o",
                     self.folder / "no" / "x")


if __name__ == "__main__":
    unittest.main()
