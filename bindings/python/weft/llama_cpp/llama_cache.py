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
from ._pieces import Kept, Pieces, keep
from ._prefixes import PrefixTree, common_prefix
from ._state import LlamaState

__all__ = ["BaseLlamaCache", "LlamaCache", "LlamaDiskCache", "LlamaRAMCache", "StateKey",
           "common_prefix"]

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

    def _common(self, key: Sequence[int]) -> Optional[int]:
        """How many ids a key has in common with that of the state that is found for it; None: it is
        not known before the state is read."""
        return None


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


# A model and ids: what a state is stored for.
_Entry = tuple[str, tuple[int, ...]]


class _Entries:
    """Which states there are, by model."""

    def __init__(self) -> None:
        self._trees: dict[str, PrefixTree] = {}

    def put(self, entry: _Entry, value: Any) -> None:
        self._trees.setdefault(entry[0], PrefixTree()).put(entry[1], value)

    def remove(self, entry: _Entry) -> None:
        tree = self._trees[entry[0]]
        tree.remove(entry[1])
        if tree.is_empty:
            del self._trees[entry[0]]

    def longest(self, key: Sequence[int]) -> tuple[int, Any]:
        """As PrefixTree.longest(), of all models that fit."""
        ids = tuple(key)
        found = (tree.longest(ids) for model, tree in self._trees.items() if _fits(model, key))
        return max(found, key=lambda one: one[0], default=(0, None))


class LlamaRAMCache(BaseLlamaCache):
    """States in memory; the one that was not used for longest goes first.

    Each state is kept in pieces, and equal pieces are kept once: states whose texts begin alike
    share the keys and values of that beginning, in whole blocks of 64 tokens, those of recurrent
    layers share the checkpoints that they have in common, and with logits_all the rows of logits.
    Each has its own last block, current recurrent states and last logits. Windows share what is at
    the same place in both, which is little once they have moved. States from elsewhere, that are no
    LlamaState, are kept whole. A state is put together when it is looked up, and a Llama that loads
    it copies its bytes: unlike the sequences of one session, Llamas share no memory with the cache.

    The look-up is by a radix tree: its time depends on the key, not on the number of states."""

    def __init__(self, capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        # The oldest first.
        self._states: "collections.OrderedDict[_Entry, Kept]" = collections.OrderedDict()
        self._entries = _Entries()
        self._pieces = Pieces()
        self._lock = Lock()

    @property
    def cache_size(self) -> int:
        """Bytes of all states; what several have counts once."""
        with self._lock:
            return self._pieces.size

    def _common(self, key: Sequence[int]) -> Optional[int]:
        with self._lock:
            return self._entries.longest(key)[0]

    def __getitem__(self, key: Sequence[int]) -> Any:
        with self._lock:
            found = self._entries.longest(key)[1]
            if found is None:
                raise KeyError("no state has a common prefix")
            self._states.move_to_end(found)
            return self._states[found].state()

    def __contains__(self, key: Sequence[int]) -> bool:
        with self._lock:
            return self._entries.longest(key)[0] > 0

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        entry = (_model_of(key, value), tuple(int(i) for i in key))
        n_bytes = _bytes_of(value)  # before anything changes: it may have no size
        with self._lock:
            # Before the old one goes, so that it finds the pieces of that.
            state = keep(value, n_bytes, self._pieces)
            if entry in self._states:
                self._remove(entry)
            self._states[entry] = state
            self._entries.put(entry, entry)
            while self._pieces.size > self.capacity_bytes and self._states:
                self._remove(next(iter(self._states)))

    def _remove(self, entry: _Entry) -> None:
        self._entries.remove(entry)
        self._states.pop(entry).release()


LlamaCache = LlamaRAMCache


class LlamaDiskCache(BaseLlamaCache):
    """States in a folder, a whole file each, which several processes may share; the oldest goes
    first. The key of a file is read once, and the look-up is that of LlamaRAMCache. Files that
    cannot be read are removed."""

    def __init__(self, cache_dir: str = ".cache/llama_cache",
                 capacity_bytes: int = 2 << 30) -> None:
        super().__init__(capacity_bytes)
        self._folder = pathlib.Path(cache_dir)
        self._folder.mkdir(parents=True, exist_ok=True)
        # What was read of files that are there, by their names, which say what they hold. None: the
        # name is not its own, and it is not used.
        self._known: dict[str, Optional[_Entry]] = {}
        self._entries = _Entries()
        self._lock = Lock()

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

    def _update(self) -> None:
        """Learns of files that came and went."""
        there = {file.name: file for _, _, file in self._files()}
        for name in self._known.keys() - there.keys():
            gone = self._known.pop(name)
            if gone is not None:
                self._entries.remove(gone)
        for name in there.keys() - self._known.keys():
            file = there[name]
            with self._reading(file), open(file, "rb") as opened, \
                    np.load(opened, allow_pickle=False) as fields:
                entry = (str(fields["model"]), tuple(fields["key"].tolist()))
                self._known[name] = entry if name == _file_name(*entry) else None
                if self._known[name] is not None:
                    self._entries.put(entry, file)

    def _longest(self, key: Sequence[int]) -> tuple[int, Optional[pathlib.Path]]:
        with self._lock:
            self._update()
            return self._entries.longest(key)

    def _common(self, key: Sequence[int]) -> Optional[int]:
        return self._longest(key)[0]

    def __getitem__(self, key: Sequence[int]) -> Any:
        while True:
            found = self._longest(key)[1]
            if found is None:
                raise KeyError("no state has a common prefix")
            try:
                state = _read_state(found)
            except FileNotFoundError:  # another process removed it
                continue
            except OSError as error:
                raise KeyError(f"{found} cannot be read: {error.strerror}") from error
            except _BROKEN:
                found.unlink(missing_ok=True)
                continue
            with contextlib.suppress(OSError):  # it may belong to somebody else
                os.utime(found)
            return state

    def __contains__(self, key: Sequence[int]) -> bool:
        return self._longest(key)[0] > 0

    def __setitem__(self, key: Sequence[int], value: Any) -> None:
        if not isinstance(value, LlamaState):
            raise TypeError(f"value must be a LlamaState, not {type(value).__name__}")
        ids, model = [int(i) for i in key], _model_of(key, value)
        _write_state(self._folder / _file_name(model, ids), ids, model, value)
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


def _file_name(model: str, ids: Sequence[int]) -> str:
    return hashlib.sha256(f"{model}:{list(ids)}".encode()).hexdigest()[:32] + ".npz"


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
