"""Debian packages: weft, libweft1, libweft-dev, python3-weft and weft-doc, by debhelper."""

import email.utils
import os
import pathlib
import shutil
import subprocess

import carried
import reproducible
import stage
import tarball

ROOT = reproducible.ROOT
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
DOCUMENTS = ("README.md", "SECURITY.md")


def _changelog(version):
    """debian/changelog of one entry, as old as the commit."""
    date = email.utils.formatdate(reproducible.epoch())
    control = (ROOT / "tools/package/debian/control").read_text(encoding="utf-8")
    maintainer = control.split("Maintainer: ", 1)[1].splitlines()[0]
    return (f"weft ({version}) unstable; urgency=medium\n\n  * Version {version}: /usr/share/doc/weft/CHANGELOG.md.\n\n"
            f" -- {maintainer}  {date}\n")


def _add_service(source):
    """The units that tools/server/systemd has, for programs of a package."""
    for name in ("weft.service", "weft.socket"):
        unit = (ROOT / "tools/server/systemd" / name).read_text(encoding="utf-8")
        body = unit.partition("[Unit]")[2]  # without the comment, which says how to install it
        body = body.replace("/usr/local/bin", "/usr/bin")
        body = body.replace(" --api-key-file /etc/weft/keys", "")
        (source / f"debian/weft.{name.removeprefix('weft.')}").write_text("[Unit]" + body, encoding="utf-8")


def _add_documents(usr, sysroot):
    doc = usr / "share/doc"
    (doc / "weft").mkdir(parents=True)
    for name in ("CHANGELOG.md", "NOTICE"):
        shutil.copy(ROOT / name, doc / "weft" / name)
    (doc / "weft/sbom.spdx.json").write_text(carried.spdx(sysroot), encoding="utf-8")
    (doc / "weft/licences").mkdir()
    for library in carried.libraries(sysroot):
        (doc / "weft/licences" / f"{library.name}.txt").write_text(library.text, encoding="utf-8")
    shutil.copytree(ROOT / "docs", doc / "weft-doc/docs")
    for name in DOCUMENTS:
        shutil.copy(ROOT / name, doc / "weft-doc" / name)


def _lay_out(build, sysroot, source):
    """The tree that debhelper packs: files/, and its own folder."""
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(ROOT / "tools/package/debian", source / "debian")
    usr = source / "files/usr"
    shutil.copytree(stage.packaged(build), usr, symlinks=True)
    tarball.check(usr)
    stage.install(build, build / "python-stage", ("python",))
    package = usr / "lib/python3/dist-packages/weft"
    shutil.copytree(build / "python-stage/weft", package, ignore=shutil.ignore_patterns("lib", "bin"))
    _add_documents(usr, sysroot)
    (source / "files/etc/weft").mkdir(parents=True)
    (source / "debian/serve.conf").rename(source / "files/etc/weft/serve.conf")
    (source / "debian/changelog").write_text(_changelog(reproducible.version()), encoding="utf-8")
    _add_service(source)


def make(build, sysroot, architecture, out):
    """Writes the packages into the folder `out`; their paths."""
    source = build / "deb/weft"
    _lay_out(build, sysroot, source)
    debian = ARCHITECTURES[architecture]
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(reproducible.epoch()), "LC_ALL": "C.UTF-8",
           "DEB_BUILD_OPTIONS": "nocheck", "WEFT_VERSION": reproducible.version()}
    made = subprocess.run(["dpkg-buildpackage", "--build=binary", "--unsigned-changes", "--no-check-builddeps",
                           "--no-pre-clean", f"--host-arch={debian}"], cwd=source, env=env, capture_output=True, text=True)
    if made.returncode != 0:
        raise SystemExit(f"package: debhelper failed:\n{made.stdout[-4000:]}{made.stderr[-4000:]}")
    paths = sorted(source.parent.glob("*.deb"))
    return [pathlib.Path(shutil.move(path, out / path.name)) for path in paths]
