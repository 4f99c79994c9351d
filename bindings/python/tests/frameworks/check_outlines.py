"""outlines: from_llamacpp()."""

from typing import Literal

import common

SOURCES = ("outlines/src",)
STAND_INS = ("outlines_core",)


def made(chat_mode=False):
    import outlines
    from llama_cpp import Llama
    return outlines.from_llamacpp(Llama(common.MODEL, n_ctx=512, verbose=False),
                                  chat_mode=chat_mode)


def test_text():
    model = made()
    common.equal(model(common.STORY, max_tokens=9, temperature=0), common.greedy())
    pieces = list(model.stream(common.STORY, max_tokens=9, temperature=0))
    common.equal("".join(pieces), common.greedy())


def test_chat():
    from outlines.inputs import Chat
    roles = [{"role": "user", "content": "Hello."}]
    common.equal(made(True)(Chat(roles), max_tokens=9, temperature=0), common.greedy_chat(roles))
    common.equal(made(True)("Hello.", max_tokens=9, temperature=0), common.greedy_chat(roles))


def test_choices_and_regular_expressions():
    from outlines.types import Regex
    model = made()
    assert model("The fox is", Literal[" red", " blue"], max_tokens=20, temperature=0) in (
        " red", " blue")
    answer = model("A number:", Regex(r" [0-9]{3}"), max_tokens=20, temperature=0)
    assert len(answer) == 4 and answer[1:].isdigit(), answer


def test_JSON_schema():
    from outlines.types import JsonSchema
    common.is_of_schema(made()("A child:", JsonSchema(common.SCHEMA), max_tokens=80,
                               temperature=0))
