"""The files of `weft serve`: folders of models, and mapped files that are truncated."""

import os
import shutil
import struct
import threading
import unittest

from serve_support import CHAT, ServeTest
from support import MODEL
from waiting import eventually


class FolderOfModels(ServeTest):
    def test_files_of_the_same_name(self):
        folder = self.folder / "models"
        for part in ("a", "b", ".hidden"):
            (folder / part).mkdir(parents=True)
            shutil.copy(MODEL, folder / part / "model.gguf")
        shutil.copy(MODEL, os.fsencode(folder) + b"/\xff.gguf")
        text = lambda t: struct.pack("<Q", len(t)) + t
        clip = (b"GGUF" + struct.pack("<IQQ", 3, 1, 1) + text(b"general.architecture") +
                struct.pack("<I", 8) + text(b"clip") + text(b"v.x") +
                struct.pack("<IQIQ", 1, 8, 0, 0))
        clip += bytes(-len(clip) % 32 + 32)
        for part in ("a", "b"):
            (folder / part / "mmproj-F16.gguf").write_bytes(clip)
        server = self.serve("--models-dir", folder, model=None)
        self.assertEqual([m["id"] for m in server.get("/v1/models").json["data"]],
                         ["a/model", "b/model"])
        self.assertEqual(server.get("/v1/models/b/model").json["id"], "b/model")
        reply = server.post("/v1/chat/completions", {**CHAT, "model": "b/model"})
        self.assertEqual(reply.json["model"], "b/model")


class TruncatedFiles(ServeTest):
    def test_truncated_model(self):
        """Requests fail by name, the process lives, and a whole file is loaded again."""
        model = self.folder / "served.gguf"
        shutil.copy(MODEL, model)
        whole = model.read_bytes()
        server = self.serve("--weights", "mapped", model=model)
        ask = lambda: server.post("/v1/chat/completions", CHAT)
        expected = ask().json["choices"]
        endless = {**CHAT, "max_tokens": 900, "ignore_eos": True, "stream": True}
        running = []
        thread = threading.Thread(target=lambda: running.append(
            server.post("/v1/chat/completions", endless).body.decode()))
        thread.start()
        eventually(lambda: server.metric("requests_processing") == 1, "the text")
        model.write_bytes(whole[:len(whole) // 4])
        thread.join()
        self.assertRegex(running[0], "served: was (truncated|written)")
        reply = ask()
        self.assertEqual(reply.status, 500)
        self.assertEqual(server.get("/health").json["state"], "failed")
        self.assertIn("served: ", reply.json["error"]["message"])
        self.assertEqual(server.get("/version").status, 200)
        model.write_bytes(whole)
        self.assertEqual(ask().json["choices"], expected)
        self.assertEqual(server.end(), 0)

    def test_truncated_weight_cache(self):
        """Likewise for packed weights that are mapped."""
        packed = self.folder / "packed"
        flags = ("--weights", "resident", "--weight-cache", packed)
        self.serve(*flags).end()
        server = self.serve(*flags)
        ask = lambda: server.post("/v1/chat/completions", CHAT)
        expected = ask().json["choices"]
        (file,) = packed.iterdir()
        file.write_bytes(file.read_bytes()[:4096])
        replies = [ask() for _ in range(2)]
        self.assertLessEqual([r.status for r in replies], [500, 200])
        self.assertEqual(replies[1].json["choices"], expected)


if __name__ == "__main__":
    unittest.main()
