"""Caches of states by their ids."""

import abc
import collections
import contextlib
import hashlib
import os
import pathlib
import struct
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

import numpy as np

from .._objects import Lock
from ._state import LlamaState

# What reading a file raises that is not a state.
_BROKEN = (AttributeError, EOFError, KeyError, RuntimeError, TypeError, ValueError, struct.error,
           zipfile.BadZipFile, zlib.error)
_ABANDONED_AFTER_S = 3600


class StateKey(list[int]):
    """Ids, and the model whose state is wanted; "": any model's."""

    def __init__(self, ids: Iterable[int], model: str) -> None:
        super().__init__(ids)
        self.model = model


class BaseLlamaCache(abc.ABC):
    """States by the ids that they hold. Completions look for a StateKey, so that a cache can tell
    models apart."""

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


def _fits(model: str, key: Sequence[int]) -> bool:
    """Whether a state of that model may be what the key asks for."""
    wanted = getattr(key, "model", "")
    return not model or not wanted or model == wanted


def _model_of(key: Sequence[int], state: Any) -> str:
    model: str = getattr(state, "model", "") or getattr(key, "model", "")
    return model


def _bytes_of(state: Any) -> int:
    """Memory of a state, with the logits that it keeps."""
    arrays = (getattr(state, name, None) for name in ("input_ids", "scores"))
    return int(state.llama_state_size) + sum(int(getattr(a, "nbytes", 0)) for a in arrays)


class LlamaRAMCache(BaseLlamaCache):
    """States in memory; the oldest goes first."""

    def __init__(self, capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        # By model and ids.
        self._states: "collections.OrderedDict[tuple[str, tuple[int, ...]], Any]" = \
            collections.OrderedDict()
        self._lock = Lock()

    @property
    def cache_size(self) -> int:
        with self._lock:
            return sum(_bytes_of(state) for state in self._states.values())

    def _longest(self, key: Sequence[int]) -> Optional[tuple[str, tuple[int, ...]]]:
        best, length = None, 0
        for entry in self._states:
            common = common_prefix(entry[1], key) if _fits(entry[0], key) else 0
            if common > length:
                best, length = entry, common
        return best

    def __getitem__(self, key: Sequence[int]) -> Any:
        with self._lock:
            found = self._longest(key)
            if found is None:
                raise KeyError("no state has a common prefix")
            self._states.move_to_end(found)
            return self._states[found]

    def __contains__(self, key: Sequence[int]) -> bool:
        with self._lock:
            return self._longest(key) is not None

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        entry = (_model_of(key, value), tuple(int(i) for i in key))
        with self._lock:
            self._states.pop(entry, None)
            self._states[entry] = value
            while self.cache_size > self.capacity_bytes and self._states:
                self._states.popitem(last=False)


LlamaCache = LlamaRAMCache


class LlamaDiskCache(BaseLlamaCache):
    """States in a folder, a file each, which several processes may share; the oldest goes first.
    Files that cannot be read are removed."""

    def __init__(self, cache_dir: str = ".cache/llama_cache",
                 capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        self._folder = pathlib.Path(cache_dir)
        self._folder.mkdir(parents=True, exist_ok=True)

    def _files(self) -> list[tuple[int, int, pathlib.Path]]:
        """Last use, size and path of each state, the oldest first."""
        found = []
        for file in self._folder.glob("*.npz"):
            with contextlib.suppress(FileNotFoundError):  # another process removed it
                about = file.stat()
                found.append((about.st_mtime_ns, about.st_size, file))
        return sorted(found)

    @property
    def cache_size(self) -> int:
        return sum(size for _, size, _ in self._files())

    @contextlib.contextmanager
    def _reading(self, file: pathlib.Path) -> Iterator[None]:
        """Removes a file that turns out to be broken."""
        try:
            yield
        except OSError:  # another process removed it, or it belongs to somebody else
            pass
        except _BROKEN:
            file.unlink(missing_ok=True)

    def _longest(self, key: Sequence[int]) -> Optional[pathlib.Path]:
        best, length = None, 0
        for _, _, file in self._files():
            with self._reading(file), open(file, "rb") as opened, \
                    np.load(opened, allow_pickle=False) as fields:
                common = common_prefix(fields["key"].tolist(), key) \
                    if _fits(str(fields["model"]), key) else 0
                if common > length:
                    best, length = file, common
        return best

    def __getitem__(self, key: Sequence[int]) -> Any:
        while True:
            found = self._longest(key)
            if found is None:
                raise KeyError("no state has a common prefix")
            with self._reading(found):
                state = _read_state(found)
                os.utime(found)
                return state
            found.unlink(missing_ok=True)

    def __contains__(self, key: Sequence[int]) -> bool:
        return self._longest(key) is not None

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        if not isinstance(value, LlamaState):
            raise TypeError(f"value must be a LlamaState, not {type(value).__name__}")
        ids, model = [int(i) for i in key], _model_of(key, value)
        name = hashlib.sha256(f"{model}:{ids}".encode()).hexdigest()[:32]
        _write_state(self._folder / f"{name}.npz", ids, model, value)
        files = self._files()
        size = sum(size for _, size, _ in files)
        for _, bytes_of_file, file in files:
            if size <= self.capacity_bytes:
                break
            file.unlink(missing_ok=True)
            size -= bytes_of_file
        self._remove_abandoned()

    def _remove_abandoned(self) -> None:
        """Removes what processes left that ended while they wrote."""
        for file in self._folder.glob("*.tmp"):
            with contextlib.suppress(FileNotFoundError):
                if file.stat().st_mtime < time.time() - _ABANDONED_AFTER_S:
                    file.unlink()


def _write_state(path: pathlib.Path, ids: list[int], model: str, state: LlamaState) -> None:
    """Writes a file, which appears when it is complete."""
    import tempfile  # takes milliseconds
    descriptor, name = tempfile.mkstemp(suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            np.savez(file, key=np.array(ids, np.intc), model=np.array(model),
                     input_ids=np.asarray(state.input_ids), scores=np.asarray(state.scores),
                     n_tokens=np.array(state.n_tokens, np.int64), seed=np.array(str(state.seed)),
                     llama_state=np.frombuffer(state.llama_state, np.uint8))
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _read_state(path: pathlib.Path) -> LlamaState:
    with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as fields:
        raw = fields["llama_state"].tobytes()
        return LlamaState(fields["input_ids"], fields["scores"], int(fields["n_tokens"]), raw,
                          len(raw), int(str(fields["seed"])), str(fields["model"]))
