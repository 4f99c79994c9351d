"""LangChain: LlamaCpp, ChatLlamaCpp and LlamaCppEmbeddings of langchain_community."""

import asyncio
import json
import tempfile

import common

SOURCES = ("langchain/libs/core", "langchain/libs/community", "langchain/libs/langchain",
           "langchain/libs/text-splitters", "langsmith-sdk/python")
OPTIONS = {"model_path": common.MODEL, "n_ctx": 512, "temperature": 0.0, "max_tokens": 9,
           "verbose": False}
MESSAGES = [("system", "Be brief."), ("user", "Tell me a story.")]
ROLES = [{"role": role, "content": content} for role, content in MESSAGES]


def llm(**more):
    from langchain_community.llms import LlamaCpp
    return LlamaCpp(**{**OPTIONS, **more})


def chat(**more):
    from langchain_community.chat_models import ChatLlamaCpp
    return ChatLlamaCpp(**{**OPTIONS, **more})


def test_LlamaCpp_invoke():
    common.equal(llm().invoke(common.STORY), common.greedy())
    common.equal(llm(max_tokens=30).invoke(common.STORY, stop=["."]),
                 common.greedy(max_tokens=30, stop="."))
    common.equal(llm(streaming=True).invoke(common.STORY), common.greedy())
    common.equal(llm().batch([common.STORY] * 2), [common.greedy()] * 2)


def test_LlamaCpp_stream():
    pieces = list(llm().stream(common.STORY))
    assert len(pieces) > 4
    common.equal("".join(pieces), common.greedy())
    logged = [chunk.generation_info["logprobs"] for chunk in llm(logprobs=1)._stream(common.STORY)]
    common.equal("".join(token for log in logged if log for token in log["tokens"]),
                 common.greedy())


def test_LlamaCpp_ainvoke():
    common.equal(asyncio.run(llm().ainvoke(common.STORY)), common.greedy())

    async def collect():
        return [piece async for piece in llm().astream(common.STORY)]
    common.equal("".join(asyncio.run(collect())), common.greedy())


def test_LlamaCpp_grammar():
    with tempfile.NamedTemporaryFile("w", suffix=".gbnf") as file:
        file.write('root ::= " red" | " blue"')
        file.flush()
        assert llm(grammar_path=file.name).invoke("The fox is") in (" red", " blue")


def test_LlamaCpp_tokens():
    import weft
    with weft.Model() as model:
        common.equal(llm().get_num_tokens(common.STORY), len(model.tokenizer.encode(common.STORY)))


def test_ChatLlamaCpp_invoke():
    answer = chat().invoke(MESSAGES)
    common.equal(answer.content, common.greedy_chat(ROLES))
    common.equal(answer.response_metadata["finish_reason"], "length")


def test_ChatLlamaCpp_stream():
    pieces = [chunk.content for chunk in chat().stream(MESSAGES)]
    common.equal("".join(pieces), common.greedy_chat(ROLES))


def test_ChatLlamaCpp_tools():
    from typing import Literal
    from langchain_core.tools import tool

    @tool
    def weather(city: Literal["Rome", "Paris"]) -> str:
        """The weather of a city."""
        return f"It is sunny in {city}."
    choice = {"type": "function", "function": {"name": "weather"}}
    bound = chat(max_tokens=80).bind_tools([weather], tool_choice=choice)
    answer = bound.invoke("How is the weather in Rome?")
    call, = answer.tool_calls
    common.equal(call["name"], "weather")
    assert call["args"]["city"] in ("Rome", "Paris")
    streamed = None
    for chunk in bound.stream("How is the weather in Rome?"):
        streamed = chunk if streamed is None else streamed + chunk
    common.equal([(c["name"], c["args"]) for c in streamed.tool_calls],
                 [("weather", call["args"])])


def test_ChatLlamaCpp_with_structured_output():
    from pydantic import BaseModel, Field
    from typing import Literal

    class Child(BaseModel):
        """A child."""
        name: Literal["Tom", "Lily"] = Field(description="the name")
        age: Literal[3, 4, 5]
    child = chat(max_tokens=80).with_structured_output(Child).invoke("Tom is 4 years old.")
    common.is_of_schema(json.dumps(child.model_dump()))


def test_LlamaCppEmbeddings():
    from langchain_community.embeddings import LlamaCppEmbeddings
    made = LlamaCppEmbeddings(model_path=common.MODEL, n_ctx=512, verbose=False)
    from weft.llama_cpp import Llama
    own = Llama(common.MODEL, n_ctx=512, embedding=True, verbose=False)
    texts = [common.STORY, "a fox"]
    # LangChain lists the rows of a model that does not pool as if each were a text.
    rows = [row for rows in own.embed(texts) for row in rows]
    common.equal(made.embed_documents(texts), rows)
    common.equal(made.embed_query("a fox"), own.embed("a fox")[0])
