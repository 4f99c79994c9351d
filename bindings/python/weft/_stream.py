"""Texts as they are written."""

import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, NamedTuple, Optional, Protocol

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


class FoundText(NamedTuple):
    """A text that Session.search() found. logprob: of all its tokens; score: that, for its length;
    ended: not by max_tokens."""

    text: str
    tokens: list[int]
    logprob: float
    score: float
    ended: bool


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
        self._pending: deque[str] = deque()  # pieces of common steps that nobody has taken
        self._closed = self._left = False
        self.finish_reason: Optional[str] = None
        self._n_dropped: Optional[int] = None

    def __repr__(self) -> str:
        return f"<weft.Stream of {len(self._ids)} tokens, {self.finish_reason or 'open'}>"

    @property
    def tokens(self) -> list[int]:
        """The ids that were chosen so far."""
        return list(self._ids)

    @property
    def n_dropped(self) -> Optional[int]:
        """How many tokens the text and its prompt lost when the context was full: above 0, it is not
        exact. None: it has not ended by itself."""
        return self._n_dropped

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> str:
        piece = self._take_pending()
        while not piece and not self._closed:
            self._check_open()
            piece = self._take(*self._native.next())
        if piece:
            return piece
        self._check_left()
        raise StopIteration

    def _take_pending(self) -> str:
        try:
            return self._pending.popleft()
        except IndexError:
            return ""

    def _take(self, text: str, token: int, stop: int) -> str:
        """The text of an event, which may end the stream."""
        if stop:
            self._n_dropped = self._native.info()["n_dropped"]
            self._end(_REASONS[stop])
        if token >= 0 and stop != _weft.STOP_END_OF_TEXT:
            self._ids.append(token)
        return text

    def _check_open(self) -> None:
        if self._session.closed:
            raise ClosedError("the session is closed")

    def _check_left(self) -> None:
        if self._left:
            raise ArgumentError("the sequence was changed before the text ended: begin another one")

    def prefill(self, progress: Optional[Callable[[int, int], Any]] = None) -> None:
        """Computes the prompt, as the first piece does otherwise. `progress` is called with numbers of
        tokens: those that are computed, and all; False cancels."""
        self._check_open()
        self._native.prefill(progress)

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
        self._pending.clear()
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


def interleaved(batch: "_weft.Batch", streams: list[Stream]) -> Iterator[tuple[Stream, str]]:
    """The pieces of streams of one session, from common steps. Pieces of a step that the caller does
    not take are the next ones of their streams."""
    failed: list[Exception] = []
    while True:
        for stream in streams:
            while piece := stream._take_pending():
                yield stream, piece
            stream._check_left()
        if failed:
            raise failed[0]
        streams = [stream for stream in streams if not stream._closed]
        if not streams:
            return
        streams[0]._check_open()
        for stream, event in zip(streams, batch.step([stream._native for stream in streams])):
            if isinstance(event, Exception):
                failed.append(event)
            elif event is not None:
                stream._pending.append(stream._take(*event))
