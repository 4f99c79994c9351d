"""Texts as they are written."""

import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any, Optional, Protocol

from . import _weft
from ._errors import ArgumentError, ClosedError
from ._objects import Unpicklable

# finish_reason, by what ended a text.
_REASONS = {_weft.STOP_END_OF_TEXT: "stop", _weft.STOP_STRING: "stop", _weft.STOP_COMPLETE: "stop",
            _weft.STOP_MAX_TOKENS: "length", _weft.STOP_MAX_TIME: "length",
            _weft.STOP_CONTEXT_FULL: "length", _weft.STOP_CANCELLED: "cancelled"}


class Writer(Protocol):
    """Who computes a text: a weft.Session."""

    @property
    def closed(self) -> bool:
        """Whether it computes no more."""

    def cancel(self) -> None:
        """Ends the running call, from any thread."""


class _Step:
    """A step for an async iterator, which another thread runs unless it is abandoned before."""

    def __init__(self, stream: "Stream") -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._begun = self._abandoned = False
        self.future: Any = None

    def run(self) -> Optional[str]:
        with self._lock:
            if self._abandoned:
                return None
            self._begun = True
        return next(self._stream, None)

    def abandon(self) -> bool:
        """False: it has begun."""
        with self._lock:
            self._abandoned = not self._begun
            return self._abandoned


class Stream(Unpicklable, Iterator[str], AsyncIterator[str]):
    """The text of Session.stream(), piece by piece, in whole characters."""

    _instead = "begin another one"

    def __init__(self, session: Writer, native: Any) -> None:
        self._session = session
        self._native = native
        self._step: Optional[_Step] = None  # of an async iterator
        self._ids: list[int] = []
        self._closed = self._left = False
        self.finish_reason: Optional[str] = None

    def __repr__(self) -> str:
        return f"<weft.Stream of {len(self._ids)} tokens, {self.finish_reason or 'open'}>"

    @property
    def tokens(self) -> list[int]:
        """The ids that were chosen so far."""
        return list(self._ids)

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> str:
        while not self._closed:
            if self._session.closed:
                raise ClosedError("the session is closed")
            text, token, stop = self._native.next()
            if stop:
                self._end(_REASONS[stop])
            if token >= 0 and stop != _weft.STOP_END_OF_TEXT:
                self._ids.append(token)
            if text:
                result: str = text
                return result
        if self._left:
            raise ArgumentError("the sequence was changed before the text ended: begin another one")
        raise StopIteration

    def _leave(self) -> None:
        """Something else changes the sequence, which loses the guesses."""
        if not self._closed:
            self._closed = self._left = True
            self.finish_reason = "closed"
            self._native.close()

    def _end(self, reason: str) -> None:
        self.finish_reason = reason
        self._closed = True
        self._native.close()

    def close(self) -> None:
        """Ends the text here; any number of times."""
        if not self._closed:
            self._end(self.finish_reason or "closed")

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> str:
        import asyncio  # which takes longer to import than all else
        self._step = step = _Step(self)
        step.future = asyncio.get_running_loop().run_in_executor(None, step.run)
        try:
            piece: Optional[str] = await asyncio.shield(step.future)
        except asyncio.CancelledError:
            await self.aclose()
            raise
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        """Ends the step that runs, if there is one, and the text."""
        import asyncio
        step, self._step = self._step, None
        while step is not None and not step.future.done() and not step.abandon():
            self._session.cancel()
            try:
                await asyncio.wait([step.future], timeout=0.05)
            except asyncio.CancelledError:
                continue  # the step ends first
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_closed", True):
            return
        try:
            self.close()
        except Exception:  # noqa: BLE001 - a step may run in another thread
            pass
