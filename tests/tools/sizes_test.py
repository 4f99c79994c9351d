#!/usr/bin/env python3
"""tools/check_sizes.py: its list of exceptions, in a repository made for each test."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ("tools/check_sizes.py", "tools/allowed_sizes.py", "tools/checks/history.py")
ROW = "file big.py 450 until 2027-03-31  # a table\n"


class Repository:
    """A repository that has the scripts, and big.py of 450 lines."""

    def __init__(self, folder):
        self._folder = folder
        self._env = {name: value for name, value in os.environ.items()
                     if not name.startswith(("GIT_", "WEFT_"))}
        for name in SCRIPTS:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(SOURCE / name, folder / name)
        self.allow(ROW)
        self.grow(450)

    def git(self, *words, **env):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
                       cwd=self._folder, env={**self._env, **env}, check=True, capture_output=True)

    def commit(self, day):
        self.git("add", ".")
        self.git("commit", "--allow-empty", "-m", "a change",
                 GIT_COMMITTER_DATE=f"{day}T12:00:00+00:00")

    def allow(self, text):
        (self._folder / "tools/sizes_allowed.txt").write_text(text)

    def allowed(self):
        return (self._folder / "tools/sizes_allowed.txt").read_text()

    def grow(self, lines):
        (self._folder / "big.py").write_text("1\n" * lines)

    def check(self, *options, **env):
        """(exit code, output) of the script."""
        done = subprocess.run([sys.executable, self._folder / SCRIPTS[0], *options],
                              env={**self._env, **env}, capture_output=True, text=True, check=False)
        return done.returncode, (done.stdout + done.stderr).strip()


class Sizes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.repository = Repository(pathlib.Path(folder.name))

    def begin(self, day="2026-11-30"):
        self.repository.git("init", "-b", "main")
        self.repository.commit(day)

    def passes(self, **env):
        self.assertEqual(self.repository.check(**env), (0, ""))

    def fails(self, text, **env):
        code, output = self.repository.check(**env)
        self.assertEqual(code, 1, output)
        self.assertIn(text, output)

    def test_a_listed_size_passes_and_a_larger_one_fails(self):
        self.begin()
        self.passes()
        self.repository.grow(451)
        self.fails("big.py: file of 451, at most 450 by tools/sizes_allowed.txt")

    def test_a_row_without_a_day_or_a_reason_is_malformed(self):
        self.begin()
        for row in ("file big.py 450  # a table", "file big.py 450 until 2027-03-31",
                    "file big.py 450 until 2027-02-30  # a table", "file big.py 450 until 2027-03-31  # ",
                    "fiel big.py 450 until 2027-03-31  # a table"):
            self.repository.allow(f"# a comment\n{row}\n")
            self.fails("tools/sizes_allowed.txt:2: expected KIND PATTERN SIZE until YYYY-MM-DD  # REASON")

    def test_days_far_ahead_excuse_nothing(self):
        self.begin()
        self.repository.allow("file big.py 450 until 2999-12-31  # a table\n")
        self.fails("'file big.py' holds until 2999-12-31: at most a year from")
        self.repository.allow("file big.py 450 until 2027-03-31  # raised 2999-01-01: rows\n")
        self.fails("'file big.py' was raised on 2999-01-01, after")

    def test_a_row_holds_until_its_day_by_the_date_of_the_commit(self):
        self.begin()
        self.repository.commit("2027-03-31")
        self.passes()
        self.repository.commit("2027-04-01")
        self.fails("'file big.py' held until 2027-03-31")
        self.repository.git("checkout", "HEAD~1")
        self.passes()

    def test_a_raise_names_its_day(self):
        self.begin()
        self.repository.grow(460)
        self.repository.allow(ROW.replace("450", "460"))
        self.fails("'file big.py' was raised from 450 to 460")
        self.repository.commit("2026-12-02")
        self.fails("'file big.py' was raised from 450 to 460")
        self.repository.allow("file big.py 460 until 2027-03-31  # raised 2026-12-02: more rows\n")
        self.passes()
        self.repository.commit("2026-12-02")
        self.passes()

    def test_an_earlier_raise_does_not_excuse_the_next(self):
        self.repository.allow("file big.py 450 until 2027-03-31  # raised 2026-11-01: rows\n")
        self.begin()
        self.passes()
        self.repository.grow(460)
        self.repository.allow("file big.py 460 until 2027-03-31  # raised 2026-11-01: rows\n")
        self.fails("with the day of that, 2026-11-30 or later")

    def test_a_new_row_names_its_day(self):
        self.repository.allow("# nothing is too long\n")
        self.repository.grow(1)
        self.begin()
        self.repository.grow(450)
        self.repository.allow(ROW)
        self.fails("'file big.py' is new")
        self.repository.allow(ROW.replace("# a", "# raised 2026-11-30: a"))
        self.passes()

    def test_a_branch_is_compared_with_the_commit_that_it_began_at(self):
        self.begin()
        self.repository.git("checkout", "-b", "branch")
        self.repository.grow(460)
        self.repository.allow(ROW.replace("450", "460"))
        self.repository.commit("2026-12-01")
        self.repository.commit("2026-12-02")
        self.fails("'file big.py' was raised from 450 to 460")
        self.passes(WEFT_SINCE="HEAD~1")

    def test_a_list_without_days_can_be_compared_with(self):
        self.repository.allow("file big.py 440  # a table\n")
        self.begin()
        self.repository.allow(ROW)
        self.fails("'file big.py' was raised from 440 to 450")

    def test_shrinking_keeps_days_and_reasons(self):
        self.repository.allow(f"# a comment\n{ROW}file gone.py 500 until 2027-03-31  # a table\n")
        self.begin()
        self.repository.grow(420)
        code, output = self.repository.check("--shrink")
        self.assertEqual(code, 1)
        self.assertIn("'file big.py' can shrink from 450 to 420", output)
        self.assertIn("'file gone.py' is not needed any more: remove it", output)
        self.assertEqual(self.repository.allowed(), "# a comment\n" + ROW.replace("450", "420"))
        self.passes()

    def test_without_a_commit_it_says_that_it_is_skipped(self):
        outside = {"GIT_CEILING_DIRECTORIES": tempfile.gettempdir()}
        code, output = self.repository.check(**outside)
        self.assertEqual(code, 0)
        self.assertIn("skipped: ", output)


if __name__ == "__main__":
    unittest.main()
