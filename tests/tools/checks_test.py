#!/usr/bin/env python3
"""tools/checks: checks omitted for lack of time, checks skipped after a failure, and the report."""
import contextlib
import io
import json
import pathlib
import sys
import tempfile
import unittest
import unittest.mock
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/checks"))
import catalogue  # noqa: E402
import kinds  # noqa: E402
import run as runner  # noqa: E402
from clock import Clock  # noqa: E402
from kinds import Check, Outcome  # noqa: E402


class Checks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name, "build/check_seconds.json")
        self.ran = []

    def check(self, name, seconds=0, failed=0, **more):
        def action():
            self.ran.append(name)
            return Outcome(passed=not failed, failed=failed, log="the log\n")
        return Check(name, action, seconds, **more)

    def run_all(self, checks, **clock):
        clock = Clock(self.file, **clock)
        report = runner.Report(clock)
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            runner.run_checks(checks, clock, report)
            report.close()
        clock.save()
        return text.getvalue()

    def test_leaves_out_what_would_end_too_late(self):
        text = self.run_all([self.check("long", 90), self.check("short", 30)], minutes=1)
        self.assertEqual(self.ran, ["short"])
        self.assertIn("run: tools/test.sh --only long", text)
        self.assertTrue(text.endswith("1 passed, 0 failed, 1 skipped\n"), text)

    def test_counts_what_was_spent_before(self):
        self.run_all([self.check("short", 30)], minutes=1, spent=40)
        self.assertEqual(self.ran, [])

    def test_without_a_limit_nothing_is_left_out(self):
        self.run_all([self.check("long", 1e6)])
        self.assertEqual(self.ran, ["long"])

    def test_believes_the_last_time_more_than_the_share(self):
        self.file.parent.mkdir()
        self.file.write_text(json.dumps({"quick now": 1, "slow now": 100}))
        self.run_all([self.check("quick now", 90), self.check("slow now", 1)], minutes=1)
        self.assertEqual(self.ran, ["quick now"])

    def test_a_damaged_file_of_times_is_ignored(self):
        self.file.parent.mkdir()
        for text in ("{", "[1]", '{"a": "b"}', '"text"'):
            self.file.write_text(text)
            self.assertEqual(Clock(self.file).estimate(self.check("a", 7)), 7)

    def test_a_fast_machine_shortens_later_shares(self):
        clock = Clock(self.file)
        release = self.check("release", 1000, pace="build", sets_pace=True)
        clock.record(release, 400, passed=True)
        self.assertAlmostEqual(clock.estimate(self.check("dev", 500, pace="build")), 200)
        self.assertEqual(clock.estimate(self.check("tests", 500)), 500)
        clock.record(release, 1, passed=True)
        self.assertAlmostEqual(clock.estimate(self.check("dev", 500, pace="build")), 150)

    def test_a_failed_check_says_nothing_about_time(self):
        clock = Clock(self.file)
        clock.record(self.check("release", 1000, pace="build", sets_pace=True), 3, passed=False)
        self.assertEqual(clock.estimate(self.check("dev", 500, pace="build")), 500)
        self.assertEqual(clock.estimate(self.check("release", 1000)), 1000)

    def test_an_exception_is_a_failure(self):
        def broken():
            raise OSError("disk full")
        text = self.run_all([Check("broken", broken, 1), self.check("other")])
        self.assertIn("disk full", text)
        self.assertTrue(text.endswith("1 passed, 1 failed, 0 skipped\n"), text)

    def test_keeps_the_times_of_other_checks(self):
        self.run_all([self.check("a")])
        self.run_all([self.check("b")])
        self.assertEqual(sorted(json.loads(self.file.read_text())), ["a", "b"])

    def test_a_failed_build_takes_its_tests_with_it(self):
        text = self.run_all([self.check("build", failed=1),
                             self.check("tests", needs=("build",)), self.check("other")])
        self.assertEqual(self.ran, ["build", "other"])
        self.assertIn("the log", text)
        self.assertIn("repeat: tools/test.sh --only build", text)
        self.assertTrue(text.endswith("1 passed, 1 failed, 1 skipped\n"), text)

    def test_one_core_checks_all_run(self):
        names = [f"check {i}" for i in range(9)]
        self.run_all([self.check(name, cores=1) for name in names])
        self.assertEqual(sorted(self.ran), names)


class Kinds(unittest.TestCase):
    def test_a_command_that_does_not_exist_fails(self):
        self.assertEqual(kinds.command("no-such-command-here")().failed, 1)

    def counted(self, status, body):
        cases = xml.etree.ElementTree.fromstring(f"<testsuite>{body}</testsuite>")
        return kinds.count_cases("release", status, list(cases), "", {"WEFT_CPU_ISA": "avx2"})

    def test_failed_tests_are_repeated_by_name(self):
        outcome = self.counted(8, '<testcase name="a: b(c)"><failure/></testcase>'
                                  '<testcase name="d"/><testcase name="e"><skipped/></testcase>')
        self.assertEqual((outcome.passed, outcome.failed), (1, 1))
        self.assertEqual(outcome.repeat,
                         [r"WEFT_CPU_ISA=avx2 ctest --preset release -R '^a:\ b\(c\)$'"])

    def test_no_tests_and_unexplained_status_fail(self):
        self.assertEqual(self.counted(0, "").failed, 1)
        self.assertEqual(self.counted(1, '<testcase name="a"/>').failed, 1)


class Catalogue(unittest.TestCase):
    def test_names_are_unique_and_needs_come_first(self):
        seen = set()
        for check in runner.CHECKS:
            self.assertNotIn(check.name, seen)
            self.assertLessEqual(set(check.needs), seen, check.name)
            seen.add(check.name)

    def test_only_adds_what_is_needed_at_any_distance(self):
        names = [check.name for check in runner.with_needs(["tests arm64 ops and sessions"])]
        self.assertEqual(names, ["build arm64", "build arm64 tests", "tests arm64 ops and sessions"])

    def test_each_slice_has_its_day(self):
        def slice_at(seconds):
            with unittest.mock.patch("time.time", return_value=seconds):
                return catalogue.slice_of_day()
        day = 86400
        self.assertEqual([slice_at(i * day) for i in range(5)], catalogue.SLICES)
        self.assertEqual(slice_at(6 * day - 0.5), slice_at(5 * day))
        self.assertEqual(slice_at(5 * day), slice_at(0))

    def test_the_commit_does_not_decide_the_slice(self):
        with unittest.mock.patch.object(catalogue, "run", side_effect=AssertionError):
            self.assertIn(catalogue.slice_of_day(), catalogue.SLICES)

    def test_a_failed_tenth_is_repeated_by_its_number(self):
        with (unittest.mock.patch.object(catalogue, "today", return_value=23),
              unittest.mock.patch.object(kinds, "run", return_value=(1, "the log"))):
            outcome = catalogue.tenth_of_models()
        self.assertEqual((outcome.failed, outcome.repeat),
                         (1, ["tools/checks/new_models.py --tenth 3"]))


if __name__ == "__main__":
    unittest.main()
