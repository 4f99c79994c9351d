"""States in pieces, of which equal ones are kept once."""

import copy
import struct
from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from ._state import LlamaState

_PIECE = 1 << 14
_MAGIC = b"weftseq3"
_ARRAYS = ("input_ids", "scores")


class Kept(Protocol):
    """A state that is kept in one way or the other."""

    def state(self) -> Any:
        """The state, as it was."""

    def release(self) -> None:
        """Nothing may be done with the object then."""


class Pieces:
    """Pieces of bytes, with the number of states that have each. States whose texts begin alike
    have the same keys and values up to there, bit by bit: most of their pieces are equal."""

    def __init__(self) -> None:
        self._kept: dict[bytes, list[Any]] = {}  # the piece itself, and how many have it
        self.size = 0  # bytes of all, each counted once, and of states that are kept whole

    def take(self, raw: bytes, cuts: Iterator[int]) -> list[bytes]:
        """The pieces of a text of bytes, cut at ascending positions."""
        pieces, begin = [], 0
        for end in cuts:
            piece = raw[begin:end]
            begin = end
            kept = self._kept.setdefault(piece, [piece, 0])
            if kept[1] == 0:
                self.size += len(piece)
            kept[1] += 1
            pieces.append(kept[0])
        return pieces

    def release(self, pieces: list[bytes]) -> None:
        """Gives back what take() gave."""
        for piece in pieces:
            kept = self._kept[piece]
            kept[1] -= 1
            if kept[1] == 0:
                del self._kept[piece]
                self.size -= len(piece)


def keep(state: Any, n_bytes: int, pieces: Pieces) -> Kept:
    """A state of so many bytes in pieces, if it has the form of save_state()'s."""
    if _can_pack(state):
        return PackedState(state, pieces)
    return WholeState(state, n_bytes, pieces)


def _can_pack(state: Any) -> bool:
    return type(state) is LlamaState and isinstance(state.llama_state, bytes) and all(
        isinstance(getattr(state, name), np.ndarray) and getattr(state, name).dtype.kind in "biuf"
        for name in _ARRAYS)


class WholeState:
    """A state of any form, which is kept as it is."""

    def __init__(self, state: Any, n_bytes: int, pieces: Pieces) -> None:
        self._state, self._n_bytes, self._pieces = state, n_bytes, pieces
        pieces.size += n_bytes

    def state(self) -> Any:
        """The state."""
        return self._state

    def release(self) -> None:
        """It is not counted any more."""
        self._pieces.size -= self._n_bytes


class PackedState:
    """A state whose bytes and arrays are in pieces."""

    def __init__(self, state: LlamaState, pieces: Pieces) -> None:
        self._pieces = pieces
        self._rest = copy.copy(state)
        self._rest.llama_state = b""
        self._raw = pieces.take(state.llama_state, _cuts_of_state(state.llama_state))
        self._arrays: dict[str, tuple[Any, Any, list[bytes]]] = {}
        for name in _ARRAYS:
            array = getattr(state, name)
            raw = array.tobytes()
            self._arrays[name] = (array.dtype, array.shape, pieces.take(raw, _cuts(0, len(raw))))
            setattr(self._rest, name, None)

    def state(self) -> LlamaState:
        """The state, as it was."""
        made = copy.copy(self._rest)
        made.llama_state = b"".join(self._raw)
        for name, (dtype, shape, raw) in self._arrays.items():
            setattr(made, name, np.frombuffer(bytearray().join(raw), dtype).reshape(shape))
        return made

    def release(self) -> None:
        """Gives the pieces back; nothing may be done with the object then."""
        for raw in (self._raw, *(raw for _, _, raw in self._arrays.values())):
            self._pieces.release(raw)


def _cuts(begin: int, end: int) -> Iterator[int]:
    """Ends of pieces of a part of a text of bytes."""
    yield from range(begin + _PIECE, end, _PIECE)
    if end > begin:
        yield end


def _cuts_of_state(raw: bytes) -> Iterator[int]:
    """Ends of pieces of a saved sequence. What two texts share is at the same distance from where
    the tokens, the memory of a layer, or a checkpoint of it begins, and nowhere else."""
    begin = 0
    for end in [*_parts(raw), len(raw)]:
        yield from _cuts(begin, end)
        begin = end


def _parts(raw: bytes) -> list[int]:
    """Where the parts of a saved sequence begin, behind the first one, in the form that is
    described in models/run/include/weft/run/saved_sequence.h. None if it has another form."""
    def number(at: int) -> int:
        n: int = struct.unpack_from("<Q", raw, at)[0]
        return n

    if not raw.startswith(_MAGIC):
        return []
    parts: list[int] = []
    try:
        at = len(_MAGIC) + 4 * 8
        tokens = at + 8
        note = tokens + 4 * number(at)
        at = note + 8 + number(note)
        parts += [tokens, note]
        n_states = number(at)
        at += 8
        for _ in range(n_states):
            parts.append(at)
            n_rows = number(at)
            memory = at + 8 * (n_rows + 2)
            n_bytes = number(memory - 8)
            row = n_bytes // n_rows if n_rows else n_bytes
            parts += range(memory, memory + n_bytes, max(row, 1))
            at = memory + n_bytes
    except (struct.error, OverflowError):
        return []
    return [*parts, at] if at <= len(raw) else []
