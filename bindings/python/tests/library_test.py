"""What is loaded into the library, and what files say beside their metadata."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401 - the package needs it
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
SKELETON = pathlib.Path(os.environ.get("WEFT_BUILD_DIR", "build/release"), "plugins/test/libskeleton.so")
LIBRARY = pathlib.Path(weft.__file__).parent / "lib/libweft.so"


def extension(folder):
    """granite.c as docs/c_api.md builds it: linked to the library that the package has loaded."""
    path = pathlib.Path(folder, "libgranite.so")
    subprocess.run(["cc", "-std=c11", "-shared", "-fPIC", '-DGRANITE_SNAPSHOT=""',
                    f"-I{SOURCE}/bindings/c/include", SOURCE / "examples/new_architecture/granite.c",
                    LIBRARY, "-o", path], check=True)
    return path


class Library(unittest.TestCase):
    @unittest.skipUnless(shutil.which("cc") and LIBRARY.exists(), "needs cc and libweft.so")
    def test_extensions_bring_architectures(self):
        before = set(weft.architectures())
        self.assertIn("llama", before)
        with tempfile.TemporaryDirectory() as folder:
            path = extension(folder)
            for given in (path, str(path)):  # it is started once
                weft.load_extension(given)
                self.assertEqual(set(weft.architectures()) - before, {"granit3"})
        with self.assertRaisesRegex(weft.IoError, "cannot load an extension"):
            weft.load_extension("/no/such")

    @unittest.skipUnless(SKELETON.exists(), "the plug-in is not built")
    def test_backends_are_loaded(self):
        weft.load_backend(SKELETON)
        with weft.Model() as model, model.session(context=64, backend="skeleton") as session:
            self.assertEqual(session.feed([5, 6, 7]).shape, (model.n_vocab,))

    def test_what_cannot_be_loaded_is_refused(self):
        with self.assertRaises(weft.Error):
            weft.load_backend("/no/such.so")
        for load in (weft.load_backend, weft.load_extension):
            with self.assertRaises(TypeError):
                load(1)
            with self.assertRaises(ValueError):
                load("a\0b")


class Files(unittest.TestCase):
    def test_files_that_change_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "tiny.gguf")
            weft.write_made_model("llama", path)
            with weft.Model(path) as model:
                self.assertEqual(model.warnings, [])
                model.check_files()
                os.utime(path, ns=(1, 1))
                with self.assertRaisesRegex(weft.IoError, "tiny.gguf"):
                    model.check_files()
            with self.assertRaises(weft.ClosedError):
                model.check_files()

    def test_tokens_are_found_by_their_text(self):
        tokenizer = weft.Model().tokenizer
        for id in tokenizer.encode("Once upon a time"):
            self.assertEqual(tokenizer.find_token(tokenizer.token_text(id)), id)
        self.assertIsNone(tokenizer.find_token("no token has this text"))
        with self.assertRaises(ValueError):
            tokenizer.token_text(1 << 40)


class Saving(unittest.TestCase):
    def setUp(self):
        self.session = weft.Model().session(context=64)
        self.session.feed([5, 6, 7])

    def test_saved_sequences_say_what_they_are(self):
        saved = weft.Saved(self.session.save(note=b"a \0 note"))
        self.assertEqual((saved.tokens, saved.note), ([5, 6, 7], b"a \0 note"))
        self.assertEqual(repr(saved), "<weft.Saved of 3 tokens>")
        self.assertEqual(weft.Saved(self.session.save()).note, b"")
        self.session.truncate(0)
        for _ in range(2):
            self.session.restore(saved)
            self.assertEqual(self.session.tokens(), [5, 6, 7])
        with self.assertRaisesRegex(weft.UnsupportedError, "not a saved sequence"):
            weft.Saved(b"nothing")
        for wrong in (saved.tokens, None, bytearray(8)):
            with self.assertRaises(TypeError):
                self.session.restore(wrong)

    def test_sequences_are_saved_in_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sequence")
            self.session.save_file(path, note=b"in a file")
            saved = weft.Saved(path)
            self.assertEqual((saved.tokens, saved.note), ([5, 6, 7], b"in a file"))
            self.assertEqual(path.read_bytes(), self.session.save(note=b"in a file"))
            with self.assertRaises(OSError):
                weft.Saved(path / "none")

    def test_sessions_describe_themselves(self):
        described = self.session.describe()
        self.assertIsInstance(described, dict)
        self.assertTrue(described)
        self.session.close()
        with self.assertRaises(weft.ClosedError):
            self.session.describe()


if __name__ == "__main__":
    unittest.main()
