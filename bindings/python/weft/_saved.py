"""Sequences that were saved."""

import os
from typing import Union

from . import _weft
from ._objects import Unpicklable


class Saved(Unpicklable):
    """A sequence that Session.save() or Session.save_file() saved: bytes, or the path of a file."""

    _instead = "read it from its bytes or its file"

    def __init__(self, saved: Union[bytes, str, "os.PathLike[str]"]) -> None:
        self._native = _weft.Saved.open_memory(saved) if isinstance(saved, bytes) \
            else _weft.Saved.open(os.fsencode(saved))

    def __repr__(self) -> str:
        return f"<weft.Saved of {len(self.tokens)} tokens>"

    @property
    def tokens(self) -> list[int]:
        """The ids of the sequence."""
        return self._native.tokens()

    @property
    def note(self) -> bytes:
        """What was saved with it."""
        return self._native.note()
