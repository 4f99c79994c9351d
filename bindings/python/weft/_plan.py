"""Plans."""

import html
import json
from typing import Any


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
        facts = {k: v for k, v in self.to_dict().items() if isinstance(v, (int, float, str))}
        rows = "".join(f"<tr><th>{html.escape(k)}</th><td>{html.escape(str(v))}</td></tr>"
                       for k, v in facts.items())
        svg = self._svg[self._svg.index("<svg"):]
        return f'<table>{rows}</table><div style="overflow-x: auto">{svg}</div>'

    def __repr__(self) -> str:
        return f"<weft.Plan {self.hash}>"
