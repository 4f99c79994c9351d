"""Ranks that are lost: killed, stopped, or ended by the user. All others end soon, and say why."""

import os
import select
import signal
import subprocess
import tempfile
import unittest

from ranks_support import OPEN_MPI, RanksTest, cpu_seconds, has_mapped, on_every_mpi
from support import MODEL as BUNDLED_MODEL
from support import run

# Slow enough to be met at work: quantizing it takes seconds, a token half a millisecond.
MODEL = ["D=512,F=1536,L=6,H=4,G=4,V=2000", "F32"]
# They take minutes, and then a table is printed.
TOKENS = ["-r", 1000, "--no-limits"]
PREFILL = ["bench", "-p", 256, "-n", 0, *TOKENS]
DECODE = ["bench", "-p", 0, "-n", 256, *TOKENS]
LOAD = [*DECODE, "--quantize", "Q4_K_M"]
# Of processor time. A rank that has used as much computes: MPI starts in less, and the model is
# mapped.
STARTED_SECONDS = 0.6


class Faults(RanksTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory(prefix="weft-test-")
        cls.addClassCleanup(folder.cleanup)
        cls.model = os.path.join(folder.name, "model.gguf")
        made = run("weft", "bench", "--make-model", *MODEL, cls.model)
        assert made.code == 0, made.err

    def start_and_wait(self, ranks, command, *flags, until):
        """Starts it; returns once the condition is true for all ranks."""
        started = self.start((ranks, ("weft", command[0], "-m", self.model, *command[1:], *flags)))

        def all_are():
            found = started.ranks()
            return len(found) == ranks and all(map(until, found.values()))
        self.wait_until(all_are, f"{ranks} ranks of {command} at work")
        return started

    def computes(self, pid):
        return has_mapped(pid, self.model) and cpu_seconds(pid) > STARTED_SECONDS

    def kill_one(self, rank, ranks, command, shard, until=None):
        started = self.start_and_wait(ranks, command, "--shard", shard,
                                      until=until or self.computes)
        os.kill(started.ranks()[rank], signal.SIGKILL)
        r = started.wait()  # not as long as --rank-timeout, 600 s
        self.assertNotEqual(r.code, 0)
        if self.mpi is OPEN_MPI:
            self.assertRegex(r.err, r"rank \d")
        else:  # kills the others at once, so that only the launcher can say something
            self.assertRegex(r.err + r.out.decode(), "EXIT CODE: 9|signal 9")

    def test_killed_while_loading(self):
        self.kill_one(1, 2, LOAD, "tp=2", until=lambda pid: has_mapped(pid, self.model))

    def test_killed_in_prefill(self):
        self.kill_one(2, 4, PREFILL, "tp=2,pp=2")

    def test_killed_while_decoding(self):
        self.kill_one(1, 2, DECODE, "pp=2")

    def test_first_rank_killed(self):
        self.kill_one(0, 2, DECODE, "tp=2")

    def test_a_rank_that_does_not_answer(self):
        started = self.start_and_wait(2, DECODE, "--shard", "tp=2", "--rank-timeout", 3,
                                      until=self.computes)
        os.kill(started.ranks()[1], signal.SIGSTOP)
        r = started.wait()
        self.assertNotEqual(r.code, 0)
        self.assertIn("rank 1 did not answer within 3 s", r.err)

    def test_ended_by_the_user(self):
        """What Ctrl-C does: the launcher passes it on, and has an exit code of its own."""
        started = self.start_and_wait(2, DECODE, "--shard", "tp=2", until=self.computes)
        started.process.send_signal(signal.SIGINT)
        self.assertNotIn(b"decode", started.wait().out, "it ended by itself")

    def test_a_text_ended_by_the_user(self):
        started = self.start((2, ("generate", "-m", BUNDLED_MODEL, "-p", "Once", "-n", 32000,
                                  "-c", 32768, "--ignore-eos", "--shard", "pp=2")))
        self.wait_until(lambda: select.select([started.process.stdout], [], [], 0)[0],
                        "the first byte of a text")
        self.assertIsNone(started.process.poll())
        started.process.send_signal(signal.SIGINT)
        self.assertLess(len(started.wait().out), 32000, "it ended by itself")

    def test_a_chat_ends_with_the_first_message_that_cannot_be_answered(self):
        started = self.start((2, ("chat", "-m", BUNDLED_MODEL, "--shard", "tp=2",
                                  "--rank-timeout", 2)), stdin=subprocess.PIPE)
        self.wait_until(lambda: select.select([started.process.stderr], [], [], 0)[0],
                        "the greeting")
        os.kill(started.ranks()[1], signal.SIGSTOP)
        r = started.wait(b"Once\nTwice\n")
        self.assertNotEqual(r.code, 0)
        self.assertIn("Ctrl-C ends all ranks", r.err)
        self.assertIn("chat: rank 1 did not answer within 2 s", r.err)
        self.assertNotIn("/reset starts over", r.err)


def load_tests(loader, _tests, _pattern):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, on_every_mpi(Faults)))


if __name__ == "__main__":
    unittest.main()
