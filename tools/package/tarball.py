"""The archive that is unpacked and run: weft-VERSION-linux-ARCHITECTURE.tar.zst."""

import re
import subprocess

import carried
import reproducible
import stage

LARGEST = 30 << 20  # bytes
OLDEST_GLIBC = (2, 31)
# Libraries of the machine that a file may need; all else is linked in.
C_LIBRARY = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1"}
ALSO = {"libweft-opencl.so": {"libOpenCL.so.1"}, "weft-openmpi.so": {"libmpi.so.40"},
        "weft-mpich.so": {"libmpich.so.12"}}

READ_ME = """\
Weft {version} for Linux on {architecture}, glibc 2.31 or newer.

  bin/generate -p "Once upon a time"     a story by the bundled model
  bin/chat -m MODEL.gguf                 a conversation
  bin/weft serve -m MODEL.gguf           a server with the interface of OpenAI
  bin/weft --help                        all else

Nothing has to be installed, and the folder may be anywhere. To have it on the path:

  ln -s "$PWD"/bin/* ~/.local/bin/

share/man has the pages (man -M share/man weft), licences/ what is linked in, sbom.spdx.json the same
as a list. lib/weft/backends is loaded by --backend-path, and needs OpenCL's loader.
"""


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def check_binary(path):
    """Refuses a file that would not run everywhere."""
    read = subprocess.run(["readelf", "-dVW", path], capture_output=True, text=True, check=True).stdout
    versions = {tuple(map(int, found.split("."))) for found in re.findall(r"Name: GLIBC_([0-9.]+)", read)}
    newest = max(versions, default=(0,))
    if newest > OLDEST_GLIBC:
        raise SystemExit(f"package: {path.name} needs glibc {'.'.join(map(str, newest))}, which is newer than "
                         f"{'.'.join(map(str, OLDEST_GLIBC))}")
    loader = {name for name in re.findall(r"NEEDED.*\[(.*)\]", read) if name.startswith("ld-linux")}
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", read)) - loader
    foreign = needed - C_LIBRARY - ALSO.get(path.name, set())
    if foreign:
        raise SystemExit(f"package: {path.name} needs {', '.join(sorted(foreign))} of the machine that it runs on")
    if re.search(r"\((RPATH|RUNPATH)\)", read):
        raise SystemExit(f"package: {path.name} looks for libraries in a folder of its own")


def make(build, sysroot, architecture, out):
    """Writes the archive into the folder `out`; its path in a list."""
    version = reproducible.version()
    base = f"weft-{version}-linux-{architecture}"
    files = stage.install(build, build / "stage")
    for path in files.rglob("*"):
        if path.is_file() and not path.is_symlink() and is_elf(path):
            check_binary(path)
    tar = reproducible.Tar()
    tar.add_text(f"{base}/README", READ_ME.format(version=version, architecture=architecture))
    tar.add_text(f"{base}/sbom.spdx.json", carried.spdx(sysroot))
    for name, text in sorted(carried.texts(sysroot).items()):
        tar.add_text(f"{base}/{name}", text)
    tar.add_tree(files, base)
    packed = reproducible.zstd(tar.data())
    if len(packed) > LARGEST:
        raise SystemExit(f"package: the archive has {len(packed)} bytes, more than {LARGEST}")
    path = out / f"{base}.tar.zst"
    path.write_bytes(packed)
    return [path]
