#!/usr/bin/env python3
"""The notes of a release come from the changelog, which must be ready for it."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("release_notes", ROOT / "tools/release_notes.py")
release_notes = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(release_notes)

PAGE = """# Changelog

Text.

## [Unreleased]

## [0.2.0] - 2027-01-31

### Running

- Faster.

## [0.1.0] - 2026-12-01

The first version.
"""


class ReleaseNotesTest(unittest.TestCase):
    def refusal(self, page, version="0.2.0"):
        with self.assertRaises(ValueError) as raised:
            release_notes.notes(page, version)
        return str(raised.exception)

    def test_notes_are_those_of_the_version(self):
        self.assertEqual(release_notes.notes(PAGE, "0.2.0"),
                         "# Weft 0.2.0 (2027-01-31)\n\n### Running\n\n- Faster.\n")
        self.assertEqual(release_notes.notes(PAGE, "0.1.0"),
                         "# Weft 0.1.0 (2026-12-01)\n\nThe first version.\n")

    def test_a_changelog_that_is_not_ready_is_refused(self):
        self.assertEqual(self.refusal(PAGE, "0.3.0"), "CHANGELOG.md: no section [0.3.0]")
        undated = PAGE.replace("2027-01-31", "unreleased")
        self.assertIn("needs a date, YYYY-MM-DD, got unreleased", self.refusal(undated))
        more = PAGE.replace("## [Unreleased]\n", "## [Unreleased]\n\n- New.\n")
        self.assertIn("entries under [Unreleased]", self.refusal(more))
        empty = PAGE.replace("### Running\n\n- Faster.\n", "")
        self.assertIn("[0.2.0] has no entries", self.refusal(empty))


if __name__ == "__main__":
    unittest.main()
