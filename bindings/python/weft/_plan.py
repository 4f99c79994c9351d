"""Plans, and steps that were measured."""

import json
import re
from typing import Any


def _scrolling(svg: str) -> str:
    return f'<div style="overflow-x: auto">{svg[svg.index("<svg"):]}</div>'


class Plan:
    """How steps of some number of tokens are computed: order, lanes, kernels, memory."""

    def __init__(self, text: str, svg: str, hash: int) -> None:
        self._text = text
        self._svg = svg
        self.hash = f"{hash:016x}"

    def to_dict(self) -> dict[str, Any]:
        """Everything about the plan."""
        result: dict[str, Any] = json.loads(self._text)
        return result

    def svg(self) -> str:
        """A picture of the arena and of the work of the lanes."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def _repr_html_(self) -> str:
        import html  # takes milliseconds
        facts = {k: v for k, v in self.to_dict().items() if isinstance(v, (int, float, str))}
        rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>"
                       for k, v in facts.items())
        return f"<table>{rows}</table>{_scrolling(self._svg)}"

    def __repr__(self) -> str:
        return f"<weft.Plan {self.hash}>"


class Profile:
    """Where the time of one step went: Session.profile()."""

    def __init__(self, text: str, svg: str) -> None:
        self._text = text
        self._svg = svg

    def to_dict(self) -> dict[str, Any]:
        """The step, and each of its nodes with the time of all workers together."""
        result: dict[str, Any] = json.loads(self._text)
        return result

    def rows(self) -> list[dict[str, Any]]:
        """Times and bytes by path, op and kernel, with all layers together, the longest first."""
        rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        for node in self.to_dict()["nodes"]:
            path = re.sub(r"(^|\.)blk\.\d+\.", r"\1blk.*.", node["path"])
            key = (path, node["op"], node["kernel"])
            row = rows.setdefault(key, {"path": path, "op": node["op"], "kernel": node["kernel"],
                                        "nodes": 0, "ns": 0.0, "bytes": 0.0})
            row["nodes"] += 1
            row["ns"] += node["ns"]
            row["bytes"] += node["bytes"]
        return sorted(rows.values(), key=lambda row: float(row["ns"]), reverse=True)

    def svg(self) -> str:
        """A picture of the arena, and of the work of the lanes as it was measured."""
        return self._svg

    def _repr_svg_(self) -> str:
        return self._svg

    def _repr_html_(self) -> str:
        import html  # takes milliseconds
        step = self.to_dict()
        whole = max(step["ns"] * step["workers"], 1)
        lines = ["<tr><th>path</th><th>op</th><th>kernel</th><th>nodes</th><th>us</th>"
                 "<th>% of the step</th><th>GB/s</th></tr>"]
        for row in self.rows():
            texts = "".join(f"<td>{html.escape(str(row[k]))}</td>"
                            for k in ("path", "op", "kernel", "nodes"))
            lines.append(f"<tr>{texts}<td>{row['ns'] / 1e3:.1f}</td>"
                         f"<td>{100 * row['ns'] / whole:.1f}</td>"
                         f"<td>{row['bytes'] / max(row['ns'], 1):.1f}</td></tr>")
        return (f"<p>{html.escape(repr(self))}</p><table>{''.join(lines)}</table>"
                f"{_scrolling(self._svg)}")

    def __repr__(self) -> str:
        step = self.to_dict()
        return (f"<weft.Profile of {step['n_tokens']} tokens after {step['depth']}: "
                f"{step['ns'] / 1e6:.3f} ms, {step['workers']} workers>")
