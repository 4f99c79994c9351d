"""Requests of client libraries, replayed by hand (clients.json), and streams read as the libraries
read them."""

import base64
import json
import struct
import unittest

from case_support import load
from http_cases import HttpCases

BOOK = load("clients.json")
HI = [{"role": "user", "content": "Hi"}]


def sse_lines(response):
    """Events as the libraries read them: lines. An empty one ends an event."""
    name, data = None, []
    for raw in response:
        line = raw.decode().rstrip("\r\n")
        if not line and data:
            yield name, "\n".join(data)
            name, data = None, []
        elif line and not line.startswith(":"):
            field, _, value = line.partition(":")
            if field == "event":
                name = value.removeprefix(" ")
            elif field == "data":
                data.append(value.removeprefix(" "))


class Clients(HttpCases):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def test_requests(self):
        self.check_all(self.server, [{**c, "headers": BOOK["headers"][c["as"]]}
                                     for c in BOOK["cases"]])

    def ask(self, connection, library, path, body):
        """A request on a connection that stays open, as pools of connections use it."""
        connection.request("POST", path, json.dumps(body).encode(), BOOK["headers"][library])
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        return response

    def test_openai_stream_and_the_next_request_on_the_connection(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = {"model": "m", "messages": HI, "max_tokens": 4, "temperature": 0}
        r = self.ask(connection, "openai-python", "/v1/chat/completions", {**body, "stream": True})
        events = list(sse_lines(r))
        self.assertEqual(events[-1], (None, "[DONE]"))
        r.read()
        text = "".join(json.loads(data)["choices"][0]["delta"].get("content") or ""
                       for _, data in events[:-1])
        r = self.ask(connection, "openai-python", "/v1/chat/completions", body)
        self.assertEqual(json.load(r)["choices"][0]["message"]["content"], text)

    def test_openai_stream_of_a_response(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = {"model": "m", "input": "Hi", "max_output_tokens": 16, "temperature": 0,
                "stream": True}
        events = [(name, json.loads(data)) for name, data in
                  sse_lines(self.ask(connection, "openai-node", "/v1/responses", body))]
        for number, (name, event) in enumerate(events):
            self.assertEqual((event["type"], event["sequence_number"]), (name, number))
        names = [name for name, _ in events]
        self.assertEqual(names[0], "response.created")
        self.assertIn(names[-1], ("response.completed", "response.incomplete"))
        texts = [e["delta"] for n, e in events if n == "response.output_text.delta"]
        done = next(e["text"] for n, e in events if n == "response.output_text.done")
        self.assertEqual("".join(texts), done)

    def test_anthropic_stream(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = {"model": "claude", "messages": HI, "max_tokens": 4, "stream": True}
        events = [(name, json.loads(data)) for name, data in
                  sse_lines(self.ask(connection, "anthropic", "/v1/messages", body))]
        self.assertEqual(events[0][1]["message"]["content"], [])
        self.assertTrue(all(name == event["type"] for name, event in events))
        self.assertEqual(events[-1][0], "message_stop")

    def test_ollama_stream(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = {"model": "weft-stories", "prompt": "Hi", "stream": True,
                "options": {"num_predict": 4}}
        r = self.ask(connection, "ollama", "/api/generate", body)
        parts = [json.loads(line) for line in r]
        self.assertNotIn("error", parts[-1])
        self.assertEqual([p["done"] for p in parts], [False] * (len(parts) - 1) + [True])

    def test_base64_holds_the_same_floats(self):
        path, body = "/v1/embeddings", {"input": "a fox", "model": "m"}
        plain = self.server.post(path, body).json["data"][0]["embedding"]
        coded = self.server.post(path, {**body, "encoding_format": "base64"}).json
        data = base64.b64decode(coded["data"][0]["embedding"])
        for a, b in zip(plain, struct.unpack(f"<{len(plain)}f", data)):
            self.assertAlmostEqual(a, b, delta=1e-6)

    def test_chunked_body(self):
        connection = self.server.connection()
        self.addCleanup(connection.close)
        body = json.dumps({"model": "m", "messages": HI, "max_tokens": 1}).encode()
        connection.request("POST", "/v1/chat/completions", iter([body[:7], body[7:]]),
                           {"Content-Type": "application/json"}, encode_chunked=True)
        self.assertEqual(connection.getresponse().status, 200)

    def test_keys(self):
        server = self.serve("--api-key", "secret")
        for headers, status in (({}, 401), ({"Authorization": "Bearer wrong"}, 401),
                                ({"Authorization": "Bearer secret"}, 200),
                                ({"X-Api-Key": "secret"}, 200)):
            self.assertEqual(server.get("/v1/models", headers=headers).status, status, headers)


if __name__ == "__main__":
    unittest.main()
