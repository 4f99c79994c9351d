"""The package: models, tokenizers, sessions, texts, samplers, errors."""

import asyncio
import copy
import gc
import pathlib
import pickle
import sys
import tempfile
import threading
import unittest
import unittest.mock

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

STORY = "Once upon a time"
GREEDY = weft.Sampler(temperature=0)


class Models(unittest.TestCase):
    def test_the_bundled_model_says_what_it_is(self):
        with weft.Model() as model:
            self.assertEqual((model.architecture, model.metadata["general.architecture"]), ("llama",) * 2)
            self.assertEqual(len(model.tokenizer), model.n_vocab)
            self.assertIn("llama", repr(model))
        self.assertTrue(model.closed)
        with self.assertRaisesRegex(weft.ClosedError, "closed"):
            model.session()

    def test_models_come_from_bytes_and_descriptors(self):
        raw = weft.bundled_model().read_bytes()
        want = weft.Model().session(context=64).feed([5, 6, 7]).copy()
        with open(weft.bundled_model(), "rb") as file:
            models = [weft.Model.from_bytes(raw), weft.Model.from_bytes(bytearray(raw)),
                      weft.Model.from_fd(file.fileno())]
        del raw
        gc.collect()
        for model in models:
            self.assertTrue(np.array_equal(model.session(context=64).feed([5, 6, 7]), want))

    def test_errors_are_what_python_calls_them(self):
        with self.assertRaises(OSError) as missing:
            weft.Model("/none/such.gguf")
        self.assertIsInstance(missing.exception, weft.IoError)
        self.assertEqual(missing.exception.errno, 2)
        self.assertTrue(str(missing.exception).startswith("/none/such.gguf: "))
        with self.assertRaises(weft.FormatError):
            weft.Model.from_bytes(b"no model")
        with self.assertRaisesRegex(TypeError, "'no_such_argument'; it has .*quantize"):
            weft.Model(no_such_argument=1)
        with self.assertRaises(MemoryError):
            weft.Model().session(mem_budget=1)

    def test_what_progress_raises_comes_out(self):
        def fail(share):
            raise KeyError("from progress")
        with self.assertRaisesRegex(KeyError, "from progress"):
            weft.Model(progress=fail)
        with self.assertRaises(weft.CancelledError):
            weft.Model(progress=lambda share: False)

    def test_nothing_is_pickled(self):
        model = weft.Model()
        for thing in (model, model.tokenizer, model.session(context=64), weft.Sampler()):
            for f in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "cannot be pickled or copied: "):
                    f(thing)


class Sessions(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=512, sequences=2)
        self.ids = self.model.tokenizer.encode(STORY)

    def test_logits_are_a_view_that_outlives_the_session(self):
        a = self.session.feed(self.ids)
        self.assertFalse(a.flags.owndata)
        self.assertTrue(a.flags.writeable and np.shares_memory(a, self.session.logits))
        self.assertTrue(np.shares_memory(np.from_dlpack(a), a))
        want = a.copy()
        self.session.close()
        gc.collect()
        self.assertTrue(np.array_equal(a, want))

    def test_a_sequence_tells_its_ids_while_a_thread_feeds_it(self):
        fed = [self.ids[i % len(self.ids)] for i in range(200)]
        feeding = threading.Thread(target=lambda: [self.session.feed([id]) for id in fed])
        feeding.start()
        seen = [self.session.tokens() for _ in range(500)]
        feeding.join()
        for ids in seen:
            self.assertEqual(ids, fed[:len(ids)])
        self.assertEqual(self.session.tokens(), fed)
        self.assertEqual(self.session.tokens(1), [])

    def test_ids_come_in_any_sequence_of_integers(self):
        want = self.session.feed(self.ids).copy()
        for given in (tuple(self.ids), np.array(self.ids, np.uint16), memoryview(np.array(self.ids))):
            self.session.truncate(0)
            self.assertTrue(np.array_equal(self.session.feed(given), want))
        for wrong in ([1.0], np.array([1.0]), "abc", [[1]], np.array([[1]]), [1 << 40], [-1], None):
            with self.assertRaises((TypeError, ValueError)):
                self.session.feed(wrong)
        self.assertEqual(self.session.length(), len(self.ids))

    def test_sequences_are_saved_and_copied(self):
        self.session.feed(self.ids)
        saved = self.session.save()
        self.session.copy(0, 1)
        want = self.session.feed([9], sequence=1).copy()
        self.session.restore(saved, sequence=1)
        self.assertTrue(np.array_equal(self.session.feed([9], sequence=1), want))
        with self.assertRaises(weft.FormatError):
            self.session.restore(saved[:-1])

    def test_a_text_finds_the_sequence_to_continue_from(self):
        with weft.Model().session(context=64, sequences=3) as session:
            self.assertEqual(session.match([5, 6, 7]), (-1, 0))
            session.feed([5, 6, 7, 8], sequence=1)
            session.feed([5, 6, 9], sequence=2)
            self.assertEqual(session.match([5, 6, 7, 8, 9]), (1, 4))
            self.assertEqual(session.match([5, 6, 9]), (1, 2))
            self.assertEqual(session.match([5, 6, 9, 1]), (2, 3))
            self.assertEqual(session.match([]), (-1, 0))
            with self.assertRaises(TypeError):
                session.match("567")

    def test_texts_are_the_same_in_one_piece_and_in_many(self):
        whole = self.session.generate(STORY, max_tokens=20, sampler=GREEDY)
        stream = self.session.stream(STORY, max_tokens=20, sampler=GREEDY)
        self.assertEqual("".join(stream), whole)
        self.assertEqual((stream.finish_reason, len(stream.tokens)), ("length", 20))
        self.assertIn(self.session.generate(STORY, grammar='root ::= "yes" | "no"'), ("yes", "no"))

    def test_streams_are_async_iterators(self):
        async def read():
            return [piece async for piece in self.session.stream(STORY, max_tokens=9, sampler=GREEDY)]
        self.assertEqual("".join(asyncio.run(read())),
                         self.session.generate(STORY, max_tokens=9, sampler=GREEDY))

    def test_other_threads_wait_or_are_refused(self):
        failed = []

        def work():
            for _ in range(20):
                try:
                    self.session.truncate(0)
                    self.session.feed(self.ids)
                except weft.BusyError:
                    pass
                except BaseException as e:  # noqa: BLE001 - threads lose exceptions
                    failed.append(e)
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        self.session.truncate(0)
        want = self.model.session(context=64).feed(self.ids)
        self.assertTrue(np.array_equal(self.session.feed(self.ids), want))

    def test_plans_show_themselves(self):
        plan = self.session.plan()
        self.assertIn("steps", plan.to_dict())
        self.assertTrue(plan._repr_svg_().rstrip().endswith("</svg>"))

    def test_profiles_show_where_the_time_went(self):
        want = self.session.feed(self.ids).copy()
        self.session.truncate(0)
        profile = self.session.profile(self.ids)
        self.assertTrue(np.array_equal(self.session.logits, want))
        step = profile.to_dict()
        self.assertEqual((step["n_tokens"], step["depth"]), (len(self.ids), 0))
        self.assertGreater(sum(node["ns"] for node in step["nodes"]), 0)
        self.assertEqual(sum(row["nodes"] for row in profile.rows()), len(step["nodes"]))
        self.assertIn("blk.*.attn_norm", [row["path"] for row in profile.rows()])
        self.assertTrue(profile._repr_svg_().rstrip().endswith("</svg>"))
        self.assertIn("% of the step", profile._repr_html_())
        self.session.restore(self.session.save(), sequence=1)
        self.assertTrue(np.array_equal(self.session.feed([9], sequence=1).copy(),
                                       self.model.session(context=64).feed([*self.ids, 9])))
        for wrong in ([], [-1], [1.5]):
            with self.assertRaises((TypeError, ValueError)):
                self.session.profile(wrong)
        self.assertEqual(self.session.length(), len(self.ids))


class StreamedWeights(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        path = self.folder / "mixture.gguf"
        weft.write_made_model("qwen3moe", path, keys={"qwen3moe.expert_count": 16})
        self.model = weft.Model(path)

    def logits(self, **options):
        with self.model.session(context=64, **options) as session:
            return session.feed([3, 1, 4, 1, 5]).copy()

    def test_they_give_the_bits_of_mapped_ones(self):
        want = self.logits(weights="mapped")
        self.assertTrue(np.array_equal(self.logits(weights="streamed"), want))

    def test_the_usage_of_experts_is_kept_in_a_file(self):
        names = self.folder / "usage", str(self.folder / "usage-of-str"), "auto"
        files = "usage", "usage-of-str", "mixture.gguf.experts"
        for name, file in zip(names, files):
            with self.subTest(file):
                self.logits(weights="streamed")
                self.logits(weights="mapped", expert_usage=name)
                self.assertFalse((self.folder / file).exists())
                self.logits(weights="streamed", expert_usage=name)
                self.assertTrue((self.folder / file).read_bytes().startswith(b"weftexp1"))

    def test_embeddings_leave_the_usage_alone(self):
        with self.model.session(weights="streamed", expert_usage="auto") as session, \
                unittest.mock.patch.object(weft._weft, "Embedder") as embedder:
            embedder.open.side_effect = weft.BudgetError("no room")
            with self.assertRaises(weft.BudgetError):
                session.embed("a")
            options = embedder.open.call_args.args[1]
            self.assertEqual((options["weights"], options["expert_usage"]),
                             (weft._weft.WEIGHTS_STREAMED, None))


if __name__ == "__main__":
    unittest.main()
