"""The answers as TypedDicts."""

from typing import Any, Literal, Optional, TypedDict, Union

JsonType = Union[None, int, str, bool, list[Any], dict[str, Any]]


class EmbeddingUsage(TypedDict):
    prompt_tokens: int
    total_tokens: int


class Embedding(TypedDict):
    index: int
    object: str
    embedding: Union[list[float], list[list[float]]]


class CreateEmbeddingResponse(TypedDict):
    object: Literal["list"]
    model: str
    data: list[Embedding]
    usage: EmbeddingUsage


class CompletionLogprobs(TypedDict):
    text_offset: list[int]
    token_logprobs: list[Optional[float]]
    tokens: list[str]
    top_logprobs: list[Optional[dict[str, float]]]


class CompletionChoice(TypedDict):
    text: str
    index: int
    logprobs: Optional[CompletionLogprobs]
    finish_reason: Optional[Literal["stop", "length"]]


class CompletionUsage(TypedDict):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class _CompletionBase(TypedDict):
    id: str
    object: Literal["text_completion"]
    created: int
    model: str
    choices: list[CompletionChoice]


class CreateCompletionResponse(_CompletionBase, total=False):
    usage: CompletionUsage


class ChatCompletionMessageToolCallFunction(TypedDict):
    name: str
    arguments: str


class ChatCompletionMessageToolCall(TypedDict):
    id: str
    type: Literal["function"]
    function: ChatCompletionMessageToolCallFunction


class ChatCompletionRequestMessage(TypedDict, total=False):
    role: str
    content: Any
    name: str
    tool_calls: list[ChatCompletionMessageToolCall]
    tool_call_id: str


class ChatCompletionToolFunction(TypedDict, total=False):
    name: str
    description: str
    parameters: dict[str, Any]


class ChatCompletionTool(TypedDict):
    type: Literal["function"]
    function: ChatCompletionToolFunction


class ChatCompletionResponseMessage(TypedDict, total=False):
    role: Literal["assistant"]
    content: Optional[str]
    tool_calls: list[ChatCompletionMessageToolCall]
    function_call: ChatCompletionMessageToolCallFunction


class ChatCompletionResponseChoice(TypedDict):
    index: int
    message: ChatCompletionResponseMessage
    logprobs: Optional[Any]
    finish_reason: Optional[str]


class CreateChatCompletionResponse(TypedDict):
    id: str
    object: Literal["chat.completion"]
    created: int
    model: str
    choices: list[ChatCompletionResponseChoice]
    usage: CompletionUsage


class ChatCompletionStreamResponseChoice(TypedDict):
    index: int
    delta: dict[str, Any]
    logprobs: Optional[Any]
    finish_reason: Optional[str]


class CreateChatCompletionStreamResponse(TypedDict):
    id: str
    object: Literal["chat.completion.chunk"]
    created: int
    model: str
    choices: list[ChatCompletionStreamResponseChoice]


Completion = CreateCompletionResponse
CompletionChunk = CreateCompletionResponse
CreateCompletionStreamResponse = CreateCompletionResponse
ChatCompletion = CreateChatCompletionResponse
ChatCompletionChunk = CreateChatCompletionStreamResponse
ChatCompletionMessage = ChatCompletionResponseMessage
