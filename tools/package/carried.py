"""The libraries that are linked into Weft's programs: versions, licences, and the list as SPDX."""

import json

import reproducible

# Debian's binary package in portable/packages.txt, or source that is built: its licence.
CARRIED = {
    "onetbb": "Apache-2.0",
    "fmtlib": "MIT",
    "libxsimd-dev": "BSD-3-Clause",
    "nlohmann-json3-dev": "MIT",
    "libtomlplusplus-dev": "MIT",
    "libcli11-dev": "BSD-3-Clause",
    "libxxhash-dev": "BSD-2-Clause",
    "liburing-dev": "MIT",  # or LGPL-2.1, as one likes
    "zlib1g-dev": "Zlib",
    "libedit-dev": "BSD-3-Clause",
    "libbsd-dev": "BSD-3-Clause",
    "libmd-dev": "BSD-3-Clause",
    "libncurses-dev": "X11",
    "libutf8proc-dev": "MIT",
    "libboost1.81-dev": "BSL-1.0",
    "libssl-dev": "Apache-2.0",
    "libstdc++": "GPL-3.0-or-later WITH GCC-exception-3.1",
}
# What may be linked into programs that anyone may pass on, also under other terms.
ALLOWED = {"Apache-2.0", "MIT", "X11", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "Zlib",
           "GPL-3.0-or-later WITH GCC-exception-3.1"}


class Library:
    def __init__(self, name, version, text):
        self.name, self.version, self.licence, self.text = name, version, CARRIED[name], text


def libraries(sysroot):
    """All that is linked in, by name. Refuses what the table above does not know or allow."""
    found = []
    for line in (sysroot / "carried.txt").read_text(encoding="utf-8").splitlines():
        name, version = line.split("\t")
        if name not in CARRIED:
            raise SystemExit(f"package: {name} is linked in, but its licence is not in tools/package/carried.py")
        found.append(Library(name, version, (sysroot / "licences" / name).read_text(encoding="utf-8")))
    missing = set(CARRIED) - {library.name for library in found}
    if missing:
        raise SystemExit(f"package: no licence texts of {', '.join(sorted(missing))} in {sysroot}")
    for library in found:
        if library.licence not in ALLOWED:
            raise SystemExit(f"package: {library.name} is {library.licence}, which tools/package/carried.py "
                             "does not allow")
    return sorted(found, key=lambda library: library.name)


def texts(sysroot):
    """Names of files and the licences in them."""
    root = reproducible.ROOT
    own = {name: (root / name).read_text(encoding="utf-8") for name in ("LICENSE", "NOTICE")}
    return own | {f"licences/{library.name}.txt": library.text for library in libraries(sysroot)}


def _package(identifier, name, version, licence, purl=None):
    package = {"SPDXID": f"SPDXRef-{identifier}", "name": name, "versionInfo": version,
               "downloadLocation": "NOASSERTION", "filesAnalyzed": False, "licenseConcluded": licence,
               "licenseDeclared": licence, "copyrightText": "NOASSERTION"}
    if purl:
        package["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                    "referenceLocator": purl}]
    return package


def spdx(sysroot):
    """The bill of materials: SPDX 2.3, https://spdx.github.io/spdx-spec/v2.3/."""
    version, commit = reproducible.version(), reproducible.commit()
    packages = [_package("weft", "weft", version, "Apache-2.0")]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-weft")]
    for library in libraries(sysroot):
        identifier = library.name.replace("+", "-")
        packages.append(_package(identifier, library.name, library.version, library.licence,
                                 f"pkg:deb/debian/{library.name}@{library.version}"))
        relations.append(("SPDXRef-weft", "STATIC_LINK", f"SPDXRef-{identifier}"))
    return json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"weft-{version}", "documentNamespace": f"urn:weft:{version}:{commit}:{sysroot.name}",
        "creationInfo": {"created": reproducible.created(), "creators": [f"Tool: weft-package-{version}"]},
        "packages": packages,
        "relationships": [{"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": b}
                          for a, kind, b in relations]}, indent=1) + "\n"
