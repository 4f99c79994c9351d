"""Configures, builds and installs with CMake, and says which packages are missing."""

import os
import pathlib
import shlex
import shutil
import subprocess

import metadata

ROOT = metadata.ROOT
TARGETS = ("weft_shared", "weft_python_files", "weft", "generate", "chat")
COMPILERS = ("c++", "g++", "clang++")
# Not needed to build a wheel.
OPTIONAL = {"ccache", "doctest-dev", "ninja-build", "python3-numpy", "python3-venv"}


def built(scratch):
    """The folder of a tree that is built; `scratch`: where one may be if the checkout is read-only."""
    given = os.environ.get("WEFT_BUILD_DIR")
    if given:
        tree = pathlib.Path(given).resolve()
        if not (tree / "CMakeCache.txt").is_file():
            raise SystemExit(f"WEFT_BUILD_DIR: {tree} is not a build tree of CMake")
    else:
        _check_tools()
        tree = _place(scratch)
        _configure(tree)
        for copy in [*tree.glob("python/**/*.py"), *tree.glob("python/**/*.pyi")]:
            copy.unlink()  # the source may be gone
        _run("build", ["cmake", "--build", tree, "--parallel", len(os.sched_getaffinity(0)),
                       "--target", *TARGETS])
    for needed in ("lib/libweft.so", "python/weft/_native/module.py"):
        if not (tree / needed).is_file():
            raise SystemExit(f"{tree / needed} is missing: the tree is not built")
    return tree


def install(tree, stage):
    _run("install", ["cmake", "--install", tree, "--prefix", stage, "--component", "python",
                     "--strip"])
    lib = stage / "weft/lib"
    # A wheel has no links: the library under the name that the loader looks for.
    for link in [p for p in lib.iterdir() if p.is_symlink()]:
        link.resolve().replace(link)


def _place(scratch):
    tree = ROOT / "build/wheel"
    try:
        tree.mkdir(parents=True, exist_ok=True)
        if os.access(tree, os.W_OK):
            return tree
    except OSError:
        pass
    if scratch is None:
        raise SystemExit(f"{tree}, which an editable installation refers to, cannot be written")
    return pathlib.Path(scratch, "build")


def _check_tools():
    if not shutil.which("cmake"):
        raise SystemExit(_advice("cmake is not installed."))
    if not os.environ.get("CXX") and not any(map(shutil.which, COMPILERS)):
        raise SystemExit(_advice("A C++ compiler is not installed."))


def _configure(tree):
    generator = []
    if shutil.which("ninja") and not (tree / "CMakeCache.txt").exists():
        generator = ["-G", "Ninja"]
    _run("configure", [
        "cmake", "-S", ROOT, "-B", tree, *generator, "-DCMAKE_BUILD_TYPE=Release",
        "-DWEFT_ISAS=native", "-DWEFT_BUILD_TESTS=OFF", "-DWEFT_BUILD_PROGRAMS=ON",
        "-DWEFT_BUILD_SERVER=ON", "-DWEFT_BUILD_PYTHON=ON", *shlex.split(os.environ.get("CMAKE_ARGS", ""))])


def _run(what, command):
    command = [str(word) for word in command]
    print("+", shlex.join(command), flush=True)
    status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    if status == 0:
        return
    message = f"CMake could not {what} weft: see above."
    raise SystemExit(_advice(message) if what == "configure" else message)


def _missing():
    """Packages of Debian that the lists of tools/packages name, and that are not installed."""
    names = []
    for list_of in ("build", "python"):
        text = (ROOT / "tools/packages" / f"{list_of}.txt").read_text(encoding="utf-8")
        names += [line.split("#")[0].strip() for line in text.splitlines()]
    for name in names:
        if not name or name in OPTIONAL:
            continue
        asked = subprocess.run(["dpkg-query", "--show", "--showformat=${db:Status-Status}", name],
                               capture_output=True, text=True)
        if asked.stdout != "installed":
            yield name


def _advice(message):
    if not shutil.which("dpkg-query"):
        return f"{message}\nWhat weft needs is listed in tools/packages/build.txt and python.txt."
    missing = list(_missing())
    if not missing:
        return message
    return (f"{message}\nThese packages are not installed; as root, run:\n"
            f"    apt-get install {' '.join(missing)}")
