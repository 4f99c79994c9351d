"""`weft serve` from outside: the checks for every change to it. The interfaces have
many more cases in the acceptance scripts."""

import json
import re
import shutil
import signal
import socket
import threading
import unittest

from serve_support import CHAT, ServeTest, Server
from support import MODEL, run
from waiting import PATIENCE, eventually


class Answers(ServeTest):
    def test_endpoints_that_need_no_model(self):
        server = self.serve()
        self.assertEqual(server.get("/health").json["state"], "ready")
        self.assertRegex(server.get("/version").json["version"], r"\d+\.\d+")
        self.assertEqual(server.get("/nothing").status, 404)
        self.assertEqual(server.request("DELETE", "/health").status, 405)
        self.assertIn("/v1/chat/completions", server.get("/openapi.json").json["paths"])

    def test_whole_answers_and_streams_are_equal(self):
        server = self.serve()
        whole = server.post("/v1/chat/completions", CHAT).json["choices"][0]
        stream = server.post("/v1/chat/completions", {**CHAT, "stream": True}).events()
        self.assertEqual(stream[-1], "[DONE]")
        choices = [c for e in stream[:-1] for c in json.loads(e)["choices"]]
        text = "".join(c["delta"].get("content") or "" for c in choices)
        self.assertEqual(text, whole["message"]["content"])
        self.assertEqual([c["finish_reason"] for c in choices if c["finish_reason"]],
                         [whole["finish_reason"]])

    def test_overridden_keys(self):
        arch = json.loads(self.runs("weft", "inspect", MODEL, "--json").out)["metadata"][
            "general.architecture"]["value"]
        server = self.serve("--override-kv", f"{arch}.context_length=int:96")
        models = server.get("/v1/models").json["data"]
        self.assertEqual([m["meta"]["n_ctx_train"] for m in models], [96])

    def test_memory_adds_up(self):
        server = self.serve("--mem-budget", "64M")
        props = server.get("/props").json
        self.assertEqual(props["workers"]["count"], props["session"]["workers"])
        self.assertIn(f"{props['workers']['count']} worker", props["workers"]["reason"])
        memory = props["memory"]
        self.assertEqual(sum(line["bytes"] for line in memory["lines"]), memory["total"])
        self.assertIn("state: all tokens", [line["name"] for line in memory["lines"]])
        self.assertEqual((memory["budget"], memory["concessions"]), (64 << 20, []))
        budget = ("--mem-budget", "34M")  # of which 28 are for the program and its requests
        server = self.serve(*budget)
        memory = server.get("/props").json["memory"]
        plan = json.loads(self.runs("weft", "plan", "-m", MODEL, "-c", "1024", "--server",
                                    "--parallel", "2", *budget, "--json").out)
        self.assertEqual(plan["memory_lines"], memory["lines"])
        self.assertEqual(plan["concessions"], memory["concessions"])
        self.assertLessEqual(memory["total"], memory["budget"])
        self.assertTrue(memory["concessions"])
        for line in memory["concessions"]:
            self.assertIn(f"to meet the memory budget: {line}", server.log)

    def test_errors_name_the_field(self):
        server = self.serve()
        reply = server.post("/v1/chat/completions", {**CHAT, "max_tokens": "ten"})
        self.assertEqual((reply.status, reply.json["error"]["param"]), (400, "max_tokens"))
        self.assertEqual(server.post("/v1/chat/completions", b"{").status, 400)

    def test_texts_do_not_depend_on_company(self):
        server = self.serve()
        ask = lambda i: server.post("/v1/completions", {
            "prompt": "Once upon a time", "seed": i, "temperature": 1, "max_tokens": 20}).json
        alone = [ask(i)["choices"][0]["text"] for i in range(6)]
        together = [None] * 6
        def work(i):
            together[i] = ask(i)["choices"][0]["text"]
        threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(together, alone)

    def test_unix_socket(self):
        path = self.folder / "weft.sock"
        server = self.serve("--host", path)
        self.assertEqual(server.address, f"unix:{path}")
        self.assertEqual(server.post("/v1/chat/completions", CHAT).status, 200)

    def test_a_client_that_leaves_is_cancelled(self):
        server = self.serve()
        body = json.dumps({**CHAT, "max_tokens": 900, "ignore_eos": True}).encode()
        connection = server.connection()
        connection.request("POST", "/v1/chat/completions", body)
        connection.sock.close()
        eventually(lambda: server.metric("texts_total") and not server.metric("requests_processing"),
                   "the end of the text")


class Models(ServeTest):
    def test_loaded_on_demand_and_unloaded(self):
        folder = self.folder / "models"
        folder.mkdir()
        for name in ("alpha", "beta"):
            shutil.copy(MODEL, folder / f"{name}.gguf")
        server = self.serve("--models-dir", folder, "--models-max", "1", model=None)
        ask = lambda name: server.post("/v1/chat/completions", {**CHAT, "model": name})
        status = lambda: {m["id"]: m["status"]["value"] for m in server.get("/v1/models").json["data"]}
        self.assertEqual(status(), {"alpha": "unloaded", "beta": "unloaded"})
        self.assertEqual(ask("beta").json["model"], "beta")
        self.assertEqual(ask("alpha").json["model"], "alpha")
        self.assertEqual(status(), {"alpha": "loaded", "beta": "unloaded"})
        self.assertEqual(ask("gamma").json["error"]["code"], "model_not_found")
        self.assertEqual(server.post("/v1/chat/completions", CHAT).status, 400)
        self.assertEqual(server.metric("model_unloads_total"), 1)

    def test_a_broken_model_does_not_end_the_server(self):
        folder = self.folder / "models"
        folder.mkdir()
        shutil.copy(MODEL, folder / "good.gguf")
        for junk in ("junk.gguf", "junk2.gguf"):
            (folder / junk).write_bytes(MODEL.read_bytes()[:5000])
        shutil.copy(MODEL, folder / "broken.gguf")
        server = self.serve("--models-dir", folder, model=None)
        self.assertEqual([m["id"] for m in server.get("/v1/models").json["data"]],
                         ["broken", "good"])
        (folder / "broken.gguf").write_bytes(MODEL.read_bytes()[:5000])
        reply = server.post("/v1/chat/completions", {**CHAT, "model": "broken"})
        self.assertEqual(reply.status, 500)
        self.assertIn("broken: ", reply.json["error"]["message"])
        self.assertNotIn(str(self.folder), reply.body.decode())
        self.assertEqual(server.post("/v1/chat/completions", {**CHAT, "model": "good"}).status, 200)


    def test_a_file_of_models(self):
        shutil.copy(MODEL, self.folder / "one.gguf")
        config = self.folder / "models.json"
        config.write_text(json.dumps({"models": [
            {"path": "one.gguf", "names": ["small", "gpt-4o"], "ctx_size": 512, "parallel": 1},
            {"path": str(MODEL), "preload": True}]}))
        server = self.serve("--models-file", config, "--models-max", "0", model=None)
        server.wait_for("weft-stories is loaded")
        reply = server.post("/v1/chat/completions", {**CHAT, "model": "gpt-4o"})
        self.assertEqual(reply.json["model"], "small")
        slots = {m["name"]: (len(m["slots"]), m["context"])
                 for m in server.get("/ui/state").json["models"]}
        self.assertEqual(slots, {"small": (1, 512), "weft-stories": (2, 512)})
        for text, message in (("{}", "models"), ("{bad", "the file is not JSON"), ('{"models": [{"path": 5}]}', "models[0].path"),
                              ('{"models": [{"path": "none.gguf"}]}', "none.gguf")):
            config.write_text(text)
            self.refuses(1, message, "weft", "serve", "--models-file", config, "--port", "0")

    def test_a_file_of_models_in_toml(self):
        config = self.folder / "models.toml"
        config.write_text(f'[[models]]\npath = "{MODEL}"\nnames = ["small"]\nctx_size = 512\n'
                          "parallel = 1\npreload = true\n")
        server = self.serve("--models-file", config, model=None)
        server.wait_for("small is loaded")
        self.assertEqual(server.post("/v1/chat/completions", CHAT).json["model"], "small")
        for text, message in (
                ("[[models]]\n", "line 1: models[0].path: is required"),
                (f'[[models]]\npath = "{MODEL}"\nparallel = "two"\n',
                 'line 3: models[0].parallel: expected a whole number'),
                (f'[[models]]\npath = "{MODEL}"\n[[models]]\npath = 1979-05-27\nsize = 1\n',
                 "line 5: models[1].size: expected one of path, names"),
                ("models = []\n[server]\nport = 80\n", "line 2: server: expected one of models"),
                ("[[models]\n", "line 1, column"), ("", "models"), ("models = nan", "models")):
            config.write_text(text)
            self.refuses(1, f"models.toml: {message}" if message.startswith("line") else message,
                         "weft", "serve", "--models-file", config, "--port", "0")


class Records(ServeTest):
    def test_repeat(self):
        records = self.folder / "records"
        records.mkdir()
        server = self.serve("--record-requests", records)
        replies = {}
        for path, body in (("/v1/chat/completions", {**CHAT, "temperature": 1, "stream": True}),
                           ("/v1/completions", {"prompt": "Once", "max_tokens": 9})):
            reply = server.post(path, body)
            replies[reply.headers["x-request-id"]] = reply
        server.post("/v1/completions", {"prompt": 5})  # refused: not recorded
        self.assertEqual({f.stem for f in records.iterdir()}, set(replies))
        for name, reply in replies.items():
            again = self.runs("weft", "repeat", records / f"{name}.json").out
            self.assertEqual(len(again.splitlines()), len(reply.body.splitlines()))
        record = json.loads((records / f"{name}.json").read_text())
        record["answer"]["body"] = record["answer"]["body"].replace('"text":"', '"text":"x')
        (records / "other.json").write_text(json.dumps(record))
        self.assertEqual(run("weft", "repeat", records / "other.json").code, 1)
        self.refuses(1, "not a record", "weft", "repeat", MODEL)


class Profiles(ServeTest):
    def test_the_profile_of_one_request(self):
        folder = self.folder / "profiles"
        folder.mkdir()
        server = self.serve("--profile-requests", folder)
        wanted = {"X-Weft-Profile": "1"}
        for path, body in (("/v1/chat/completions", {**CHAT, "stream": True}),
                           ("/api/generate", {"prompt": "Once", "options": {"num_predict": 5}})):
            reply = server.post(path, body, headers=wanted)
            self.assertEqual(reply.status, 200)
            file = folder / f"{reply.headers['x-request-id']}.json"
            events = json.loads(file.read_text())["traceEvents"]
            steps = [e["name"] for e in events if e.get("cat") == "step"]
            self.assertRegex(steps[-1], r"^1 of 1 tokens after \d+$")
            picture = self.folder / "plan.svg"
            self.runs("weft", "plan", "-m", MODEL, "--svg", picture, "--profile", file)
            self.assertIn("</svg>", picture.read_text())
        server.post("/v1/completions", {"prompt": "Once", "max_tokens": 3})
        server.post("/v1/completions", {"prompt": 5}, headers=wanted)  # refused: no steps
        self.assertEqual(len(list(folder.iterdir())), 2)
        yes = server.post("/v1/completions", {"prompt": "Once"}, headers={"X-Weft-Profile": "yes"})
        self.assertEqual((yes.status, yes.json["error"]["param"]), (400, "X-Weft-Profile"))

    def test_refused_by_endpoints_that_do_not_generate(self):
        folder = self.folder / "profiles"
        folder.mkdir()
        server = self.serve("--profile-requests", folder)
        wanted = {"X-Weft-Profile": "1"}
        for reply in (server.post("/v1/embeddings", {"input": "Once"}, headers=wanted),
                      server.post("/tokenize", {"content": "Once"}, headers=wanted),
                      server.post("/v1/responses/input_tokens", {"input": "Hi"}, headers=wanted),
                      server.get("/v1/models", headers=wanted)):
            self.assertEqual((reply.status, reply.json["error"]["param"]), (400, "X-Weft-Profile"))
        self.assertEqual(server.get("/none", headers=wanted).status, 404)
        self.assertEqual(server.get("/health", headers={"X-Weft-Profile": "0"}).status, 200)
        body = {"input_prefix": "Once upon", "input_suffix": ".", **CHAT, "prompt": "Once",
                "input": "Hi", "model": "weft-stories"}
        for path in ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages",
                     "/api/chat", "/api/generate", "/completion", "/infill"):
            reply = server.post(path, body, headers=wanted)
            self.assertNotIn("X-Weft-Profile", reply.body.decode(), path)

    def test_refused_without_a_folder(self):
        reply = self.serve().post("/v1/completions", {"prompt": "Once", "max_tokens": 3},
                                  headers={"X-Weft-Profile": "1"})
        self.assertEqual(reply.status, 400)
        self.assertIn("--profile-requests", reply.json["error"]["message"])


class Keys(ServeTest):
    def test_reload(self):
        keys = self.folder / "keys.txt"
        keys.write_text("# comment\n\nfirst-key\n")
        server = self.serve("--api-key-file", keys, key="first-key")
        self.assertEqual(server.get("/v1/models").status, 200)
        self.assertEqual(server.get("/v1/models", headers={"Authorization": "Bearer x"}).status, 401)
        keys.write_text("second-key\n")
        server.signal(signal.SIGHUP)
        server.wait_for("1 keys")
        self.assertEqual(server.get("/v1/models").status, 401)
        server.key = "second-key"
        self.assertEqual(server.get("/v1/models").status, 200)
        keys.unlink()
        server.signal(signal.SIGHUP)
        server.wait_for("the keys stay as they were")
        self.assertEqual(server.get("/v1/models").status, 200)
        self.assertNotIn("second-key", server.log)

    def test_open_paths(self):
        server = self.serve("--api-key", "a-key")
        page = server.get("/")
        self.assertEqual(page.status, 200)
        for path in re.findall(r'(?:src|href)="(ui/[^"]+)"', page.body.decode()):
            self.assertEqual(server.get(f"/{path}").status, 200, path)
        for path in ("/metrics", "/ui/state", "/ui/graph", "/ui/plan", "/v1/models"):
            self.assertEqual(server.get(path).status, 401, path)

    def test_hidden_from_lists_of_processes(self):
        server = self.serve("--api-key", "visible-key", key="visible-key")
        with open(f"/proc/{server.process.pid}/cmdline", "rb") as file:
            self.assertNotIn(b"visible-key", file.read())


class Page(ServeTest):
    def test_policy_and_pictures(self):
        server = self.serve()
        page = server.get("/")
        policy = page.headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        # The page has nothing that the policy forbids.
        self.assertIsNone(re.search(rb"<style|<script>|style=|onclick", page.body))
        state = server.get("/ui/state").json
        self.assertEqual(len(state["models"][0]["slots"]), 2)
        graph = server.get("/ui/graph").json
        names = {box["name"] for box in graph["boxes"]}
        self.assertTrue(names)
        self.assertTrue(all(e["from"] in names and e["to"] in names for e in graph["edges"]))
        plan = server.get("/ui/plan")
        self.assertEqual(plan.headers["content-type"], "image/svg+xml")
        self.assertIn(b"</svg>", plan.body)
        self.assertEqual(server.get("/ui/page/none.js").status, 404)
        self.assertEqual(server.get("/ui/graph?model=other").status, 404)


class Operation(ServeTest):
    def test_log_lines(self):
        server = self.serve("--log-jsonl")
        reply = server.post("/v1/chat/completions",
                            {**CHAT, "messages": [{"role": "user", "content": "zebra-quartz"}]})
        server.get("/a%22%5cforged")
        server.wait_for("forged")
        lines = [json.loads(line) for line in server.log.splitlines() if line.startswith("{")]
        chat = next(x for x in lines if x.get("path") == "/v1/chat/completions")
        self.assertEqual(chat["id"], reply.headers["x-request-id"])
        self.assertEqual(chat["status"], 200)
        self.assertEqual(chat["new_tokens"], reply.json["usage"]["completion_tokens"])
        self.assertEqual(chat["prompt_tokens"], reply.json["usage"]["prompt_tokens"])
        self.assertNotIn("zebra", server.log)

    def test_metrics(self):
        server = self.serve()
        before = server.metric("tokens_predicted_total")
        n = server.post("/v1/chat/completions", CHAT).json["usage"]["completion_tokens"]
        self.assertEqual(server.metric("tokens_predicted_total") - before, n)
        self.assertEqual(server.metric("time_to_first_token_seconds_count"), 1)
        self.assertEqual(server.metric("requests_processing"), 0)
        self.assertGreater(server.metric("memory_bytes"), 0)

    def test_draining(self):
        server = self.serve()
        replies = []
        body = {**CHAT, "max_tokens": 400, "ignore_eos": True}
        thread = threading.Thread(
            target=lambda: replies.append(server.post("/v1/chat/completions", body)))
        thread.start()
        eventually(lambda: server.metric("requests_processing") or replies, "the text")
        self.assertEqual(server.end(), 0)
        thread.join()
        self.assertEqual(replies[0].status, 200)
        self.assertEqual(replies[0].json["usage"]["completion_tokens"], 400)

    def test_second_signal(self):
        server = self.serve()
        connection = server.connection()
        body = {**CHAT, "max_tokens": 900, "ignore_eos": True, "stream": True}
        connection.request("POST", "/v1/chat/completions", json.dumps(body).encode())
        self.addCleanup(connection.getresponse().close)
        self.addCleanup(connection.close)
        server.signal(signal.SIGTERM)
        server.signal(signal.SIGINT)
        server.process.wait(PATIENCE)

    def test_systemd(self):
        notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(notify.close)
        notify.bind(str(self.folder / "notify"))
        notify.settimeout(60)
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        n = listener.fileno()
        as_socket = ["/bin/sh", "-c", f'exec 3<&{n}; LISTEN_PID=$$ exec "$@"', "sh"]
        server = Server(self.folder, launcher=as_socket, pass_fds=(n,),
                        env={"NOTIFY_SOCKET": str(self.folder / "notify"), "LISTEN_FDS": "1"})
        self.addCleanup(server.kill)
        self.assertEqual(notify.recv(100), b"READY=1")
        self.assertIn(f":{listener.getsockname()[1]}", server.address)
        self.assertEqual(server.get("/health").status, 200)
        server.signal(signal.SIGTERM)
        self.assertEqual(notify.recv(100), b"STOPPING=1")


class WrongFlags(ServeTest):
    def test_refused_before_loading(self):
        refused = lambda code, text, *flags: self.refuses(code, text, "weft", "serve", *flags)
        refused(2, "--port", "--port", "70000")
        refused(2, "--parallel", "-np", "0")
        refused(2, "--ssl-key-file", "--ssl-cert-file", MODEL)
        refused(1, "nothing.gguf", "-m", self.folder / "nothing.gguf", "--port", "0")
        refused(1, "no-keys", "--api-key-file", self.folder / "no-keys", "--port", "0")
        refused(2, "unset shell variable", "--api-key", "", "--port", "0")
        (self.folder / "empty-keys").write_text("# none\n")
        refused(1, "no keys in", "--api-key-file", self.folder / "empty-keys", "--port", "0")
        refused(1, "--slot-save-path", "--slot-save-path", self.folder / "none", "--port", "0")
        refused(1, "256.1.1.1", "--host", "256.1.1.1", "--port", "0")
        refused(1, "MiB", "--mem-budget", "1M", "--port", "0")
        refused(2, "--models-dir", "--models-dir", self.folder, "-m", MODEL)
        self.assertIn("Examples:", run("weft", "serve", "--help").out.decode())

    def test_port_in_use(self):
        server = self.serve()
        port = server.address.rsplit(":", 1)[1]
        self.refuses(1, port, "weft", "serve", "-m", MODEL, "--port", port)


if __name__ == "__main__":
    unittest.main()
