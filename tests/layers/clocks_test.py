"""Tests do not measure time: only tests/system/waiting.py sleeps or reads a clock.

A test waits for what it needs: eventually(condition) in Python, a future or a condition variable with
a generous limit in C++. It asserts that something happened, or in which order, not how soon.
"""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
FOLDERS = ("graph", "ops", "backends", "scheduler", "models", "bindings", "tools", "examples", "bench",
           "tests")
HELPER = "tests/system/waiting.py"
TEST = re.compile(r"(^|/)tests/.*\.(py|h|c|cpp)$|_test\.(py|c|cpp)$|/notebook\.h$")
# asyncio.sleep(0) only lets others run.
SLEEPS = re.compile(r"\b(?:u|nano)?sleep\((?!0\))|\bsleep_(?:for|until|us)\b")
CLOCKS = re.compile(r"\btime\.(?:time|monotonic|perf_counter|process_time)(?:_ns)?\(|_clock::now\(\)"
                    r"|\bclock_gettime\(")
AGES = "files must get older; waiting longer changes nothing"
DELAYS = "delays that make other orders of threads likely; each order passes"
POLLS = "polls"
FORKS = "forks at a random moment; each moment passes"
IDLE = "processor time while nothing is to be done can only be measured over some time"
LIMITS = "limits of silence in the server are times"
EXCEPTIONS = {
    "bindings/c/tests/life_forks.c": FORKS,
    "bindings/c/tests/life_test.c": POLLS,
    "bindings/c/tests/session_test.c": POLLS,
    "bindings/c/tests/tools_test.c": "cancels calls that have begun; those that have not are cancelled too",
    "graph/base/src/fork_mutex_test.cpp": POLLS,
    "models/files/src/identity_test.cpp": AGES,
    "models/run/src/ranks/ranks_test.cpp": AGES,
    "models/run/src/streaming/streaming_test.cpp": "waits until an idle session has read ahead",
    "models/run/src/weights/weight_cache_test.cpp": AGES,
    "models/run/src/weights/weights_test.cpp": AGES,
    "models/text/grammar/src/token_constraint_test.cpp": "prints times, and checks none",
    "scheduler/src/machine/crew_test.cpp": IDLE,
    "scheduler/src/messages/communicator_test.cpp": DELAYS,
    "scheduler/src/messages/link_speed_test.cpp": "a slowed link takes at least its time",
    "scheduler/src/replay/executor_test.cpp": DELAYS,
    "scheduler/src/replay/flow_replay_test.cpp": IDLE,
    "scheduler/src/replay/notebook.h": DELAYS,
    "tools/server/api/core/src/workers_test.cpp": DELAYS,
    "tools/server/api/tests/api_test_support.h": POLLS,
    "tools/server/api/tests/interfaces_test.cpp": POLLS,
    "tools/server/http/tests/server_life_test.cpp": LIMITS,
    "tools/server/http/tests/server_stream_test.cpp": DELAYS,
    "tools/server/http/tests/server_test.cpp": DELAYS,
    "tools/server/http/tests/test_client.h": POLLS,
}


def tests():
    names = [path.relative_to(SOURCE).as_posix() for folder in FOLDERS
             for path in sorted((SOURCE / folder).rglob("*.*"))]
    return [name for name in names if TEST.search(name) and name != HELPER]


def found(name):
    """The lines that sleep or read a clock: (number, line)."""
    lines = (SOURCE / name).read_text("utf-8", "replace").splitlines()
    return [f"{name}:{number}: {line.strip()}" for number, line in enumerate(lines, 1)
            if SLEEPS.search(line) or CLOCKS.search(line)]


class Clocks(unittest.TestCase):
    def test_only_one_module_sleeps_and_reads_a_clock(self):
        lines = [line for name in tests() if name not in EXCEPTIONS for line in found(name)]
        self.assertEqual(lines, [], f"use {HELPER}")

    def test_exceptions_are_needed(self):
        for name in EXCEPTIONS:
            self.assertTrue((SOURCE / name).is_file() and found(name), f"{name} needs no exception")


if __name__ == "__main__":
    unittest.main()
