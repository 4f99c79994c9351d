"""Archives whose bytes depend on nothing but names, contents and the time of the commit."""

import datetime
import io
import os
import pathlib
import subprocess
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def version():
    text = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
    return text.split("project(weft VERSION ", 1)[1].split()[0]


def commit():
    """The commit that is packed, or "unknown" outside of a clone."""
    asked = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return asked.stdout.strip() if asked.returncode == 0 else "unknown"


def epoch():
    """SOURCE_DATE_EPOCH, or when the commit was made: seconds since 1970."""
    given = os.environ.get("SOURCE_DATE_EPOCH")
    if given is None:
        asked = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
        given = asked.stdout.strip() or "0"
    if not given.isdigit():
        raise SystemExit(f"SOURCE_DATE_EPOCH: expected seconds since 1970, got '{given}'")
    return int(given)


def created():
    """The same as text: 2026-01-31T12:00:00Z."""
    return datetime.datetime.fromtimestamp(epoch(), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class Tar:
    """A tar archive in memory, whose files are root's and as old as the commit."""

    def __init__(self):
        self._bytes = io.BytesIO()
        self._tar = tarfile.open(fileobj=self._bytes, mode="w", format=tarfile.GNU_FORMAT)
        self._folders = set()

    def _member(self, name, mode, kind=tarfile.REGTYPE):
        for parent in reversed(pathlib.PurePosixPath(name).parents):
            if str(parent) != "." and str(parent) not in self._folders:
                self._folders.add(str(parent))
                self._tar.addfile(self._member(str(parent), 0o755, tarfile.DIRTYPE))
        info = tarfile.TarInfo(name)
        info.mode, info.type, info.mtime = mode, kind, epoch()
        info.uname = info.gname = "root"
        return info

    def add_data(self, name, data, mode=0o644):
        info = self._member(name, mode)
        info.size = len(data)
        self._tar.addfile(info, io.BytesIO(data))

    def add_text(self, name, text):
        self.add_data(name, text.encode())

    def add_file(self, name, path):
        self.add_data(name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)

    def add_folder(self, name, mode=0o755):
        self._folders.add(name)
        self._tar.addfile(self._member(name, mode, tarfile.DIRTYPE))

    def add_link(self, name, target):
        info = self._member(name, 0o777, tarfile.SYMTYPE)
        info.linkname = target
        self._tar.addfile(info)

    def add_tree(self, place, name):
        """A file or link, or those below a folder, sorted."""
        if place.is_symlink():
            self.add_link(name, os.readlink(place))
        elif place.is_dir():
            for path in sorted(place.iterdir()):
                self.add_tree(path, f"{name}/{path.name}")
        else:
            self.add_file(name, place)

    def data(self):
        self._tar.close()
        return self._bytes.getvalue()


def zstd(data):
    """The strongest compression that a plain `tar --zstd -x` reads."""
    packed = subprocess.run(["zstd", "--ultra", "-22", "--single-thread", "--quiet", "--stdout"], input=data,
                            capture_output=True, check=True)
    return packed.stdout
