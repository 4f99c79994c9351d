"""The archive that is unpacked and run: weft-VERSION-linux-ARCHITECTURE.tar.zst."""

import carried
import libraries
import reproducible
import stage

LARGEST = 30 << 20  # bytes
OLDEST_GLIBC = (2, 31)
# What files need of the machine besides the C library; all else is linked in.
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


def check(files):
    """Refuses a file that would not run everywhere."""
    for path in files.rglob("*"):
        if path.is_file() and not path.is_symlink() and libraries.is_elf(path):
            libraries.check_portable(path, OLDEST_GLIBC, ALSO.get(path.name, ()))


def make(build, sysroot, architecture, out):
    """Writes the archive into the folder `out`; its path in a list."""
    version = reproducible.version()
    base = f"weft-{version}-linux-{architecture}"
    files = stage.packaged(build)
    check(files)
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
