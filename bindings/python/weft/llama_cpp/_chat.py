"""Chat completions: the prompt of messages, answers and chunks in OpenAI's form."""

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Optional

from .. import _weft
from .._errors import UnsupportedError
from .._sampler import Grammar
from . import _completion
from ._chat_arguments import constraint_of, list_of, n_logprobs, stops_of, texts_of, tools_of
from ._context import Context
from ._formats import find_format, format_names, handlers
from ._sampling import sampler_options


def check_format(llama: Context) -> None:
    """Refuses names of formats that are not known."""
    name = llama.chat_format
    if name is None or llama.chat_handler is not None:
        return
    if name not in handlers and find_format(name) is None:
        raise UnsupportedError(f"chat_format: {name!r} is not known; known are: "
                               f"{', '.join(sorted([*handlers, *format_names()]))}")


def complete(llama: Context, messages: list[Any], **arguments: Any) -> Any:
    """The answer to messages: Llama.create_chat_completion()."""
    llama._opened()
    messages = list_of(messages)
    handler = llama.chat_handler or handlers.get(llama.chat_format or "")
    if handler is not None:
        # Handlers of programs know the arguments of llama-cpp-python.
        if arguments["parallel_tool_calls"] is None:
            del arguments["parallel_tool_calls"]
        return handler(llama=llama, messages=messages, **arguments)
    return answer(llama, plan_by_template(llama, messages, arguments), arguments)


@dataclasses.dataclass
class Planned:
    """One turn of the model: its prompt, what ends it, and how to read it. A reply has push() and
    message_json(), as _weft.Reply."""

    ids: list[int]
    stops: list[str]
    grammar: Optional[Grammar]
    reply: Callable[[], Any]
    criteria: Optional[Any] = None
    shown: frozenset[int] = frozenset()  # control tokens that the reply reads


class PlainReply:
    """A reply that is nothing but content."""

    def __init__(self) -> None:
        self._text = ""

    def push(self, text: str, finish: bool, truncated: bool = False
             ) -> list[tuple[int, str, int, str]]:
        """The events of a further piece of text."""
        self._text += text
        return [(_weft.REPLY_CONTENT, text, 0, "")]

    def message_json(self) -> str:
        """The message in OpenAI's form."""
        return json.dumps({"role": "assistant", "content": self._text})


class _NativeGrammar(Grammar):
    """The grammar of a plan."""

    def __init__(self, native: Any) -> None:
        self._native = native


def plan_by_template(llama: Context, messages: Any, a: Mapping[str, Any],
                     chat_format: Optional[str] = None) -> Planned:
    """A turn with the template of a chat format, by default that of the Llama, or else with that of
    the file."""
    tools, constraint = tools_of(a), constraint_of(a)
    turn: dict[str, Any] = {"messages": json.dumps(texts_of(messages)), "answer_final_message": 1,
                            "reasoning_in_content": 1}
    if tools.offered and tools.choice != "none":
        turn.update(tools=json.dumps(tools.offered), tool_choice=tools.choice,
                    single_call=int(tools.is_single), early_calls=int(bool(a["stream"])))
    if constraint is not None:
        turn.update(constraint=constraint.text, constraint_kind=constraint.kind)
    template, stops = _template(llama, chat_format or llama.chat_format)
    plan = _weft.ChatPlan.open(_weft.Chat.open(llama._weft_model._native, template), turn)
    native = plan.grammar()
    if native is not None and a["grammar"] is not None:
        argument = tools.argument if tools.is_forced else "parallel_tool_calls"
        raise UnsupportedError(f"grammar: {argument} asks for another one")
    return Planned(plan.tokens(), stops, None if native is None else _NativeGrammar(native),
                   lambda: _weft.Reply.open(plan), shown=frozenset(plan.shown()))


def _template(llama: Context, name: Optional[str]) -> tuple[Optional[str], list[str]]:
    """The template, None for the file's, and what ends an answer beside the end token."""
    if name is None and llama._weft_model.chat_template:
        return None, []
    known = find_format(name or "llama-2")
    if known is None:
        raise UnsupportedError(f"chat_format: {name!r} is not known")
    return known.template, list(known.stops)


def plan_by_formatter(llama: Context, formatter: Any, messages: Any, a: Mapping[str, Any]
                      ) -> Planned:
    """A turn whose prompt is made by a function. Such prompts say nothing about the form of calls,
    so the answer is content."""
    tools, constraint = tools_of(a), constraint_of(a)
    if tools.is_forced:
        raise UnsupportedError(f"{tools.argument}: the chat format says nothing about the form of "
                               "calls; use 'auto' or 'none', or another chat_format")
    formatted = formatter(messages=messages, functions=a["functions"],
                          function_call=a["function_call"], tools=a["tools"],
                          tool_choice=a["tool_choice"])
    ids = llama.tokenize(formatted.prompt.encode(), add_bos=not formatted.added_special,
                         special=True)
    grammar = None if constraint is None else Grammar(constraint.text or "", constraint.kind)
    return Planned(ids, stops_of(formatted.stop), grammar, PlainReply, formatted.stopping_criteria)


def answer(llama: Context, planned: Planned, arguments: Mapping[str, Any]) -> Any:
    """The answer of a turn, or its chunks."""
    turn = Turn(llama, planned, arguments)
    return turn.chunks() if arguments["stream"] else turn.answer()


class Turn:
    """The answer of one turn: call answer() or chunks(), once."""

    def __init__(self, llama: Context, planned: Planned, a: Mapping[str, Any]) -> None:
        self._planned = planned
        import uuid  # takes milliseconds
        self._id = f"chatcmpl-{uuid.uuid4()}"
        self._created = int(time.time())
        self._model = a["model"] if a["model"] is not None else llama.model_path
        self._request = _completion.Request(
            llama, planned.ids, sampler_options(a, temperature=0.2), seed=a["seed"],
            max_tokens=a["max_tokens"], logprobs=n_logprobs(a),
            stop=[*stops_of(a["stop"]), *planned.stops], model=self._model,
            criteria=planned.criteria, processors=a["logits_processor"],
            grammar=planned.grammar or a["grammar"], logit_bias=a["logit_bias"])
        self._request.shown = set(planned.shown)
        self._old_functions = a["functions"] is not None

    def _form(self, kind: str, choice: dict[str, Any]) -> dict[str, Any]:
        return {"id": self._id, "object": kind, "created": self._created, "model": self._model,
                "choices": [{"index": 0, **choice}]}

    def answer(self) -> dict[str, Any]:
        """The answer in OpenAI's form."""
        request = self._request
        raw = request.answer()
        reply = self._planned.reply()
        reply.push(request.text.whole, True, request.reason == "length")
        said = json.loads(reply.message_json())
        message: dict[str, Any] = {"role": "assistant", "content": said.get("content")}
        calls = said.get("tool_calls")
        if calls:
            message["content"] = said.get("content") or None
            message["tool_calls"] = calls
            message["function_call"] = dict(calls[0]["function"])
        return {**self._form("chat.completion", {
            "message": message, "logprobs": self._logprobs(0, len(request.tokens)),
            "finish_reason": self._reason(bool(calls))}), "usage": raw["usage"]}

    def _reason(self, has_calls: bool) -> Optional[str]:
        """Why the answer ended. One that was truncated did not end with its calls."""
        reason = self._request.reason
        return "tool_calls" if has_calls and reason == "stop" else reason

    def _logprobs(self, begin: int, end: int) -> Optional[dict[str, Any]]:
        request = self._request
        if request.logprobs is None:
            return None
        return request.names.chat(request.rows(begin, end), request.logprobs)

    def _chunk(self, delta: dict[str, Any], reason: Optional[str] = None,
               logprobs: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        return self._form("chat.completion.chunk", {
            "delta": delta, "logprobs": logprobs, "finish_reason": reason})

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The answer as chunks in OpenAI's form; the last one has the reason of its end."""
        yield self._chunk({"role": "assistant"})
        request = self._request
        reply = self._planned.reply()
        has_calls = False
        n_logged = 0
        for raw in request.chunks():
            ended = raw["choices"][0]["finish_reason"] is not None
            for event in reply.push(raw["choices"][0]["text"], ended, request.reason == "length"):
                has_calls = has_calls or event[0] == _weft.REPLY_CALL_END
                delta = self._delta(*event)
                if delta is not None:
                    yield self._chunk(delta, logprobs=self._logprobs(n_logged, request.n_given))
                    n_logged = request.n_given
        rest = self._logprobs(n_logged, request.n_given) if n_logged < request.n_given else None
        yield self._chunk({}, self._reason(has_calls), rest)

    def _delta(self, kind: int, text: str, call: int, id: str) -> Optional[dict[str, Any]]:
        """What an event adds to the message; None: nothing."""
        if kind in (_weft.REPLY_CONTENT, _weft.REPLY_REASONING):
            return {"content": text} if text else None
        if kind == _weft.REPLY_CALL_BEGIN:
            function = {"name": text, "arguments": ""}
            added: dict[str, Any] = {"index": call, "id": id, "type": "function",
                                     "function": function}
        elif kind == _weft.REPLY_CALL_ARGUMENTS:
            # What belongs to the whole call is in its first chunk only.
            function = {"arguments": text}
            added = {"index": call, "function": function}
        else:
            return None
        delta: dict[str, Any] = {"tool_calls": [added]}
        if self._old_functions and call == 0:
            delta["function_call"] = dict(function)
        return delta
