"""Files of slots: an interrupted write never leaves a half-written file that is read back."""

import contextlib
import http.client
import os
import resource
import threading
import unittest

from serve_support import ServeTest
from support import TIMEOUT

NAME = "talk.bin"
PROMPT = "Once upon a time there was a little fox who lived by the sea. " * 8


@contextlib.contextmanager
def file_limit(server, n_bytes):
    """The server cannot write larger files, as if the disk were full."""
    pid, kind = server.process.pid, resource.RLIMIT_FSIZE
    old = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, kind, old)


class SlotFiles(ServeTest):
    def setUp(self):
        super().setUp()
        self.slots = self.folder / "slots"
        self.slots.mkdir()
        self.file = self.slots / NAME

    def start(self):
        return self.serve("--slot-save-path", self.slots)

    def continue_prompt(self, server):
        """Its text, and how many tokens of the prompt were computed."""
        answer = server.post("/completion", {"prompt": PROMPT, "n_predict": 8, "temperature": 0,
                                             "id_slot": 0}).json
        return answer["content"], answer["timings"]["prompt_n"]

    def saved(self):
        """A server that has saved slot 0: the server, the text, and the answer to saving."""
        server = self.start()
        text, _ = self.continue_prompt(server)
        reply = server.slot("save", NAME)
        self.assertEqual(reply.status, 200, reply.body)
        return server, text, reply.json

    def check_restored(self, server, text, n_saved):
        self.assertEqual(server.slot("erase", NAME).status, 200)
        reply = server.slot("restore", NAME)
        self.assertEqual(reply.status, 200, reply.body)
        self.assertEqual(reply.json["n_restored"], n_saved)
        again, n_computed = self.continue_prompt(server)
        self.assertEqual(again, text)
        self.assertLessEqual(n_computed, 2)

    def test_full_disk(self):
        server, text, saved = self.saved()
        before = self.file.read_bytes()
        with file_limit(server, saved["n_written"] // 2):
            for name in (NAME, "other.bin"):
                reply = server.slot("save", name)
                self.assertEqual(reply.status, 500)
                self.assertIn(name, reply.json["error"]["message"])
                self.assertNotIn(str(self.slots), reply.json["error"]["message"])
        self.assertEqual(os.listdir(self.slots), [NAME])
        self.assertEqual(self.file.read_bytes(), before)
        self.check_restored(server, text, saved["n_saved"])
        self.assertEqual(server.slot("save", "other.bin").status, 200)

    def test_killed_while_saving(self):
        server, text, saved = self.saved()
        saves = threading.Semaphore(0)

        def save_until_killed():
            try:
                while server.slot("save", NAME).status == 200:
                    saves.release()
            except (OSError, http.client.HTTPException):
                pass  # it was killed

        for _ in range(3):
            thread = threading.Thread(target=save_until_killed)
            thread.start()
            for _ in range(3):
                self.assertTrue(saves.acquire(timeout=TIMEOUT))
            server.kill()
            thread.join()
            server = self.start()
            self.check_restored(server, text, saved["n_saved"])
        self.assertEqual([f for f in os.listdir(self.slots) if not f.endswith(".tmp")], [NAME])

    def test_left_over_temporary_file(self):
        server, text, saved = self.saved()
        left_over = f"{NAME}.{server.process.pid}-0.tmp"
        half = self.file.read_bytes()[:saved["n_written"] // 2]
        (self.slots / left_over).write_bytes(half)
        self.assertEqual(server.slot("restore", left_over).status, 400)
        self.check_restored(server, text, saved["n_saved"])
        again = server.slot("save", NAME).json
        self.check_restored(server, text, again["n_saved"])
        self.assertEqual((self.slots / left_over).read_bytes(), half)


if __name__ == "__main__":
    unittest.main()
