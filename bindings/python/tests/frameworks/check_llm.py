"""llm, with the plug-ins llm-llama-cpp and llm-gguf. They sample, and offer no seed."""

import json
import os
import pathlib
import tempfile

import common

SOURCES = ("llm", "llm-llama-cpp", "llm-gguf")
STAND_INS = ("jiter",)
FOLDER = pathlib.Path(tempfile.mkdtemp())
os.environ.update(LLM_USER_PATH=str(FOLDER), LLM_LOAD_PLUGINS="")


def plug_in(name):
    import importlib
    import llm.plugins
    module = importlib.import_module(name)
    if llm.plugins.pm.get_plugin(name) is None:
        llm.plugins.pm.register(module, name=name)
    return module


def test_llm_llama_cpp():
    import llm
    made = plug_in("llm_llama_cpp").LlamaModel("stories", common.MODEL)
    answer = made.prompt(common.STORY, max_tokens=9, n_ctx=512)
    pieces = list(answer)
    assert 2 < len(pieces) <= 10, pieces
    common.equal(answer.text(), "".join(pieces))
    assert answer.text() and llm.user_dir() == FOLDER


def test_llm_gguf():
    import llm
    (FOLDER / "gguf").mkdir(exist_ok=True)
    (FOLDER / "gguf/models.json").write_text(json.dumps(
        {"stories": {"path": common.MODEL, "n_ctx": 256}}))
    (FOLDER / "gguf/embed-models.json").write_text(json.dumps({"stories": {"path": common.MODEL}}))
    plug_in("llm_gguf")
    model = llm.get_model("gguf/stories")
    assert model.prompt("Hello.", system="Be brief.").text()
    conversation = model.conversation()
    assert conversation.prompt("Hello.").text() and conversation.prompt("And then?").text()


def test_llm_gguf_embeddings():
    import llm
    from weft.llama_cpp import Llama
    plug_in("llm_gguf")
    own = Llama(common.MODEL, embedding=True, verbose=False)
    rows = llm.get_embedding_model("gguf/stories").embed_batch([common.STORY])
    common.equal(list(rows), [own.embed(common.STORY)])
