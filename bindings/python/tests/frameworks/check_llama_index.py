"""LlamaIndex: LlamaCPP of llama-index-llms-llama-cpp."""

import common

SOURCES = ("llama_index/llama-index-core",
           "llama_index/llama-index-integrations/llms/llama-index-llms-llama-cpp")


def llm(max_new_tokens=9, **more):
    from llama_index.llms.llama_cpp import LlamaCPP
    return LlamaCPP(model_path=common.MODEL, temperature=0.0, max_new_tokens=max_new_tokens,
                    context_window=512, verbose=False, model_kwargs={"n_gpu_layers": 0}, **more)


def prompt_of(messages):
    return "".join(f"{message.role.value}: {message.content}\n" for message in messages)


def test_complete():
    made = llm()
    common.equal(made.complete(common.STORY).text, common.greedy())
    common.equal(made.metadata.context_window, 512)


def test_stream_complete():
    answers = list(llm().stream_complete(common.STORY))
    common.equal("".join(answer.delta for answer in answers), common.greedy())
    common.equal(answers[-1].text, common.greedy())


def test_chat():
    from llama_index.core.llms import ChatMessage
    made = llm(messages_to_prompt=prompt_of)
    messages = [ChatMessage(role="user", content="Hello.")]
    want = common.greedy(prompt_of(messages))
    common.equal(made.chat(messages).message.content, want)
    common.equal([answer.message.content for answer in made.stream_chat(messages)][-1], want)


def test_llama_utils_prompts():
    from llama_index.core.llms import ChatMessage
    from llama_index.llms.llama_cpp.llama_utils import messages_to_prompt
    made = llm(messages_to_prompt=messages_to_prompt)
    messages = [ChatMessage(role="system", content="Be brief."),
                ChatMessage(role="user", content="Hello.")]
    from weft.llama_cpp import Llama
    own = Llama(common.MODEL, n_ctx=512, verbose=False)
    want = own(messages_to_prompt(messages), temperature=0, max_tokens=9)["choices"][0]["text"]
    common.equal(made.chat(messages).message.content, want)
