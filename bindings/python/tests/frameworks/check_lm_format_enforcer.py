"""lm-format-enforcer: its logits processor for llama-cpp-python. It takes control tokens other than
BOS and EOS for empty texts, which may follow everywhere: the check excludes those of the model."""

import common

SOURCES = ("lm-format-enforcer",)


def made():
    from llama_cpp import Llama
    return Llama(common.MODEL, n_ctx=512, verbose=False)


def text(llm, parser, prompt):
    from llama_cpp import LogitsProcessorList
    from lmformatenforcer.integrations.llamacpp import build_llamacpp_logits_processor
    processors = LogitsProcessorList([build_llamacpp_logits_processor(llm, parser)])
    control = {i: float("-inf") for i in range(llm.n_vocab())
               if llm._model.is_control(i) and i != llm.token_eos()}
    answer = llm(prompt, max_tokens=300, temperature=0, logits_processor=processors,
                 logit_bias=control)
    return answer["choices"][0]["text"]


def test_a_JSON_schema():
    from lmformatenforcer import JsonSchemaParser
    common.is_of_schema(text(made(), JsonSchemaParser(common.SCHEMA), "A child as JSON: "))


def test_a_regular_expression():
    from lmformatenforcer import RegexParser
    assert text(made(), RegexParser(r" (red|blue)"), "The fox is") in (" red", " blue")
