"""Arguments, arrays and callbacks that nobody should give: an exception, never a crash or mixed up
texts."""

import asyncio
import concurrent.futures
import gc
import os
import pathlib
import sys
import tempfile
import threading
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft import ops

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/system"))
from running import is_busy  # noqa: E402
from waiting import PATIENCE, eventually  # noqa: E402

GREEDY = weft.Sampler(temperature=0)
RAW = weft.bundled_model().read_bytes()


class Values(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=256, sequences=2)

    def test_ids_that_change_while_they_are_read(self):
        class Evil:
            def __init__(self, items):
                self.items = items

            def __index__(self):
                self.items.clear()
                gc.collect()
                return 5
        ids = []
        ids += [Evil(ids)] + [7] * 100
        self.session.feed(ids)
        self.assertEqual(self.session.length(), 101)

    def test_numbers_beyond_all_ids(self):
        sampler = weft.Sampler()
        for call in (lambda: self.model.tokenizer.token_bytes(2 ** 32 + 5),
                     lambda: sampler.accept(2 ** 32 + 5), lambda: sampler.accept(-2 ** 40),
                     lambda: weft.Sampler(logit_bias={2 ** 32 + 5: 10}),
                     lambda: self.session.feed([2 ** 32 + 5])):
            with self.assertRaises(weft.ArgumentError):
                call()

    def test_texts_with_nul(self):
        with tempfile.TemporaryDirectory() as folder:
            for call in (lambda: weft.Model(str(weft.bundled_model()) + "\0junk"),
                         lambda: weft.Chat(self.session, grammar='root ::= "yes"\0x').say("Hi"),
                         lambda: self.model.session(backend="cpu\0x"),
                         lambda: weft.Model(overrides={"general.name": "a\0b"})):
                with self.assertRaisesRegex(weft.ArgumentError, "NUL"):
                    call()
            odd = pathlib.Path(folder, "\udcff.gguf")  # a name that is not UTF-8
            odd.write_bytes(RAW)
            self.assertEqual(weft.Model(odd).n_vocab, self.model.n_vocab)

    def test_buffers_of_models(self):
        want = self.session.feed([5, 6]).copy()
        twice = bytearray(2 * len(RAW))
        twice[::2] = RAW
        for buffer in (memoryview(twice)[::2], memoryview(RAW[::-1])[::-1], np.frombuffer(RAW, np.uint8)):
            got = weft.Model.from_bytes(buffer).session(context=64).feed([5, 6])
            self.assertTrue(np.array_equal(got, want))
        mine = bytearray(RAW)
        model = weft.Model.from_bytes(memoryview(mine).toreadonly())
        mine[:] = bytes(len(mine))
        self.assertTrue(np.array_equal(model.session(context=64).feed([5, 6]), want))
        for wrong in (memoryview(RAW)[::-1], 5, "text", None):
            with self.assertRaises((weft.FormatError, TypeError)):
                weft.Model.from_bytes(wrong)

    def test_a_part_of_a_divided_model(self):
        part = pathlib.Path(__file__).parents[3] / "tests/fuzz/corpus/gguf/rank.bin"
        with self.assertRaisesRegex(weft.FormatError, "divided among ranks.*expected a whole model"):
            weft.Model(part)

    def test_wrong_types_have_messages(self):
        s = self.session
        for call in (lambda: s.generate("a", sampler="greedy"), lambda: s.generate("a", grammar=5),
                     lambda: s.generate("a", stop=[5]), lambda: s.generate("a", max_tokens="a"),
                     lambda: s.generate(None), lambda: s.feed([1], sequence="0"),
                     lambda: s.feed([1], sequence=True), lambda: s.copy(0, 1, "a"),
                     lambda: s.truncate(1.5), lambda: self.model.session(weights=1.5),
                     lambda: self.model.session(expert_usage=5)):
            with self.assertRaises(TypeError) as raised:
                call()
            self.assertNotIn("Invoked with", str(raised.exception))
        with self.assertRaisesRegex(weft.ArgumentError, "auto, mapped, resident, streamed"):
            self.model.session(weights="fast")
        self.assertEqual(s.length(np.int64(0)), 0)
        self.model.session(context=64, weights="mapped").feed([5], sequence=np.int32(0))

    def test_lengths_of_copies(self):
        self.session.feed([5, 6, 7])
        with self.assertRaises(weft.ArgumentError):
            self.session.copy(0, 1, -1)
        self.session.copy(0, 1, 2)
        self.session.restore(self.session.save(1), sequence=0)
        want = self.model.session(context=64).feed([5, 6, 9])
        self.assertTrue(np.array_equal(self.session.feed([9]), want))


class Lives(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()
        self.session = self.model.session(context=512)

    def test_a_session_keeps_its_model(self):
        want = self.session.generate("Once", max_tokens=9, sampler=GREEDY)
        self.model.close()
        gc.collect()
        self.assertEqual(self.session.generate("Once", max_tokens=9, sampler=GREEDY), want)
        self.assertEqual(self.session.embed("Hi").ndim, 1)
        self.assertTrue(weft.Chat(self.session, max_tokens=5, sampler=GREEDY).say("Hi"))
        with self.assertRaises(weft.ClosedError):
            self.model.session()

    def test_a_stream_ends_with_its_session(self):
        stream = self.session.stream("Once", max_tokens=50)
        next(stream)
        self.session.close()
        with self.assertRaisesRegex(weft.ClosedError, "closed"):
            next(stream)

    def test_an_old_stream_says_nothing_about_the_sequence(self):
        for end in (weft.Stream.close, lambda stream: None):
            stream = self.session.stream("Once upon a time", max_tokens=50)
            next(stream)
            n = self.session.length()
            self.session.truncate(0)
            others = list(range(20, 20 + n))
            self.session.feed(others)
            end(stream)
            del stream
            gc.collect()
            fresh = self.model.session(context=512)
            fresh.feed(others)
            self.assertEqual(self.session.save(), fresh.save())

    def test_an_abandoned_stream_leaves_its_tokens(self):
        for _ in self.session.stream("Once", max_tokens=50):
            break
        gc.collect()
        saved = self.session.save()
        self.assertGreater(self.session.length(), 0)
        self.model.session(context=512).restore(saved)

    def test_an_abandoned_answer_leaves_messages_in_turn(self):
        chat = weft.Chat(self.session, max_tokens=30, sampler=GREEDY)
        for _ in chat.stream("Tell me a story."):
            break
        gc.collect()
        kept = chat.stream("Another one.")
        next(kept)
        chat.say("And one more.")
        self.assertEqual([m["role"] for m in chat.messages], ["user", "assistant"] * 3)
        self.session.close()
        with self.assertRaises(weft.ClosedError):
            chat.say("Hi")
        self.assertEqual(len(chat.messages), 6)

    def test_embeddings_count_in_the_budget(self):
        small = self.model.session(context=64)
        budget = 8 * small._info["allocated_bytes"] + (8 << 20)
        row = self.model.session(context=64, mem_budget=budget).embed("Hi")
        self.assertTrue(np.array_equal(row, small.embed("Hi")))
        self.assertTrue(np.array_equal(small.embed(["Once", "Hi"])[1], row))


class CustomOps(unittest.TestCase):
    def test_arrays_outlive_the_graph(self):
        kept = []

        @weft.register_op(name="py_keeps")
        def keeps(x):
            kept.append(x)
            return x * 2
        g = weft.Graph()
        g.output(ops.py_keeps(g.input("x", (64, 64))), "y")
        x = np.ones((64, 64), np.float32)
        g.run({"x": x})
        del g
        gc.collect()
        junk = [np.zeros((64, 64), np.float32) for _ in range(50)]
        self.assertTrue(np.array_equal(kept[0], x))
        del junk

    def test_exceptions_are_not_mixed_up(self):
        graphs = {}
        for text in ("a", "ab", "b"):
            def op(x, text="?"):
                raise ValueError(text)
            weft.register_op(name=f"py_fails_{text}")(op)
            g = weft.Graph()
            g.output(getattr(ops, f"py_fails_{text}")(g.input("x", (2, 2)), text=text), "y")
            graphs[text] = g
        x = {"x": np.zeros((2, 2), np.float32)}
        with self.assertRaises((ValueError, weft.Error)):
            graphs["a"].verify(x)
        for text in ("ab", "b", "a", "ab"):
            with self.assertRaises(ValueError) as raised:
                graphs[text].run(x)
            self.assertEqual(str(raised.exception), text)

    def test_weights_and_options_of_later_runs(self):
        g = weft.Graph()
        x, w = np.ones((2, 64), np.float32), np.ones((32, 64), np.float32)
        g.output(ops.linear(g.input("x", x.shape), g.weight("w", w.shape)), "y")
        first = g.run({"x": x, "w": w}, workers=1)["y"]
        with self.assertRaisesRegex(weft.ArgumentError, "'w' was given with the first run"):
            g.run({"x": x, "w": 2 * w})
        self.assertTrue(np.array_equal(g.run({"x": x}, workers=1)["y"], first))
        self.assertTrue(np.array_equal(g.run({"x": x, "w": 2 * w}, workers=2)["y"], 2 * first))
        for name in ("json", "functools", "Tensor", "names"):
            with self.assertRaisesRegex(AttributeError, "no op"):
                getattr(ops, name)


class Concurrent(unittest.TestCase):
    def test_threads_do_not_mix_up_a_sequence(self):
        session = weft.Model().session(context=512)
        failed = []

        def run(work):
            try:
                for _ in range(40):
                    work()
            except weft.BusyError:
                pass
            except BaseException as e:  # noqa: BLE001 - threads lose exceptions
                failed.append(e)
        threads = [threading.Thread(target=run, args=(work,)) for work in
                   (lambda: session.feed([5, 6, 7]), lambda: session.feed([8]),
                    lambda: session.truncate(0), lambda: session.truncate(0))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failed, [])
        saved = session.save()  # which needs all tokens
        want = session.feed([9]).copy()
        other = weft.Model().session(context=512)
        other.restore(saved)
        self.assertTrue(np.array_equal(other.feed([9]), want))

    def test_encoding_lets_others_run(self):
        words = weft.Model().tokenizer
        text = "The quick brown fox. " * 60000

        def others_run():
            thread = threading.Thread(target=words.encode, args=(text,))
            thread.start()
            for _ in range(20):
                thread.join(0.001)
                if not thread.is_alive():
                    return False  # too early on a busy machine, always if others cannot run
            thread.join()
            return True
        eventually(others_run, "turns of this thread while another one encodes")

    def test_aclose_ends_the_step_that_runs(self):
        session = weft.Model().session(context=4096, prefill_width=8)
        ids = list(range(5, 2000)) * 2

        async def run():
            stream = session.stream(ids[:3900], max_tokens=9)
            step = asyncio.ensure_future(stream.__anext__())
            while not is_busy(session) and not step.done():
                await asyncio.sleep(0)
            await stream.aclose()
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        asyncio.run(run())
        self.assertLess(session.length(), 3900, "the step fed the whole prompt")
        session.truncate(0)
        self.assertTrue(session.generate("Once", max_tokens=3, sampler=GREEDY))

    def test_a_step_that_has_not_begun_is_cancelled_at_once(self):
        async def run():
            loop = asyncio.get_running_loop()
            loop.set_default_executor(concurrent.futures.ThreadPoolExecutor(1))
            free = threading.Event()
            blocker = loop.run_in_executor(None, free.wait, PATIENCE)
            stream = weft.Model().session(context=64).stream("Once")
            task = asyncio.ensure_future(stream.__anext__())
            await asyncio.sleep(0)  # the task asks for a thread
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            was_blocked = not blocker.done()
            free.set()
            await blocker
            return was_blocked
        self.assertTrue(asyncio.run(run()), "it waited for a free thread")


if __name__ == "__main__":
    unittest.main()
