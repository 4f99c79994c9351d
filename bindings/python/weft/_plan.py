"""Plans."""

import json
from typing import Any


class Plan:
    """How steps of some number of tokens are computed: order, lanes, kernels, memory."""

    def __init__(self, text: str, svg: str, hash: int) -> None:
        self._text = text
        self._svg = svg
        self.hash = hash

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
        return f'<div style="overflow-x: auto">{self._svg[self._svg.index("<svg"):]}</div>'

    def __repr__(self) -> str:
        return f"<weft.Plan {self.hash:016x}>"
