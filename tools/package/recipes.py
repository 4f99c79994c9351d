"""The sources as an archive, and recipes for other package managers that name it and its hash."""

import hashlib
import os

import reproducible
import wheel

FOLDER = reproducible.ROOT / "tools/package/recipes"


def make(build, sysroot, architecture, out):
    """Writes the recipes into `out`/recipes; the path of the sources in a list."""
    [source] = wheel.make_source(build, sysroot, architecture, out)
    write(source, out)
    return [source]


def write(source, out):
    """Writes those that name an archive of the sources."""
    data = source.read_bytes()
    values = {"VERSION": reproducible.version(), "SHA256": hashlib.sha256(data).hexdigest(),
              "SHA512": hashlib.sha512(data).hexdigest(),
              "URL": os.environ.get("WEFT_SOURCE_URL", f"https://weft.example/{source.name}"),
              "HOMEPAGE": os.environ.get("WEFT_HOMEPAGE", "https://weft.example")}
    for path in sorted(FOLDER.rglob("*")):
        if path.is_file():
            text = path.read_text(encoding="utf-8")
            for name, value in values.items():
                text = text.replace(f"@{name}@", value)
            target = out / "recipes" / path.relative_to(FOLDER)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
