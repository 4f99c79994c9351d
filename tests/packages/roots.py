"""Bare root file systems of Debian, made by debootstrap and thrown away after each use."""

import os
import pathlib
import shutil
import subprocess
import tempfile

SUITES = ("bullseye", "bookworm", "trixie")  # Debian 11, 12, 13


def _archive(suite, folder):
    """A bare root as a tar archive in the folder; it is made once."""
    path = folder / f"{suite}.tar"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as root:
            subprocess.run(["debootstrap", "--variant=minbase", suite, root], check=True, stdout=subprocess.DEVNULL)
            made = f"{path}.{os.getpid()}"
            subprocess.run(["tar", "-cf", made, "--one-file-system", "-C", root, "."], check=True)
            os.replace(made, path)
    return path


class Root:
    """A root while the `with` lasts. Programs in it see processes, but no network of this machine's
    other than the mirror that packages come from."""

    def __init__(self, suite, folder):
        self._archive = _archive(suite, folder)
        self.path = None

    def __enter__(self):
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="weft-root-"))
        subprocess.run(["tar", "-xf", self._archive, "-C", self.path], check=True)
        self.path.chmod(0o755)  # so that other users are let in
        subprocess.run(["mount", "-t", "proc", "proc", self.path / "proc"], check=True)
        return self

    def __exit__(self, *exception):
        subprocess.run(["umount", "--lazy", self.path / "proc"], check=True)
        shutil.rmtree(self.path)

    def add(self, *files):
        """Copies files into the folder /packages of the root."""
        (self.path / "packages").mkdir(exist_ok=True)
        for file in files:
            shutil.copy(file, self.path / "packages")

    def start(self, *words, user=None):
        """A process in the root; its output comes through pipes."""
        command = ["chroot", *([f"--userspec={user}"] if user else []), self.path, *words]
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, env={"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/nonexistent",
                                                "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"})

    def run(self, *words, user=None):
        """(status, stdout, stderr) of a command in the root."""
        process = self.start(*words, user=user)
        out, errors = process.communicate(timeout=600)
        return process.returncode, out, errors
