"""The logits of a text, of which only the last ones are kept."""

import operator
from collections.abc import Iterator, Sequence
from typing import Any, Optional

import numpy as np

from .._errors import UnsupportedError

# Rows that are kept at most; a step with drafts has that many.
MAX_ROWS = 16


class LastStep:
    """Which logits the last step computed: `n_rows` rows, those of its last tokens, which begin at
    a position of the text."""

    def __init__(self, n_tokens: int, begin: int, n_rows: int, rows: Optional[Any] = None) -> None:
        self._n_tokens, self._begin, self._n_rows = n_tokens, begin, n_rows
        self._rows = rows

    def rows(self, scores: Any) -> Any:
        """The rows themselves, which are in `scores` unless they were given."""
        if self._rows is not None:
            return self._rows
        return scores[self._begin:self._begin + self._n_rows]

    def row_of(self, i: int) -> int:
        """The row of token i of the step. Negative numbers count the rows from the end."""
        row = operator.index(i)
        row += self._n_rows if row < 0 else self._n_rows - self._n_tokens
        if 0 <= row < self._n_rows:
            return row
        first = self._n_tokens - self._n_rows
        has = (f"has those of its tokens {first} to {self._n_tokens - 1}" if self._n_rows
               else "has none")
        raise IndexError(f"logits of token {i} of the last step: it {has}; use "
                         "set_batch(..., logits_all=True) or Llama(logits_all=True)")


class Scores:
    """What `Llama.scores` is without logits_all: [n_ctx, n_vocab] in form, but only the rows of the
    last step exist. They are numpy arrays; reading another row raises an error. A slice of rows is
    a view with the same rows."""

    ndim = 2
    dtype = np.dtype(np.float32)

    def __init__(self, n_rows: int, width: int) -> None:
        self._positions: Sequence[int] = range(n_rows)
        self._width = width
        self._rows: dict[int, Any] = {}  # by position; views share it

    @property
    def shape(self) -> tuple[int, int]:
        """Positions and tokens of the vocabulary."""
        return len(self._positions), self._width

    def __len__(self) -> int:
        return len(self._positions)

    def __repr__(self) -> str:
        return f"<the last rows of logits {list(self.shape)}>"

    def put(self, begin: int, rows: Any) -> None:
        """Keeps the rows of the positions from `begin` on, and none but these."""
        self._rows.clear()
        first = max(0, len(rows) - MAX_ROWS)
        for i in range(first, len(rows)):
            self._rows[begin + i] = rows[i]

    def has(self, position: int) -> bool:
        """Whether the row of a position is kept."""
        return position in self._rows

    def copy(self) -> "Scores":
        """The same rows, as copies."""
        made = self._view(self._positions)
        made._rows = {position: row.copy() for position, row in self._rows.items()}
        return made

    def _view(self, positions: Sequence[int]) -> "Scores":
        made = Scores(0, self._width)
        made._positions, made._rows = positions, self._rows
        return made

    def _row(self, position: int) -> Any:
        row = self._rows.get(position)
        if row is None:
            kept = f"kept are those of {sorted(self._rows)}" if self._rows else "none are kept"
            raise UnsupportedError(
                f"scores: the logits of position {position} are not kept ({kept}): use "
                "Llama(logits_all=True)")
        return row

    def _position(self, index: Any) -> int:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"index {at} is out of bounds for scores with {len(self)} rows")
        return self._positions[at]

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        if isinstance(rows, slice):
            view = self._view(self._positions[rows])
            return view if _is_all(columns) else np.asarray(view)[:, columns]
        if _is_number(rows):
            return self._row(self._position(rows))[columns]
        if isinstance(rows, (list, np.ndarray)) and np.asarray(rows).dtype.kind in "iu":
            return np.stack([self._row(self._position(i)) for i in rows])[:, columns]
        return np.asarray(self)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        rows, columns = key if isinstance(key, tuple) and len(key) == 2 else (key, slice(None))
        if _is_number(rows):
            at = self._position(rows)
            if _is_all(columns) and not self.has(at):
                self.put(at, [np.zeros(self._width, np.float32)])
            self._row(at)[columns] = value
            return
        if not isinstance(rows, slice) or not _is_all(columns):
            raise UnsupportedError("scores: only whole rows can be set; use Llama(logits_all=True)")
        at_all = self._positions[rows]
        matrix = np.array(np.broadcast_to(value, (len(at_all), self._width)), np.float32)
        self._rows.clear()
        for position, row in list(zip(at_all, matrix))[-MAX_ROWS:]:
            self._rows[position] = row

    def __iter__(self) -> Iterator[Any]:
        return (self._row(position) for position in self._positions)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        rows = [self._row(position) for position in self._positions]
        whole = np.stack(rows) if rows else np.zeros((0, self._width), np.float32)
        return whole if dtype is None else whole.astype(dtype)

    def __getattr__(self, name: str) -> Any:
        """Methods of arrays, for which all rows have to be kept."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"scores have no attribute {name!r}")
        return getattr(np.asarray(self), name)


def _is_number(index: Any) -> bool:
    return hasattr(index, "__index__") and np.ndim(index) == 0


def _is_all(columns: Any) -> bool:
    return columns is Ellipsis or (isinstance(columns, slice) and columns == slice(None))
