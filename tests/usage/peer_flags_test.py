"""Flags of llama.cpp with every program: known by name, never read as another flag with a value."""

import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from errors_test import PROGRAMS, subcommands
from support import SOURCE, SystemTest, run

ROW = re.compile(r'\{"(-[^"]*)",\s*(renamed|given|ignored|refused),\s*(0|1|kSwitch),\s*'
                 r'(?:"[^"]*"|k\w+)(?:,\s*"([^"]*)")?\}')
SWITCHES = ("--context-shift", "--no-context-shift")  # in programs with --context-end
TABLE = SOURCE / "tools/common/peer_flags_table.cpp"
FLAGS = SOURCE / "tests/usage/llama_cpp_flags.txt"


def rows():
    """Of the table: names, kind, values, programs."""
    return [(names.split(","), kind, values, programs.split(",") if programs else [])
            for names, kind, values, programs in ROW.findall(TABLE.read_text())]


def flags_of_llama_cpp():
    """Of the list: programs that have the flag (S, T), its values, a name."""
    for line in FLAGS.read_text().splitlines():
        if not line.startswith("#"):
            programs, values, *names = line.split()
            yield from ((programs, values, name) for name in names)


def words(name, values):
    return [name, "1"] if values == "1" else [name, "on"] if values == "kSwitch" else [name]


class PeerFlags(SystemTest):
    def test_the_table_is_read(self):
        self.assertEqual(len(rows()), len(re.findall(r'\{"-', TABLE.read_text())))

    def own_names(self, command):
        return set(re.findall(r"--?[a-zA-Z][\w-]*", self.runs(*command, "--help").out.decode()))

    def test_every_row_with_every_program(self):
        for command in PROGRAMS + subcommands():
            own = self.own_names(command)
            accepted, refused, seen = [], [], set()
            for names, kind, values, programs in rows():
                if programs and " ".join(command) not in programs:
                    continue
                for name in names:
                    if kind == "renamed" and name in SWITCHES and "--context-end" in own:
                        seen.add(name)
                    if name in own or name in seen or kind == "renamed":
                        continue
                    seen.add(name)
                    if kind == "refused":
                        refused.append(words(name, values))
                    else:
                        accepted += words(name, values)
            with self.subTest(command=command):
                r = run(*command, *accepted, "--no-such-flag")
                self.assertEqual(r.code, 2, r.err)
                note, _, rest = r.err.partition("\n")
                self.assertIn("warning: unknown option -", note)
                self.assertRegex(rest, "unknown option --no-such-flag|is required|[Rr]equire")
                self.assertNotRegex(rest, "unknown option (?!--no-such-flag)|unexpected")
            everything = command in PROGRAMS or command == ("weft", "serve")
            for flag in refused if everything else refused[::7]:
                with self.subTest(command=command, flag=flag):
                    self.refuses(2, f"{flag[0]} is not supported: ", *command, *flag)

    def test_flags_of_llama_cpp_are_known(self):
        servers, others = [("weft", "serve")], [("generate",), ("chat",)]
        for programs, values, name in flags_of_llama_cpp():
            for command in servers * ("S" in programs) + others * ("T" in programs):
                value = {"0": [], "?": ["on"]}.get(values, ["1"] * (2 if values == "2" else 1))
                with self.subTest(command=command, name=name):
                    r = run(*command, name, *value, "--no-such-flag")
                    errors = [line for line in r.err.splitlines() if "warning: " not in line]
                    self.assertNotIn(f"unknown option {name}", "\n".join(errors) + ";")
                    self.assertNotIn("unexpected argument", r.err)

    def test_flags_without_a_value_refuse_one(self):
        for names, kind, values, programs in rows():
            for name in names if kind != "refused" else ():
                own = "weft serve" if name in ("--ui", "--no-ui") else "generate"
                command = (programs[0] if programs else own).split()
                if values == "1" or name in self.own_names(command):
                    continue
                with self.subTest(name=name):
                    if values == "0":
                        self.refuses(2, f"{name} takes no value, got 'false'", *command,
                                     f"{name}=false")
                    else:
                        self.refuses(2, f"{name}: unknown value 'maybe'", *command,
                                     f"{name}=maybe")
        self.refuses(2, "--no-mmap takes no value, got '0'", "generate", "--no-mmap=0")

    def test_contradictions_are_refused(self):
        for given in (["--weights", "mapped"], ["--weights=mapped"]):
            for words_ in (["--no-mmap", *given], [*given, "--no-mmap"]):
                self.refuses(2, "--no-mmap and --weights mapped contradict each other: --no-mmap "
                                "means --weights resident", "generate", "-n", "1", *words_)
        self.runs("generate", "-n", "1", "--no-mmap", "--weights", "resident")
        self.runs("generate", "-n", "1", "-p", "--weights mapped", "--no-mmap")

    def test_flags_with_a_switch_take_its_values(self):
        self.runs("generate", "-n", "1", "--flash-attn=off", "--main-gpu=0")

    def test_refused_switches_may_be_off(self):
        seen = set()
        for names, kind, values, programs in rows():
            for name in names if kind == "refused" and values == "kSwitch" else ():
                command = (programs[0] if programs else "generate").split()
                if name in SWITCHES:
                    command = ["weft", "bench"]
                if name in seen or name in self.own_names(command):
                    continue
                seen.add(name)
                with self.subTest(name=name):
                    off = [name, "off", name, "0", name, "false", f"{name}=off"]
                    r = run(*command, *off, "--no-such-flag")
                    self.assertEqual(r.code, 2, r.err)
                    self.assertTrue(r.err.splitlines()[0].endswith("unknown option --no-such-flag"),
                                    r.err)
                    for on in ([name], [name, "on"], [name, "auto"], [f"{name}=1"], [f"{name}="]):
                        self.refuses(2, f"{name} is not supported: ", *command, *on)
        self.assertIn("--context-shift", seen)

    def test_contexts_are_shifted_if_a_flag_of_llama_cpp_says_so(self):
        def text(*flags):
            return self.runs("generate", "-n", "64", "-c", "48", "-s", "1", "--ignore-eos",
                             *flags).out

        shifted, plain = text("--context-end", "shift"), text()
        self.assertNotEqual(shifted, plain)
        for on in (["--context-shift"], ["--context-shift", "on"], ["--context-shift=1"]):
            self.assertEqual(text(*on), shifted)
        for off in (["--context-shift", "off"], ["--context-shift=0"], ["--no-context-shift"]):
            self.assertEqual(text(*off), plain)
        self.refuses(2, "--no-context-shift and --context-end shift contradict each other",
                     "generate", "--no-context-shift", "--context-end", "shift")

    def test_refusals_say_what_to_do(self):
        for flag, advice in (("--rope-scale", "--override-kv"), ("--mmproj", "models read texts"),
                             ("-mm", "models read texts"), ("--yarn-orig-ctx", "--override-kv"),
                             ("--banned-string-file", "--ban"), ("--version", "weft --version")):
            r = self.refuses(2, f"{flag} is not supported: ", "generate", flag, "1")
            self.assertIn(advice, r.err)

    def test_renamed_flags(self):
        for names, kind, values, _ in rows():
            if kind != "renamed":
                continue
            for name in names:
                for command in PROGRAMS + subcommands():
                    with self.subTest(command=command, name=name):
                        r = run(*command, *words(name, values), "--no-such-flag")
                        self.assertEqual(r.code, 0 if name == "--usage" else 2, r.err)
                        self.assertNotRegex(r.err.replace(name, ""), "unknown option -(?!-no-such)")

    def test_unknown_short_flags(self):
        for flag in ("-xyz", "-nope", "-ngz", "-mmodel.gguf", "-tz", "-scat"):
            for command in PROGRAMS + subcommands():
                with self.subTest(command=command, flag=flag):
                    self.refuses(2, f"unknown option {flag}", *command, flag)

    def test_numbers_in_the_same_word(self):
        plain = self.runs("generate", "-n", "3", "-s", "5", "-t", "2", "-c", "256").out
        self.assertEqual(self.runs("generate", "-n3", "-s5", "-t2", "-c256").out, plain)
        self.assertEqual(self.runs("generate", "-n=3", "-s=5", "-t=2", "-c=256").out, plain)

    def test_a_command_of_llama_cpp(self):
        plain = self.runs("generate", "-p", "Once", "-n", "4", "-s", "1").out
        r = self.runs("generate", "-p", "Once", "-n", "4", "-s", "1", "-ngl", "99", "-mg", "0", "-sm",
                      "none", "-tb", "8", "-fa", "-ngld", "99", "-cmoe", "-nocb", "--no-mmap",
                      "--mlock", "--threads-http", "4", "--draft-min", "1", "-ctk", "f32",
                      "--main-gpu=0", "--log-disable", "-v", "-fa", "on", "--no-context-shift")
        self.assertEqual(r.out, plain)
        self.assertEqual(r.err.count("warning: "), 1)
        self.assertIn("unknown option -mg is ignored (", r.err)

    def test_values_are_not_flags(self):
        for text in ("-ngl", "-np", "-cmoe", "-hf", "--mlock"):
            r = self.runs("generate", "-p", text, "-n", "1")
            self.assertTrue(r.out.decode().startswith(text), r.out)
            self.assertNotIn("ignored", r.err)

    def test_missing_value(self):
        self.refuses(2, "-mg needs a value", "generate", "-mg")


class Samplers(SystemTest):
    def test_letters(self):
        named = self.runs("generate", "-n", "8", "-s", "3", "--samplers", "top_k;temperature").out
        for flags in (("--samplers", "kt"), ("--sampler-seq", "kt"), ("--sampling-seq", "kt")):
            self.assertEqual(self.runs("generate", "-n", "8", "-s", "3", *flags).out, named)
        self.runs("generate", "-n", "1", "--sampler-seq", "edskypmxt")
        self.refuses(2, "unknown sampler 'i' in 'kit'", "generate", "--sampler-seq", "kit")
        self.refuses(2, "unknown sampler 'q' in 'kq'", "generate", "--samplers", "kq")

    def test_beams_without_guesses(self):
        plain = self.runs("generate", "--beams", "2", "-n", "4").out
        self.assertEqual(self.runs("generate", "--beams", "2", "-n", "4", "--spec-type", "none").out,
                         plain)
        self.refuses(2, "--spec-type", "generate", "--beams", "2", "--spec-type", "ngram-simple")


if __name__ == "__main__":
    unittest.main()
