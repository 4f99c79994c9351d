"""llama-cpp-agent: LlamaCppPythonProvider, in chats and with structured outputs."""

import json

import common

SOURCES = ("llama-cpp-agent/src",)
PROMPT = ("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello.<|im_end|>\n"
          "<|im_start|>assistant")


def made():
    from llama_cpp import Llama
    from llama_cpp_agent.providers import LlamaCppPythonProvider
    provider = LlamaCppPythonProvider(Llama(common.MODEL, n_ctx=1024, verbose=False))
    settings = provider.get_provider_default_settings()
    settings.temperature, settings.max_tokens, settings.repeat_penalty = 0.0, 9, 1.0
    return provider, settings


def agent(provider):
    from llama_cpp_agent import LlamaCppAgent, MessagesFormatterType
    return LlamaCppAgent(provider, system_prompt="Be brief.",
                         predefined_messages_formatter_type=MessagesFormatterType.CHATML)


def test_chat():
    provider, settings = made()
    answer = agent(provider).get_chat_response("Hello.", llm_sampling_settings=settings,
                                               print_output=False)
    common.equal(answer.strip(), common.greedy(PROMPT).strip())


def test_stream():
    provider, settings = made()
    settings.stream = True
    pieces = agent(provider).get_chat_response(
        "Hello.", llm_sampling_settings=settings, print_output=False, streaming_callback=None,
        returns_streaming_generator=True)
    common.equal("".join(pieces).strip(), common.greedy(PROMPT).strip())


def test_structured_output():
    """The text is of the grammar that llama-cpp-agent makes. That lacks the last brace, so its own
    parser is not asked."""
    from enum import Enum
    from llama_cpp_agent.llm_output_settings import (
        LlmStructuredOutputSettings,
        LlmStructuredOutputType,
    )
    from pydantic import BaseModel

    class Name(Enum):
        TOM = "Tom"
        LILY = "Lily"

    class Child(BaseModel):
        """A child."""

        name: Name
    provider, settings = made()
    settings.max_tokens = 80
    llm = provider.llama_model  # the grammar allows spaces without an end
    settings.logit_bias = {i: -100.0 for i in range(llm.n_vocab())
                           if llm.detokenize([i]).isspace()}
    wanted = LlmStructuredOutputSettings.from_pydantic_models(
        [Child], output_type=LlmStructuredOutputType.object_instance)
    answer = provider.create_completion(PROMPT, wanted, settings, "")
    value = json.loads(answer["choices"][0]["text"] + "}")
    common.equal(value["model"], "Child")
    assert value["fields"]["name"] in ("Tom", "Lily")
