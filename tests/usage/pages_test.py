"""Man pages, completion in shells, and `weft --version --verbose`. All of them are made from the
descriptions of the flags."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "system"))
from errors_test import PROGRAMS, subcommands
from support import BIN, EMULATOR, SOURCE, SystemTest, run

WITH_PAGES = [*PROGRAMS, ("weft-conform",)]  # besides weft and its subcommands
SCRIPTS = SOURCE / "tools/weft/completion"


def commands():
    return PROGRAMS + subcommands()


def flags_of_help(text):
    """The long flags that --help lists, without ranges and defaults."""
    listed = re.findall(r"^ {2,4}((?:-\w,)?--[a-z][^ \n]*)", text, re.M)
    return {re.sub(r"\{.*", "", name) for names in listed for name in names.split(",")
            if name.startswith("--")}


class Pages(SystemTest):
    def setUp(self):
        super().setUp()
        for (program,) in [("weft",), *WITH_PAGES]:
            self.runs(program, "--man", self.folder, env={"SOURCE_DATE_EPOCH": "86400"})
        self.pages = {path.name: path.read_text("ascii") for path in self.folder.glob("*.1")}

    def test_there_is_one_of_each_program_and_subcommand(self):
        names = ["-".join(command) for command in [("weft",), *WITH_PAGES, *subcommands()]]
        self.assertEqual(sorted(self.pages), sorted(f"{name}.1" for name in names))
        for command in subcommands():
            name = "-".join(command).replace("-", "\\-")
            self.assertIn(f".BR {name} (1)", self.pages["weft.1"])

    def test_they_have_all_flags_of_help(self):
        for command in WITH_PAGES + subcommands():
            page = self.pages["-".join(command) + ".1"].replace("\\-", "-")
            flags = flags_of_help(run(*command, "--help").out.decode())
            self.assertIn("--help", flags, command)
            for flag in flags:
                with self.subTest(command=command, flag=flag):
                    self.assertTrue(f"\\fB{flag}\\fP" in page)

    def test_they_are_the_same_each_time(self):
        again = run("weft", "plan", "--man", env={"SOURCE_DATE_EPOCH": "86400"}).out.decode()
        self.assertEqual(again, self.pages["weft-plan.1"])
        self.assertIn('.TH WEFT-PLAN 1 "1970-01-02" "weft ', again)
        undated = run("weft", "plan", "--man", env={"SOURCE_DATE_EPOCH": ""}).out.decode()
        self.assertIn('.TH WEFT-PLAN 1 "" "weft ', undated)
        self.refuses(1, "SOURCE_DATE_EPOCH: expected seconds since 1970, got 'today'", "weft",
                     "plan", "--man", env={"SOURCE_DATE_EPOCH": "today"})

    def test_sections(self):
        page = self.pages["weft-serve.1"]
        titles = re.findall(r"^\.SH (.*)", page, re.M)
        self.assertEqual(titles, ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES",
                                  "ENVIRONMENT", "EXIT STATUS", "SEE ALSO"])
        self.assertIn("WEFT_API_KEY", page)
        self.assertNotIn("WEFT_API_KEY", self.pages["generate.1"])
        self.assertIn("\n.SH ARGUMENTS\n.TP\n\\fIIN\\fP\n", self.pages["weft-quantize.1"])
        self.assertIn("\n.SS weft codec encode\n", self.pages["weft-codec.1"])

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_groff_has_no_warnings(self):
        for name in self.pages:
            r = subprocess.run(["groff", "-man", "-ww", "-z", self.folder / name],
                               capture_output=True, text=True, check=True)
            self.assertEqual(r.stderr + r.stdout, "", name)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_has_no_warnings(self):
        r = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", *sorted(self.folder.iterdir())],
                           capture_output=True, text=True, check=False)
        self.assertEqual((r.stdout, r.stderr, r.returncode), ("", "", 0))

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_lines_fit_a_terminal(self):
        for name in self.pages:
            text = subprocess.run(["groff", "-man", "-Tascii", "-P-cbou", "-rLL=78n",
                                   self.folder / name], capture_output=True, text=True,
                                  check=True).stdout
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, name)


class Completion(SystemTest):
    def words(self, *line):
        """What may come next, without descriptions."""
        return [text.split("\t")[0] for text
                in self.runs(line[0], "--complete", *line[1:]).out.decode().splitlines()]

    def test_subcommands(self):
        self.assertEqual(self.words("weft", "ver"), ["verify"])
        self.assertLessEqual({name for _, name in subcommands()}, set(self.words("weft", "")))
        self.assertEqual(self.words("weft", "codec", ""), ["encode", "decode"])
        self.assertEqual(self.words("weft", "--v"), ["--version"])

    def test_flags(self):
        for command in commands():
            with self.subTest(command=command):
                flags = flags_of_help(run(*command, "--help").out.decode())
                self.assertEqual({f for f in self.words(*command, "--") if f.startswith("--")},
                                 flags)
        self.assertEqual(self.words("generate", "--token"), ["--token-healing"])
        self.assertIn("--imatrix", self.words("weft", "codec", "encode", "--"))
        self.assertEqual(self.words("generate", "--", "--token"), [])

    def test_values(self):
        scopes = ["key", "server"]
        self.assertEqual(self.words("weft", "serve", "--cache-scope", ""), scopes)
        self.assertEqual(self.words("weft", "serve", "--cache-scope=s"), ["--cache-scope=server"])
        self.assertEqual(self.words("weft", "serve", "--cache-scope", "=", "s"), ["server"])
        self.assertEqual(self.words("weft", "serve", "--cache-scope", "="), scopes)
        self.assertEqual(self.words("weft", "completion", ""), ["bash", "zsh", "fish"])
        self.assertEqual(self.words("generate", "-n", ""), [])

    def test_files(self):
        self.assertEqual(self.words("chat", "-m", ""), [":files .gguf"])
        self.assertEqual(self.words("chat", "--tools", "x"), [":files "])
        self.assertEqual(self.words("weft", "serve", "--models-dir", ""), [":folders"])
        self.assertEqual(self.words("weft", "codec", "encode", "Q4_K", ""), [":files "])

    def test_refused_flags_do_not_matter(self):
        self.assertEqual(self.words("weft", "serve", "--mmproj", "-ngld", "--cache-sc"),
                         ["--cache-scope"])


@unittest.skipIf(EMULATOR, "the shell calls programs of this processor")
class Shells(SystemTest):
    def bash(self, line):
        """What bash offers at the end of a command."""
        script = self.folder / "weft.bash"
        script.write_bytes(self.runs("weft", "completion", "bash").out)
        code = f"""source {script}
            COMP_WORDS=({line}) COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            compopt() {{ :; }}
            _weft; printf '%s\\n' "${{COMPREPLY[@]}}" """
        path = f"{BIN}:{os.environ['PATH']}"
        r = subprocess.run(["bash", "-c", code], capture_output=True, text=True, check=True,
                           cwd=self.folder, env={**os.environ, "PATH": path})
        self.assertEqual(r.stderr, "")
        return r.stdout.split()

    def test_bash(self):
        for name in ("a.gguf", "b.txt"):
            (self.folder / name).touch()
        (self.folder / "c").mkdir()
        self.assertEqual(self.bash("weft ver"), ["verify"])
        self.assertEqual(self.bash("generate --token"), ["--token-healing"])
        self.assertEqual(self.bash("weft serve --cache-scope = s"), ["server"])
        self.assertEqual(sorted(self.bash("chat -m ''")), ["a.gguf", "c"])
        self.assertEqual(self.bash("chat -m = a"), ["a.gguf"])
        self.assertEqual(self.bash("weft serve --models-dir ''"), ["c"])
        self.assertEqual(self.bash("generate -f b"), ["b.txt"])

    def test_bash_completes_three_programs(self):
        script = SCRIPTS / "weft.bash"
        r = subprocess.run(["bash", "-c", f"source {script}; complete -p weft generate chat"],
                           capture_output=True, text=True, check=True)
        self.assertEqual(r.stdout.count("-F _weft"), 3)

    def check_syntax(self, shell):
        if not shutil.which(shell):
            self.skipTest(f"{shell} is not installed")
        text = self.runs("weft", "completion", shell).out
        self.assertEqual(text, (SCRIPTS / f"weft.{shell}").read_bytes())
        path = self.folder / "script"
        path.write_bytes(text)
        r = subprocess.run([shell, "-n", path], capture_output=True, text=True, check=False)
        self.assertEqual((r.returncode, r.stderr), (0, ""))

    def test_syntax_for_zsh(self):
        self.check_syntax("zsh")

    def test_fish(self):
        self.check_syntax("fish")
        path = f"{BIN}:{os.environ['PATH']}"
        code = f"source {SCRIPTS}/weft.fish; complete -C 'weft serve --cache-scope '"
        r = subprocess.run(["fish", "--no-config", "-c", code], capture_output=True, text=True,
                           check=True, env={**os.environ, "PATH": path,
                                            "HOME": str(self.folder)})
        self.assertEqual(r.stdout.split(), ["key", "server"])

    def test_other_shells_are_refused(self):
        self.refuses(2, "must be one of bash, zsh, fish, got 'tcsh'", "weft", "completion", "tcsh")


class Provenance(SystemTest):
    def test_names_of_lines(self):
        out = self.runs("weft", "--version", "--verbose").out.decode()
        first, *lines = out.splitlines()
        self.assertEqual(first + "\n", self.runs("weft", "--version").out.decode())
        facts = {line[:15].strip(): line[16:] for line in lines}
        self.assertEqual(list(facts), ["commit", "system", "compiler", "build type", "flags",
                                       "build options", "C library", "libraries", "kernels",
                                       "this processor", "kernels used"])
        self.assertRegex(facts["commit"], r"^([0-9a-f]{12}\+?|unknown)$")
        self.assertRegex(facts["compiler"], r"^\w+ \d+\.\d+")
        self.assertRegex(facts["libraries"], r"oneTBB 20\d\d\.\d+")
        self.assertNotRegex(out, r"(^|[ =])/")
        self.assertNotIn(str(SOURCE), out)
        used, built = facts["kernels used"], facts["kernels"].split(", ")
        self.assertIn(used, built)
        forced = self.runs("weft", "--version", "--verbose", env={"WEFT_CPU_ISA": built[0]})
        self.assertTrue(forced.out.decode().endswith(f"kernels used    {built[0]}\n"))

    def test_other_arguments_are_refused(self):
        self.refuses(2, "--version: unexpected argument '--verbos'", "weft", "--version", "--verbos")


if __name__ == "__main__":
    unittest.main()
