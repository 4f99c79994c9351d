"""instructor: patch() of create_chat_completion_openai_v1()."""

from typing import Literal

import common

SOURCES = ("instructor",)
STAND_INS = ("jiter",)


def messages():
    """A question. instructor puts the schema into the list that it is given."""
    return [{"role": "user", "content": "Tom is 4 years old."}]


def made(mode):
    import instructor
    from llama_cpp import Llama
    llm = Llama(common.MODEL, n_ctx=2048, verbose=False)
    return instructor.patch(create=llm.create_chat_completion_openai_v1,
                            mode=getattr(instructor.Mode, mode))


def child():
    from instructor.dsl.partial import PartialLiteralMixin
    from pydantic import BaseModel

    class Child(BaseModel, PartialLiteralMixin):
        """A child."""

        name: Literal["Tom", "Lily"]
        age: Literal[3, 4, 5]
    return Child


def test_json_schema():
    answer = made("JSON_SCHEMA")(messages=messages(), response_model=child(), temperature=0.0,
                                 max_tokens=80)
    common.is_of_schema(answer.model_dump_json())


def test_tools():
    answer = made("TOOLS")(messages=messages(), response_model=child(), temperature=0.0,
                           max_tokens=80)
    common.is_of_schema(answer.model_dump_json())


def test_partial():
    import instructor
    answers = list(made("JSON_SCHEMA")(
        messages=messages(), response_model=instructor.Partial[child()], stream=True,
        temperature=0.0, max_tokens=80))
    assert len(answers) > 2
    common.is_of_schema(answers[-1].model_dump_json())


def test_the_types_of_openai():
    from llama_cpp import Llama
    from openai.types.chat import ChatCompletion, ChatCompletionChunk
    create = Llama(common.MODEL, n_ctx=512,
                   verbose=False).create_chat_completion_openai_v1
    options = {"messages": messages(), "temperature": 0.0, "max_tokens": 9, "logprobs": True}
    answer = create(**options)
    assert isinstance(answer, ChatCompletion)
    common.equal(answer.choices[0].message.content, common.greedy_chat(messages()))
    chunks = list(create(stream=True, **options))
    assert all(isinstance(chunk, ChatCompletionChunk) for chunk in chunks)
    common.equal("".join(chunk.choices[0].delta.content or "" for chunk in chunks),
                 common.greedy_chat(messages()))
