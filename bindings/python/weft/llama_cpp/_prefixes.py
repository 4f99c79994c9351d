"""Values by sequences of ids, found by the longest common beginning."""

from collections.abc import Sequence
from typing import Any, Optional


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """How many ids two texts have in common."""
    n = 0
    for x, y in zip(a, b):
        if x != y:
            break
        n += 1
    return n


class _Node:
    """A beginning that several texts share, or the end of one."""

    __slots__ = ("parent", "ids", "children", "is_end", "value", "under")

    def __init__(self, parent: Optional["_Node"], ids: tuple[int, ...]) -> None:
        self.parent = parent
        self.ids = ids  # those behind the parent's
        self.children: dict[int, _Node] = {}  # by their first id
        self.is_end = False
        self.value: Any = None  # if a text ends here
        self.under: Any = None  # any value of a text that begins so, the last one if it is there

    def best(self) -> Any:
        """A value below that has the fewest other ids: that of this text, if there is one."""
        return self.value if self.is_end else self.under


class PrefixTree:
    """A radix tree. All methods take time that depends on the ids that they are given, not on how
    many there are in the tree."""

    def __init__(self) -> None:
        self._root = _Node(None, ())

    @property
    def is_empty(self) -> bool:
        """Whether there are no values."""
        return not self._root.children and not self._root.is_end

    def put(self, ids: tuple[int, ...], value: Any) -> None:
        """Adds a value, or replaces the one of the same ids."""
        node, at = self._root, 0
        node.under = value
        while at < len(ids):
            child = node.children.get(ids[at])
            if child is None:
                child = node.children[ids[at]] = _Node(node, ids[at:])
            else:
                common = _common(child.ids, ids, at)
                if common < len(child.ids):
                    child = _split(child, common)
            node, at = child, at + len(child.ids)
            node.under = value
        node.is_end, node.value = True, value

    def remove(self, ids: tuple[int, ...]) -> None:
        """Removes the value of these ids, which has to be there."""
        node: Optional[_Node] = self._root
        at = 0
        while node is not None and at < len(ids):
            node = node.children.get(ids[at])
            at += len(node.ids) if node is not None else 0
        if node is None or not node.is_end:
            raise KeyError("there is no value of these ids")
        value = node.value
        node.is_end, node.value = False, None
        while node is not None:
            parent = node.parent
            if parent is not None and not node.is_end and len(node.children) < 2:
                _leave_out(node, parent)
            elif node.under is value:
                node.under = node.value if node.is_end else _any_below(node)
            node = parent

    def longest(self, ids: tuple[int, ...]) -> tuple[int, Any]:
        """The length of the longest beginning that any of the texts has, too, and the value of such
        a text; (0, None) if all begin otherwise."""
        node, at = self._root, 0
        while at < len(ids):
            child = node.children.get(ids[at])
            if child is None:
                break
            common = _common(child.ids, ids, at)
            if common < len(child.ids):
                return at + common, child.under
            node, at = child, at + common
        return (at, node.best()) if at > 0 else (0, None)


def _common(own: tuple[int, ...], ids: tuple[int, ...], at: int) -> int:
    """How many ids of a node are those of a text from a position on."""
    others = ids[at:at + len(own)]
    return len(own) if others == own else common_prefix(own, others)


def _split(node: _Node, n: int) -> _Node:
    """A new node for the first n ids of another one, which is then below it."""
    assert node.parent is not None
    upper = node.parent.children[node.ids[0]] = _Node(node.parent, node.ids[:n])
    upper.under = node.under
    node.parent, node.ids = upper, node.ids[n:]
    upper.children[node.ids[0]] = node
    return upper


def _leave_out(node: _Node, parent: _Node) -> None:
    """Joins a node where no text ends to its only child, if it has one."""
    if not node.children:
        del parent.children[node.ids[0]]
        return
    child, = node.children.values()
    child.parent, child.ids = parent, node.ids + child.ids
    parent.children[child.ids[0]] = child


def _any_below(node: _Node) -> Any:
    child = next(iter(node.children.values()), None)
    return None if child is None else child.under
