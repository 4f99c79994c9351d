"""`weft serve` at the end of the context: what its flags say for all requests."""

import pathlib
import shutil
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from serve_support import ServeTest
from support import MODEL

SHORT = ["-c", "96", "-np", "1"]


class ContextEnd(ServeTest):
    def answer(self, server, **fields):
        return server.post("/completion", {"prompt": "Once", "n_predict": 200, "ignore_eos": True,
                                           "seed": 1, **fields}).json

    def test_the_default_of_requests(self):
        server = self.serve(*SHORT, "--context-end", "window", "--keep", "2", "--discard", "8")
        settings = server.get("/props").json["default_generation_settings"]["params"]
        self.assertEqual([settings[name] for name in ("context_end", "keep", "discard")],
                         ["window", 2, 8])
        gone_on = self.answer(server)
        self.assertEqual(gone_on["tokens_predicted"], 200)
        self.assertGreater(gone_on["timings"]["dropped_n"], 100)
        ended = self.answer(server, context_end="stop")
        self.assertLess(ended["tokens_predicted"], 96)
        self.assertNotIn("dropped_n", ended["timings"])

    def test_flags_of_llama_server(self):
        server = self.serve(*SHORT, "--context-shift", "--keep", "3")
        settings = server.get("/props").json["default_generation_settings"]["params"]
        self.assertEqual((settings["context_end"], settings["keep"]), ("shift", 3))
        self.assertEqual(self.answer(server)["tokens_predicted"], 200)
        server = self.serve(*SHORT, "--no-context-shift", "--keep", "3")
        self.assertLess(self.answer(server)["tokens_predicted"], 96)

    def test_what_cannot_be_done_is_an_error_at_the_start(self):
        def refused(why, *flags):
            return self.refuses(1, why, "weft", "serve", "-m", MODEL, "--port", "0", *flags)

        refused("too few to keep 96 and the 1 newest", *SHORT, "--context-end", "shift", "--keep",
                "96")
        r = refused("texts cannot go on at the end of the context (shift): the model is divided "
                    "among ranks", "--shard", "pp=2", "--context-end", "shift")
        self.assertNotIn("listening on", r.err)
        self.refuses(2, "--context-end", "weft", "serve", "--context-end", "roll")

    def test_of_several_models_those_go_on_that_can(self):
        folder = self.folder / "models"
        folder.mkdir()
        shutil.copy(MODEL, folder / "tale.gguf")
        server = self.serve(*SHORT, "--models-dir", folder, "--context-end", "shift", "--keep",
                            "96", model=None)
        answer = self.answer(server, model="tale")
        self.assertLess(answer["tokens_predicted"], 96)
        self.assertRegex(server.log, "tale: --context-end has no effect: the context holds 96")
        self.assertEqual(self.answer(server, keep=2, context_end="shift")["tokens_predicted"], 200)


if __name__ == "__main__":
    unittest.main()
