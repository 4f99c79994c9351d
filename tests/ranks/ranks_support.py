"""Starts models that are divided among processes, by each MPI that is installed, and finds the
processes: they inherit an environment variable that no other process has."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "system"))

from support import BIN, CLEAN, EMULATOR, SANITIZED, TIMEOUT, Result, SystemTest
from waiting import eventually

MARK = "WEFT_TEST_RANKS"


# MPICH's transport warns on stdout of messages that a rank which refuses did not read.
QUIET = {"UCX_LOG_LEVEL": "error"}


class Mpi:
    """An MPI: its launcher, and the library that Weft needs for it."""

    def __init__(self, name, flags, rank_variable):
        self.launcher = shutil.which(f"mpirun.{name}")
        self.library = f"weft-{name}.so"
        self._flags = flags
        self._rank_variable = rank_variable

    def why_not(self):
        """Why it cannot be used; an empty text: it can."""
        if SANITIZED or EMULATOR:
            return "MPI works neither with sanitizers nor with emulated processors"
        if not (BIN.parent / "lib/weft" / self.library).is_file():
            return f"{self.library} was not built: tools/packages/install.sh mpi"
        return "" if self.launcher else "its mpirun is missing: tools/packages/install.sh mpi"

    def command(self, *programs):
        """Of (ranks, command) for each program of the same run."""
        words = [self.launcher, *self._flags]
        for i, (ranks, command) in enumerate(programs):
            words += [":"] * (i > 0) + ["-n", str(ranks), *map(str, command)]
        return words

    def rank_of(self, environment):
        """The rank of a process; None if it is the launcher, or one of its helpers."""
        rank = environment.get(self._rank_variable)
        return None if rank is None else int(rank)


OPEN_MPI = Mpi("openmpi", ["--allow-run-as-root", "--oversubscribe"], "OMPI_COMM_WORLD_RANK")
MPICH = Mpi("mpich", [], "PMI_RANK")


def environment_of(pid):
    """Empty for processes that have ended."""
    try:
        text = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace")
    except OSError:
        return {}
    return dict(line.split("=", 1) for line in text.split("\0") if "=" in line)


def wait_for_none(processes):
    """Waits until processes() is empty: launchers end before all that they kill."""
    eventually(lambda: not processes(), lambda: f"the end of the processes {processes()}")


class RunOfRanks:
    """A run of several ranks that goes on until wait(), or until the test ends."""

    def __init__(self, mpi, *programs, env=None, stdin=subprocess.DEVNULL):
        self.mpi = mpi
        self._mark = uuid.uuid4().hex
        # A session of its own: no signal of a terminal reaches it.
        self.process = subprocess.Popen(
            mpi.command(*programs), stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={**CLEAN, **QUIET, **(env or {}), MARK: self._mark},
            start_new_session=True)

    def processes(self):
        """The environments of all its processes, by number."""
        found = {int(name): environment_of(name) for name in os.listdir("/proc") if name.isdigit()}
        return {pid: env for pid, env in found.items() if env.get(MARK) == self._mark}

    def ranks(self):
        """The numbers of the processes that are ranks, by rank."""
        found = {self.mpi.rank_of(env): pid for pid, env in self.processes().items()
                 if pid != self.process.pid}
        return {rank: pid for rank, pid in found.items() if rank is not None}

    def wait(self, stdin=None):
        """The result, once all processes have ended."""
        out, err = self.process.communicate(stdin, timeout=TIMEOUT)
        self.process.stdout, self.process.stderr = out, err
        wait_for_none(self.processes)
        return Result(self.process)

    def end(self):
        """Kills what is left of it. Returns how many processes that were."""
        left = self.processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        if self.process.returncode is None:
            self.process.communicate()
        return len(left)


def cpu_seconds(pid):
    """The processor time that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def has_mapped(pid, file):
    return str(file) in pathlib.Path(f"/proc/{pid}/maps").read_text()


class RanksTest(SystemTest):
    """`mpi` is set by on_every_mpi()."""
    mpi = None

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        if cls.mpi.why_not():
            raise unittest.SkipTest(cls.mpi.why_not())

    def start(self, *programs, **kwargs):
        """Starts (ranks, (program, argument...)) of BIN; programs may also be paths."""
        started = RunOfRanks(self.mpi, *((ranks, (BIN / program, *args))
                                         for ranks, (program, *args) in programs), **kwargs)
        self.addCleanup(started.end)
        return started

    def runs_as_ranks(self, ranks, *command, env=None):
        """The ranks exit with 0, and none is left."""
        started = self.start((ranks, command), env=env)
        r = started.wait()
        self.assertEqual(r.code, 0, f"{ranks} ranks of {command}: exit {r.code}\n{r.err}")
        return r

    def wait_until(self, condition, what):
        """Polls. OSError: the process that is asked about has ended, or has not begun."""
        def is_true():
            try:
                return condition()
            except OSError:
                return False
        eventually(is_true, what)


def on_every_mpi(test):
    """Makes a test case for each MPI of a class that derives from RanksTest."""
    return [type(f"{test.__name__}Over{name}", (test,), {"mpi": mpi, "__module__": test.__module__})
            for name, mpi in (("OpenMpi", OPEN_MPI), ("Mpich", MPICH))]
