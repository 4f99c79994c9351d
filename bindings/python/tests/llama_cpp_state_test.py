"""The interface of llama-cpp-python: states, caches and threads."""

import copy
import pathlib
import pickle
import tempfile
import threading
import unittest

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

import weft
from weft.llama_cpp import BaseLlamaCache, LlamaDiskCache, LlamaRAMCache


def text_of(llm, prompt=STORY, **arguments):
    answer = llm(prompt, **{"max_tokens": 8, "temperature": 0, **arguments})
    return answer["choices"][0]["text"]


class States(unittest.TestCase):
    def test_states_go_on_in_other_objects(self):
        llm, other = llama(), llama()
        ids = llm.tokenize(STORY.encode())
        llm.eval(ids)
        state = pickle.loads(pickle.dumps(llm.save_state()))
        llm.eval([9])
        other.load_state(state)
        other.eval([9])
        self.assertTrue((other._scores[-1] == llm._scores[-1]).all())
        cache = LlamaRAMCache()
        cache[ids] = state
        self.assertIn(ids + [1], cache)

    def test_refused_states_change_nothing(self):
        llm = llama()
        ids = llm.tokenize(STORY.encode())
        llm.eval(ids)
        state = llm.save_state()
        llm.eval([9, 10])
        before = (llm.n_tokens, llm.input_ids.tolist(), llm._scores[-1].copy(), llm._seed)
        for name, value in (
                ("scores", state.scores[:, :-1]), ("scores", state.scores[0]),
                ("scores", state.scores.astype(int)), ("input_ids", state.input_ids[:2]),
                ("input_ids", state.input_ids + 1), ("input_ids", state.input_ids[None]),
                ("n_tokens", -1), ("n_tokens", 2), ("n_tokens", 1 << 20), ("n_tokens", None),
                ("llama_state", b""), ("llama_state", None), ("llama_state_size", 5),
                ("seed", None)):
            bad = copy.copy(state)
            setattr(bad, name, value)
            with self.subTest(name, value=value), self.assertRaises((weft.Error, TypeError)):
                llm.load_state(bad)
            self.assertEqual((llm.n_tokens, llm.input_ids.tolist(), llm._seed),
                             (before[0], before[1], before[3]))
            self.assertTrue(np.array_equal(llm._scores[-1], before[2]))
        llm.eval([11])
        fresh = llama()
        fresh.eval([*ids, 9, 10, 11])
        self.assertTrue(np.allclose(llm._scores[-1], fresh._scores[-1], atol=1e-4))

    def test_closed_objects_say_so(self):
        llm = llama()
        llm.close()
        llm.close()
        with self.assertRaisesRegex(weft.Error, "closed"):
            llm(STORY)
        with self.assertRaisesRegex(weft.Error, "closed"):
            llm.reset()


class Caches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def test_models_that_share_a_cache_do_not_disturb_each_other(self):
        class OneDict(BaseLlamaCache):
            states = {}
            cache_size = 0

            def __getitem__(self, key):
                return self.states[self._found(key)]

            def __contains__(self, key):
                return self._found(key) is not None

            def __setitem__(self, key, value):
                self.states[tuple(key)] = value

            def _found(self, key):
                return max(self.states, default=None, key=lambda ids: len(
                    [1 for a, b in zip(ids, key) if a == b]))

        different = {"kv_overrides": {"llama.rope.freq_base": 50000.0}}
        want, other = text_of(llama()), text_of(llama(**different))
        for cache in (LlamaRAMCache(), LlamaDiskCache(str(self.folder)), OneDict()):
            for _ in range(2):
                for arguments, text in (({}, want), (different, other)):
                    llm = llama(**arguments)
                    llm.set_cache(cache)
                    self.assertEqual(text_of(llm), text)

    def test_each_model_finds_its_own_state(self):
        for cache in (LlamaRAMCache(), LlamaDiskCache(str(self.folder))):
            a, b = llama(), llama(kv_overrides={"llama.rope.freq_base": 50000.0})
            for llm in (a, b):
                llm.set_cache(cache)
                text_of(llm)
            for arguments in ({}, {"kv_overrides": {"llama.rope.freq_base": 50000.0}}):
                llm = llama(**arguments)
                llm.set_cache(cache)
                loaded, load = [], llm.load_state

                def counted(state):
                    load(state)
                    loaded.append(state.n_tokens)
                llm.load_state = counted
                text_of(llm)
                self.assertEqual(len(loaded), 1)
            self.assertIn(a.tokenize(STORY.encode()), cache)

    def test_states_on_disk_are_those_that_were_stored(self):
        cache = LlamaDiskCache(str(self.folder))
        llm = llama(logits_all=True)
        ids = llm.tokenize(STORY.encode())
        with self.assertRaises(KeyError):
            cache[ids]
        for n in (2, len(ids)):
            llm.reset()
            llm.eval(ids[:n])
            cache[ids[:n]] = llm.save_state()
        found, want = LlamaDiskCache(str(self.folder))[[*ids, 9]], llm.save_state()
        for name in ("n_tokens", "llama_state", "llama_state_size", "seed", "model"):
            self.assertEqual(getattr(found, name), getattr(want, name), name)
        self.assertTrue(np.array_equal(found.scores, want.scores))
        self.assertTrue(np.array_equal(found.input_ids, want.input_ids))
        files = list(self.folder.iterdir())
        self.assertEqual(len(files), 2)
        self.assertEqual(cache.cache_size, sum(f.stat().st_size for f in files))
        small = LlamaDiskCache(str(self.folder), max(f.stat().st_size for f in files) + 1)
        small[[7, 7]] = want
        self.assertTrue([7, 7] in small and ids not in small)

    def test_broken_files_are_misses(self):
        llm = llama()
        want = text_of(llm)
        for spoil in (lambda raw: b"", lambda raw: raw[:len(raw) // 2],
                      lambda raw: b"\0" * len(raw), lambda raw: pickle.dumps(5),
                      lambda raw: raw[:len(raw) // 2] + b"\xff\xff" + raw[len(raw) // 2 + 2:]):
            cache = LlamaDiskCache(str(self.folder))
            llm.set_cache(cache)
            llm.reset()
            text_of(llm)
            stored, = self.folder.iterdir()
            stored.write_bytes(spoil(stored.read_bytes()))
            with self.assertRaises(KeyError):
                cache[llm.tokenize(STORY.encode())]
            self.assertEqual(list(self.folder.iterdir()), [])
            fresh = llama()
            fresh.set_cache(cache)
            self.assertEqual(text_of(fresh), want)
            for file in self.folder.iterdir():
                file.unlink()

    def test_a_failed_write_leaves_nothing(self):
        cache = LlamaDiskCache(str(self.folder))
        state = llama().save_state()
        state.llama_state = 5
        with self.assertRaises(Exception):
            cache[[1]] = state
        self.assertEqual(list(self.folder.iterdir()), [])
        with self.assertRaises(TypeError):
            cache[[1]] = "state"


class ContestedLock:
    """A lock that another caller gets each time when it is released."""

    def __init__(self, call):
        self._lock = threading.RLock()
        self._call = call
        self._depth = 0

    def __enter__(self):
        self._lock.acquire()
        self._depth += 1

    def __exit__(self, *exception):
        if self._depth == 1 and not any(exception):
            self._call()  # which takes the lock as well: depth 2
        self._depth -= 1
        self._lock.release()


class Threads(unittest.TestCase):
    def test_other_calls_do_not_change_a_text(self):
        llm = llama()
        want = text_of(llm, max_tokens=30)
        ids = llm.tokenize(b"One day Victor")
        llm.reset()
        llm.eval(ids)
        state = llm.save_state()
        drawn = llm.sample(temp=0.0)
        done, errors = threading.Event(), []

        def disturb(call):
            try:
                while not done.is_set():
                    call()
            except Exception as error:  # noqa: BLE001 - which the test shows
                errors.append(error)

        def first_of():
            return next(llm.generate(ids, temp=0.0))

        calls = (lambda: llm.load_state(state), llm.save_state, llm.reset, first_of,
                 llm._ctx.kv_cache_clear, lambda: llm._ctx.kv_cache_seq_rm(0, 2, -1),
                 lambda: llm.eval_tokens)
        threads = [threading.Thread(target=disturb, args=[call]) for call in calls]
        for thread in threads:
            thread.start()
        try:
            for _ in range(4):
                self.assertEqual(text_of(llm, max_tokens=30), want)
                chunks = llm(STORY, max_tokens=30, temperature=0, stream=True, logprobs=1)
                self.assertEqual("".join(c["choices"][0]["text"] for c in chunks), want)
        finally:
            done.set()
            for thread in threads:
                thread.join()
        self.assertEqual(errors, [])
        llm.load_state(state)
        self.assertEqual(llm.sample(temp=0.0), drawn)

    def test_methods_wait_for_a_running_call(self):
        llm = llama()
        llm.eval([5, 6])
        state = llm.save_state()
        for call in (llm.save_state, lambda: llm.load_state(state), llm.reset, llm.sample,
                     lambda: llm.eval([7]), lambda: next(llm.generate([5])),
                     llm._ctx.kv_cache_clear, lambda: llm._ctx.kv_cache_seq_rm(0, 1, -1)):
            llm.load_state(state)
            thread = threading.Thread(target=call)
            with llm._lock:
                thread.start()
                thread.join(0.05)
                self.assertTrue(thread.is_alive(), call)
            thread.join()

    def test_logprobs_of_streams_are_of_their_own_text(self):
        llm = llama()
        asked = {"max_tokens": 12, "temperature": 0, "stream": True, "logprobs": 0}

        def values():
            return [x for c in llm(STORY, **asked) if c["choices"][0]["logprobs"]
                    for x in c["choices"][0]["logprobs"]["token_logprobs"]]
        want = values()
        llm._lock = ContestedLock(lambda: llm.eval([7]))
        self.assertTrue(np.allclose(values(), want, atol=1e-3))


if __name__ == "__main__":
    unittest.main()
