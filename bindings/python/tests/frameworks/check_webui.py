"""text-generation-webui: its loader of llama-cpp-python, which it had until April 2025. Of torch
and transformers the loader uses names only, and of modules.text_generation one function."""

import sys
import types

import common

SOURCES = ("text-generation-webui",)
STAND_INS = ("numba", "torch", "transformers")
STATE = {"max_new_tokens": 9, "temperature": 0.0, "top_p": 1, "min_p": 0.0, "typical_p": 1.0,
         "frequency_penalty": 0.0, "presence_penalty": 0.0, "repetition_penalty": 1.0, "top_k": 0,
         "seed": -1, "tfs": 1.0, "mirostat_mode": 0, "mirostat_tau": 5.0, "mirostat_eta": 0.1,
         "grammar_string": "", "ban_eos_token": False, "custom_token_bans": "",
         "truncation_length": 512}


def loaded(*arguments):
    sys.argv = ["server.py", "--n_ctx", "512", *arguments]
    rest = types.ModuleType("modules.text_generation")
    rest.get_max_prompt_length = lambda state: state["truncation_length"] - state["max_new_tokens"]
    sys.modules["modules.text_generation"] = rest
    from modules import shared
    shared.args = shared.parser.parse_args(sys.argv[1:])
    from modules.llamacpp_model import LlamaCppModel
    return LlamaCppModel.from_pretrained(common.MODEL)[0]


def test_generate():
    model = loaded("--cpu")
    common.equal(model.generate(common.STORY, STATE), common.greedy())
    common.equal(list(model.generate_with_streaming(common.STORY, STATE))[-1], common.greedy())
    common.equal(model.generate(common.STORY, {**STATE, "ban_eos_token": True}), common.greedy())


def test_tokens_that_are_banned_and_grammars():
    model = loaded("--cpu")
    first = model.encode(common.STORY + common.greedy())[len(model.encode(common.STORY))]
    other = model.generate(common.STORY, {**STATE, "custom_token_bans": str(first)})
    assert other != common.greedy()
    grammar = {**STATE, "grammar_string": 'root ::= " red" | " blue"'}
    assert model.generate("The fox is", grammar) in (" red", " blue")


def test_streaming_llm():
    model = loaded("--cpu", "--streaming-llm")
    common.equal(model.generate(common.STORY, STATE), common.greedy())
    common.equal(model.generate(common.STORY, STATE), common.greedy())


def test_logits_of_all_tokens_are_refused_by_name():
    """It asks for them without logits_all=True, where llama-cpp-python gives what is in memory."""
    import weft
    model = loaded("--cpu")
    try:
        model.get_logits(model.encode(common.STORY))
    except weft.UnsupportedError as error:
        assert "logits_all=True" in str(error)
    else:
        raise AssertionError("they were not refused")
