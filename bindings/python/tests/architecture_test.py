"""Architectures in Python."""

import gc
import pathlib
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
        weft.write_made_model(name, path, keys=keys)
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
        with self.assertRaisesRegex(weft.Error, r"no_such\.weight.*architecture_test\.py:\d+"):
            weft.Model(str(self.folder / "py_line.gguf")).session(context=64)

    def test_outputs_that_are_not_the_rows_asked_for_are_refused(self):
        def all_rows(w, c, inp):
            embd = w("token_embd.weight", (c.V, c.D))
            return ops.linear(ops.get_rows(embd, inp.tokens), embd)

        def rows_alone(w, c, inp):
            rows = ops.get_rows(w("token_embd.weight", (c.V, c.D)), inp.tokens)
            return ops.get_rows(rows, inp.out_rows)

        def always_logits(w, c, inp):
            embd = w("token_embd.weight", (c.V, c.D))
            return ops.linear(ops.get_rows(ops.get_rows(embd, inp.tokens), inp.out_rows), embd)

        weft.register_architecture("py_output")(all_rows)
        path = str(self.folder / "py_output.gguf")
        weft.write_made_model("py_output", path)  # a file like any other
        wanted = (r"'py_output': the logits of a step must be F32 \[O, 50\], got F32 \[T, 50\]; "
                  r"pick the rows `out_rows` with get_rows\(\) \(.*architecture_test\.py:\d+")
        with self.assertRaisesRegex(weft.Error, wanted):
            weft.Model(path)
        self.assertRegex(str(weft.new_model_check("py_output")), "the logits of a step must be")
        weft.register_architecture("py_output")(rows_alone)
        with self.assertRaisesRegex(weft.Error, r"must be F32 \[O, 50\], got F32 \[O, 64\] \("):
            weft.Model(path)
        weft.register_architecture("py_output")(always_logits)
        model = weft.Model(path)
        session = model.session(context=64)
        got = session.feed([1, 2]).copy()
        session.truncate(0)
        np.testing.assert_array_equal(got, session.feed([2]))
        with self.assertRaisesRegex(weft.Error, r"embeddings of a step must be F32 \[O, 64\]"):
            model.session(context=64, embeddings=True)

    def test_weights_of_the_output_are_no_obstacle_to_embeddings(self):
        def own_head(w, c, inp):
            h = ops.get_rows(w("token_embd.weight", (c.V, c.D)), inp.tokens)
            rows = ops.get_rows(h, inp.out_rows)
            if inp.embeddings:
                return rows
            return ops.linear(rows, w("mine.weight", (c.V, c.D))) + w("mine.bias", (c.V,))

        for build in (own_head, lambda w, c, inp: w.head(
                ops.get_rows(w("token_embd.weight", (c.V, c.D)), inp.tokens), None)):
            weft.register_architecture("py_head")(build)
            report = weft.new_model_check("py_head")
            self.assertTrue(report.passed, str(report))
            model = self.made("py_head")
            session = model.session(context=64, embeddings=True)
            self.assertEqual(session.feed([1, 2]).shape, (64,))

    def test_made_weights_can_be_read_back(self):
        @weft.register_architecture("py_bigram")
        def build(w, c, inp):
            rows = ops.get_rows(ops.get_rows(w("token_embd.weight", (c.V, c.D)), inp.tokens),
                                inp.out_rows)
            return ops.linear(rows, w("output.weight", (c.V, c.D)))

        model = self.made("py_bigram")
        embd, output = (model.tensor(f"{name}.weight") for name in ("token_embd", "output"))
        self.assertEqual((embd.shape, embd.dtype), ((50, 64), np.float32))
        with model.session(context=64) as session:
            np.testing.assert_allclose(session.feed([3, 7]), output @ embd[7], rtol=1e-3, atol=1e-4)
        embd[:] = 0  # a copy
        self.assertTrue(model.tensor("token_embd.weight").any())
        with self.assertRaisesRegex(weft.ArgumentError, "has no tensor 'nothing'"):
            model.tensor("nothing")
        for wrong in (5, None, b"output.weight"):
            with self.assertRaises(TypeError):
                model.tensor(wrong)
        with weft.Model() as bundled:  # quantized
            values = bundled.tensor("token_embd.weight")
            self.assertEqual(values.shape, (bundled.n_vocab, bundled.n_embd))
            self.assertTrue(np.isfinite(values).all())
        with self.assertRaises(weft.ClosedError):
            bundled.tensor("token_embd.weight")

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
            try:
                if not np.array_equal(model.session(context=64).feed([1, 2]), want):
                    wrong.append("other logits")
            except BaseException as e:  # noqa: BLE001 - threads lose exceptions
                wrong.append(e)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
