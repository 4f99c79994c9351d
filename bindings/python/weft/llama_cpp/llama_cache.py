"""Caches of states by their ids."""

import abc
import collections
import os
import pathlib
import pickle
from collections.abc import Sequence
from typing import Any, Optional


class BaseLlamaCache(abc.ABC):
    """States by the ids that they hold."""

    def __init__(self, capacity_bytes: int = 2 << 30) -> None:
        self.capacity_bytes = capacity_bytes

    @property
    @abc.abstractmethod
    def cache_size(self) -> int:
        """Bytes of all states."""
        raise NotImplementedError

    @abc.abstractmethod
    def __getitem__(self, key: Sequence[int]) -> Any:
        raise NotImplementedError

    @abc.abstractmethod
    def __contains__(self, key: Sequence[int]) -> bool:
        raise NotImplementedError

    @abc.abstractmethod
    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        raise NotImplementedError


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many ids two texts have in common."""
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


class LlamaRAMCache(BaseLlamaCache):
    """States in memory; the oldest goes first."""

    def __init__(self, capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        self.cache_state: "collections.OrderedDict[tuple[int, ...], Any]" = collections.OrderedDict()

    @property
    def cache_size(self) -> int:
        return sum(state.llama_state_size for state in self.cache_state.values())

    def _longest(self, key: Sequence[int]) -> Optional[tuple[int, ...]]:
        best = max(self.cache_state, key=lambda ids: common_prefix(ids, key), default=None)
        return best if best is not None and common_prefix(best, key) > 0 else None

    def __getitem__(self, key: Sequence[int]) -> Any:
        found = self._longest(tuple(key))
        if found is None:
            raise KeyError("no state has a common prefix")
        self.cache_state.move_to_end(found)
        return self.cache_state[found]

    def __contains__(self, key: Sequence[int]) -> bool:
        return self._longest(tuple(key)) is not None

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        ids = tuple(int(i) for i in key)
        self.cache_state.pop(ids, None)
        self.cache_state[ids] = value
        while self.cache_size > self.capacity_bytes and self.cache_state:
            self.cache_state.popitem(last=False)


LlamaCache = LlamaRAMCache


class LlamaDiskCache(BaseLlamaCache):
    """States in a folder of files; the oldest goes first."""

    def __init__(self, cache_dir: str = ".cache/llama_cache", capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        self._folder = pathlib.Path(cache_dir)
        self._folder.mkdir(parents=True, exist_ok=True)

    def _files(self) -> list[pathlib.Path]:
        return sorted(self._folder.glob("*.state"), key=lambda f: f.stat().st_mtime_ns)

    @property
    def cache_size(self) -> int:
        return sum(f.stat().st_size for f in self._files())

    def _longest(self, key: Sequence[int]) -> Optional[pathlib.Path]:
        best, most = None, 0
        for file in self._files():
            ids = [int(i) for i in file.with_suffix(".ids").read_text().split()]
            common = common_prefix(ids, key)
            if common > most:
                best, most = file, common
        return best

    def __getitem__(self, key: Sequence[int]) -> Any:
        found = self._longest(key)
        if found is None:
            raise KeyError("no state has a common prefix")
        os.utime(found)
        return pickle.loads(found.read_bytes())

    def __contains__(self, key: Sequence[int]) -> bool:
        return self._longest(key) is not None

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        import hashlib
        ids = " ".join(str(int(i)) for i in key)
        file = self._folder / (hashlib.sha256(ids.encode()).hexdigest()[:32] + ".state")
        file.with_suffix(".ids").write_text(ids)
        file.write_bytes(pickle.dumps(value))
        files = self._files()
        while files and self.cache_size > self.capacity_bytes:
            oldest = files.pop(0)
            oldest.unlink()
            oldest.with_suffix(".ids").unlink(missing_ok=True)
