"""Conversations."""

import contextlib
import json
import weakref
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any, Optional, Union

from . import _weft
from ._errors import ArgumentError
from ._objects import Unpicklable
from ._sampler import Sampler
from ._session import Session, Stops
from ._speculation import Speculation
from ._stream import Stream
from ._tools import Tool, called, description

# Answers in a row that only call tools.
_MAX_ROUNDS = 16


class Answer(Unpicklable, Iterator[str], AsyncIterator[str]):
    """The answer of Chat.stream(), piece by piece. Functions that it calls run in between."""

    _instead = "say it again there"

    def __init__(self, chat: "Chat") -> None:
        self._chat = chat
        self.finish_reason: Optional[str] = "closed"  # until it has begun
        self._rounds = 0
        self.reasoning = ""
        self._begin()
        self.finish_reason = None

    def __repr__(self) -> str:
        return f"<weft.Answer, {self.finish_reason or 'open'}>"

    def _begin(self) -> None:
        self._rounds += 1
        plan = self._chat._plan()
        self._reply = _weft.Reply.open(plan)
        self._stream: Stream = self._chat._text(plan)

    def __iter__(self) -> "Answer":
        return self

    def __next__(self) -> str:
        while self.finish_reason is None:
            try:
                piece = self._take(next(self._stream, None))
            except BaseException:
                self._give_up()
                raise
            if piece:
                return piece
        raise StopIteration

    def __aiter__(self) -> "Answer":
        return self

    async def __anext__(self) -> str:
        while self.finish_reason is None:
            text: Optional[str]
            try:
                text = await self._stream.__anext__()
            except StopAsyncIteration:
                text = None
            except BaseException:
                self._give_up()
                raise
            piece = self._take(text)
            if piece:
                return piece
        raise StopAsyncIteration

    def _take(self, text: Optional[str]) -> str:
        """What is shown of a piece of text; None: the text has ended."""
        shown = ""
        is_cut = text is None and self._stream.finish_reason != "stop"
        for kind, said, _, _ in self._reply.push(text or "", text is None, is_cut):
            shown += said if kind == _weft.REPLY_CONTENT else ""
            self.reasoning += said if kind == _weft.REPLY_REASONING else ""
        if text is None:
            self._end()
        return shown

    def _end(self) -> None:
        message = json.loads(self._reply.message_json())
        self._chat.messages.append(message)
        calls = message.get("tool_calls")
        complete = self._stream.finish_reason == "stop"
        self.finish_reason = "tool_calls" if calls and complete else self._stream.finish_reason
        if calls and complete and self._rounds < _MAX_ROUNDS and self._chat._answer_calls(calls):
            self._begin()
            self.finish_reason = None

    def close(self) -> None:
        """Ends the answer here. What was said so far becomes its message, so that the messages stay
        in turn; also if the answer is not read to its end."""
        if self.finish_reason is None:
            self._stream.close()
            self._finish_message()

    async def aclose(self) -> None:
        """Ends the step that runs, if there is one, and the answer."""
        if self.finish_reason is None:
            await self._stream.aclose()
            self._finish_message()

    def _finish_message(self) -> None:
        self.finish_reason = "closed"
        self._reply.push("", True, True)
        self._chat.messages.append(json.loads(self._reply.message_json()))

    def _give_up(self) -> None:
        """After an error."""
        if self.finish_reason is None:
            with contextlib.suppress(Exception):
                self.close()

    def __del__(self) -> None:
        if getattr(self, "finish_reason", "none"):
            return
        self._give_up()


class Chat(Unpicklable):
    """A conversation with a model, in one sequence of a session.

        def weather(city: str) -> str:
            \"\"\"The weather of a city.\"\"\"
            return "sunny"

        chat = weft.Chat(session, system="You are brief.", tools=[weather])
        print(chat.say("How is the weather in Rome?"))

    tools: functions, described by their names, docstrings and annotations, which run when the model
    calls them; or dicts in OpenAI's form, whose calls are in chat.calls and wait for
    chat.answer_call(). tool_choice: "auto", "none", "required", or the name of a tool, for the
    first answer to each message. template: text in Jinja or the name of a built-in one, in place of
    the file's. variables: for the template. draft: guesses for its answers. `messages` is a list in OpenAI's form, which may be
    changed. In asyncio, functions run on the thread of the loop."""

    _instead = "open one there with the same messages"

    def __init__(self, session: Session, *, system: Optional[str] = None,
                 tools: Sequence[Tool] = (), tool_choice: Optional[str] = None,
                 sampler: Optional[Sampler] = None, stop: Stops = (),
                 grammar: Optional[str] = None,
                 json_schema: Union[str, Mapping[str, Any], None] = None,
                 max_tokens: int = 1024, sequence: int = 0, template: Optional[str] = None,
                 variables: Optional[Mapping[str, Any]] = None,
                 draft: Optional[Speculation] = None) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"session must be a weft.Session, not {type(session).__name__}")
        if grammar is not None and json_schema is not None:
            raise ArgumentError("grammar and json_schema exclude each other")
        self._session = session
        self._sequence = session._sequence(sequence)
        self._sampler, self._stop, self._max_tokens = sampler, stop, max_tokens
        self._draft = draft
        self._native = _weft.Chat.open(session._model, template)
        offered = [description(t) for t in tools]
        self._functions: dict[str, Callable[..., Any]] = {
            t.__name__: t for t in tools if not isinstance(t, dict)}
        self._turn: dict[str, Any] = {
            "tools": json.dumps(offered) if offered else None,
            "variables": json.dumps(dict(variables)) if variables else None}
        if json_schema is not None:
            schema = json_schema if isinstance(json_schema, str) else json.dumps(json_schema)
            self._turn.update(constraint=schema, constraint_kind=_weft.GRAMMAR_JSON_SCHEMA)
        elif grammar is not None:
            self._turn.update(constraint=grammar, constraint_kind=_weft.GRAMMAR_GBNF)
        self._tool_choice = tool_choice
        self._answer: Callable[[], Optional[Answer]] = lambda: None  # the last one, while it lives
        self.messages: list[dict[str, Any]] = []
        if system is not None:
            self.messages.append({"role": "system", "content": system})

    def __repr__(self) -> str:
        return f"<weft.Chat of {len(self.messages)} messages>"

    def _plan(self) -> Any:
        # After the results of calls, the model may say what it wants.
        follows_tool = bool(self.messages) and self.messages[-1].get("role") == "tool"
        return _weft.ChatPlan.open(self._native, {
            **self._turn, "messages": json.dumps(self.messages),
            "tool_choice": "auto" if follows_tool and self._turn["tools"] else self._tool_choice})

    def _text(self, plan: Any) -> Stream:
        return self._session._text(self._sequence, self._sampler, None, self._stop,
                                   self._max_tokens, self._draft,
                                   lambda text: text.begin_chat(plan))

    def _answer_calls(self, calls: Sequence[dict[str, Any]]) -> bool:
        """Whether all of them have a result now."""
        for call in calls:
            result = called(self._functions, call)
            if result is None:
                return False
            self._add_result(call, result)
        return True

    def _add_result(self, call: dict[str, Any], result: str) -> None:
        self.messages.append({"role": "tool", "tool_call_id": call["id"],
                              "name": call["function"]["name"], "content": result})

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls of the last answer that have no result yet."""
        done: set[str] = set()
        for message in reversed(self.messages):
            if message.get("role") != "tool":
                return [c for c in message.get("tool_calls") or () if c["id"] not in done]
            done.add(message["tool_call_id"])
        return []

    def answer_call(self, result: str) -> None:
        """Gives the result of the first call that waits for one; continue with say()."""
        if not self.calls:
            raise ArgumentError("no call waits for a result")
        self._add_result(self.calls[0], result)

    def stream(self, text: Optional[str] = None) -> Answer:
        """The answer to a message of the user, piece by piece; None: to the messages as they are."""
        if text is not None and not isinstance(text, str):
            raise TypeError(f"text must be str, not {type(text).__name__}")
        last = self._answer()
        if last is not None:
            last.close()
        if text is not None:
            self.messages.append({"role": "user", "content": text})
        try:
            answer = Answer(self)
        except BaseException:
            if text is not None:
                self.messages.pop()
            raise
        self._answer = weakref.ref(answer)
        return answer

    def say(self, text: Optional[str] = None) -> str:
        """The whole answer of stream()."""
        return "".join(self.stream(text))
