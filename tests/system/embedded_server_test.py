"""examples/embedded_server answers chats of both interfaces, and errors in their form."""

import json
import subprocess
import unittest
import urllib.error
import urllib.request

from support import BIN, EMULATOR, MODEL, SystemTest


class EmbeddedServer(SystemTest):
    def start(self):
        process = subprocess.Popen([*EMULATOR, str(BIN / "embedded_server"), str(MODEL), "0"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process.stdout.readline().strip()

    def post(self, url, body):
        request = urllib.request.Request(url, json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)

    def test_chats(self):
        url = self.start()
        body = {"messages": [{"role": "user", "content": "Tell me a story."}], "max_tokens": 8}
        answer = self.post(url + "/v1/chat/completions", body)
        self.assertEqual(answer["model"], "mine")
        self.assertTrue(answer["choices"][0]["message"]["content"])
        answer = self.post(url + "/v1/messages", body)
        self.assertTrue(answer["content"][0]["text"])
        with self.assertRaises(urllib.error.HTTPError) as wrong:
            self.post(url + "/v1/messages", body | {"max_tokens": -1})
        with wrong.exception as error:
            self.assertEqual(error.code, 400)
            self.assertEqual(json.load(error)["type"], "error")

    def test_usage(self):
        self.refuses(2, "usage: embedded_server", "embedded_server")
        self.refuses(1, "embedded_server: ", "embedded_server", self.folder / "absent.gguf")


if __name__ == "__main__":
    unittest.main()
