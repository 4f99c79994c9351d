"""Graphs, ops and architectures in Python."""

import gc
import pathlib
import pickle
import shutil
import subprocess
import sys
import tempfile
import threading
import traceback
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft import ops

RANDOM = np.random.default_rng(5)
X, W = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 64), (32, 64)))


def silu(x):
    return x / (1 + np.exp(-x))


def near(a, b):
    return np.allclose(a, b, rtol=2e-5, atol=2e-5)


class Graphs(unittest.TestCase):
    def test_a_graph_computes_what_it_says(self):
        g = weft.Graph()
        x, w = g.input("x", X.shape), g.input("w", W.shape)
        y = ops.silu(ops.linear(x, w)).named("act")
        self.assertEqual((y.shape, y.dtype, y.path), ((3, 32), "f32", "act"))
        g.output(y, "y")
        g.output(y * 2.0 + y * y, "z")
        got = g.run({"x": X, "w": W}, workers=1)
        want = silu(X.astype(np.float64) @ W.T)
        self.assertTrue(near(got["y"], want) and near(got["z"], 2 * want + want * want))
        self.assertEqual(len(g), len(list(g)))
        self.assertEqual([n.op for n in g][:4], ["input", "input", "linear", "silu"])
        self.assertIn("graph_test.py:", next(n for n in g if n.path == "act").where)
        self.assertIn("act", g.dot())
        self.assertIn("<svg", g.plan().svg())
        self.assertRegex(repr(g) + repr(y), "weft.Graph of 7 nodes.*'act' f32")

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_graphs_are_pictures(self):
        self.assertIn("<svg", weft.Model().graph()._repr_svg_())

    def test_graphs_can_change_after_a_run(self):
        g = weft.Graph()
        x = g.input("x", X.shape)
        g.output(x + x, "y")
        g.run({"x": X})
        g.output(ops.scale(x, 3), "z")
        self.assertTrue(near(g.run({"x": X})["z"], 3 * X))

    def test_rows_may_vary(self):
        g = weft.Graph()
        rows = g.variable("T", 8)
        x = g.input("x", (rows, 4))
        y = g.input("y", (rows, 4))
        self.assertEqual((x + y).shape, (8, 4))
        g.output(x + y, "z")
        for n in (1, 3, 8):
            a = np.full((n, 4), n, np.float32)
            self.assertTrue(np.array_equal(g.run({"x": a, "y": a})["z"], a + a))
        with self.assertRaisesRegex(weft.ShapeError, "as many rows, got 2 and 3"):
            g.run({"x": np.zeros((2, 4), np.float32), "y": np.zeros((3, 4), np.float32)})
        with self.assertRaisesRegex(weft.ShapeError, "<=8"):
            g.run({"x": np.zeros((9, 4), np.float32), "y": np.zeros((9, 4), np.float32)})

    def test_weights_are_given_once(self):
        g = weft.Graph()
        g.output(ops.linear(g.input("x", X.shape), g.weight("w", W.shape)), "y")
        first = g.run({"x": X, "w": W})["y"]
        self.assertTrue(np.array_equal(g.run({"x": X})["y"], first))

    def test_attributes_come_by_place_and_by_name(self):
        g = weft.Graph()
        x = g.input("x", X.shape)
        pos = g.input("pos", (3,), "i32")
        heads = ops.split_heads(x, 4)
        self.assertEqual(heads.shape, (3, 4, 16))
        angles = ops.rope_angles(pos, {"n_rot": 16}, base=500)
        for y in (ops.rope(heads, angles, "halves"), ops.rope(heads, angles=angles, pairs="halves")):
            self.assertEqual(y.shape, heads.shape)
        self.assertEqual(ops.concat(x, x).shape, ops.concat([x, x]).shape)
        self.assertIn("eps=", ops.rms_norm.__doc__)
        self.assertIn("silu", dir(ops))

    def test_graphs_of_models_have_names(self):
        g = weft.Model().graph(8)
        self.assertTrue(any(n.path.startswith("blk.0.") for n in g))
        self.assertEqual({n.shape[0] for n in g if n.path == "tokens"}, {8})


class WrongGraphs(unittest.TestCase):
    def setUp(self):
        self.g = weft.Graph()
        self.x = self.g.input("x", X.shape)

    def test_wrong_ops(self):
        with self.assertRaisesRegex(AttributeError, "no op 'sill'"):
            ops.sill
        for call in (lambda: ops.silu(5), lambda: ops.silu(), lambda: ops.silu(self.x, self.x),
                     lambda: ops.scale(self.x, 1, 2), lambda: ops.scale(self.x, factors=1),
                     lambda: ops.scale(self.x, 1, factor=2), lambda: ops.add(self.x, b=1),
                     lambda: self.x + 1, lambda: X * self.x, lambda: self.x * "a"):
            self.assertRaises(TypeError, call)
        with self.assertRaisesRegex(weft.ArgumentError, "another graph"):
            ops.add(self.x, weft.Graph().input("x", X.shape))
        with self.assertRaisesRegex(weft.ShapeError, r"graph_test\.py:\d+"):
            ops.linear(self.x, self.g.input("w", (32, 63)))
        with self.assertRaises(weft.DTypeError):
            self.g.input("y", (3,), "f99")
        for call in (lambda: self.g.input("y", 3), lambda: self.g.input("y", (2.5,)),
                     lambda: self.g.input(5, (3,)), lambda: self.g.input("y", (3,), 5),
                     lambda: self.x.named(5), lambda: self.g.output(self.x, 5)):
            self.assertRaises(TypeError, call)
        with self.assertRaisesRegex(weft.ArgumentError, "'x' already"):
            self.g.input("x", (3,))

    def test_wrong_arrays(self):
        self.g.output(ops.silu(self.x), "y")
        with self.assertRaisesRegex(weft.ArgumentError, "no array for input 'x'"):
            self.g.run({})
        with self.assertRaisesRegex(weft.ArgumentError, "no input 'z'"):
            self.g.run({"x": X, "z": X})
        with self.assertRaisesRegex(weft.DTypeError, "float32, got float64"):
            self.g.run({"x": X.astype(np.float64)})
        with self.assertRaisesRegex(weft.ShapeError, r"\(3, 64\), got \(64, 3\)"):
            self.g.run({"x": X.T})
        with self.assertRaises(TypeError):
            self.g.run(X)
        with self.assertRaises(TypeError):
            self.g.run({"x": X}, no_such_option=1)
        with self.assertRaises(TypeError):
            self.g.output(5, "z")
        with self.assertRaises(TypeError):
            pickle.dumps(self.g)


class Functions(unittest.TestCase):
    def test_a_function_of_ops_takes_arrays(self):
        built = []

        @weft.graph
        def block(x, *more, factor=1.0, **last):
            """Doc."""
            built.append(x.shape)
            return {"a": ops.scale(x, factor), "b": more[0] + last["z"]}

        for factor in (2.0, 2.0, 3.0):
            got = block(X, X, factor=factor, z=X)
            self.assertTrue(near(got["a"], factor * X) and near(got["b"], X + X))
        self.assertEqual((len(built), block.__doc__), (2, "Doc."))
        self.assertEqual([n.path for n in block.graph(X, X, z=X)][:3], ["x", "more0", "z"])

    def test_several_results_are_a_tuple(self):
        a, b = weft.graph(lambda x, n: (ops.scale(x, n[0]), x + x))(X, [4])
        self.assertTrue(near(a, 4 * X) and near(b, 2 * X))

    def test_wrong_functions(self):
        with self.assertRaises(TypeError):
            weft.graph(5)
        with self.assertRaisesRegex(TypeError, "must return tensors, not int"):
            weft.graph(lambda x: 5)(X)
        with self.assertRaises(weft.DTypeError):
            weft.graph(lambda x: x)(X.astype(np.float64))


class CustomOps(unittest.TestCase):
    def test_a_function_of_numpy_is_an_op(self):
        @weft.register_op
        def py_shrink(x, *, by=0.5):
            return np.sign(x) * np.maximum(np.abs(x) - by, 0)

        @weft.register_op(name="py_row_sums", infer=lambda x: x.shape[:1])
        def sums(x):
            return x.sum(1)

        g = weft.Graph()
        x = g.input("x", X.shape)
        g.output(ops.py_shrink(x + x, by=1), "y")
        g.output(ops.py_row_sums(x), "sums")
        got = g.run({"x": X})
        self.assertTrue(near(got["y"], py_shrink(X + X, by=1)) and near(got["sums"], X.sum(1)))
        self.assertIn("py_shrink", dir(ops))

    def test_ops_can_be_registered_again(self):
        for factor in (2, 3):
            weft.register_op(name="py_times")(lambda x, *, by=factor: x * by)
            self.assertTrue(near(weft.graph(lambda x: ops.py_times(x))(X), factor * X))

    def test_wrong_ops(self):
        with self.assertRaisesRegex(weft.ArgumentError, "silu"):
            weft.register_op(name="silu")(lambda x: x)
        with self.assertRaises(TypeError):
            weft.register_op(name="py_five")(5)
        with self.assertRaises(TypeError):
            weft.register_op(name="py_any")(lambda *x: x)

        @weft.register_op
        def py_fails(x, *, how):
            if how == "raise":
                raise LookupError("from the op")
            return x[0]

        with self.assertRaisesRegex(TypeError, "needs the attribute 'how'"):
            weft.graph(lambda x: ops.py_fails(x))(X)
        with self.assertRaisesRegex(LookupError, "^'from the op'$|^from the op$"):
            weft.graph(lambda x: ops.py_fails(x, how="raise"))(X)
        with self.assertRaisesRegex(ValueError, "the shape .64,., not .3, 64"):
            weft.graph(lambda x: ops.py_fails(x, how="shape"))(X)

        weft.register_op(name="py_infer", infer=lambda x: 1 / 0)(lambda x: x)
        with self.assertRaises(ZeroDivisionError):
            weft.graph(lambda x: ops.py_infer(x))(X)


def llama(w, c, inp):
    """Llama with the blocks that architectures share."""
    embd = w("token_embd.weight", (c.V, c.D))
    angles = ops.rope_angles(inp.pos, c.rope, w.rope_factors())
    h = ops.get_rows(embd, inp.tokens)
    for i in range(c.L):
        with w.block(i) as blk:
            x = blk.norm("attn_norm", h)
            q = ops.split_heads(blk.project("attn_q", c.H * c.E, c.D, x), c.H)
            k = ops.split_heads(blk.project("attn_k", c.G * c.E, c.D, x), c.G)
            v = ops.split_heads(blk.project("attn_v", c.G * c.Ev, c.D, x), c.G)
            q, k = (ops.rope(z, angles, pairs="adjacent") for z in (q, k))
            y = inp.cache.attend(i, q, k, v)
            h = h + blk.project("attn_output", c.D, c.H * c.Ev, ops.merge_heads(y))
            x = blk.norm("ffn_norm", h)
            F = c.layer(i).F
            gate, up = (blk.project(f"ffn_{name}", F, c.D, x) for name in ("gate", "up"))
            h = h + blk.project("ffn_down", c.D, F, ops.silu(gate) * up)
            assert w.has("token_embd.weight") and not blk.has("token_embd.weight")
    return w.head(h, embd)


class Architectures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def made(self, name, **keys):
        path = str(self.folder / f"{name}.gguf")
        weft._weft.write_made_model(name, keys, path)
        return weft.Model(path)

    def test_an_architecture_has_the_bits_of_the_built_in_one(self):
        weft.register_architecture("py_llama")(llama)
        report = weft.new_model_check("py_llama", snapshot=str(self.folder / "snapshot.dot"))
        self.assertTrue(report.passed and report, str(report))
        self.assertRegex(str(report), "(?s)passed +prefill = decode.* 0 failed")
        self.assertIn("checks", report.to_dict())
        got, want = (self.made(name).session(context=64).feed([1, 2, 3]).copy()
                     for name in ("py_llama", "llama"))
        self.assertTrue(np.array_equal(got, want))

    def test_registering_again_replaces(self):
        weft.register_architecture("py_again")(llama)
        model = self.made("py_again")
        first = model.session(context=64).feed([1, 2]).copy()
        weft.register_architecture("py_again")(lambda w, c, inp: llama(w, c, inp) * 2)
        with self.made("py_again") as again:
            self.assertTrue(np.array_equal(again.session(context=64).feed([1, 2]), 2 * first))
        self.assertTrue(np.array_equal(model.session(context=64).feed([1, 2]), first))

    def test_keys_of_the_file(self):
        seen = {}

        def configure(keys):
            seen["integer"] = keys.integer("py.taps", 4, min=2, max=8)
            seen["flag"] = keys.flag("py.flag", True)
            seen["text"] = keys.text("py.text")
            keys.number("py.scale", 1)
            if keys.integer("py.bad") == 1:
                keys.refuse("py.bad", "is bad")

        @weft.register_architecture("py_keys", configure=configure)
        def build(w, c, inp):
            self.assertEqual((c["py.scale"], c["py.taps"], c["context"]), (2.5, 4, c.context))
            self.assertRaises(AttributeError, lambda: c.no_such)
            self.assertIsNone(w.optional("no_such.weight", (1,)))
            return llama(w, c, inp) * c["py.scale"]

        model = self.made("py_keys", **{"py_keys.py.scale": 2.5, "py_keys.py.text": "yes"})
        self.assertTrue(np.isfinite(model.session(context=64).feed([1])).all())
        self.assertEqual(seen, {"integer": 4, "flag": True, "text": "yes"})
        with self.assertRaisesRegex(weft.FormatError, "'py_keys.py.bad' is bad"):
            self.made("py_keys", **{"py_keys.py.scale": 2.5, "py_keys.py.bad": 1})

    def test_what_a_builder_raises_comes_out(self):
        def fails(w, c, inp):
            raise LookupError("from the builder")

        # The check goes on after the exception, and calls configure() again.
        weft.register_architecture("py_fails", configure=lambda keys: keys.flag("py.flag"))(fails)
        try:
            weft.new_model_check("py_fails")
            frames = []
        except LookupError as raised:
            frames = [frame.name for frame in traceback.extract_tb(raised.__traceback__)]
        self.assertIn("fails", frames)
        self.assertNotIn("flag", frames)

        kept = []

        def keeps(w, c, inp):
            kept.extend([w, inp])
            return 5

        weft.register_architecture("py_keeps")(keeps)
        with self.assertRaisesRegex(TypeError, "must return a weft.Tensor, not int"):
            weft.new_model_check("py_keeps")
        with self.assertRaises(weft.ClosedError):
            kept[0].has("token_embd.weight")
        with self.assertRaises(weft.ClosedError):
            kept[1].tokens + kept[1].tokens
        kept.clear()
        gc.collect()

    def test_messages_name_the_line(self):
        weft.register_architecture("py_line")(llama)
        self.made("py_line").close()
        weft.register_architecture("py_line")(lambda w, c, inp: w("no_such.weight", (c.V, c.D)))
        with self.assertRaisesRegex(weft.Error, r"no_such\.weight.*graph_test\.py:\d+"):
            weft.Model(str(self.folder / "py_line.gguf")).session(context=64)

    def test_wrong_architectures(self):
        for name, kind in (("llama", weft.ArgumentError), ("", weft.ArgumentError), (5, TypeError)):
            with self.assertRaises(kind):
                weft.register_architecture(name)(llama)
        with self.assertRaises(TypeError):
            weft.register_architecture("py_five")(5)
        with self.assertRaisesRegex(weft.Error, "py_never"):
            weft.new_model_check("py_never")

    def test_sessions_on_several_threads_build_at_once(self):
        weft.register_architecture("py_threads")(llama)
        model = self.made("py_threads")
        want = model.session(context=64).feed([1, 2]).copy()
        wrong = []

        def work():
            if not np.array_equal(model.session(context=64).feed([1, 2]), want):
                wrong.append(1)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class End(unittest.TestCase):
    def test_the_process_ends_quietly(self):
        code = ("import weft\n"
                "weft.register_architecture('py_end')(lambda w, c, inp: None)\n"
                "weft.register_op(name='py_end')(lambda x: x)\n"
                "kept = weft.graph(lambda x: weft.ops.py_end(x))\n"
                "import numpy; kept(numpy.zeros((2, 2), 'f'))\n")
        r = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60, check=False)
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, b"", b""))


if __name__ == "__main__":
    unittest.main()
