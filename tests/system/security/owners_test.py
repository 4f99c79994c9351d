"""What one key of `weft serve` learns of the texts of another, and who shares what."""

import os
import pathlib
import stat
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest

ALICE, BOB = "alice-1", "bob-2"
SECRET = ("Once upon a time there was a fox. The secret number of the safe is 4 8 3 1 and nobody "
          "knows it but Alice, who lives in a small house at the end of the lane near the river.")


class Owners(ServeTest):
    def start(self, *flags):
        return self.serve("--api-key", f"{ALICE},{BOB}", *flags)

    def ask(self, server, key, **more):
        body = {"prompt": SECRET, "n_predict": 1, "temperature": 0, **more}
        reply = server.post("/completion", body, headers=self.with_key(key))
        self.assertEqual(reply.status, 200, reply.body)
        return reply.json

    def with_key(self, key):
        return {"Authorization": f"Bearer {key}"}

    def n_cached(self, server, key, **more):
        return self.ask(server, key, **more)["timings"]["cache_n"]

    def slot(self, server, key, action, slot=0, name="a.bin", **more):
        return server.post(f"/slots/{slot}?action={action}", {"filename": name, **more},
                           headers=self.with_key(key))


class Prompts(Owners):
    def test_another_key_finds_nothing(self):
        server = self.start()
        self.assertEqual(self.n_cached(server, ALICE), 0)
        self.assertEqual(self.n_cached(server, BOB), 0)
        self.assertGreater(self.n_cached(server, ALICE), 20)
        self.assertGreater(self.n_cached(server, BOB), 20)

    def test_nor_in_a_slot_by_number(self):
        server = self.start()
        self.ask(server, ALICE, id_slot=0)
        self.assertEqual(self.n_cached(server, BOB, id_slot=0), 0)

    def test_nor_while_it_is_computed(self):
        server = self.start()
        reply = server.connection()
        reply.request("POST", "/completion",
                      '{"prompt": "%s", "n_predict": 400, "stream": true, "ignore_eos": true}' % SECRET,
                      self.with_key(ALICE))
        reply.getresponse().readline()
        self.assertEqual(self.n_cached(server, BOB), 0)
        reply.close()

    def test_words_of_slots(self):
        server = self.start("-np", "1")
        self.ask(server, ALICE)
        self.ask(server, ALICE, prompt=SECRET[:60] + " Bob")
        own, = server.get("/slots", headers=self.with_key(ALICE)).json
        seen, = server.get("/slots", headers=self.with_key(BOB)).json
        self.assertIn("differs after token", own["why_not_reused"])
        self.assertEqual(seen["why_not_reused"], "")
        self.assertEqual(seen["id_task"], 0)
        self.assertEqual(seen["n_held"], own["n_held"])
        state = server.get("/ui/state", headers=self.with_key(BOB)).json
        self.assertEqual(state["models"][0]["slots"][0]["why_not_reused"], "")

    def test_reasons_do_not_tell_of_others(self):
        server = self.start("-np", "1")
        self.ask(server, ALICE)
        self.ask(server, BOB, prompt=SECRET[:60] + " is not it")
        own, = server.get("/slots", headers=self.with_key(BOB)).json
        self.assertEqual(own["why_not_reused"], "nothing is held")

    def test_salted_slots_are_seen_with_the_salt(self):
        server = self.start("-np", "1")
        self.ask(server, ALICE, cache_salt="one two")
        seen = lambda key, query="": server.get(f"/slots{query}",
                                                headers=self.with_key(key)).json[0]["id_task"]
        self.assertEqual(seen(ALICE), 0)
        self.assertEqual(seen(BOB, "?cache_salt=one%20two"), 0)
        self.assertNotEqual(seen(ALICE, "?cache_salt=one%20two"), 0)

    def test_moved_parts_stay_with_their_key(self):
        server = self.start("--cache-reuse", "16", "--cache-reuse-share", "0")
        self.ask(server, ALICE)
        moved = lambda key, **more: self.ask(server, key, prompt="Bob says: " + SECRET,
                                             **more)["timings"].get("cache_moved_n", 0)
        self.assertEqual(moved(BOB), 0)
        self.assertEqual(moved(ALICE, cache_salt="one"), 0)
        self.assertGreater(moved(ALICE), 16)

    def test_salt_narrows_a_key(self):
        server = self.start()
        self.ask(server, ALICE, cache_salt="one")
        self.assertEqual(self.n_cached(server, ALICE, cache_salt="two"), 0)
        self.assertEqual(self.n_cached(server, ALICE), 0)
        self.assertGreater(self.n_cached(server, ALICE, cache_salt="one"), 20)

    def test_unshared_prompts_are_read_by_nobody(self):
        server = self.start("--no-cache-prompt", "--cache-ram", "0")
        self.ask(server, ALICE, cache_prompt=False)
        self.assertEqual(self.n_cached(server, ALICE, cache_prompt=True), 0)
        self.assertGreater(self.n_cached(server, ALICE, cache_prompt=True), 20)

    def test_scope_of_the_server(self):
        server = self.start("--cache-scope", "server")
        self.ask(server, ALICE)
        self.assertGreater(self.n_cached(server, BOB), 20)
        self.assertEqual(self.n_cached(server, BOB, cache_salt="one"), 0)

    def test_without_keys_all_share(self):
        server = self.serve()
        self.ask(server, "")
        self.assertGreater(self.n_cached(server, ""), 20)


class SavedSlots(Owners):
    def setUp(self):
        super().setUp()
        self.slots = self.folder / "slots"
        self.slots.mkdir()

    def start(self, *flags):
        return super().start("--slot-save-path", self.slots, *flags)

    def test_each_key_has_its_own_files(self):
        server = self.start()
        self.ask(server, ALICE, id_slot=0)
        self.assertEqual(self.slot(server, ALICE, "save").status, 200)
        self.assertEqual(self.slot(server, BOB, "restore", 1).status, 404)
        self.ask(server, BOB, id_slot=1, prompt="Once upon a time")
        self.assertEqual(self.slot(server, BOB, "save", 1).status, 200)
        self.assertEqual(self.slot(server, ALICE, "restore", 1).json["n_restored"],
                         self.slot(server, ALICE, "save").json["n_saved"])
        files = [p for p in self.slots.rglob("*") if p.is_file()]
        self.assertEqual(len(files), 2)
        for path in files:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
            self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
            self.assertNotIn("alice", str(path))

    def test_the_slot_of_another_key(self):
        server = self.start()
        self.ask(server, ALICE, id_slot=0)
        for action in ("save", "erase"):
            reply = self.slot(server, BOB, action)
            self.assertEqual(reply.status, 403, action)
            self.assertEqual(reply.json["error"]["code"], "slot_owner")
        self.assertEqual(self.slot(server, ALICE, "erase").status, 200)

    def test_salts_have_their_own_files(self):
        server = self.start()
        self.ask(server, ALICE, id_slot=0, cache_salt="one")
        self.assertEqual(self.slot(server, ALICE, "save").status, 403)
        self.assertEqual(self.slot(server, ALICE, "save", cache_salt="one").status, 200)
        self.assertEqual(self.slot(server, ALICE, "restore").status, 404)
        self.assertEqual(self.slot(server, ALICE, "restore", cache_salt="one").status, 200)

    def test_quota(self):
        server = self.start("--slot-save-quota", "1K")
        self.ask(server, ALICE, id_slot=0)
        self.assertEqual(self.slot(server, ALICE, "save").status, 200)
        self.assertEqual(self.slot(server, ALICE, "save").status, 200)  # the same file again
        reply = self.slot(server, ALICE, "save", name="b.bin")
        self.assertEqual(reply.status, 403)
        self.assertEqual(reply.json["error"]["code"], "slot_quota")
        self.ask(server, BOB, id_slot=1)
        self.assertEqual(self.slot(server, BOB, "save", 1).status, 200)

    def test_quota_of_saves_at_once(self):
        server = self.start("--slot-save-quota", "1K")
        self.ask(server, ALICE, id_slot=0)
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda i: self.slot(server, ALICE, "save", name=f"{i}.bin"),
                                    range(4)))
        self.assertEqual(sorted(reply.status for reply in replies), [200, 403, 403, 403])
        self.assertEqual(len([p for p in self.slots.rglob("*") if p.is_file()]), 1)

    def test_links_and_pipes_in_the_folder(self):
        server = self.serve("--slot-save-path", self.slots)
        server.post("/completion", {"prompt": SECRET, "n_predict": 1, "id_slot": 0})
        other = self.folder / "other"
        other.write_text("kept")
        (self.slots / "link.bin").symlink_to(other)
        os.mkfifo(self.slots / "pipe.bin")
        for name in ("link.bin", "pipe.bin"):
            self.assertEqual(server.slot("save", name).status, 400, name)
            self.assertEqual(server.slot("restore", name).status, 404, name)
        self.assertEqual(other.read_text(), "kept")


class Responses(Owners):
    def test_another_key_has_no_such_response(self):
        server = self.start()
        made = server.post("/v1/responses", {"input": "Hello!", "max_output_tokens": 4},
                           headers=self.with_key(ALICE)).json
        path, item = f"/v1/responses/{made['id']}", made["output"][0]["id"]
        for method, at in (("GET", path), ("DELETE", path), ("GET", path + "/input_items"),
                           ("POST", path + "/cancel")):
            self.assertEqual(server.request(method, at, headers=self.with_key(BOB)).status, 404, at)
        for more in ({"previous_response_id": made["id"]}, {"input": [{"id": item}]}):
            reply = server.post("/v1/responses", {"input": "And then?", **more},
                                headers=self.with_key(BOB))
            self.assertEqual(reply.status, 400, more)
        self.assertEqual(server.get(path, headers=self.with_key(ALICE)).status, 200)


if __name__ == "__main__":
    unittest.main()
