#!/usr/bin/env python3
"""Builds Weft and runs its checks. Continues after a failure.

Ends with a table of where the time went and a line "N passed, N failed, N skipped"; exits with 1 if
something failed. The seconds of each check are kept in build/check_seconds.json.

Examples:
  tools/test.sh                        # the checks of continuous integration
  tools/test.sh --all                  # also all slices, and long checks
  tools/test.sh --quick                # the release build, its tests, and checks of sources
  tools/test.sh --changed              # only tests that are next to the changes since WEFT_SINCE
  tools/test.sh --only 'tests tsan'    # one check, and the builds that it needs
  tools/test.sh --minutes 60           # omits checks that would end after an hour
  tools/test.sh --list                 # the names and times of the checks

Environment:
  WEFT_SINCE         the commit that changes are compared with (default: the first of main,
                     origin/main and the commit before that HEAD is ahead of)
  WEFT_ACCEPT        folder of acceptance scripts (default: ../shared/accept); skipped if missing
  WEFT_FUZZ_SECONDS  how long each fuzz target runs (default: 10)
"""
import argparse
import concurrent.futures
import itertools
import os
import shlex
import subprocess
import sys
import threading
import time

from catalogue import CHECKS, DEFAULT, QUICK, SLICES, slice_of_day
from clock import Clock
from history import since
from kinds import ROOT, Check, Outcome, build, ctest, guarded

sys.path.insert(0, str(ROOT / "tools"))
from changed_tests import changed_files  # noqa: E402


class Report:
    """Prints a line for each check, and adds up. Used by two threads."""

    def __init__(self, clock):
        self._clock = clock
        self._lock = threading.Lock()
        self.passed = self.failed = self.skipped = 0
        self.bad = set()       # names of checks that did not pass: others may need them
        self.left_out = []     # checks that there was no time for

    def add(self, check, outcome):
        with self._lock:
            self.passed += outcome.passed
            self.failed += outcome.failed
            if outcome.skipped:
                self.skipped += 1
                print(f"skip  {check.name:32}          {outcome.skipped}", flush=True)
            else:
                seconds = self._clock.seconds[check.name]
                mark = "FAIL" if outcome.failed else "ok  "
                slow = f"slow: expected {check.seconds} s  " if self._clock.is_slow(check) else ""
                print(f"{mark}  {check.name:32} {seconds:6.0f} s  {slow}{outcome.remark}", flush=True)
            if outcome.skipped or outcome.failed:
                self.bad.add(check.name)
            if outcome.failed:
                for line in outcome.log.splitlines()[-300:]:
                    print("      " + line)
                for command in outcome.repeat[:20] or [only(check)]:
                    print(f"repeat: {command}", flush=True)

    def leave_out(self, check, estimate):
        with self._lock:
            self.left_out.append(check)
            self.bad.add(check.name)
            print(f"left  {check.name:32} {estimate:6.0f} s  not enough time; run: {only(check)}", flush=True)

    def close(self):
        print("\nWhere the time went, minutes and seconds:")
        for name, seconds in sorted(self._clock.seconds.items(), key=lambda item: -item[1]):
            if seconds >= 1:
                print(f"  {minutes(seconds)}  {name}")
        print(f"  {minutes(self._clock.total())}  in all")
        if self.left_out:
            print("\nleft out for lack of time: "
                  + ", ".join(check.name for check in self.left_out))
        skipped = self.skipped + len(self.left_out)
        print(f"\n{self.passed} passed, {self.failed} failed, {skipped} skipped")


def minutes(seconds):
    return f"{int(seconds) // 60:4}:{int(seconds) % 60:02}"


def only(check):
    return f"tools/test.sh --only {shlex.quote(check.name)}"


def run_check(check, clock, report):
    missing = [name for name in check.needs if name in report.bad]
    if missing:
        report.add(check, Outcome(skipped=f'needs "{missing[0]}"'))
        return
    if not clock.has_time_for(check):
        report.leave_out(check, clock.estimate(check))
        return
    start = time.monotonic()
    outcome = guarded(check)
    if not outcome.skipped:
        clock.record(check, time.monotonic() - start, passed=not outcome.failed)
    report.add(check, outcome)


def run_checks(checks, clock, report):
    """Runs checks that use one core two at a time, others alone."""
    for cores, group in itertools.groupby(checks, key=lambda check: check.cores):
        with concurrent.futures.ThreadPoolExecutor(max_workers=2 // cores) as pool:
            try:
                for done in [pool.submit(run_check, check, clock, report) for check in group]:
                    done.result()
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                raise


def with_needs(names):
    """The checks with these names and all that they need. Needs come before."""
    wanted = set(names)
    for check in reversed(CHECKS):
        if check.name in wanted:
            wanted |= set(check.needs)
    return [check for check in CHECKS if check.name in wanted]


def changed_tests():
    """Builds the tests that are next to the changes, with the preset quick, and runs them."""
    base = since()
    if base is None:
        return Outcome(skipped="no commit to compare with; set WEFT_SINCE")
    server = any(name.startswith("tools/server/") for name in changed_files(base))
    settings = [f"-DWEFT_BUILD_SERVER={'ON' if server else 'OFF'}"]
    configured = build("quick", "weft_base", settings=settings)()
    if configured.failed:
        return configured
    done = subprocess.run(["tools/changed_tests.py", "build/quick", "--since", base], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return Outcome(failed=1, log=done.stderr)
    targets, pattern = done.stdout.splitlines()
    if not pattern:
        return Outcome(skipped="no test is next to the changes")
    built = build("quick", *targets.split(), settings=settings)() if targets else Outcome()
    return built if built.failed else ctest("quick", "-R", pattern)()


def chosen(options):
    if options.only:
        unknown = set(options.only) - {check.name for check in CHECKS}
        if unknown:
            sys.exit(f"no check is named '{min(unknown)}'; tools/test.sh --all --list names all")
        return with_needs(options.only)
    if options.changed:
        return [*(check for check in CHECKS if check.name in ("format", "sizes")),
                Check("tests next to the changes", changed_tests, 60)]
    if options.all:
        return CHECKS
    parts = {QUICK}
    if not options.quick:
        chosen_slice = options.slice or slice_of_day()
        print(f"slice {chosen_slice}, of {', '.join(SLICES)}; --slice NAME for another, --all for all",
              flush=True)
        parts |= {DEFAULT, chosen_slice}
    return [check for check in CHECKS if check.part in parts]


def main():
    parser = argparse.ArgumentParser(prog="tools/test.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--all", action="store_true", help="everything")
    size.add_argument("--quick", action="store_true", help="skip sanitizers and other processors")
    size.add_argument("--changed", action="store_true", help="tests next to the changes")
    size.add_argument("--only", action="append", metavar="CHECK", help="this check alone")
    parser.add_argument("--slice", choices=SLICES, help="add this slice (default: by the day)")
    parser.add_argument("--minutes", type=float, metavar="N",
                        help="skip checks that are not expected to end within N minutes")
    parser.add_argument("--list", action="store_true", help="name the checks that would run")
    parser.add_argument("--spent", type=float, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.slice and (options.all or options.quick or options.changed or options.only):
        parser.error("--slice goes with the default run alone")
    clock = Clock(ROOT / "build/check_seconds.json", options.minutes, options.spent)
    checks = chosen(options)
    if options.list:
        for check in checks:
            print(f"{clock.estimate(check) / 60:6.1f} min  {check.name}")
        return 0
    report = Report(clock)
    status = 0
    try:
        run_checks(checks, clock, report)
    except KeyboardInterrupt:
        print("\ninterrupted")
        status = 130
    report.close()
    try:
        clock.save()
    except OSError as error:
        print(f"cannot keep the seconds of the checks: {error}", file=sys.stderr)
    return status or report.failed > 0


if __name__ == "__main__":
    sys.exit(main())
