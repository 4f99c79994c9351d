#!/usr/bin/env python3
"""Measures the speed of decoding on a busy or throttled machine.

    sudo bench/contention.py -m MODEL [--weft build/release/bin/weft] [--tokens 256] [--rounds 3]

Runs `weft bench` on an idle machine, next to busy processes (one per CPU), and in a control group with
a quota of 1.5 and 1 CPUs, each with one and with two workers. Prints tokens/s, their share of the
idle speed, and the fair share. A run during which processes of others took more than 5 % of the
CPUs is repeated, at most 7 times; the column "others" says how much they took in the runs that
count. The rows are interleaved over the rounds; medians are shown, and their spread as a share of
the idle speed. Needs root for the control groups (version 1 or 2); without it, the quotas are
skipped with a message. In a container that already has a quota, the figures are wrong.
"""

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import time

from control_group import V2, ControlGroup

PERIOD_US = 100_000
TICKS = os.sysconf("SC_CLK_TCK")
MAX_OTHERS = 0.05  # of the CPUs, in a run that counts
MAX_TRIES = 8


class Quota(ControlGroup):
    """A control group with a CPU quota; removed at the end."""

    def __init__(self, cpus):
        self.cpus = cpus
        quota = int(cpus * PERIOD_US)
        super().__init__("cpu", {"cpu.max": f"{quota} {PERIOD_US}"} if V2 else
                         {"cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": quota})


def busy_loop():
    while True:
        pass


class Busy:
    """Processes that only compute."""

    def __init__(self, count):
        self.pids = []
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                busy_loop()
            self.pids.append(pid)

    def seconds(self):
        """The CPU time that they took."""
        total = 0
        for pid in self.pids:
            with open(f"/proc/{pid}/stat", encoding="ascii") as f:
                fields = f.read().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / TICKS
        return total

    def close(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def seconds_of_all():
    """The CPU time of all processes, and what the host took from a virtual machine."""
    with open("/proc/stat", encoding="ascii") as f:
        user, nice, system, _, _, irq, softirq, steal = map(int, f.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS


def measure(args, workers, quota, busy):
    """Tokens/s, and the share of the CPUs that processes of others took."""
    best = None
    for _ in range(MAX_TRIES):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start, others = time.monotonic(), busy.seconds() - seconds_of_all()
        speed = tokens_per_second(args, workers, quota)
        others += seconds_of_all() - busy.seconds()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        others -= after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        share = max(others, 0) / (time.monotonic() - start) / os.cpu_count()
        if best is None or share < best[1]:
            best = speed, share
        if share <= MAX_OTHERS:
            break
    return best


def tokens_per_second(args, workers, quota):
    command = [args.weft, "bench", "-m", args.model, "-p", "0", "-n", str(args.tokens), "-r", "1",
               "-t", str(workers),
               "--no-bandwidth", "--json"]
    out = subprocess.run(command, check=True, capture_output=True, preexec_fn=quota.enter if quota
                         else None).stdout
    return json.loads(out)["rows"][0]["median"]


def cases(cpus):
    """Name, busy processes, quota in CPUs, and the fair share of the idle speed by number of
    workers."""
    yield "idle", 0, None, {1: 1.0, 2: 1.0}
    # As many busy processes as CPUs: a thread gets half of one.
    yield f"{cpus} busy processes", cpus, None, {1: 0.5, 2: 0.5}
    yield "quota 1.5 CPUs", 0, 1.5, {1: 1.0, 2: 0.75}
    yield "quota 1 CPU", 0, 1.0, {1: 1.0, 2: 0.5}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("--weft", default="build/release/bin/weft")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    all_cases = list(cases(len(os.sched_getaffinity(0))))
    if os.geteuid() != 0:
        print("contention.py: not root, cannot make control groups: skipping the quotas",
              file=sys.stderr)
        all_cases = [c for c in all_cases if c[2] is None]
    speeds, shares = {}, {}
    for _ in range(args.rounds):
        for name, n_busy, cpus, _ in all_cases:
            for workers in (1, 2):
                quota = Quota(cpus) if cpus else None
                busy = Busy(n_busy)
                try:
                    speed, share = measure(args, workers, quota, busy)
                finally:
                    busy.close()
                    if quota:
                        quota.close()
                speeds.setdefault((name, workers), []).append(speed)
                shares.setdefault((name, workers), []).append(share)

    print(f"{'':<20} {'workers':>7} {'tokens/s':>9} {'of idle':>8} {'spread':>7} {'fair':>6} "
          f"{'others':>7}")
    for name, _, _, fair in all_cases:
        for workers in (1, 2):
            speed = statistics.median(speeds[name, workers])
            idle = statistics.median(speeds["idle", workers])
            spread = statistics.median(abs(s - speed) for s in speeds[name, workers]) / idle
            print(f"{name:<20} {workers:>7} {speed:>9.1f} {speed / idle:>8.0%} {spread:>7.0%} "
                  f"{fair[workers]:>6.0%} {statistics.median(shares[name, workers]):>7.0%}")


if __name__ == "__main__":
    main()
