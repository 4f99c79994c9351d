#!/usr/bin/env python3
"""Runs the own code of frameworks that are written for llama-cpp-python on weft.llama_cpp.

    PYTHONPATH=build/release/python python3 bindings/python/tests/frameworks/run.py --checkouts DIR

DIR has a checkout of each framework, in a folder with the name of its repository, and `packages`, a
folder with what they import, as `pip install --target DIR/packages` makes it. Nothing of it is part
of this repository, and what is missing is not an error: the last column names it.

Each framework runs in a process of its own, where `import llama_cpp` means weft.llama_cpp. Its
check_NAME.py here has functions test_*, which compare values with those of the package weft."""

import argparse
import importlib
import os
import pathlib
import subprocess
import sys
import traceback
import warnings

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ("langchain", "llama_index", "haystack", "outlines", "instructor", "llm", "webui",
         "lm_format_enforcer", "llama_cpp_agent", "lmql", "server")
NOT_THERE, IN_PART = 77, 78
SAID = {0: "works", NOT_THERE: "not there", IN_PART: "works in part"}


def add_stand_ins(names):
    """Modules in place of compiled ones that are not installed: stand_ins/NAME.py says what each
    does and lacks. Gives the names that are in use."""
    used = []
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            for key in [k for k in sys.modules if k.partition(".")[0] == name]:
                del sys.modules[key]
            sys.modules[name] = importlib.import_module(f"stand_ins.{name}")
            used.append(name)
    return used


def missing_module(error):
    """The module that an error says is missing: one of others, not of llama_cpp and weft."""
    while error is not None:
        if isinstance(error, ModuleNotFoundError) and error.name and \
                error.name.partition(".")[0] not in ("llama_cpp", "weft"):
            return error.name
        # An import that failed before has to do with other errors only if they say so.
        error = error.__cause__ or (error.__context__ if isinstance(error, ImportError) else None)
    return None


def run_one(name, checkouts):
    """Runs the checks of one framework; the exit status says how they went."""
    warnings.simplefilter("ignore", DeprecationWarning)
    check = importlib.import_module(f"check_{name}")
    missing = [s for s in check.SOURCES if not (checkouts / s).is_dir()]
    if missing:
        print(f"  not there: {', '.join(missing)}")
        return NOT_THERE
    sys.path[1:1] = [str(checkouts / source) for source in check.SOURCES]
    sys.path.append(str(checkouts / "packages"))
    importlib.import_module("weft.as_llama_cpp")
    used = add_stand_ins(getattr(check, "STAND_INS", ()))
    if used:
        print(f"  with a stand-in for {', '.join(used)}")
    found = {run_test(getattr(check, n)) for n in dir(check) if n.startswith("test_")}
    if 1 in found:
        return 1
    return IN_PART if len(found) > 1 else found.pop()


def run_test(test):
    """Runs one function; the result is an exit status."""
    what = test.__name__[5:].replace("_", " ")
    try:
        test()
    except BaseException as error:  # noqa: BLE001 - of others' code
        module = missing_module(error)
        if module is not None:
            print(f"  not there: {what} needs the module {module}")
            return NOT_THERE
        traceback.print_exc()
        print(f"  fails: {what}: {type(error).__name__}: {str(error).strip()[:300]}")
        return 1
    print(f"  works: {what}")
    return 0


def version(checkouts, name):
    """The commit of a checkout and its date."""
    r = subprocess.run(["git", "-C", str(checkouts / name), "log", "-1", "--format=%h %cs"],
                       capture_output=True, text=True)
    return r.stdout.strip() if r.returncode == 0 else ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkouts", type=pathlib.Path, required=True)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--verbose", action="store_true", help="show what the processes write")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    options = parser.parse_args()
    checkouts = options.checkouts.resolve()
    if options.one:
        sys.exit(run_one(options.one, checkouts))
    n_failed = 0
    for name in options.names or NAMES:
        r = subprocess.run(
            [sys.executable, __file__, "--checkouts", str(checkouts), "--one", name],
            capture_output=not options.verbose, text=True, timeout=600,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "TOKENIZERS_PARALLELISM": "false"})
        check = importlib.import_module(f"check_{name}")
        said = SAID.get(r.returncode, "fails")
        print(f"{name}: {said}  {version(checkouts, check.SOURCES[0].partition('/')[0])}")
        if not options.verbose:
            print("".join(line + "\n" for line in r.stdout.splitlines()
                          if line.startswith(("  works", "  fails", "  not there", "  with "))),
                  end="", flush=True)
            if said == "fails":
                print("\n".join("    " + line for line in r.stderr.splitlines()[-12:]))
        n_failed += said == "fails"
    sys.exit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
