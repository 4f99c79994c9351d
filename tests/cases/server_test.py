"""The server: requests and answers of every interface (server.json), and the order of events in
streams, as the documentation of OpenAI, Anthropic and Ollama describes it."""

import json
import unittest

from case_support import load
from http_cases import HttpCases

ASK = [{"role": "user", "content": "Tell me a story about a fox."}]


class Server(HttpCases):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def test_requests(self):
        self.check_all(self.server, load("server.json")["cases"])

    def post(self, path, body):
        r = self.server.post(path, body)
        self.assertEqual(r.status, 200, r.body[:400])
        return r

    def test_stream_of_a_chat(self):
        body = {"messages": ASK, "temperature": 0, "max_tokens": 8}
        whole = self.post("/v1/chat/completions", body).json
        r = self.post("/v1/chat/completions",
                      {**body, "stream": True, "stream_options": {"include_usage": True}})
        self.assertTrue(r.headers["content-type"].startswith("text/event-stream"))
        *events, last = r.events()
        self.assertEqual(last, "[DONE]")
        *chunks, usage = map(json.loads, events)
        self.assertEqual((usage["choices"], usage["usage"]["completion_tokens"]), ([], 8))
        self.assertEqual({(c["object"], c["id"]) for c in chunks},
                         {("chat.completion.chunk", usage["id"])})
        first, *middle, end = [c["choices"][0] for c in chunks]
        self.assertEqual(first["delta"]["role"], "assistant")
        self.assertEqual([c["finish_reason"] for c in [first, *middle]], [None] * (len(middle) + 1))
        self.assertEqual(end["finish_reason"], "length")
        self.assertEqual("".join(c["delta"].get("content") or "" for c in [first, *middle, end]),
                         whole["choices"][0]["message"]["content"])

    def test_stream_of_a_completion(self):
        body = {"prompt": "Once upon a time", "temperature": 0, "max_tokens": 8}
        whole = self.post("/v1/completions", body).json
        *events, last = self.post("/v1/completions", {**body, "stream": True}).events()
        self.assertEqual(last, "[DONE]")
        chunks = [json.loads(e)["choices"][0] for e in events]
        self.assertEqual("".join(c["text"] for c in chunks), whole["choices"][0]["text"])
        self.assertEqual([c["finish_reason"] for c in chunks if c["finish_reason"]], ["length"])

    def test_stream_of_a_message(self):
        body = {"model": "m", "messages": ASK, "temperature": 0, "max_tokens": 8}
        whole = self.post("/v1/messages", body).json
        r = self.post("/v1/messages", {**body, "stream": True})
        events = [json.loads(e) for e in r.events()]
        names = [line[7:] for line in r.body.decode().split("\n") if line.startswith("event: ")]
        self.assertEqual(names, [e["type"] for e in events])
        names = [n for n in names if n != "ping"]
        n_deltas = names.count("content_block_delta")
        self.assertGreater(n_deltas, 0)
        self.assertEqual(names, ["message_start", "content_block_start",
                                 *["content_block_delta"] * n_deltas, "content_block_stop",
                                 "message_delta", "message_stop"])
        texts = [e["delta"]["text"] for e in events if e["type"] == "content_block_delta"]
        self.assertEqual("".join(texts), whole["content"][0]["text"])
        delta = next(e for e in events if e["type"] == "message_delta")
        self.assertEqual(delta["delta"]["stop_reason"], "max_tokens")
        self.assertEqual(delta["usage"]["output_tokens"], 8)

    def test_stream_of_ollama(self):
        body = {"model": "weft-stories", "messages": ASK,
                "options": {"temperature": 0, "num_predict": 8}}
        whole = self.post("/api/chat", {**body, "stream": False}).json
        r = self.post("/api/chat", body)  # a stream by default
        self.assertTrue(r.headers["content-type"].startswith("application/x-ndjson"))
        *parts, last = map(json.loads, r.body.splitlines())
        self.assertEqual({p["done"] for p in parts}, {False})
        self.assertEqual((last["done"], last["done_reason"]), (True, "length"))
        self.assertEqual("".join(p["message"]["content"] for p in [*parts, last]),
                         whole["message"]["content"])

    def test_a_prompt_that_does_not_fit(self):
        r = self.server.post("/v1/completions", {"prompt": [300] * 600, "max_tokens": 1})
        self.assertEqual((r.status, r.json["error"]["code"]), (400, "context_length_exceeded"))
        self.assertIn("600", r.json["error"]["message"])

    def test_a_wrong_request_for_a_stream_is_not_a_stream(self):
        for path in ("/v1/chat/completions", "/v1/messages", "/api/chat"):
            r = self.server.post(path, {"model": "weft-stories", "stream": True, "messages": 5})
            self.assertEqual(r.status, 400)
            self.assertTrue(r.headers["content-type"].startswith("application/json"))


if __name__ == "__main__":
    unittest.main()
