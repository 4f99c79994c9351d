"""Mistakes of users: exit code 2 for wrong usage, 1 for all others; always a message, never a crash
or a partial file."""

import functools
import os
import re
import shutil
import subprocess
import unittest

from support import BIN, CLEAN, EMULATOR, MODEL, SystemTest, run

PROGRAMS = [("generate",), ("chat",)]
NEEDED = {"imatrix": ("-f", __file__), "perplexity": ("-f", __file__)}  # besides a model


@functools.cache
def subcommands():
    """All subcommands that `weft --help` lists."""
    return [("weft", name) for name in re.findall(r"^  ([a-z-]+)  ",
                                                  run("weft", "--help").out.decode(), re.M)]


@functools.cache
def with_bundled_model():
    """The programs with a default model, with the other arguments that they need."""
    texts = {command: run(*command, "--help").out.decode() for command in PROGRAMS + subcommands()}
    return [command + NEEDED.get(command[-1], ()) for command, text in texts.items()
            if "default: the bundled model" in text and "REQUIRED" not in text]


class Version(SystemTest):
    def test_it_names_the_version_and_the_commit(self):
        out = self.runs("weft", "--version").out.decode()
        self.assertRegex(out, r"^weft \d+\.\d+\.\d+( \(commit [0-9a-f]{12}\+?\))?\n$")


class Usage(SystemTest):
    def test_help(self):
        for command in PROGRAMS + subcommands():
            with self.subTest(command=command):
                r = self.runs(*command, "--help")
                self.assertRegex(r.out, b"\nExamples?:\n")
                self.assertEqual(r.err, "")

    def test_required_flags_have_no_default(self):
        program = self.folder / "generate"  # in a folder without the bundled model
        shutil.copy(BIN / "generate", program)
        out = subprocess.run([*EMULATOR, program, "--help"], env=CLEAN, capture_output=True,
                             check=True).stdout.decode()
        self.assertRegex(out, r"--model FILE REQUIRED +GGUF file, or directory of safetensors *\n")
        for command in PROGRAMS + subcommands():
            for text in re.split(r"\n  (?=\S)", self.runs(*command, "--help").out.decode()):
                self.assertFalse("REQUIRED" in text and "default" in text, text)

    def test_list_of_subcommands(self):
        self.assertGreater(len(subcommands()), 20)
        self.assertEqual(subcommands(), sorted(subcommands()))
        self.assertIn(("weft", "verify"), subcommands())

    def test_unknown_flag(self):
        for command in PROGRAMS + subcommands():
            with self.subTest(command=command):
                r = run(*command, "--no-such-flag")
                self.assertEqual(r.code, 2, r.err)

    def test_no_or_unknown_subcommand(self):
        self.refuses(2, "Usage: weft", "weft")
        self.refuses(2, "unknown subcommand 'frobnicate'", "weft", "frobnicate")

    def test_values_out_of_range(self):
        for flag, value in [("-n", "-5"), ("-n", "many"), ("-c", "-1"), ("-t", "1000"),
                            ("-t", "two"), ("-b", "0"), ("-b", "8193"),
                            ("--temp", "hot"), ("--seed", "-2"), ("--mem-budget", "lots"),
                            ("--cache-type-k", "q3")]:
            with self.subTest(flag=flag, value=value):
                self.refuses(2, "", "generate", flag, value)

    def test_ranges_of_layers(self):
        for values in [("1",), ("1", "2", "--control-vector-layer-range", "3", "4")]:
            with self.subTest(values=values):
                self.refuses(2, "START END", "generate", "--control-vector-layer-range", *values)

    def test_flags_that_exclude_each_other(self):
        self.refuses(2, "excludes", "generate", "-p", "x", "-f", "-")


class Files(SystemTest):
    def test_missing_model(self):
        for command in with_bundled_model():
            with self.subTest(command=command):
                self.refuses(1, "no-such-model.gguf", *command, "-m", "no-such-model.gguf")

    def test_file_that_is_not_a_model(self):
        for name, content in [("empty.gguf", b""), ("text.gguf", b"Once upon a time"),
                              ("cut.gguf", MODEL.read_bytes()[:5000])]:
            path = self.folder / name
            path.write_bytes(content)
            for command in with_bundled_model():
                with self.subTest(command=command, file=name):
                    self.refuses(1, name, *command, "-m", path)

    def test_a_model_without_a_tensor_has_no_line_of_source_code(self):
        path = self.folder / "without.gguf"
        path.write_bytes(MODEL.read_bytes().replace(b"blk.0.ffn_norm", b"blk.0.ffn_nope"))
        r = self.refuses(1, "tensor 'blk.0.ffn_norm.weight' is missing", "generate", "-m", path)
        self.assertNotIn(".cpp", r.err)

    def test_invalid_json_is_refused_in_our_words(self):
        path = self.folder / "bad.json"
        path.write_text("{bad")
        r = self.refuses(1, "bad.json: not JSON: parse error at line 1", "chat", "--resume", path)
        self.assertNotIn("exception", r.err)

    def test_model_is_a_folder(self):
        self.refuses(1, str(self.folder), "generate", "-m", self.folder)

    def test_named_by_environment(self):
        self.refuses(1, "elsewhere.gguf", "generate", env={"WEFT_MODEL": "elsewhere.gguf"})

    def test_missing_backend(self):
        for command in with_bundled_model():
            with self.subTest(command=command):
                self.refuses(1, "no-such-backend", *command, "--backend-path", "no-such-backend")

    def test_missing_prompt_file(self):
        self.refuses(1, "no-such-prompt", "generate", "-f", "no-such-prompt")

    def test_unwritable_output(self):
        self.refuses(1, "no-such-folder", "weft", "dot", "-o", self.folder / "no-such-folder/g.dot")
        self.refuses(1, "no-such-folder", "weft", "logits", "-m", MODEL, "--tokens", "1", "-o",
                     self.folder / "no-such-folder/l.npy")

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_full_disk(self):
        for command in [("generate", "-n", "3", "--temp", "0"), ("weft", "plan"), ("weft", "dot"),
                        ("weft", "inspect", MODEL),
                        ("weft", "plan", "--json"), ("weft", "--help")]:
            with self.subTest(command=command), open("/dev/full", "wb") as full:
                self.refuses(1, "cannot write the output", *command, stdout=full)
        self.refuses(1, "/dev/full", "weft", "dot", "-o", "/dev/full")

    def test_nothing_left_behind(self):
        out = self.folder / "l.npy"
        self.refuses(1, "", "weft", "logits", "-m", MODEL, "--tokens", "1,999999", "-o", out)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_budget_too_small(self):
        self.refuses(1, "may use", "generate", "--mem-budget", "1M")
        self.refuses(1, "may use", "weft", "plan", "--mem-budget", "1M")

    def test_unknown_backend_and_pass(self):
        self.refuses(1, "cpu, reference", "generate", "--backend", "abacus")
        self.refuses(1, "no_such_pass", "weft", "plan", "--no-pass", "no_such_pass")

    def test_unknown_instruction_set(self):
        self.refuses(1, "WEFT_CPU_ISA", "weft", "plan", env={"WEFT_CPU_ISA": "mmx"})


if __name__ == "__main__":
    unittest.main()
