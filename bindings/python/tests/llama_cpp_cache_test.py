"""The interface of llama-cpp-python: what caches share, and how they find states."""

import errno
import pathlib
import random
import shutil
import tempfile
import unittest
from unittest import mock

from support import STORY, llama  # first: it skips the test without numpy

import numpy as np

from weft.llama_cpp import LlamaDiskCache, LlamaRAMCache
from weft.llama_cpp._prefixes import PrefixTree, common_prefix

COMMON = [10 + 7 * i % 1000 for i in range(192)]


def text_with(last):
    return [*COMMON, *[last] * 16]


class Trees(unittest.TestCase):
    def test_they_find_what_a_search_finds(self):
        drawn = random.Random(1)
        for _ in range(40):
            tree, values = PrefixTree(), {}
            for _ in range(80):
                ids = tuple(drawn.choices((0, 1), k=drawn.randrange(9)))
                if drawn.random() < 0.55:
                    values[ids] = object()
                    tree.put(ids, values[ids])
                elif values:
                    gone = drawn.choice(list(values))
                    del values[gone]
                    tree.remove(gone)
                self.assertEqual(tree.is_empty, not values)
                self.check(tree, values, tuple(drawn.choices((0, 1), k=9)))
        with self.assertRaises(KeyError):
            tree.remove((2,))

    def check(self, tree, values, key):
        n, found = tree.longest(key)
        self.assertEqual(n, max((common_prefix(ids, key) for ids in values), default=0))
        if n == 0:
            self.assertIsNone(found)
            return
        ids, = (ids for ids, value in values.items() if value is found)
        self.assertEqual(common_prefix(ids, key), n)
        if key[:n] in values:
            self.assertEqual(ids, key[:n])


class Memory(unittest.TestCase):
    def states(self, n, **arguments):
        llm = llama(**arguments)
        for last in range(5, 5 + n):
            llm.reset()
            llm.eval(text_with(last))
            yield text_with(last), llm.save_state()

    def test_states_that_begin_alike_share_their_beginning(self):
        for logits_all in (False, True):
            cache, sizes, states = LlamaRAMCache(), [0], {}
            for ids, state in self.states(4, logits_all=logits_all):
                cache[ids] = state
                states[tuple(ids)] = state
                sizes.append(cache.cache_size)
                whole = state.llama_state_size + state.scores.nbytes
            self.assertGreaterEqual(sizes[1], whole)
            for before, after in zip(sizes[1:], sizes[2:]):
                self.assertLess(after - before, whole / 2.5)  # a block of four, and logits
            for ids, state in states.items():
                self.same(cache[ids], state)
            cache[ids] = state
            self.assertEqual(cache.cache_size, sizes[-1])

    def same(self, found, want):
        for name in ("n_tokens", "llama_state", "llama_state_size", "seed", "model"):
            self.assertEqual(getattr(found, name), getattr(want, name), name)
        for name in ("input_ids", "scores"):
            self.assertTrue(np.array_equal(getattr(found, name), getattr(want, name)), name)
            self.assertEqual(getattr(found, name).dtype, getattr(want, name).dtype)

    def test_what_is_evicted_leaves_what_others_share(self):
        cache, states = LlamaRAMCache(), dict(
            (tuple(ids), state) for ids, state in self.states(3))
        first, second, third = states
        cache[first], cache[second] = states[first], states[second]
        cache.capacity_bytes = cache.cache_size
        self.assertEqual(cache[[*first, 9]].n_tokens, len(first))  # the second is older now
        cache[third] = states[third]
        self.assertEqual([cache._common(ids) for ids in (first, second, third)],
                         [len(first), len(COMMON), len(third)])
        self.same(cache[third], states[third])
        cache.capacity_bytes = 0
        cache[first] = states[first]
        self.assertEqual((cache.cache_size, first in cache), (0, False))

    def test_states_from_elsewhere_are_kept_as_they_are(self):
        class Other:
            llama_state_size = 100

        cache, state = LlamaRAMCache(250), Other()
        cache[[1, 2]] = state
        self.assertIs(cache[[1, 5]], state)
        cache[[1, 2]] = cache[[3]] = Other()
        self.assertEqual(cache.cache_size, 200)
        state.llama_state_size = 7
        cache[[4]] = Other()
        self.assertEqual((cache.cache_size, [1] in cache, [3] in cache), (200, False, True))
        with self.assertRaises(AttributeError):
            cache[[5]] = "a state without a size"
        self.assertNotIn([5], cache)

    def test_a_text_that_is_there_takes_no_state(self):
        class Counted(LlamaRAMCache):
            n = 0

            def __getitem__(self, key):
                self.n += 1
                return super().__getitem__(key)

        cache = Counted()
        texts = []
        for llm in (llama(), llama()):
            llm.set_cache(cache)
            texts += [llm(STORY, max_tokens=8, temperature=0)["choices"] for _ in range(2)]
        self.assertEqual(cache.n, 1)
        self.assertTrue(all(text == texts[0] for text in texts))


class Files(unittest.TestCase):
    def test_several_caches_share_a_folder(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            caches = LlamaDiskCache(name), LlamaDiskCache(name)
            state = llama().save_state()
            caches[0][[1, 2, 3]] = state
            self.assertEqual([cache._common([1, 2, 4]) for cache in caches], [2, 2])
            file, = folder.iterdir()
            shutil.copy(file, folder / "copy.npz")
            caches[0][[1, 9]] = state
            self.assertEqual([cache._common([1, 9]) for cache in caches], [2, 2])
            file.unlink()
            self.assertEqual([cache._common([1, 2, 4]) for cache in caches], [1, 1])
            self.assertTrue((folder / "copy.npz").exists())

    def test_a_file_that_cannot_be_opened_now_stays(self):
        with tempfile.TemporaryDirectory() as name:
            cache = LlamaDiskCache(name)
            cache[[1, 2, 3]] = llama().save_state()
            with mock.patch("weft.llama_cpp.llama_cache._read_state",
                            side_effect=OSError(errno.EMFILE, "Too many open files")):
                with self.assertRaisesRegex(KeyError, "Too many open files"):
                    cache[[1, 2]]
            self.assertEqual(cache[[1, 2]].n_tokens, 0)


if __name__ == "__main__":
    unittest.main()
