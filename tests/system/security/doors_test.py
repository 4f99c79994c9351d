"""What `weft serve` does with clients that are slow, guess keys, or are pages of other sites."""

import json
import pathlib
import resource
import shutil
import socket
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest
from support import MODEL

KEY = "right-key-1"


class SlowClients(ServeTest):
    def test_half_requests_keep_nobody_out(self):
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
        server = self.serve("--api-key", KEY, key=KEY, preexec_fn=few)
        host, port = server.address.split("//")[1].rsplit(":", 1)
        half = b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" \
               b"Content-Length: 10000\r\n\r\n{" % KEY.encode()
        held = []
        for _ in range(130):
            held.append(socket.create_connection((host, int(port)), 5))
            held[-1].sendall(half)
        self.assertEqual(server.get("/health").status, 200)
        self.assertEqual(server.get("/v1/models").status, 200)
        for client in held:
            client.close()

    def test_open_paths_take_no_body(self):
        server = self.serve("--api-key", KEY)
        reply = server.request("GET", "/health", {"a": 1})
        self.assertEqual(reply.status, 200)
        self.assertEqual(reply.headers["connection"], "close")
        self.assertEqual(server.request("POST", "/health", {"a": 1}).status, 405)
        host, port = server.address.split("//")[1].rsplit(":", 1)
        with socket.create_connection((host, int(port)), 5) as half:
            half.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{")
            self.assertTrue(half.recv(4096).startswith(b"HTTP/1.1 200 "))


class WrongKeys(ServeTest):
    def test_limited_and_logged_without_the_key(self):
        server = self.serve("--api-key", KEY, "--log-jsonl", key=KEY)
        wrong = {"Authorization": "Bearer guessed-key-2"}
        replies = []
        while len(replies) < 3000 and (not replies or replies[-1].status == 401):
            replies.append(server.get("/v1/models", headers=wrong))
        self.assertGreaterEqual(len(replies), 600)
        self.assertEqual(replies[-1].status, 429)
        self.assertGreaterEqual(int(replies[-1].headers["retry-after"]), 1)
        self.assertEqual(server.get("/v1/models").status, 200)
        server.wait_for('"status":200')
        lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
        refused = [x for x in lines if x.get("status") in (401, 429)]
        self.assertEqual(len(refused), len(replies))
        self.assertTrue(all(x["peer"] == "127.0.0.1" for x in refused))
        for text in ("guessed-key", KEY, "Bearer"):
            self.assertNotIn(text, server.log)


class OtherSites(ServeTest):
    def test_no_foreign_page_loads_a_model(self):
        folder = self.folder / "models"
        folder.mkdir()
        shutil.copy(MODEL, folder / "a.gguf")
        server = self.serve("--models-dir", folder, model=None)
        for mode, to in (("no-cors", "image"), ("navigate", "iframe"), ("navigate", "document")):
            fetch = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": to}
            self.assertEqual(server.get("/props?model=a", headers=fetch).status, 403)
            page = server.get("/", headers=fetch)
            self.assertEqual(page.status, 200 if to == "document" else 403)
        self.assertEqual(server.metric("model_loads_total"), 0)
        own = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors"}
        self.assertEqual(server.get("/props?model=a", headers=own).status, 200)
        self.assertEqual(server.metric("model_loads_total"), 1)

    def test_headers_that_keep_answers_apart(self):
        server = self.serve()
        for path in ("/", "/health", "/ui/state", "/ui/plan", "/none"):
            headers = server.get(path).headers
            self.assertEqual(headers["x-content-type-options"], "nosniff", path)
            self.assertEqual(headers["cross-origin-resource-policy"], "same-origin", path)
        self.assertEqual(server.get("/").headers["x-frame-options"], "DENY")
        self.assertIn("sandbox", server.get("/ui/plan").headers["content-security-policy"])
        local = server.get("/health", headers={"Origin": "http://localhost:3000"}).headers
        self.assertEqual(local["cross-origin-resource-policy"], "cross-origin")


if __name__ == "__main__":
    unittest.main()
