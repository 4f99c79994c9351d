#!/usr/bin/env python3
"""The report of coverage holds folders to their floors."""
import importlib.util
import pathlib
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("coverage_report", ROOT / "tools/coverage_report.py")
report = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(report)


class CoverageReportTest(unittest.TestCase):
    def test_floors_have_reasons(self):
        text = "# FOLDER PERCENT  # REASON\n\nops 85  # a reason\ntools/common 70.5  # another\n"
        self.assertEqual(report.floors(text), {"ops": 85, "tools/common": 70.5})
        for line in ("ops 85", "ops 85  #", "ops  # a reason", "ops many  # a reason"):
            with self.assertRaisesRegex(ValueError, "line 2: expected 'FOLDER PERCENT  # REASON'"):
                report.floors("#\n" + line)

    def test_folders_below_their_floor_are_named(self):
        measured = [("graph", 95, 100), ("ops", 86, 100), ("tools", 10, 100)]
        self.assertEqual(report.below_floor(measured, {"ops": 85}), [])
        self.assertEqual(report.below_floor(measured, {}),
                         ["ops: 86.0 % of its lines ran, at least 90 % must"])
        self.assertEqual(report.below_floor(measured, {"ops": 85, "tools": 20}),
                         ["tools: 10.0 % of its lines ran, at least 20 % must"])

    def test_a_floor_that_is_not_needed_goes(self):
        measured = [("graph", 95, 100)]
        self.assertEqual(report.below_floor(measured, {"graph": 80, "gone": 80}),
                         ["graph: has 95.0 %, so it needs no lower floor", "gone: no such folder"])

    def test_the_table_is_written_between_the_marks(self):
        with tempfile.TemporaryDirectory() as folder:
            page = pathlib.Path(folder, "page.md")
            page.write_text(f"# Page\n\n{report.BEGIN}stale\n{report.END}\n\nMore.\n")
            report.write_page(page, [("graph", 95, 100), ("tools", 1, 4)], {})
            text = page.read_text()
        self.assertIn("| `graph` | 95 | 100 | 95.0 % | 90 % |\n| `tools` | 1 | 4 | 25.0 % |  |", text)
        self.assertNotIn("stale", text)
        self.assertTrue(text.endswith(f"{report.END}\n\nMore.\n"))

    def test_the_lists_of_the_project_can_be_read(self):
        report.floors(report.FLOORS.read_text())
        self.assertIn("run", " ".join(report.folders()))


if __name__ == "__main__":
    unittest.main()
