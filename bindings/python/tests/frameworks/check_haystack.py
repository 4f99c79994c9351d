"""Haystack: LlamaCppGenerator and LlamaCppChatGenerator of llama-cpp-haystack."""

import asyncio
import json
import os
import warnings

import common

SOURCES = ("haystack-core-integrations/integrations/llama_cpp/src", "haystack")
STAND_INS = ("jiter",)
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
GREEDY = {"temperature": 0.0, "max_tokens": 9}
ROLES = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello."}]


def chat(**more):
    from haystack_integrations.components.generators.llama_cpp import LlamaCppChatGenerator
    options = {"n_ctx": 512, "model_kwargs": {"verbose": False}, "generation_kwargs": GREEDY}
    return LlamaCppChatGenerator(common.MODEL, **{**options, **more})


def messages():
    from haystack.dataclasses import ChatMessage
    return [ChatMessage.from_system("Be brief."), ChatMessage.from_user("Hello.")]


def weather_tool():
    from haystack.tools import Tool
    return Tool(name="weather", description="The weather of a city.",
                parameters={"type": "object", "properties": {"city": {"enum": ["Rome", "Paris"]}},
                            "required": ["city"]},
                function=lambda city: f"It is sunny in {city}.")


def test_LlamaCppGenerator():
    from haystack_integrations.components.generators.llama_cpp import LlamaCppGenerator
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # Haystack deprecates it
        made = LlamaCppGenerator(common.MODEL, n_ctx=512, model_kwargs={"verbose": False},
                                 generation_kwargs=GREEDY)
    made.warm_up()
    answer = made.run(common.STORY)
    common.equal(answer["replies"], [common.greedy()])
    common.equal(answer["meta"][0]["usage"]["completion_tokens"], 9)


def test_LlamaCppChatGenerator():
    made = chat()
    made.warm_up()
    reply, = made.run(messages())["replies"]
    common.equal(reply.text, common.greedy_chat(ROLES))
    common.equal(reply.meta["finish_reason"], "length")


def test_LlamaCppChatGenerator_stream():
    pieces = []
    made = chat(streaming_callback=lambda chunk: pieces.append(chunk.content))
    made.warm_up()
    reply, = made.run(messages())["replies"]
    common.equal(reply.text, common.greedy_chat(ROLES))
    common.equal("".join(pieces), reply.text)


def test_LlamaCppChatGenerator_async():
    made = chat()
    made.warm_up()
    reply, = asyncio.run(made.run_async(messages()))["replies"]
    common.equal(reply.text, common.greedy_chat(ROLES))


def test_LlamaCppChatGenerator_tools():
    from haystack.dataclasses import ChatMessage
    choice = {"type": "function", "function": {"name": "weather"}}
    made = chat(tools=[weather_tool()], generation_kwargs={
        "temperature": 0.0, "max_tokens": 80, "tool_choice": choice})
    made.warm_up()
    question = ChatMessage.from_user("How is the weather in Rome?")
    calls = []
    for callback in (None, lambda chunk: None):
        reply, = made.run([question], streaming_callback=callback)["replies"]
        call, = reply.tool_calls
        calls.append((call.tool_name, call.arguments))
        common.equal(call.tool_name, "weather")
        assert call.arguments["city"] in ("Rome", "Paris")
    common.equal(calls[0], calls[1])
    result = ChatMessage.from_tool("It is sunny.", origin=call)
    # Haystack sends results in the role "function".
    last, = made.run([question, reply, result],
                     generation_kwargs={"tool_choice": "none", "max_tokens": 9})["replies"]
    assert last.text and not last.tool_calls


def test_LlamaCppChatGenerator_json_schema():
    made = chat(generation_kwargs={"temperature": 0.0, "max_tokens": 80, "response_format": {
        "type": "json_object", "schema": common.SCHEMA}})
    made.warm_up()
    reply, = made.run(messages())["replies"]
    common.is_of_schema(json.loads(reply.text))
