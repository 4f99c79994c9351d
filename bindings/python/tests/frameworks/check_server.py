"""llama-cpp-python's own server, llama_cpp.server, on weft.llama_cpp."""

import importlib.util
import json
import pathlib
import sys

import common

SOURCES = ("llama-cpp-python/llama_cpp/server",)
ROLES = [{"role": "user", "content": "Hello."}]


def client():
    """A client of the server, which is put in the place of the module that refuses."""
    import llama_cpp
    if "llama_cpp.server" not in sys.modules:
        folder = next(p for p in map(pathlib.Path, sys.path) if p.parts[-2:] == (
            "llama_cpp", "server"))
        sys.path.remove(str(folder))  # it has a module `types`
        spec = importlib.util.spec_from_file_location(
            "llama_cpp.server", folder / "__init__.py", submodule_search_locations=[str(folder)])
        module = importlib.util.module_from_spec(spec)
        sys.modules["llama_cpp.server"] = llama_cpp.server = module
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings
    from starlette.testclient import TestClient
    settings = [ModelSettings(model=common.MODEL, model_alias="stories", n_ctx=512, verbose=False,
                              embedding=True)]
    return TestClient(create_app(server_settings=ServerSettings(), model_settings=settings))


def test_completions():
    request = {"prompt": common.STORY, "max_tokens": 9, "temperature": 0}
    with client() as c:
        answer = c.post("/v1/completions", json=request)
        common.equal(answer.json()["choices"][0]["text"], common.greedy())
        common.equal([m["id"] for m in c.get("/v1/models").json()["data"]], ["stories"])
        text = ""
        for line in c.post("/v1/completions", json={**request, "stream": True}).text.splitlines():
            if line.startswith("data: {"):
                text += json.loads(line[6:])["choices"][0]["text"]
        common.equal(text, common.greedy())


def test_chats():
    request = {"messages": ROLES, "max_tokens": 9, "temperature": 0}
    with client() as c:
        answer = c.post("/v1/chat/completions", json=request).json()
        common.equal(answer["choices"][0]["message"]["content"], common.greedy_chat(ROLES))
        request = {**request, "max_tokens": 80, "response_format": {
            "type": "json_object", "schema": common.SCHEMA}}
        answer = c.post("/v1/chat/completions", json=request).json()
        common.is_of_schema(answer["choices"][0]["message"]["content"])


def test_embeddings_and_tokens():
    from weft.llama_cpp import Llama
    own = Llama(common.MODEL, n_ctx=512, embedding=True, verbose=False)
    with client() as c:
        answer = c.post("/v1/embeddings", json={"input": "a fox"}).json()
        common.equal(answer["data"][0]["embedding"], own.embed("a fox"))
        answer = c.post("/extras/tokenize", json={"input": "a fox"}).json()
        common.equal(answer["tokens"], own.tokenize(b"a fox", special=True))
