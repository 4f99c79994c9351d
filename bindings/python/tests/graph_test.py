"""Graphs and ops in Python."""

import pickle
import shutil
import subprocess
import sys
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

    def test_any_node_has_a_value(self):
        g = weft.Graph()
        x, w = g.input("x", X.shape), g.input("w", W.shape)
        g.output(ops.silu(ops.linear(x, w).named("up")), "y")
        with self.assertRaisesRegex(weft.ArgumentError, "has not run yet"):
            g.value("up")
        g.run({"x": X, "w": W})
        with self.assertRaises(weft.Error):
            g.value("up")
        got = g.run({"x": X, "w": W}, separate_tensors=True)["y"]
        up = g.value("up")
        self.assertTrue(near(up, X.astype(np.float64) @ W.T) and near(silu(up.astype(np.float64)), got))
        for wrong, error in (("none", weft.ArgumentError), (5, TypeError)):
            with self.assertRaises(error):
                g.value(wrong)

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

    def test_graphs_are_proved(self):
        g = weft.Graph()
        x, w = g.input("x", X.shape), g.weight("w", W.shape)
        g.output(ops.silu(ops.linear(x, w).named("up")), "y")
        proof = g.verify({"x": X, "w": W})
        self.assertTrue(proof and proof.passed)
        self.assertRegex(str(proof), r"passed +up +linear +0\.\d+ of the bound (?s:.)*2 passed, 0 failed")
        self.assertIn("<table>", proof._repr_html_())
        self.assertTrue(near(g.run({"x": X})["y"], silu(X.astype(np.float64) @ W.T)))

        @weft.register_op(name="py_wrong_scale")
        def wrong(x):
            return x * (1.0 + 1e-3 * RANDOM.standard_normal(x.shape).astype(np.float32))
        g.output(ops.py_wrong_scale(x), "z")
        proof = g.verify({"x": X, "w": W})
        self.assertFalse(proof.passed)
        self.assertRegex(str(proof), "FAILED +py_wrong_scale(?s:.)*1 failed")

    def test_models_are_proved(self):
        proof = weft.Model().verify([5, 6, 7], context=64)
        self.assertTrue(proof.passed, str(proof))
        self.assertIn("blk.0.attn_norm", str(proof))

    def test_states_outlive_runs(self):
        g = weft.Graph()
        rows = g.variable("T", 4)
        x, cells = g.input("x", (rows, 1, 4)), g.input("cells", (rows,), "i32")
        g.output(ops.cache_write(g.state("memory", (1, 1, 64, 4)), x, cells), "written")
        array = g.state_array("memory")
        self.assertEqual((array.shape, array.dtype, array.any()), ((1, 1, 64, 4), np.float32, False))

        def write(*at):
            g.run({"x": np.ones((len(at), 1, 4), np.float32), "cells": np.array(at, np.int32)})
            return np.flatnonzero(array.sum(axis=3)).tolist()
        self.assertEqual(write(3, 5), [3, 5])
        array[0, 0, 5] = 0
        self.assertEqual(write(1), [1, 3])
        with self.assertRaisesRegex(weft.ArgumentError, "no state 'x'"):
            g.state_array("x")
        with self.assertRaisesRegex(weft.ArgumentError, "'memory' already"):
            g.input("memory", (1,))

    def test_graphs_of_models_have_names(self):
        g = weft.Model().graph(8)
        self.assertTrue(any(n.path.startswith("blk.0.") for n in g))
        self.assertEqual({n.shape[0] for n in g if n.path == "tokens"}, {8})
        self.assertIn("lanes", g.dot())  # the picture is of the plan


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
        with self.assertRaisesRegex(weft.ArgumentError, "must be elementwise, heads or whole, got 'rows'"):
            weft.register_op(name="py_rows", sharding="rows")(lambda x: x)
        weft.register_op(name="py_rows", sharding="elementwise")(lambda x: x)

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
