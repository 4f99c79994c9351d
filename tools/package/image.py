"""An image for containers: an OCI layout in a tar archive, from the files of the archive.

Formats: https://github.com/opencontainers/image-spec/blob/v1.0.2/image-layout.md
"""

import gzip
import hashlib
import io
import json
import pathlib
import subprocess
import tempfile

import carried
import reproducible
import stage

LARGEST = 60 << 20  # bytes without the model, as they lie on disk
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
USER = 65532  # as images of others call nobody's own user
PASSWD = f"root:x:0:0:root:/root:/sbin/nologin\nweft:x:{USER}:{USER}:weft:/models:/sbin/nologin\n"
GROUP = f"root:x:0:\nweft:x:{USER}:\n"


class Layout:
    """Blobs by their hashes, and what refers to them."""

    def __init__(self):
        self.blobs = {}

    def add(self, data, media_type):
        digest = hashlib.sha256(data).hexdigest()
        self.blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{media_type}", "digest": f"sha256:{digest}", "size": len(data)}

    def add_json(self, value, media_type):
        return self.add(json.dumps(value, sort_keys=True).encode(), media_type)


def _gzip(data):
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=9, fileobj=packed, mtime=0) as file:
        file.write(data)
    return packed.getvalue()


# The loader and the libraries that programs need; names of hosts are looked up by libc itself.
C_LIBRARY = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1")
LOADERS = {"x86_64": "lib64/ld-linux-x86-64.so.2", "aarch64": "lib/ld-linux-aarch64.so.1"}


def _base(sysroot, architecture):
    """The layer below: the C library of Debian 12, users, folders."""
    tar = reproducible.Tar()
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        subprocess.run(["dpkg-deb", "-x", sysroot / "image/libc6.deb", root], check=True)
        place = f"lib/{architecture}-linux-gnu"
        for name in C_LIBRARY:
            tar.add_file(f"{place}/{name}", root / place / name)
        loader = LOADERS[architecture]
        tar.add_file(loader, root / place / pathlib.PurePosixPath(loader).name)
        tar.add_file("usr/share/doc/libc6/copyright", root / "usr/share/doc/libc6/copyright")
    tar.add_text("etc/passwd", PASSWD)
    tar.add_text("etc/group", GROUP)
    tar.add_text("etc/nsswitch.conf", "hosts: files dns\n")
    tar.add_folder("tmp", 0o1777)
    tar.add_folder("models")
    return tar.data()


def _programs(files, sysroot):
    tar = reproducible.Tar()
    tar.add_file("usr/bin/weft", files / "bin/weft")
    for name, text in sorted(carried.texts(sysroot).items()):
        tar.add_text(f"usr/share/doc/weft/{name}", text)
    tar.add_text("usr/share/doc/weft/sbom.spdx.json", carried.spdx(sysroot))
    return tar.data()


def _model(files):
    tar = reproducible.Tar()
    tar.add_tree(files / "share/weft/models", "usr/share/weft/models")
    return tar.data()


def _configuration(architecture, layers):
    """What a container does that is started without arguments: the bundled model, on port 8080."""
    created = reproducible.created()
    return {
        "architecture": ARCHITECTURES[architecture], "os": "linux", "created": created,
        "config": {
            "User": f"{USER}:{USER}", "WorkingDir": "/models", "ExposedPorts": {"8080/tcp": {}},
            "Env": ["PATH=/usr/bin", "HOME=/tmp"],
            "Entrypoint": ["/usr/bin/weft"], "Cmd": ["serve", "--host", "0.0.0.0"],
            # Docker and Podman look at it; the standard of OCI has no such field.
            "Healthcheck": {"Test": ["CMD", "/usr/bin/weft", "health"], "Interval": 30 * 10**9,
                            "Timeout": 10 * 10**9, "StartPeriod": 600 * 10**9},
            "StopSignal": "SIGTERM", "Volumes": {"/models": {}},
            "Labels": {"org.opencontainers.image.title": "weft",
                       "org.opencontainers.image.description": "Runs language models on CPUs",
                       "org.opencontainers.image.licenses": "Apache-2.0",
                       "org.opencontainers.image.version": reproducible.version(),
                       "org.opencontainers.image.revision": reproducible.commit(),
                       "org.opencontainers.image.created": created}},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]},
        "history": [{"created": created, "created_by": name} for name in ("Debian's C library", "weft", "the model")]}


def layout(layers, architecture):
    """The image of these layers, each a tar archive."""
    made = Layout()
    packed = [made.add(_gzip(layer), "layer.v1.tar+gzip") for layer in layers]
    configuration = made.add_json(_configuration(architecture, layers), "config.v1+json")
    manifest = made.add_json({"schemaVersion": 2, "config": configuration, "layers": packed,
                              "mediaType": "application/vnd.oci.image.manifest.v1+json"}, "manifest.v1+json")
    version = reproducible.version()
    manifest["annotations"] = {"org.opencontainers.image.ref.name": version, "io.containerd.image.name": f"weft:{version}"}
    manifest["platform"] = {"architecture": ARCHITECTURES[architecture], "os": "linux"}
    tar = reproducible.Tar()
    tar.add_text("oci-layout", json.dumps({"imageLayoutVersion": "1.0.0"}))
    tar.add_text("index.json", json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True))
    # `docker load` of versions before 25 reads this.
    tar.add_text("manifest.json", json.dumps([{
        "Config": _blob(configuration), "Layers": [_blob(layer) for layer in packed], "RepoTags": [f"weft:{version}"]}]))
    for digest, data in sorted(made.blobs.items()):
        tar.add_data(f"blobs/sha256/{digest}", data)
    return tar.data()


def _blob(descriptor):
    return "blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")


def make(build, sysroot, architecture, out):
    """Writes the image into the folder `out`; its path in a list."""
    files = stage.packaged(build)
    layers = [_base(sysroot, architecture), _programs(files, sysroot), _model(files)]
    size = len(layers[0]) + len(layers[1])
    if size > LARGEST:
        raise SystemExit(f"package: the image has {size} bytes without the model, more than {LARGEST}")
    path = out / f"weft-{reproducible.version()}-image-{architecture}.tar"
    path.write_bytes(layout(layers, architecture))
    return [path]
