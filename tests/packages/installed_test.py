"""Packages of build/packages in bare root file systems: unpacked, installed, upgraded and removed.

Needs root, debootstrap and a mirror of Debian. WEFT_PACKAGES names another folder of packages, WEFT_SUITE one release of Debian.
"""

import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile
import unittest

import roots

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = pathlib.Path(os.environ.get("WEFT_PACKAGES", ROOT / "build/packages"))
KEPT = ROOT / "build/roots"
STORY = "Once upon a time there lived a merry fox."
TELL = ("-p", "Once upon a time", "-n", "20", "--seed", "7")
FIRST_WORD = "2"  # seconds, at most
NOBODY = "65534:65534"


def package(pattern):
    """The newest package with such a name."""
    found = sorted(PACKAGES.glob(pattern), key=lambda path: path.stat().st_mtime)
    if not found:
        raise AssertionError(f"no {pattern} in {PACKAGES}: tools/package.sh all")
    return found[-1]


def unpacked(path, folder):
    data = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        tar.extractall(folder)
        return folder / tar.getnames()[0]


class Case(unittest.TestCase):
    suite = ""

    def setUp(self):
        if not self.suite:
            self.skipTest("no suite")
        self.root = self.enterContext(roots.Root(self.suite, KEPT)) if hasattr(self, "enterContext") else self._enter()

    def _enter(self):
        root = roots.Root(self.suite, KEPT)
        root.__enter__()
        self.addCleanup(root.__exit__)
        return root

    def succeeds(self, *words, user=None):
        status, out, errors = self.root.run(*words, user=user)
        self.assertEqual(status, 0, f"{words}\n{out}\n{errors}")
        return out

    def install(self, *packages):
        self.succeeds("apt-get", "update", "-qq")
        self.succeeds("apt-get", "install", "-qq", "-y", "--no-install-recommends", "--allow-downgrades", *packages)


class Archive:
    def test_it_runs_from_any_folder_for_anyone(self):
        base = unpacked(package("weft-*-linux-x86_64.tar.zst"), self.root.path / "opt")
        moved = self.root.path / "srv/a b"
        base.rename(moved)
        self.assertTrue(self.succeeds("timeout", FIRST_WORD, "/srv/a b/bin/generate", *TELL, user=NOBODY)
                        .startswith(STORY))
        (self.root.path / "usr/local/bin/generate").symlink_to("/srv/a b/bin/generate")
        self.assertTrue(self.succeeds("generate", *TELL, user=NOBODY).startswith(STORY))
        version = self.succeeds("/srv/a b/bin/weft", "--version", "--verbose")
        self.assertIn("kernels         sse2, avx2, avxvnni, avx512", version)
        # Without AVX2: other words, but words.
        self.assertTrue(self.succeeds("env", "WEFT_CPU_ISA=sse2", "/srv/a b/bin/generate", *TELL).startswith("Once"))
        status, out, errors = self.root.run("/srv/a b/bin/generate", "-m", "/absent.gguf")
        self.assertEqual((status, out), (1, ""))
        self.assertEqual(errors, "generate: /absent.gguf: cannot open: No such file or directory\n")

    def test_a_server_answers(self):
        base = unpacked(package("weft-*-linux-x86_64.tar.zst"), self.root.path / "opt")
        weft = f"/opt/{base.name}/bin/weft"
        server = self.root.start(weft, "serve", "--host", "/tmp/weft.sock", user=NOBODY)
        self.addCleanup(lambda: (server.kill(), server.communicate()))
        self.succeeds(weft, "health", "--wait", "20", "unix:/tmp/weft.sock")


class Debs:
    def debs(self):
        return [package(name) for name in ("weft_*_amd64.deb", "libweft1_*", "libweft-dev_*", "python3-weft_*", "weft-doc_*")]

    def older(self, deb):
        """The same package with the version 0.0.1."""
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(["dpkg-deb", "-R", deb, folder / "tree"], check=True)
        control = folder / "tree/DEBIAN/control"
        control.write_text(re.sub(r"(?m)^Version: .*", "Version: 0.0.1", control.read_text()))
        old = folder / re.sub("_.*_", "_0.0.1_", deb.name)
        subprocess.run(["dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", folder / "tree", old], check=True,
                       stdout=subprocess.DEVNULL)
        return old

    def test_install_upgrade_remove_purge(self):
        deb = self.debs()[0]
        old = self.older(deb)
        self.root.add(deb, old)
        self.install(f"/packages/{old.name}")
        configuration = self.root.path / "etc/weft/serve.conf"
        configuration.write_text("WEFT_FLAGS=--slots 1\n")
        # A program that runs while its package is replaced and removed goes on.
        server = self.root.start("weft", "serve", "--host", "/tmp/weft.sock")
        self.addCleanup(lambda: (server.kill(), server.communicate()))
        self.succeeds("weft", "health", "--wait", "20", "unix:/tmp/weft.sock")
        shutil.copy(self.root.path / "usr/bin/weft", self.root.path / "tmp/weft")
        self.install(f"/packages/{deb.name}")
        self.assertEqual(configuration.read_text(), "WEFT_FLAGS=--slots 1\n")
        self.assertTrue(self.succeeds("generate", *TELL, user="weft").startswith(STORY))
        enabled = list((self.root.path / "etc/systemd/system").rglob("weft.*"))
        self.assertEqual(enabled, [])
        for unit in ("weft.service", "weft.socket"):
            self.assertTrue(any((self.root.path / folder / unit).exists()
                                for folder in ("lib/systemd/system", "usr/lib/systemd/system")))
        self.succeeds("apt-get", "remove", "-qq", "-y", "weft")
        self.assertFalse((self.root.path / "usr/bin/weft").exists())
        self.assertTrue(configuration.exists())
        self.succeeds("/tmp/weft", "health", "unix:/tmp/weft.sock")
        self.succeeds("apt-get", "purge", "-qq", "-y", "weft")
        self.assertFalse((self.root.path / "etc/weft").exists())

    def test_libraries(self):
        debs = self.debs()[1:]
        self.root.add(*debs)
        self.install("gcc", "libc6-dev", "pkg-config", *(f"/packages/{deb.name}" for deb in debs))
        shutil.copy(ROOT / "tests/install_c/first_text.c", self.root.path / "tmp")
        shutil.copy(ROOT / "examples/models/weft-stories.gguf", self.root.path / "tmp")
        self.succeeds("sh", "-c", "cd /tmp && cc first_text.c $(pkg-config --cflags --libs weft) -o first_text")
        self.assertIn("there lived", self.succeeds("/tmp/first_text", "/tmp/weft-stories.gguf"))
        said = self.succeeds("python3", "-c", "import weft\nwith weft.Model() as m, m.session() as s:\n"
                             " print(s.generate('Once upon a time', max_tokens=8))")
        self.assertIn("there", said)


class Wheel:
    def test_pip(self):
        wheel = package("weft-*-manylinux_*_x86_64.whl")
        foreign = wheel.name.replace("x86_64", "aarch64")
        self.root.add(wheel)
        shutil.copy(wheel, self.root.path / "packages" / foreign)
        self.install("python3-venv", "python3-numpy")
        self.succeeds("python3", "-m", "venv", "--system-site-packages", "/venv")
        self.succeeds("/venv/bin/pip", "install", "--no-index", f"/packages/{wheel.name}")
        said = self.succeeds("/venv/bin/weft", "generate", *TELL, user=NOBODY)
        self.assertTrue(said.startswith(STORY))
        self.assertIn("0.1", self.succeeds("/venv/bin/python", "-c", "import weft; print(weft.__version__)"))
        status, _, errors = self.root.run("/venv/bin/pip", "install", "--no-index", f"/packages/{foreign}")
        self.assertNotEqual(status, 0)
        self.assertIn("is not a supported wheel on this platform", errors)


class Image(Case):
    def setUp(self):
        pass

    def test_a_container_without_a_container_engine(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        with tarfile.open(package("weft-*-image-x86_64.tar")) as tar:
            blobs = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        [manifest] = json.loads(blobs["manifest.json"])
        settings = json.loads(blobs[manifest["Config"]])["config"]
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=io.BytesIO(gzip.decompress(blobs[layer]))) as tar:
                tar.extractall(folder)
        # The image has no /proc: a container engine mounts it.
        (folder / "proc").mkdir()
        folder.chmod(0o755)
        subprocess.run(["mount", "-t", "proc", "proc", folder / "proc"], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", folder / "proc"], check=True)
        environment = dict(pair.split("=", 1) for pair in settings["Env"])
        inside = [shutil.which("chroot"), f"--userspec={settings['User']}", folder]
        with subprocess.Popen([*inside, *settings["Entrypoint"], "serve", "--host", "/tmp/weft.sock"], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
            self.addCleanup(server.kill)
            subprocess.run([*inside, *settings["Healthcheck"]["Test"][1:], "--wait", "20", "unix:/tmp/weft.sock"],
                           env=environment, check=True, stdout=subprocess.DEVNULL)
            server.terminate()
            self.assertEqual(server.wait(30), 0)


def load_tests(loader, _standard, _pattern):
    """Each class of packages in each suite."""
    suite = unittest.TestSuite()
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        raise SystemExit("packages are installed by root, in roots that debootstrap makes")
    for name in roots.SUITES:
        for kind in (Archive, Debs, Wheel):
            if os.environ.get("WEFT_SUITE", name) == name:
                suite.addTest(loader.loadTestsFromTestCase(type(f"{kind.__name__} in {name}", (kind, Case), {"suite": name})))
    suite.addTest(loader.loadTestsFromTestCase(Image))
    return suite


if __name__ == "__main__":
    unittest.main(verbosity=2)
