"""Results of checks."""

import json
from collections.abc import Iterator
from typing import Any


class Report:
    """The result of checks: passed, and str() with a line for each."""

    def __init__(self, passed: bool, text: str) -> None:
        self.passed = passed
        self._text = text

    def to_dict(self) -> Any:
        """Everything about the checks."""
        return json.loads(self._text)

    def __bool__(self) -> bool:
        return self.passed

    def _rows(self) -> tuple[str, list[tuple[str, ...]]]:
        """A heading, and a row for each check."""
        report = self.to_dict()
        return report.get("about", "").rstrip("\n"), [
            (check["verdict"], check["name"], check["detail"]) for check in report["checks"]]

    def _counts(self, rows: list[tuple[str, ...]]) -> str:
        verdicts = [row[0].lower() for row in rows]
        return ", ".join(f"{verdicts.count(v)} {v}" for v in ("passed", "failed", "skipped"))

    def __str__(self) -> str:
        about, rows = self._rows()
        lines = [about] if about else []
        widths = [max(map(len, column)) for column in list(zip(*rows))[:-1]]
        for row in rows:
            cells = [text.ljust(width) for text, width in zip(row, widths)]
            lines.append("  ".join([*cells, row[-1]]))
        return "\n".join([*lines, self._counts(rows)])

    def _repr_html_(self) -> str:
        import html  # takes milliseconds
        about, rows = self._rows()
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in rows)
        return f"<p>{html.escape(about)}</p><table>{cells}</table><p>{self._counts(rows)}</p>"

    def __repr__(self) -> str:
        return f"<weft.Report {'passed' if self.passed else 'failed'}>"


class Proof(Report):
    """Every node of a computation, compared with its scalar definition."""

    def _nodes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        found = self.to_dict()
        for run in found if isinstance(found, list) else [{"plan": "", "report": found}]:
            for node in run["report"]["nodes"]:
                yield run["plan"], node

    def _rows(self) -> tuple[str, list[tuple[str, ...]]]:
        rows = [("passed" if node["passed"] else "FAILED", *([plan] if plan else []), node["path"],
                 node["op"], f"{float(node['worst_ratio']):.3f} of the bound", node["kernel"])
                for plan, node in self._nodes()]
        return "", rows
