"""Pictures: weft dot, and weft plan --svg."""

import json
import os
import re
import shutil
import subprocess
import unittest
import xml.etree.ElementTree

from support import MODEL, SystemTest


class Dot(SystemTest):
    def test_text(self):
        out = self.runs("weft", "dot").out.decode()
        self.assertTrue(out.startswith("digraph"))

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_graphviz_takes_every_variant(self):
        for args in [(), ("--no-fold",), ("--layers", "0-1"), ("--heat", "bytes"),
                     ("--no-pass", "all"), ("--phase", "prefill"), ("--phase", "prefill 8"),
                     ("--fold",), ("--fold", "neighbours"), ("--backend", "reference"),
                     ("--diff", "as-built", "default"),
                     ("--diff", "default",
                      "backend=reference,no-pass=fuse_qkv,threads=1,weights=mapped")]:
            with self.subTest(args=args):
                text = self.runs("weft", "dot", *args).out
                r = subprocess.run(["dot", "-Tsvg"], input=text, capture_output=True, check=True)
                self.assertEqual(r.stderr, b"")
                self.assertIn(b"<svg", r.stdout)

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_pictures(self):
        for name, magic in [("g.svg", b"<?xml"), ("g.html", b"<!DOCTYPE html>"),
                            ("g.png", b"\x89PNG"), ("g.dot", b"digraph")]:
            self.runs("weft", "dot", "-o", self.folder / name)
            self.assertTrue((self.folder / name).read_bytes().startswith(magic))
        self.refuses(1, "-Tnonsense", "weft", "dot", "-o", self.folder / "g.nonsense")
        self.assertFalse((self.folder / "g.nonsense").exists())

    def test_without_graphviz(self):
        r = self.refuses(1, "graphviz", "weft", "dot", "-o", self.folder / "g.svg",
                         env={"PATH": str(self.folder)})
        self.assertEqual(list(self.folder.iterdir()), [], r.err)

    def test_passes(self):
        lines = self.runs("weft", "dot", "--passes").out.decode().splitlines()
        counts = [int(line.split()[-1 if line.startswith("(") else 1]) for line in lines[1:]]
        self.assertGreater(counts[0], min(counts))
        names = [line.split()[0] for line in lines[2:]]
        fewer = self.runs("weft", "dot", "--passes", "--no-pass", names[0]).out.decode()
        self.assertNotIn(names[0], fewer)

    def test_folding(self):
        def text(*args):
            return self.runs("weft", "dot", *args).out.decode()
        self.assertEqual(text().count("subgraph cluster_"), 1)
        self.assertEqual(text().count("&#215; 4"), 1)
        self.assertEqual(text("--no-fold").count("subgraph cluster_"), 4)
        self.assertEqual(text("--fold", "none"), text("--no-fold"))
        self.assertEqual(text("--fold"), text())
        self.refuses(2, "alike", "weft", "dot", "--fold", "sideways")

    def test_plan_as_flow_graph(self):
        def text(*args):
            return self.runs("weft", "dot", "--plan", "-t", "2", "--phase", "prefill",
                             *args).out.decode()
        plan = json.loads(self.runs("weft", "plan", "--json", "-t", "2").out)["plans"][-1]
        stages = {step["stage"] for step in plan["steps"]}
        whole = text("--no-fold")
        self.assertEqual(set(re.findall(r"label=<stage (\d+)>", whole)),
                         {str(stage) for stage in stages})
        for step in plan["steps"]:
            self.assertIn(f"{step['path']}  [", whole)
        self.assertIn("lane 1", whole)
        self.assertLess(len(text()), len(whole))
        self.assertIn(" times", text())
        self.assertLess(len(text("--layers", "1")), len(whole))
        self.assertIn("groups of other layers", text("--layers", "1"))
        self.refuses(2, "--diff", "weft", "dot", "--plan", "--diff", "as-built", "default")
        if shutil.which("dot"):
            for args in [(), ("--no-fold",), ("--layers", "0-1")]:
                r = subprocess.run(["dot", "-Tsvg"], input=text(*args).encode(),
                                   capture_output=True, check=True)
                self.assertEqual(r.stderr, b"")

    def test_labels(self):
        text = self.runs("weft", "dot", "-t", "2").out.decode()
        for label in ["attn_q.weight  Q8_0", "F16 [", "\N{RIGHTWARDS ARROW} F32 [T, 256]",
                      "by fuse_qkv", "cpu: both lanes, by columns",
                      "backend cpu", "path: blk.0.attn_qkv and 3 more", "arena: 0x", "built at: "]:
            self.assertIn(label, text)
        self.assertNotIn("both lanes", self.runs("weft", "dot", "-t", "1").out.decode())
        self.assertIn("backend reference", self.runs("weft", "dot", "--backend",
                                                     "reference").out.decode())

    def test_difference(self):
        def facts(a, b):
            text = self.runs("weft", "dot", "--diff", a, b).out.decode()
            n = re.search(r"(\d+) added, (\d+) removed, (\d+) changed, (\d+) unchanged", text)
            return [int(x) for x in n.groups()], text
        counts, _ = facts("default", "default")
        self.assertEqual(counts[:3], [0, 0, 0])
        counts, text = facts("no-pass=fuse_qkv", "default")
        self.assertEqual(counts[:3], [1, 0, 3])
        self.assertIn("linear_concat", text)
        back, text = facts("default", "no-pass=fuse_qkv")
        self.assertEqual(back[:3], [0, 1, 3])
        self.assertIn("gone_n", text)
        self.assertIn("<S>by fuse_qkv</S>", text)
        counts, text = facts("default", "backend=reference")
        self.assertGreater(counts[2], 5)
        self.assertIn("<S>rope avx512</S>" if "rope avx512" in text else "<S>", text)
        for bad in ("nonsense", "threads=0", "weights=heavy", "backend="):
            self.refuses(2, bad.split("=")[0], "weft", "dot", "--diff", "default", bad)
        self.refuses(1, "no_such_pass", "weft", "dot", "--diff", "default", "no-pass=no_such_pass")
        self.refuses(2, "--diff", "weft", "dot", "--diff", "default")

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_page(self):
        page = self.folder / "g.html"
        self.runs("weft", "dot", "-o", page)
        text = page.read_text()
        tree = xml.etree.ElementTree.fromstring(text)  # it is XML, too
        space = {"h": "http://www.w3.org/1999/xhtml", "s": "http://www.w3.org/2000/svg"}
        boxes = json.loads(tree.find(".//h:script[@id='data']", space).text)
        drawn = {g.get("id") for g in tree.findall(".//s:g[@class='node']", space)}
        self.assertTrue({box["name"] for box in boxes} <= drawn)
        by_path = {path: dict(box["rows"]) for box in boxes for path in box["paths"]}
        self.assertIn("blk.3.attn_qkv", by_path)  # within the box of all four layers
        qkv = by_path["blk.0.attn_qkv"]
        self.assertRegex(qkv["built at"], r"^models/.*\.cpp:\d+$")
        self.assertRegex(qkv["arena"], r"^0x[0-9a-f]+ to 0x[0-9a-f]+, stages \d+ to \d+$")
        self.assertRegex(qkv["bytes at the bounds"], r"read.*written")
        self.assertNotRegex(re.sub(r'(xmlns(:\w+)?="|PUBLIC "-//W3C//DTD SVG 1.1//EN"\s+")http://[^"]*"', "", text), r"https?://")
        script = text[text.index("//<![CDATA["):text.index("//]]>")]
        if shutil.which("node"):
            (self.folder / "viewer.js").write_text(script)
            subprocess.run(["node", "--check", self.folder / "viewer.js"], check=True)

    def test_profile(self):
        trace, other = self.folder / "trace.json", self.folder / "other.json"
        self.runs("weft", "profile", "-p", "16", "-n", "4", "-r", "1", "-o", trace)
        text = self.runs("weft", "dot", "--profile", trace).out.decode()
        shares = [float(x) for x in re.findall(r"([\d.]+) % of the time", text)]
        self.assertGreater(len(shares), 10)
        self.assertLess(sum(shares), 101)
        self.assertGreater(sum(shares), 1)
        self.assertIn("mean of 4 steps", text)
        self.assertEqual(text.count("penwidth=6.00"), 1)  # the box with the most bytes
        self.assertIn("a step", self.runs("weft", "dot", "--profile", trace, "--phase",
                                          "prefill").out.decode())
        self.refuses(1, "another plan 'decode'", "weft", "dot", "--profile", trace, "--no-pass",
                     "all")
        self.refuses(1, "another plan", "weft", "dot", "--profile", trace, "-t", "1"
                     if os.cpu_count() > 1 else "2")
        self.refuses(1, "has no plan 'prefill 8', only", "weft", "dot", "--profile", trace, "-c",
                     "64", "--phase", "prefill 8")
        for content in ("", "[]", "{", '{"traceEvents":[]}', '{"otherData":{"weft":7}}',
                        "[" * 100000):
            other.write_text(content)
            self.refuses(1, "other.json", "weft", "dot", "--profile", other)
        self.refuses(1, "no-such", "weft", "dot", "--profile", self.folder / "no-such.json")
        self.refuses(2, "--phase must be one of", "weft", "dot", "--passes", "--phase", "sideways")

    def test_profile_of_another_machine(self):
        report = self.folder / "report.json"
        run = ("-p", "4", "-n", "4", "-r", "1", "--json")
        report.write_bytes(self.runs("weft", "profile", *run, env={"WEFT_CPU_ISA": "sse2"}).out)
        text = self.runs("weft", "dot", "--profile", report).out.decode()
        self.assertIn("% of the time", text)
        self.assertRegex(text, r"kernel: [^\n]* sse2")  # planned for the other one
        self.assertNotIn("measured with", text)
        self.assertIn("a step", self.runs("weft", "dot", "--profile", report, "--phase",
                                          "prefill").out.decode())
        self.refuses(1, "is a report, which has no individual calls", "weft", "plan", "--svg",
                     self.folder / "x.svg", "--profile", report)

        profile = json.loads(report.read_text())
        for node in profile["profile"]["plans"][0]["nodes"]:
            node["kernel"] = "a kernel of elsewhere"
        report.write_text(json.dumps(profile))
        text = self.runs("weft", "dot", "--profile", report).out.decode()
        self.assertRegex(text, r"\d+ nodes measured with other kernels")
        self.assertIn("measured with: a kernel of elsewhere", text)

        profile["profile"]["plans"][0]["nodes"][2]["path"] = "blk.0.elsewhere"
        profile["profile"]["plans"][0]["signature"] = "0"
        report.write_text(json.dumps(profile))
        self.refuses(1, "step 2 is 'blk.0.elsewhere' in the profile, '", "weft", "dot", "--profile",
                     report)

    def test_profile_of_another_model(self):
        other, trace = self.folder / "other.gguf", self.folder / "trace.json"
        self.runs("weft", "quantize", "--allow-requantize", MODEL, other, "Q4_0")
        self.runs("weft", "profile", "-m", other, "-p", "0", "-n", "2", "-r", "1", "-o", trace)
        self.refuses(1, "the profile of another plan 'decode'", "weft", "dot", "--profile", trace)

    def test_layers(self):
        for bad in ("x", "2-1", "1-", "-3"):
            self.refuses(2, "--layers", "weft", "dot", f"--layers={bad}")
        self.refuses(2, "the model has layers 0-3", "weft", "dot", "--layers", "2-4")


SVG = {"s": "http://www.w3.org/2000/svg"}


class PlanPicture(SystemTest):
    def draw(self, *args):
        svg = self.folder / "plan.svg"
        self.runs("weft", "plan", "-t", "2", "--svg", svg, *args)
        tree = xml.etree.ElementTree.parse(svg).getroot()
        return [title.text for title in tree.iterfind(".//s:g/s:title", SVG)], [t.text for t
                                                                                in tree.iterfind(".//s:text", SVG)]

    def test_every_tensor_and_every_step(self):
        hints, texts = self.draw()
        plan = json.loads(self.runs("weft", "plan", "-t", "2", "--json").out)["plans"][0]
        in_arena = sum(p["copies"] for p in plan["placements"] if p["place"] == "arena")
        self.assertEqual(len([h for h in hints if re.search(r"\n0x[0-9a-f]+ to 0x", h)]), in_arena)
        lanes = [h for h in hints if re.search(r"\nstage \d+, ", h) and "0x" not in h]
        self.assertEqual({h.split("\n")[0] for h in lanes}, {step["path"] for step
                                                             in plan["steps"]})
        self.assertTrue({"lane 0", "lane 1"} <= set(texts))
        self.assertTrue(any("joins per token" in t for t in texts))

    def test_layers(self):
        hints, _ = self.draw("--layers", "1-2")
        layers = {h.split(".")[1] for h in hints if h.startswith("blk.") and "0x" not in h}
        self.assertEqual(layers, {"1", "2"})
        self.refuses(2, "the model has layers 0-3", "weft", "plan", "--svg", self.folder / "x.svg",
                     "--layers", "4")
        self.refuses(2, "--svg", "weft", "plan", "--layers", "1")
        self.refuses(2, "--phase", "weft", "plan", "--svg", self.folder / "x.svg", "--phase",
                     "sideways")
        self.refuses(1, "no-such-folder", "weft", "plan", "--svg",
                     self.folder / "no-such-folder/x.svg")
        self.refuses(1, "/dev/full", "weft", "plan", "--svg", "/dev/full")
        self.assertFalse((self.folder / "x.svg").exists())

    def test_measured(self):
        trace = self.folder / "trace.json"
        self.runs("weft", "profile", "-t", "2", "-p", "0", "-n", "4", "-r", "1", "-o", trace)
        hints, texts = self.draw("--profile", trace)
        self.assertIn("worker 1", texts)
        self.assertTrue(any("measured" in t and "critical path" in t for t in texts))
        self.assertIn("output", {h.split("\n")[0] for h in hints if "0x" not in h})
        self.assertIn("measured", self.runs("weft", "plan", "--profile", trace).out.decode())
        self.refuses(1, "another plan 'decode'", "weft", "plan", "--svg", self.folder / "x.svg",
                     "--profile", trace, "-t", "1")
        self.refuses(1, "has no plan", "weft", "plan", "--phase", "prefill", "--profile", trace)

    def test_bounds(self):
        for plan in json.loads(self.runs("weft", "plan", "-t", "2", "--json").out)["plans"]:
            self.assertGreaterEqual(plan["bytes"]["arena"], plan["bytes"]["arena_lower_bound"])
            self.assertLessEqual(plan["critical_path_ns"], plan["predicted_ns"] + 1)
            self.assertLessEqual(plan["work_per_lane_ns"], plan["predicted_ns"] + 1)


class Poison(SystemTest):
    def test_same_bits(self):
        logits = []
        for poison in ("0", "1"):
            out = self.folder / f"{poison}.npy"
            self.runs("weft", "logits", "--tokens", "1,2,3,4,5,6,7,8,9,10,11", "--split", "9,1,1",
                      "-o", out, env={"WEFT_POISON": poison})
            logits.append(out.read_bytes())
        self.assertEqual(*logits)


if __name__ == "__main__":
    unittest.main()
