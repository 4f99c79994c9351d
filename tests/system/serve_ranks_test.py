"""Servers of models that are divided among ranks: threads, or processes that mpirun started. A lost
rank is an error with a name, and a server that may start again does."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest
import uuid

from serve_support import CHAT, GREEDY, ServeTest, Server
from support import BIN, CLEAN, MODEL, TIMEOUT
from waiting import eventually

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "ranks"))

from ranks_support import MARK, MPICH, OPEN_MPI, environment_of, wait_for_none

PROMPT = "Once upon a time there was a little fox who lived by the sea."
STORY = {"prompt": PROMPT, **GREEDY}
# Texts that go on until they are stopped.
ENDLESS = {"prompt": PROMPT, "max_tokens": 450, "ignore_eos": True}
# The link carries a token in 0.04 s and the tokens of LONG in 7 s. This does not depend on the load
# of the machine: only with LONG a stage sends nothing for longer than --rank-timeout.
SLOW = ["--shard", "pp=2", "--slow-link", "1ms,2Mbit", "--rank-timeout", "4", "-b", "2048",
        "-c", "8192", "--no-warmup"]
LONG = {"prompt": PROMPT * 120, **GREEDY}
LOST = r"rank \d (is lost|did not answer|was awaited)"


def text_of(reply):
    return reply.json["choices"][0]["text"]


class RankServers(ServeTest):
    def answers(self, server):
        reply = server.post("/v1/completions", STORY)
        self.assertEqual(reply.status, 200, reply.body)
        return text_of(reply)

    def answers_again(self, server):
        """Waits for an answer after the loss of a rank. The port may have changed."""
        def answer():
            server.address = re.findall(r"listening on (\S+)\n", server.log)[-1]
            try:
                reply = server.post("/v1/completions", STORY)
                return reply if reply.status == 200 else None
            except (OSError, http.client.HTTPException):
                self.assertIsNone(server.process.poll(), server.log)
        return text_of(eventually(answer, lambda: f"an answer: {server.log}"))

    def at_once(self, server, *bodies):
        """The answers to requests that are sent at the same time: replies or exceptions."""
        answers = [None] * len(bodies)

        def ask(i):
            try:
                answers[i] = server.post("/v1/completions", bodies[i])
            except (OSError, http.client.HTTPException) as error:
                answers[i] = error
        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
        for thread in threads:
            thread.start()
        return threads, answers

    def is_whole(self, answer):
        if isinstance(answer, Exception) or answer.status != 200:
            return False
        if b"data: " in answer.body:
            return "[DONE]" in answer.events()
        return answer.json["usage"]["completion_tokens"] == ENDLESS["max_tokens"]

    def is_no_text(self, answer):
        """The answer names the rank, or was cut visibly."""
        if isinstance(answer, Exception):
            return
        if answer.status == 200:
            events = answer.events()
            self.assertNotIn("[DONE]", events)
            self.assertRegex(events[-1], LOST)
        else:
            self.assertIn(answer.status, (500, 503))
            self.assertRegex(answer.json["error"]["message"], LOST)


class InProcess(RankServers):
    def test_texts(self):
        alone = self.serve()
        sharded = self.serve("--shard", "pp=2")
        want = self.answers(alone)
        self.assertEqual(self.answers(sharded), want)
        other = {**CHAT, "messages": [{"role": "user", "content": "Who lives in the sea?"}]}
        wanted = alone.post("/v1/chat/completions", other).json["choices"]
        threads, texts = self.at_once(sharded, STORY, {**STORY, "stream": True})
        self.assertEqual(sharded.post("/v1/chat/completions", other).json["choices"], wanted)
        for thread in threads:
            thread.join()
        self.assertEqual(text_of(texts[0]), want)
        pieces = [json.loads(e) for e in texts[1].events()[:-1]]
        self.assertEqual("".join(p["choices"][0]["text"] for p in pieces if p["choices"]), want)
        self.assertEqual(sharded.end(), 0)

    def test_texts_of_generate(self):
        flags = ["--shard", "tp=2", "--temp", "0", "-n", "12", "--no-display-prompt"]
        want = self.runs("generate", "-m", MODEL, "-p", PROMPT, *flags,
                         env={"WEFT_SHARD_ALL": "1"}).out.decode()
        server = self.serve("--shard", "tp=2", env={"WEFT_SHARD_ALL": "1"})
        self.assertEqual(self.answers(server).strip(), want.strip())

    def test_embeddings_drafts_and_several_models(self):
        body = {"input": ["a red fox", "a blue bird"]}
        want = self.serve().post("/v1/embeddings", body).json["data"]
        server = self.serve("--shard", "pp=2", "-md", MODEL)
        self.assertEqual(server.post("/v1/embeddings", body).json["data"], want)
        text = self.answers(server)
        (self.folder / "models").mkdir()
        for name in ("a", "b"):
            os.symlink(MODEL, self.folder / "models" / f"{name}.gguf")
        several = self.serve("--shard", "pp=2", "--models-max", "2", "--models-dir",
                             self.folder / "models", model=None)
        for name in ("a", "b"):
            reply = several.post("/v1/completions", {**STORY, "model": name})
            self.assertEqual(text_of(reply), text)
        self.assertEqual(several.end(), 0)

    def test_refused(self):
        for words, flags in (
                ("--slot-save-path: sequences of a model that is divided among ranks cannot be saved",
                 ["--shard", "pp=2", "--slot-save-path", self.folder]),
                ("--spec-type draft-mtp: the draft layer of a model that is divided among ranks cannot be used",
                 ["--shard", "pp=2", "--spec-type", "draft-mtp"]),
                ("--restart needs --shard or --launch", ["--restart"]),
                ("--launch: ';' has no meaning", ["--launch", "mpirun; true"]),
                ("--launch would show --api-key", ["--launch", "mpirun", "--api-key", "x"])):
            self.refuses(2, words, "weft", "serve", "-m", MODEL, *flags)

    def test_lost_rank(self):
        server = self.serve(*SLOW)
        self.answers(server)
        threads, answers = self.at_once(server, LONG, {**LONG, "stream": True},
                                        {**LONG, "prompt": LONG["prompt"] + "And"})
        for thread in threads:
            thread.join()
        for answer in answers:
            self.is_no_text(answer)
        self.assertTrue(any(not isinstance(a, Exception) for a in answers), answers)
        self.assertEqual(server.process.wait(TIMEOUT), 1, server.log)
        self.assertEqual(len(re.findall(rf"(?m)^weft serve: .*{LOST}", server.log)), 1, server.log)

    def test_restart(self):
        server = self.serve(*SLOW, "--restart")
        text = self.answers(server)
        reply = server.post("/v1/completions", LONG)
        self.is_no_text(reply)
        self.assertEqual(self.answers_again(server), text)
        self.assertRegex(server.log, rf"error: .*{LOST}.*loading it again")
        self.assertEqual(server.end(), 0)


class Processes(RankServers):
    """`mpi` is set by the derived classes."""
    mpi = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.mpi is None or cls.mpi.why_not():
            raise unittest.SkipTest("no MPI" if cls.mpi is None else cls.mpi.why_not())

    def start(self, *flags, **kwargs):
        mark = uuid.uuid4().hex
        self.addCleanup(self.kill_all, mark)
        server = Server(self.folder, *flags, env={MARK: mark}, start_new_session=True, **kwargs)
        self.addCleanup(server.kill)
        server.mark = mark
        return server.wait_ready()

    def start_ranks(self, *flags):
        return self.start("-t", 1, *flags, launcher=self.mpi.command((2, [])))

    def processes(self, mark):
        found = {int(name): environment_of(name) for name in os.listdir("/proc") if name.isdigit()}
        return {pid: env for pid, env in found.items() if env.get(MARK) == mark}

    def rank(self, server, number):
        return next(pid for pid, env in self.processes(server.mark).items()
                    if self.mpi.rank_of(env) == number)

    def kill_all(self, mark):
        for pid in self.processes(mark):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def test_serves_and_ends(self):
        want = self.answers(self.serve())
        server = self.start_ranks("--shard", "pp=2")
        self.assertEqual(self.answers(server), want)
        threads, texts = self.at_once(server, STORY, ENDLESS)
        eventually(lambda: server.metric("texts_total") >= 3, "the beginning of all texts")
        os.kill(self.rank(server, 0), signal.SIGTERM)  # it finishes what it was asked for
        for thread in threads:
            thread.join()
        self.assertEqual(text_of(texts[0]), want)
        self.assertTrue(self.is_whole(texts[1]), texts[1])
        self.assertEqual(server.process.wait(TIMEOUT), 0, server.log)
        self.assertEqual(server.log.count("listening on"), 1)

    def test_refused(self):
        for words, flags in (
                ("the ranks of --models-dir are processes",
                 ["--shard", "pp=2", "--models-dir", MODEL.parent]),
                ("2 ranks were started, but --shard names 1", ["-m", MODEL]),
                ("leave mpirun to --launch", ["--shard", "pp=2", "-m", MODEL, "--restart"])):
            command = self.mpi.command((2, [BIN / "weft", "serve", *flags]))
            r = subprocess.run(command, stdin=subprocess.DEVNULL, env=CLEAN, capture_output=True,
                               timeout=TIMEOUT, check=False)
            self.assertNotEqual(r.returncode, 0)
            self.assertEqual(r.stderr.decode().count(words), 1, r.stderr)

    def test_only_rank_0_needs_the_files_of_the_server(self):
        """Here both lack it, and one says so."""
        command = self.mpi.command((2, [BIN / "weft", "serve", "-m", MODEL, "--shard", "pp=2",
                                        "--api-key-file", self.folder / "none"]))
        r = subprocess.run(command, stdin=subprocess.DEVNULL, env=CLEAN, capture_output=True,
                           timeout=TIMEOUT, check=False)
        self.assertNotEqual(r.returncode, 0)
        self.assertEqual(r.stderr.decode().count("--api-key-file: cannot read"), 1, r.stderr)

    def test_killed_rank(self):
        server = self.start_ranks("--shard", "tp=2")
        threads, answers = self.at_once(server, {**ENDLESS, "stream": True}, ENDLESS, ENDLESS)
        eventually(lambda: server.metric("requests_processing") >= 1, "the beginning of a text")
        os.kill(self.rank(server, 1), signal.SIGKILL)
        for thread in threads:
            thread.join(TIMEOUT)
            self.assertFalse(thread.is_alive())
        for answer in answers:
            if not self.is_whole(answer):  # it was complete before
                self.is_no_text(answer)
        self.assertFalse(all(map(self.is_whole, answers)), "the rank was killed too late")
        self.assertNotEqual(server.process.wait(TIMEOUT), 0, server.log)
        wait_for_none(lambda: self.processes(server.mark))

    def test_silent_rank(self):
        server = self.start_ranks("--shard", "tp=2", "--rank-timeout", "4")
        os.kill(self.rank(server, 1), signal.SIGSTOP)
        reply = server.post("/v1/completions", STORY)
        self.assertEqual(reply.status, 500)
        self.assertIn("rank 1 did not answer within 4 s", reply.json["error"]["message"])
        self.assertNotEqual(server.process.wait(TIMEOUT), 0, server.log)
        self.assertEqual(len(re.findall(rf"(?m)^weft serve: .*{LOST}", server.log)), 1, server.log)

    def test_launch_and_restart(self):
        launcher = " ".join(map(str, self.mpi.command((2, []))))
        server = self.start("-t", 1, "--shard", "pp=2", "--launch", launcher, "--restart")
        text = self.answers(server)
        os.kill(self.rank(server, 1), signal.SIGKILL)
        server.wait_for("starting it again in 1 s")
        server.wait_for("(?s)starting it again.*listening on")
        self.assertEqual(self.answers_again(server), text)
        server.signal(signal.SIGTERM)
        server.process.wait(TIMEOUT)
        self.assertEqual(server.log.count("starting it again"), 1, server.log)
        wait_for_none(lambda: self.processes(server.mark))


class OverOpenMpi(Processes):
    mpi = OPEN_MPI


class OverMpich(Processes):
    mpi = MPICH


del Processes, RankServers, ServeTest  # only what derives from them has tests of its own

if __name__ == "__main__":
    unittest.main()
