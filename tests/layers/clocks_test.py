"""Tests do not measure time: apart from EXCEPTIONS, only two helpers sleep or read a clock, one in
Python and one in C++.

A test waits for what it needs: eventually(condition), a future, a condition variable or an atomic.
It asserts that something happened, or in which order, not how soon.
"""

import os
import pathlib
import re
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
FOLDERS = ("graph", "ops", "backends", "scheduler", "models", "bindings", "tools", "examples", "bench",
           "tests")
HELPERS = ("tests/system/waiting.py", "tests/support/waiting.h")
TEST = re.compile(r"(^|/)tests/.*\.(py|h|c|cpp)$|_test\.(py|c|cpp)$|/notebook\.h$")
# asyncio.sleep(0) only lets others run.
SLEEPS = re.compile(r"\b(?:u|nano)?sleep\((?!0\))|\bsleep_(?:for|until|us)\b")
CLOCKS = re.compile(r"\btime\.(?:time|monotonic|perf_counter|process_time)(?:_ns)?\(|_clock::now\(\)"
                    r"|\bclock_gettime\(")
AGES = "files must get older; waiting longer changes nothing"
DELAYS = "delays that make other orders of threads likely; each order passes"
POLLS = "C has no eventually(): polls with a limit"
FORKS = "forks at a random moment; each moment passes"
IDLE = "processor time while nothing is to be done can only be measured over some time"
LIMITS = "limits of silence in the server are times"
# How many lines of a file may do it, and why.
EXCEPTIONS = {
    "bindings/c/tests/life_forks.c": (2, FORKS),
    "bindings/c/tests/life_test.c": (1, POLLS),
    "bindings/c/tests/session_test.c": (1, POLLS),
    "bindings/c/tests/tools_test.c": (1, "cancels calls whether or not they have begun"),
    "models/files/src/identity_test.cpp": (1, AGES),
    "models/run/src/ranks/ranks_test.cpp": (1, AGES),
    "models/run/src/streaming/streaming_test.cpp": (1, "waits until an idle session has read ahead"),
    "models/run/src/weights/weight_cache_test.cpp": (1, AGES),
    "models/run/src/weights/weights_test.cpp": (1, AGES),
    "models/text/grammar/src/token_constraint_test.cpp": (2, "prints times, and checks none"),
    "scheduler/src/machine/crew_test.cpp": (4, IDLE),
    "scheduler/src/messages/communicator_test.cpp": (1, DELAYS),
    "scheduler/src/messages/link_speed_test.cpp": (2, "a slowed link takes at least its time"),
    "scheduler/src/replay/executor_test.cpp": (1, DELAYS),
    "scheduler/src/replay/flow_replay_test.cpp": (2, IDLE),
    "scheduler/src/replay/notebook.h": (4, DELAYS),
    "tools/server/api/core/src/workers_test.cpp": (2, DELAYS),
    "tools/server/http/tests/server_life_test.cpp": (3, LIMITS),
    "tools/server/http/tests/server_stream_test.cpp": (3, DELAYS),
    "tools/server/http/tests/server_test.cpp": (1, DELAYS),
}


def tests():
    names = [path.relative_to(SOURCE).as_posix() for folder in FOLDERS
             for path in sorted((SOURCE / folder).rglob("*.*"))]
    return [name for name in names if TEST.search(name) and name not in HELPERS]


def found(name):
    """The lines that sleep or read a clock: (number, line)."""
    lines = (SOURCE / name).read_text("utf-8", "replace").splitlines()
    return [f"{name}:{number}: {line.strip()}" for number, line in enumerate(lines, 1)
            if SLEEPS.search(line) or CLOCKS.search(line)]


class Clocks(unittest.TestCase):
    def test_only_helpers_sleep_and_read_a_clock(self):
        for name in tests():
            allowed, why = EXCEPTIONS.get(name, (0, f"use one of {HELPERS}"))
            lines = found(name)
            self.assertEqual(len(lines), allowed, f"{name}: {why}\n" + "\n".join(lines))

    def test_excepted_files_exist(self):
        self.assertEqual(set(EXCEPTIONS) - set(tests()), set())


if __name__ == "__main__":
    unittest.main()
