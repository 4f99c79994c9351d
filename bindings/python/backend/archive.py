"""Wheels and source archives. The same files make the same bytes."""

import base64
import gzip
import hashlib
import io
import os
import pathlib
import subprocess
import tarfile
import zipfile

import metadata

NOT_SOURCE = {".git", ".cache", "build", "__pycache__"}
TIME = (1980, 1, 1, 0, 0, 0)


class Wheel:
    """A wheel that is being written; RECORD comes last."""

    def __init__(self, folder):
        self.name = f"weft-{metadata.VERSION}-{metadata.tag()}.whl"
        self._path = pathlib.Path(folder, self.name)
        self._zip = zipfile.ZipFile(self._path, "w", zipfile.ZIP_DEFLATED)
        self._record = []
        self.names = set()

    def __enter__(self):
        return self

    def __exit__(self, kind, *exception):
        if kind is None:
            record = f"{metadata.DIST_INFO}/RECORD"
            self._write(record, "".join(self._record + [f"{record},,\n"]).encode(), 0o644)
        self._zip.close()
        if kind is not None:
            self._path.unlink()

    def add(self, name, path):
        """A file, with its right to be executed."""
        self._append(name, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)

    def add_text(self, name, text):
        self._append(name, text.encode(), 0o644)

    def _append(self, name, data, mode):
        self._write(name, data, mode)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self._record.append(f"{name},sha256={digest},{len(data)}\n")
        self.names.add(name)

    def _write(self, name, data, mode):
        info = zipfile.ZipInfo(name, TIME)
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self._zip.writestr(info, data)


def _sources(root):
    """What git would track; without git, everything but what builds leave."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                            capture_output=True, text=True) if (root / ".git").exists() else None
    if listed and listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        paths = (p.relative_to(root) for p in root.rglob("*"))
        names = [p.as_posix() for p in paths if not NOT_SOURCE & set(p.parts)]
    return sorted(name for name in names if (root / name).is_file())


def write_sdist(root, folder):
    base = f"weft-{metadata.VERSION}"

    def plain(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.mode & 0o100 else 0o644
        return info

    with open(pathlib.Path(folder, f"{base}.tar.gz"), "wb") as file, \
            gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in _sources(root):
            if name != "PKG-INFO":
                tar.add(root / name, f"{base}/{name}", recursive=False, filter=plain)
        text = metadata.description().encode()
        info = plain(tarfile.TarInfo(f"{base}/PKG-INFO"))
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text))
    return f"{base}.tar.gz"
