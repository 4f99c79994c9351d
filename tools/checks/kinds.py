"""The kinds of checks, and the outcome of a run."""
import dataclasses
import os
import pathlib
import re
import shlex
import subprocess
import tempfile
import traceback
import typing
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Outcome:
    """`repeat` has the commands that repeat the failed parts. If there is a reason to skip, nothing
    was run."""
    passed: int = 0
    failed: int = 0
    remark: str = ""
    log: str = ""
    skipped: str = ""
    repeat: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Check:
    """`seconds` is the time on two cores with a cold compiler cache.
    Checks that keep one core busy run two at a time. `pace`: the speed that limits it; the check
    that `sets_pace` shows how fast this machine is at it. `part`: which runs it belongs to
    (catalogue.py)."""
    name: str
    run: typing.Callable
    seconds: int
    needs: tuple = ()
    cores: int = 2
    pace: str = "tests"
    sets_pace: bool = False
    part: str = "default"


def run(*command, env=None):
    """(status, output) of a command that runs in the root."""
    environment = {**os.environ, **(env or {})}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False)
    except OSError as error:
        return 127, f"{command[0]}: {error.strerror}\n"
    return done.returncode, done.stdout


def command(*words, env=None):
    """A check that passes if the command exits with 0."""
    def check():
        status, log = run(*words, env=env)
        return Outcome(passed=status == 0, failed=status != 0, log=log)
    return check


def shell(text):
    return command("bash", "-o", "pipefail", "-c", text)


def build(preset, *targets, settings=()):
    def check():
        status, log = run("cmake", "--preset", preset, *settings)
        if status == 0:
            words = ["--target", *targets] if targets else []
            status, log = run("cmake", "--build", "--preset", preset, *words, "--", "--quiet")
        return Outcome(passed=status == 0, failed=status != 0, log=log)
    return check


def guarded(check):
    """The outcome of a check; an exception is a failure, so that the others still run."""
    try:
        return check.run()
    except Exception:  # pylint: disable=broad-except
        return Outcome(failed=1, log=traceback.format_exc())


def ctest(preset, *arguments, env=None):
    """Runs tests of CTest and counts each of them."""
    def check():
        with tempfile.TemporaryDirectory() as folder:
            suite = pathlib.Path(folder, "junit.xml")
            status, log = run("ctest", "--preset", preset, "--output-junit", str(suite), *arguments,
                              env=env)
            log = "".join(line + "\n" for line in log.splitlines()
                          if not re.search(r"(Passed|Skipped)  |^ *Start ", line))
            try:
                cases = list(xml.etree.ElementTree.parse(suite).getroot().iter("testcase"))
            except (OSError, xml.etree.ElementTree.ParseError):
                cases = []
        return count_cases(preset, status, cases, log, env)
    return check


def count_cases(preset, status, cases, log, env):
    bad = [case.get("name") for case in cases if case.find("failure") is not None]
    if not cases or (status != 0 and not bad):
        return Outcome(failed=1, remark=f"ctest ended with {status}", log=log)
    n_skipped = sum(case.find("skipped") is not None for case in cases)
    settings = "".join(f"{name}={value} " for name, value in (env or {}).items())
    return Outcome(
        passed=len(cases) - len(bad) - n_skipped, failed=len(bad), log=log,
        remark=f"{len(cases)} tests, {len(bad)} failed, {n_skipped} skipped",
        repeat=[f"{settings}ctest --preset {preset} -R {shlex.quote(f'^{re.escape(name)}$')}"
                for name in bad])


def acceptance(script, cases, folder, programs="build/release/bin", env=None):
    """Runs a script of acceptance cases and counts each of them. Scripts that install packages of
    npm may not use the network."""
    def check():
        words = ["/usr/bin/python3", f"{folder}/{script}.py", "--bin", programs, *cases]
        _, log = run(*words, env={"npm_config_offline": "true", **(env or {})})
        last = log.splitlines()[-1] if log else ""
        totals = re.match(r"(\d+) passed, (\d+) failed", last)
        if totals:
            return Outcome(passed=int(totals[1]), failed=int(totals[2]), remark=totals[0], log=log)
        if re.search("^npm ci failed", log, re.MULTILINE):
            return Outcome(skipped="npm cannot install its packages offline")
        return Outcome(failed=1, remark="no line with totals", log=log)
    return check


def fuzz(target):
    def check():
        with tempfile.TemporaryDirectory() as folder:
            status, log = run(
                f"build/dev/bin/{target}_fuzz", folder, f"tests/fuzz/corpus/{target}",
                f"-max_total_time={os.environ.get('WEFT_FUZZ_SECONDS', '10')}",
                "-rss_limit_mb=2048", "-timeout=30", "-verbosity=0", "-print_final_stats=1",
                "-artifact_prefix=build/dev/")
        return Outcome(passed=status == 0, failed=status != 0, log=log)
    return check
