"""Chat completions."""

import json
import time
import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Optional

from .. import _weft
from .._errors import ArgumentError, UnsupportedError
from . import _completion
from ._formats import find_format, format_names
from .llama_grammar import native_grammar

if TYPE_CHECKING:
    from .llama import Llama


def check_format(llama: "Llama") -> None:
    """Refuses names of formats that are not known."""
    name = llama.chat_format
    if name is None or llama.chat_handler is not None:
        return
    from .llama_chat_format import handlers
    if name not in handlers and find_format(name) is None:
        raise UnsupportedError(f"chat_format: {name!r} is not known; known are: "
                               f"{', '.join(sorted([*handlers, *format_names()]))}")


def complete(llama: "Llama", messages: list[Any], **arguments: Any) -> Any:
    """create_chat_completion()."""
    llama._opened()
    from .llama_chat_format import handlers
    handler = llama.chat_handler or handlers.get(llama.chat_format or "")
    if handler is not None:
        return handler(llama=llama, messages=messages, **arguments)
    return Turn(llama, messages, arguments).complete()


def _texts(messages: list[Any]) -> list[dict[str, Any]]:
    """Messages whose contents are text."""
    if not isinstance(messages, list) or not messages:
        raise ArgumentError("messages must be a list with at least one message")
    result = []
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ArgumentError("a message must be a dict with a role")
        content = message.get("content")
        if isinstance(content, list):
            for part in content:
                if part.get("type") != "text":
                    raise UnsupportedError(f"messages: content of type {part.get('type')!r} is not "
                                           "supported, only text")
            message = {**message, "content": "".join(part["text"] for part in content)}
        result.append(message)
    return result


class Turn:
    """One answer."""

    def __init__(self, llama: "Llama", messages: list[Any], arguments: dict[str, Any]) -> None:
        self.llama = llama
        self.a = arguments
        self.tools, self.choice = self._tools()
        turn: dict[str, Any] = {"messages": json.dumps(_texts(messages)), "answer_final_message": 1,
                                "reasoning_in_content": 1}
        if self.tools and self.choice != "none":
            turn.update(tools=json.dumps(self.tools), tool_choice=self.choice)
        self._constrain(turn)
        template, self.stops = self._format()
        chat = _weft.Chat.open(llama._weft_model._native, template)
        self.plan = _weft.ChatPlan.open(chat, turn)
        self.id = f"chatcmpl-{uuid.uuid4()}"
        self.created = int(time.time())
        self.model = arguments["model"] if arguments["model"] is not None else llama.model_path

    def _format(self) -> tuple[Optional[str], list[str]]:
        """The template, None for the file's, and what ends the answer."""
        given = self.a["stop"]
        stops = [given] if isinstance(given, str) else list(given or [])
        name = self.llama.chat_format
        if name is None and self.llama._weft_model.chat_template:
            return None, stops
        known = find_format(name or "llama-2")
        if known is None:
            raise UnsupportedError(f"chat_format: {name!r} is not known")
        return known.template, [*stops, *known.stops]

    def _tools(self) -> tuple[list[Any], str]:
        tools, choice = self.a["tools"], self.a["tool_choice"]
        if tools is None and self.a["functions"] is not None:
            tools = [{"type": "function", "function": f} for f in self.a["functions"]]
            called = self.a["function_call"]
            choice = {"type": "function", "function": called} if isinstance(called, dict) else called
        tools = list(tools or [])
        if choice is None:
            return tools, "auto" if tools else "none"
        if isinstance(choice, str):
            if choice not in ("none", "auto", "required"):
                raise ArgumentError(f"tool_choice: {choice!r} is unknown")
            return tools, choice
        name = choice.get("function", {}).get("name")
        if name not in [t["function"]["name"] for t in tools]:
            raise ArgumentError(f"tool_choice: no tool {name!r} was offered")
        return tools, str(name)

    def _constrain(self, turn: dict[str, Any]) -> None:
        given = self.a["response_format"]
        kind = given.get("type") if given else "text"
        if kind == "text":
            return
        if self.a["grammar"] is not None:
            raise UnsupportedError("grammar: response_format asks for another one")
        if kind == "json_object" and given.get("schema") is None:
            turn.update(constraint_kind=2)
        elif kind == "json_object":
            turn.update(constraint=json.dumps(given["schema"]), constraint_kind=1)
        elif kind == "json_schema":
            turn.update(constraint=json.dumps(given["json_schema"]["schema"]), constraint_kind=1)
        else:
            raise UnsupportedError(f"response_format: type {kind!r} is unknown")

    def _request(self) -> "_completion.Request":
        a = self.a
        grammar = native_grammar(a["grammar"])
        if grammar is None:
            planned = self.plan.grammar()
            if planned is not None:
                grammar = _Planned(planned)  # type: ignore[assignment]
        wants = a["top_logprobs"] or 0 if a["logprobs"] else None
        request = _completion.Request(
            self.llama, self.plan.tokens(), None, a["max_tokens"], wants, False, self.stops,
            a["seed"], self.model, None, a["logits_processor"], grammar, a["logit_bias"],
            {"temperature": a["temperature"], "top_k": max(a["top_k"], 0), "top_p": a["top_p"],
             "min_p": a["min_p"], "typical_p": a["typical_p"], "tfs_z": a["tfs_z"],
             "repeat_penalty": a["repeat_penalty"], "frequency_penalty": a["frequency_penalty"],
             "presence_penalty": a["presence_penalty"], "mirostat": a["mirostat_mode"],
             "mirostat_tau": a["mirostat_tau"], "mirostat_eta": a["mirostat_eta"]})
        request.shown = set(self.plan.shown())
        return request

    def complete(self) -> Any:
        """The answer, or its chunks."""
        request = self._request()
        return self._chunks(request) if self.a["stream"] else self._answer(request)

    def _answer(self, request: "_completion.Request") -> dict[str, Any]:
        raw = request.answer()
        reply = _weft.Reply.open(self.plan)
        reply.push(request.text.whole, True)
        said = json.loads(reply.message_json())
        message: dict[str, Any] = {"role": "assistant", "content": said.get("content")}
        reason = request.reason
        calls = said.get("tool_calls")
        if calls:
            message["content"] = said.get("content") or None
            message["tool_calls"] = calls
            message["function_call"] = dict(calls[0]["function"])
            reason = "tool_calls"
        return {"id": self.id, "object": "chat.completion", "created": self.created,
                "model": self.model,
                "choices": [{"index": 0, "message": message, "logprobs": self._logprobs(request),
                             "finish_reason": reason}],
                "usage": raw["usage"]}

    def _logprobs(self, request: "_completion.Request", first: int = 0
                  ) -> Optional[dict[str, Any]]:
        if request.logprobs is None:
            return None
        content = []
        for token, row in zip(request.tokens[first:], request.rows[first:]):
            value, top = request._row(row, token)
            text = request._token_text(token)
            alternatives = [{"token": t, "logprob": x, "bytes": None} for t, x in top.items()]
            content.append({"token": text, "logprob": value, "bytes": None,
                            "top_logprobs": alternatives[:request.logprobs]})
        return {"content": content, "refusal": None}

    def _chunk(self, delta: dict[str, Any], reason: Optional[str] = None) -> dict[str, Any]:
        return {"id": self.id, "object": "chat.completion.chunk", "created": self.created,
                "model": self.model,
                "choices": [{"index": 0, "delta": delta, "logprobs": None,
                             "finish_reason": reason}]}

    def _chunks(self, request: "_completion.Request") -> Iterator[dict[str, Any]]:
        yield self._chunk({"role": "assistant"})
        reply = _weft.Reply.open(self.plan)
        calls = False
        shown = 0
        for raw in request.chunks():
            ended = raw["choices"][0]["finish_reason"] is not None
            for kind, text, call, id in reply.push(raw["choices"][0]["text"], ended):
                if kind in (0, 1) and text:
                    chunk = self._chunk({"content": text})
                    chunk["choices"][0]["logprobs"] = self._logprobs(request, shown)
                    shown = len(request.tokens)
                    yield chunk
                elif kind == 2:
                    calls = True
                    yield self._chunk({"tool_calls": [{
                        "index": call, "id": id, "type": "function",
                        "function": {"name": text, "arguments": ""}}]})
                elif kind == 3:
                    yield self._chunk({"tool_calls": [{
                        "index": call, "id": id, "type": "function",
                        "function": {"name": None, "arguments": text}}]})
        yield self._chunk({}, "tool_calls" if calls else request.reason)


class _Planned:
    """A native grammar in the place of a Grammar."""

    def __init__(self, native: Any) -> None:
        self._native = native
