"""The list of checks, in the order of their worth."""
import os
import pathlib
import shutil

from kinds import (ROOT, Check, Outcome, acceptance, build, command, ctest, fuzz, run, shell)

SOURCES = [
    # A second run finds nothing to install.
    Check("packages", shell('test -z "$(tools/packages/install.sh build test)"'), 5, quick=True),
    Check("format", shell("git ls-files -z '*.cpp' '*.h' "
                          "| xargs -0 -n 50 -P 2 clang-format-14 --dry-run -Werror"),
          30, quick=True),
    Check("shell scripts", shell("git ls-files -z '*.sh' .ci/run | xargs -0 shellcheck"),
          5, cores=1, quick=True),
    Check("sizes", command("tools/check_sizes.py"), 10, cores=1, quick=True),
    Check("docs", command("tools/check_docs.py"), 5, cores=1, quick=True),
]

RELEASE = [
    Check("build release", build("release"), 2700, pace="build", sets_pace=True, quick=True),
    Check("tests release", ctest("release"), 300, needs=("build release",), sets_pace=True,
          quick=True),
    Check("instructions per token", command("bench/instructions.py"), 60,
          needs=("build release",), quick=True),
]


def accept_folder():
    return pathlib.Path(os.environ.get("WEFT_ACCEPT", ROOT / "../shared/accept"))


def has_node():
    """Whether the clients' packages can run: they need Node 20."""
    test = "process.exit(parseInt(process.versions.node) < 20)"
    return shutil.which("npm") is not None and run("node", "-e", test)[0] == 0


def accept(script, cases):
    action = acceptance(script, cases, accept_folder())
    if not (accept_folder() / f"{script}.py").is_file():
        action = lambda: Outcome(skipped=f"no {accept_folder().name}/{script}.py")
    elif script == "clients" and not has_node():
        action = lambda: Outcome(skipped="no npm, or a Node older than 20")
    return Check(f"acceptance {script}", action, {"server": 200, "clients": 60}.get(script, 30),
                 needs=("build release",), cores=1, quick=True)


def acceptance_checks():
    """One check for each line of tests/acceptance.txt."""
    lines = (ROOT / "tests/acceptance.txt").read_text().splitlines()
    words = [line.split("#")[0].split() for line in lines]
    return [accept(script, cases) for script, *cases in filter(None, words)]


def cpu_line(isa=None):
    """The line of the cpu backend, which names its instruction set; none if the machine lacks it."""
    env = {"WEFT_CPU_ISA": isa} if isa else None
    status, output = run("build/release/bin/weft", "backends", env=env)
    lines = [line for line in output.splitlines() if line.startswith("cpu ")]
    return lines[0] if status == 0 and lines else None


def isa_tests(isa):
    """Sets from avx2 on give the same bits ("system: same_bits"), so they need not repeat
    everything. Tests of kernels always run once per instruction set. What is left out reads no
    results of kernels."""
    tests = ctest("release",
                  "-R", "^(system|quantize_test|run_test|measure_test|scheduler_test):",
                  "-E", "^system: (compare|opencl|page|pictures|plugins|slots)$",
                  env={"WEFT_CPU_ISA": isa})

    def check():
        line = cpu_line(isa)
        if line is None:
            return Outcome(skipped="this machine lacks it")
        if line == cpu_line():
            return Outcome(skipped='"tests release" used it')
        return tests()
    return check


def fuzz_checks():
    names = sorted(path.name.removesuffix("_fuzz.cpp")
                   for path in (ROOT / "tests/fuzz").glob("*_fuzz.cpp"))
    return [Check(f"fuzz {name}", fuzz(name), 25, needs=("build dev",), cores=1) for name in names]


def arm64_build():
    """Builds the programs and tests that run under emulation."""
    status, log = run("tools/packages/install.sh", "build", "arm64")
    if status != 0:
        return Outcome(skipped="its packages cannot be installed", log=log)
    return build("arm64", "weft", "generate", "cpu_kernels_test", "backends_test")()


SANITIZERS = [
    # What the first one leaves out tests a script, and kernels that "cpu kernels" also runs with
    # every set.
    Check("build dev", build("dev"), 1500, pace="build"),
    Check("tests dev", ctest("dev", "-E", "^(system: compare|conform: cpu avx(vnni|512|512vnni))$"),
          900, needs=("build dev",)),
    *fuzz_checks(),
    Check("build tsan", build("tsan", "scheduler_test", "run_test", "serve_test"), 600,
          pace="build"),
    Check("tests tsan", ctest("tsan", "-R", "^(scheduler|run)_test:"), 200, needs=("build tsan",)),
    # The other tests of the binary have no threads of their own.
    Check("tests tsan engine",
          command("build/tsan/bin/serve_test", "--source-file=*engine*",
                  env={"TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp"}),
          40, needs=("build tsan",)),
]

PROCESSORS = [
    *(Check(f"tests {isa}", isa_tests(isa), 120, needs=("build release",))
      for isa in ("sse2", "avx2")),
    Check("build arm64", arm64_build, 700, pace="build"),
    # The kernels of neon_i8mm contain those of the other sets, or are compared with them.
    Check("tests arm64",
          ctest("arm64", "-R",
                "^(cpu kernels .* neon_i8mm|backends_test:.*|system: same_bits)$"),
          250, needs=("build arm64",)),
]

CHECKS = [*SOURCES, *RELEASE, *acceptance_checks(), *SANITIZERS, *PROCESSORS]
