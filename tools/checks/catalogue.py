"""The list of checks, most important first, and which of them a run consists of."""
import dataclasses
import os
import pathlib
import shutil
import tempfile
import time

from history import since
from kinds import (ROOT, Check, Outcome, acceptance, build, command, ctest, fuzz, run, shell)

# Parts of a run. tools/test.sh --quick runs the first; a plain run the first two and one slice,
# which the day decides; --all everything.
QUICK, DEFAULT, LONG = "quick", "default", "long"
SLICES = ["tsan", "arm64", "sets", "asan", "lone"]

SOURCES = [
    # A second run finds nothing to install.
    Check("packages", shell('test -z "$(tools/packages/install.sh build test mpi)"'), 5, part=QUICK),
    Check("format", shell("git ls-files -z '*.cpp' '*.h' '*.c' "
                          "| xargs -0 -n 50 -P 2 clang-format-14 --dry-run -Werror"),
          30, part=QUICK),
    Check("shell scripts", shell("git ls-files -z '*.sh' '*.bash' .ci/run tools/hooks | xargs -0 shellcheck"),
          5, cores=1, part=QUICK),
    Check("sizes", command("tools/check_sizes.py"), 10, cores=1, part=QUICK),
    Check("docs", command("tools/check_docs.py"), 5, cores=1, part=QUICK),
]


def today():
    """Days since 1970-01-01, UTC. They draw what a plain run adds, because nobody can choose them:
    the hash of a commit can be amended."""
    return int(time.time()) // 86400


def slice_of_day():
    """The slice that a plain run adds: the next one every day."""
    return SLICES[today() % len(SLICES)]


def tidy_changes():
    """clang-tidy compiles each source alone, so it also finds missing includes."""
    base = since()
    if base is None:
        return Outcome(skipped="no commit to compare with; set WEFT_SINCE")
    return command("tools/checks/lone_sources.py", "--tidy", "--since", base)()


TIDY = [Check("clang-tidy of changed sources", tidy_changes, 60)]

RELEASE = [
    Check("build release", build("release"), 720, pace="build", sets_pace=True, part=QUICK),
    Check("tests release", ctest("release"), 300, needs=("build release",), sets_pace=True,
          part=QUICK),
    Check("instructions per token", command("bench/instructions.py"), 60,
          needs=("build release",), part=QUICK),
]


def accept_folder():
    return pathlib.Path(os.environ.get("WEFT_ACCEPT", ROOT / "../shared/accept"))


def has_node():
    """Whether the clients' packages can run: they need Node 20."""
    test = "process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)"
    return shutil.which("npm") is not None and run("node", "-e", test)[0] == 0


def if_script_exists(script, action):
    """The action, if the acceptance script exists."""
    def check():
        if not (accept_folder() / f"{script}.py").is_file():
            return Outcome(skipped=f"no {accept_folder().name}/{script}.py")
        if script == "clients" and not has_node():
            return Outcome(skipped="no npm, or a Node older than 20")
        return action()
    return check


def accept(script, cases):
    return Check(f"acceptance {script}",
                 if_script_exists(script, acceptance(script, cases, accept_folder())),
                 {"server": 200, "clients": 60}.get(script, 30), needs=("build release",), cores=1,
                 part=QUICK)


def acceptance_rows():
    """The lines of tests/acceptance.txt: the cases of each script."""
    lines = (ROOT / "tests/acceptance.txt").read_text().splitlines()
    words = [line.split("#")[0].split() for line in lines]
    return {script: cases for script, *cases in filter(None, words)}


def acceptance_checks():
    return [accept(script, cases) for script, cases in acceptance_rows().items()
            if not script.endswith("-wrong")]


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
    return [Check(f"fuzz {name}", fuzz(name), 12, needs=("build dev input",), cores=1)
            for name in names]


def arm64_build():
    """Builds the programs and tests that run under emulation."""
    status, log = run("tools/packages/install.sh", "build", "arm64")
    if status != 0:
        return Outcome(skipped="cannot install the packages for arm64", log=log)
    return build("arm64", "weft", "generate", "cpu_kernels_test", "backends_test")()


# The tests of everything that reads untrusted input.
INPUT_TESTS = [f"{name}_test" for name in (
    "base", "tokenize", "template", "grammar", "reply", "files", "adapters", "quantize", "measure",
    "http", "api", "server")]

INPUT = [
    Check("build dev input", build("dev", "fuzz_targets", *INPUT_TESTS), 500, pace="build"),
    Check("tests dev input", ctest("dev", "-R", f"^({'|'.join(INPUT_TESTS)})$"), 120,
          needs=("build dev input",)),
    *fuzz_checks(),
]

TSAN = [
    Check("build tsan", build("tsan", "scheduler_test", "exchange_test", "run_test", "serve_test", "c_api_test", "c_api_life"), 360,
          pace="build", part="tsan"),
    Check("tests tsan", ctest("tsan", "-R", "^(scheduler|exchange|run)_test$"), 200, needs=("build tsan",),
          part="tsan"),
    Check("tests tsan c_api", ctest("tsan", "-R", "^c_api: (life .*|session|generation|embedder)$"), 40,
          needs=("build tsan",), part="tsan"),
    # The other tests of the binary have no threads of their own.
    Check("tests tsan engine",
          command("build/tsan/bin/serve_test", "--source-file=*engine*",
                  env={"TSAN_OPTIONS": f"suppressions={ROOT}/tests/tsan.supp"}),
          40, needs=("build tsan",), part="tsan"),
]

ARM64 = [
    Check("build arm64", arm64_build, 500, pace="build", part="arm64"),
    # The kernels of neon_i8mm contain those of the other sets, or are compared with them.
    Check("tests arm64",
          ctest("arm64", "-R",
                "^(cpu kernels .* neon_i8mm|backends_test:.*|system: same_bits)$"),
          250, needs=("build arm64",), part="arm64"),
]

SETS = [Check(f"tests {isa}", isa_tests(isa), 120, needs=("build release",), part="sets")
        for isa in ("sse2", "avx2")]

ASAN = [
    Check("build dev", build("dev"), 500, pace="build", part="asan"),
    # The omitted checks test a script.
    Check("tests dev", ctest("dev", "-E", "^system: compare$"), 900, needs=("build dev",),
          part="asan"),
]

LONE = [Check("lone sources", command("tools/checks/lone_sources.py"), 600, part="lone")]

# --- long checks ---


def left_out_server_cases():
    """The cases of the server that tests/acceptance.txt leaves out, but for those that it names as
    wrong."""
    rows = acceptance_rows()
    status, listed = run("/usr/bin/python3", str(accept_folder() / "server.py"), "--list")
    if status != 0:
        return Outcome(failed=1, log=listed)
    names = [line.split()[1] for line in listed.splitlines() if line.strip()]
    usual = tuple(rows["server"])
    rest = [name for name in names if name not in rows["server-wrong"] and name not in usual
            and not name.startswith(tuple(f"{group}." for group in usual))]
    # Without names, the script runs all cases.
    return acceptance("server", rest, accept_folder())() if rest else Outcome(skipped="none is left")


def emulated_models():
    """The golden models with the programs for 64-bit Arm."""
    folder = ROOT / "build/arm64/emulated"
    folder.mkdir(exist_ok=True)
    for name in ("weft", "generate"):
        script = folder / name
        script.write_text(f"#!/bin/sh\nexec qemu-aarch64 {ROOT}/build/arm64/bin/{name} \"$@\"\n")
        script.chmod(0o755)
    return acceptance("archs", acceptance_rows()["archs"], accept_folder(),
                      programs="build/arm64/emulated")()


def all_sets_with_asan():
    """Builds the tests of kernels for all instruction sets with sanitizers, and runs them."""
    folder = "build/dev-sets"
    status, log = run("cmake", "--preset", "dev", "-B", folder, "-DWEFT_ISAS=all")
    if status == 0:
        status, log = run("cmake", "--build", folder, "--target", "cpu_kernels_test",
                          "weft-conform", "--", "--quiet")
    if status == 0:
        status, log = run("ctest", "--test-dir", folder, "-j2", "--output-on-failure",
                          "--no-tests=error", "-R", "^(cpu kernels|conform: cpu) ",
                          env={"LSAN_OPTIONS": f"suppressions={ROOT}/tests/lsan.supp"})
    return Outcome(passed=status == 0, failed=status != 0, log=log)


def tenth_of_models():
    """Another tenth of the architectures every day; a release checks all."""
    words = ["tools/checks/new_models.py", "--tenth", str(today() % 10)]
    outcome = command(*words)()
    return dataclasses.replace(outcome, repeat=[" ".join(words)])


MODELS = [Check("new models, a tenth", tenth_of_models, 60, needs=("build release",))]

def hours():
    """Ten minutes of bench/hours.py, with a neighbour that takes what the plan counts on."""
    if os.geteuid() != 0:
        return Outcome(skipped="control groups need root")
    with tempfile.TemporaryDirectory() as folder:
        return command("bench/hours.py", "--make", "1.1b", "Q4_K_M", "--limit", "1500M", "--neighbour", "500M",
                       "--seconds", "600", "--requests", "100000", "--restart", "100", "-o", f"{folder}/hours")()


def installed_packages():
    """Makes all packages, and installs them in bare Debian systems."""
    if os.geteuid() != 0:
        return Outcome(skipped="roots of other systems need root")
    status, log = run("tools/package.sh", "all")
    return command("/usr/bin/python3", "-B", "tests/packages/installed_test.py")() if status == 0 else Outcome(failed=1, log=log)


LONG_CHECKS = [
    Check("packages made and installed", installed_packages, 1800, pace="build", part=LONG),
    # Again without a compiler cache.
    Check("packages of the same bytes", command("/usr/bin/python3", "-B", "tests/packages/same_bytes_test.py"), 1800,
          needs=("packages made and installed",), pace="build", part=LONG),
    Check("memory for ten minutes", hours, 660, needs=("build release",), part=LONG),
    Check("acceptance server, left out", if_script_exists("server", left_out_server_cases), 600, needs=("build release",),
          part=LONG),
    Check("new models", command("tools/checks/new_models.py"), 900, needs=("build release",),
          part=LONG),
    Check("acceptance archs sse2",
          if_script_exists("archs", acceptance("archs", acceptance_rows()["archs"], accept_folder(),
                                       env={"WEFT_CPU_ISA": "sse2"})),
          60, needs=("build release",), part=LONG),
    Check("acceptance archs arm64", if_script_exists("archs", emulated_models), 900, needs=("build arm64",), part=LONG),
    Check("build arm64 tests", build("arm64", "ops_test", "run_test", "serve_test"), 400,
          needs=("build arm64",), part=LONG),
    Check("tests arm64 ops and sessions", ctest("arm64", "-R", "^(ops|run|serve)_test:"), 1800,
          needs=("build arm64 tests",), part=LONG),
    Check("kernels of all sets, ASan", all_sets_with_asan, 1200, part=LONG),
    Check("coverage", command("tools/coverage.sh"), 7200, part=LONG),
]

CHECKS = [*SOURCES, *RELEASE, *acceptance_checks(), *TIDY, *INPUT, *TSAN, *ARM64, *SETS, *ASAN, *LONE,
          *MODELS, *LONG_CHECKS]
