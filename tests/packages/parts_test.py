"""tools/package: archives of the same bytes, licences, recipes, images, what a binary may need."""

import gzip
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

ROOT = pathlib.Path(os.environ["WEFT_SOURCE"])
sys.path[:0] = [str(ROOT / "tools/package"), str(ROOT / "bindings/python/backend")]
sys.dont_write_bytecode = True

import carried  # noqa: E402
import image  # noqa: E402
import libraries  # noqa: E402
import recipes  # noqa: E402
import reproducible  # noqa: E402
import tarball  # noqa: E402


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def refuses(self, message, function, *arguments):
        with self.assertRaises(SystemExit) as raised:
            function(*arguments)
        self.assertIn(message, str(raised.exception))


class Archives(Case):
    def tree(self, name, order, mode):
        folder = self.folder / name
        (folder / "b").mkdir(parents=True)
        for file in order:
            (folder / file).write_text(file)
            (folder / file).chmod(mode)
        (folder / "link").symlink_to("b/x")
        return folder

    def test_bytes_do_not_depend_on_order_times_and_rights_of_groups(self):
        made = []
        for name, order, mode in (("one", ("a", "b/x", "b/y"), 0o644), ("two", ("b/y", "b/x", "a"), 0o600)):
            tar = reproducible.Tar()
            tar.add_tree(self.tree(name, order, mode), "base")
            made.append(tar.data())
        self.assertEqual(*made)
        with tarfile.open(fileobj=io.BytesIO(made[0])) as tar:
            self.assertEqual(tar.getnames(), ["base", "base/a", "base/b", "base/b/x", "base/b/y", "base/link"])
            self.assertEqual({(m.uid, m.uname, m.mtime) for m in tar}, {(0, "root", reproducible.epoch())})

    def test_a_time_that_cannot_be(self):
        before = os.environ.get("SOURCE_DATE_EPOCH")
        self.addCleanup(lambda: os.environ.pop("SOURCE_DATE_EPOCH") if before is None
                        else os.environ.update(SOURCE_DATE_EPOCH=before))
        os.environ["SOURCE_DATE_EPOCH"] = "86400"
        self.assertEqual(reproducible.created(), "1970-01-02T00:00:00Z")
        os.environ["SOURCE_DATE_EPOCH"] = "today"
        self.refuses("SOURCE_DATE_EPOCH: expected seconds since 1970, got 'today'", reproducible.epoch)


class Licences(Case):
    def sysroot(self, names):
        (self.folder / "licences").mkdir(exist_ok=True)
        (self.folder / "carried.txt").write_text("".join(f"{name}\t1.0-1\n" for name in names))
        for name in names:
            (self.folder / "licences" / name).write_text("as you like")
        return self.folder

    def test_what_is_linked_in_is_known(self):
        # Each package that is linked in, and no other, has a licence.
        rows = [line.split("#")[0].split() for line in
                (ROOT / "tools/package/portable/packages.txt").read_text().splitlines()]
        linked = {row[0] for row in rows if row and row[1] == "bookworm"}
        self.assertEqual(linked | {"onetbb", "fmtlib", "libstdc++"}, set(carried.CARRIED))
        self.assertLessEqual(set(carried.CARRIED.values()), carried.ALLOWED)

    def test_the_bill_of_materials(self):
        bill = json.loads(carried.spdx(self.sysroot(carried.CARRIED)))
        self.assertEqual(bill["spdxVersion"], "SPDX-2.3")
        packages = {package["SPDXID"]: package for package in bill["packages"]}
        self.assertEqual(len(packages), 1 + len(carried.CARRIED))
        for relation in bill["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], packages)
        for package in packages.values():
            self.assertRegex(package["SPDXID"], r"^SPDXRef-[A-Za-z0-9.-]+$")

    def test_refusals(self):
        self.refuses("libgpl-dev is linked in, but its licence is not in", carried.libraries,
                     self.sysroot([*carried.CARRIED, "libgpl-dev"]))
        some = sorted(carried.CARRIED)[1:]
        self.refuses(f"no licence texts of {sorted(carried.CARRIED)[0]}", carried.libraries, self.sysroot(some))


class Binaries(Case):
    def compiled(self, source, *flags):
        path = self.folder / "program"
        subprocess.run(["cc", "-x", "c", "-", "-o", path, *flags], input=source, text=True, check=True)
        return path

    def test_what_a_binary_may_need(self):
        plain = self.compiled("int main(void) { return 0; }")
        libraries.check_portable(plain, (9, 9))
        self.refuses("which is newer than 2.1", libraries.check_portable, plain, (2, 1))
        self.refuses("looks for libraries in a folder of its own", libraries.check_portable,
                     self.compiled("int main(void) { return 0; }", "-Wl,-rpath,/opt"), (9, 9))
        other = self.compiled("int main(void) { return 0; }", "-Wl,--no-as-needed", "-lstdc++")
        self.refuses("needs libstdc++.so.6 of the machine", libraries.check_portable, other, (9, 9))
        libraries.check_portable(other, (9, 9), {"libstdc++.so.6"})

    def test_all_files_of_a_folder_are_looked_at(self):
        (self.folder / "b").mkdir()
        self.compiled("int x;", "-shared", "-nostdlib", "-Wl,-rpath,/opt").rename(self.folder / "b/x")
        self.refuses("x looks for libraries", tarball.check, self.folder)


class Recipes(Case):
    def test_no_value_is_left_out(self):
        source = self.folder / "weft.tar.gz"
        source.write_bytes(b"sources")
        recipes.write(source, self.folder)
        texts = {path.relative_to(self.folder / "recipes").as_posix(): path.read_text()
                 for path in (self.folder / "recipes").rglob("*") if path.is_file()}
        self.assertEqual(set(texts), {"PKGBUILD", "meta.yaml", "vcpkg/portfile.cmake", "vcpkg/vcpkg.json",
                                      "weft.nix", "weft.rb", "weft.scm"})
        for name, text in texts.items():
            self.assertNotRegex(text, "@[A-Z0-9]+@", name)
            self.assertIn("ot built here", text, name)
            self.assertLessEqual(text.count("\n"), 40, name)
            if name != "vcpkg/vcpkg.json":
                hashes = (hashlib.sha256(b"sources"), hashlib.sha512(b"sources"))
                self.assertTrue(any(known.hexdigest() in text for known in hashes), name)
        json.loads(texts["vcpkg/vcpkg.json"])

    def test_they_parse(self):
        source = self.folder / "weft.tar.gz"
        source.write_bytes(b"sources")
        recipes.write(source, self.folder)
        checks = {"PKGBUILD": ["bash", "-n"], "weft.rb": ["ruby", "-c"], "weft.nix": ["nix-instantiate", "--parse"],
                  "meta.yaml": ["/usr/bin/python3", "-c", "import sys, yaml; yaml.safe_load(open(sys.argv[1]))"],
                  "weft.scm": ["guile", "-c", "(call-with-input-file (cadr (command-line)) (lambda (port) (let loop "
                                              "((form (read port))) (or (eof-object? form) (loop (read port))))))"]}
        for name, command in checks.items():
            with self.subTest(name):
                if not shutil.which(command[0]) or (name == "meta.yaml" and subprocess.run(
                        [command[0], "-c", "import yaml"], capture_output=True).returncode):
                    self.skipTest(f"{command[0]} is not installed")
                done = subprocess.run([*command, self.folder / "recipes" / name], capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)


class Images(Case):
    def test_the_layout(self):
        layers = []
        for name in ("base", "weft", "model"):
            tar = reproducible.Tar()
            tar.add_text(name, name)
            layers.append(tar.data())
        data = image.layout(layers, "aarch64")
        self.assertEqual(data, image.layout(layers, "aarch64"))
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}
        self.assertEqual(json.loads(files["oci-layout"]), {"imageLayoutVersion": "1.0.0"})
        for name, blob in files.items():
            if name.startswith("blobs/sha256/"):
                self.assertEqual(name.rpartition("/")[2], hashlib.sha256(blob).hexdigest())
        [entry] = json.loads(files["index.json"])["manifests"]
        self.assertEqual(entry["platform"]["architecture"], "arm64")
        manifest = self.blob(files, entry)
        manifest = json.loads(manifest)
        configuration = json.loads(self.blob(files, manifest["config"]))
        unpacked = [gzip.decompress(self.blob(files, layer)) for layer in manifest["layers"]]
        self.assertEqual(unpacked, layers)
        self.assertEqual(configuration["rootfs"]["diff_ids"],
                         [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers])
        self.assertNotIn(configuration["config"]["User"].split(":")[0], ("", "0"))

    def blob(self, files, descriptor):
        data = files["blobs/sha256/" + descriptor["digest"].removeprefix("sha256:")]
        self.assertEqual(len(data), descriptor["size"])
        return data


class Usage(Case):
    def run_script(self, *words):
        return subprocess.run([ROOT / "tools/package.sh", *words], capture_output=True, text=True)

    def test_wrong_words(self):
        for words, message in (((), "what shall be made?"), (("rpm",), "expected archive, deb"),
                               (("--architecture", "mips", "archive"), "expected x86_64 or aarch64, got 'mips'"),
                               (("--out",), "--out needs a value")):
            done = self.run_script(*words)
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(message, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("tools/package.sh all", self.run_script("--help").stdout)


if __name__ == "__main__":
    unittest.main()
