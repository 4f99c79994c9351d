"""The interface as data: the items of the .toml files, in their order, with lines for messages."""

import dataclasses
import pathlib
import re
import tomllib

KINDS = ("function", "struct", "enum", "type", "callback", "define", "text")
START = re.compile(r"^\[\[item\]\]\s*$")
POSITION = re.compile(r" \(at line (\d+), column \d+\)$")


class DataError(Exception):
    """What is wrong with the files: lines "FILE:LINE: what: expected ..., got ..."."""


@dataclasses.dataclass
class Item:
    """One [[item]]: its kind, and the value of that key as its name."""
    kind: str
    name: str
    fields: dict
    section: str
    path: pathlib.Path
    line: int  # of [[item]]
    lines: list[str]  # from that line to the next item

    def line_of(self, text):
        """The first line of the item that has `text`, or else its first line."""
        return self.line + next((i for i, line in enumerate(self.lines) if text in line), 0)

    def problem(self, text, what):
        """A message with the line that has `text`."""
        return f"{self.path.name}:{self.line_of(text)}: {what}"

    def get(self, key, default=None):
        return self.fields.get(key, default)

    @property
    def members(self):
        """The members of a struct, or the values of an enum."""
        return self.get("members" if self.kind == "struct" else "values", [])


def member_names(member):
    """The names that a member of a struct or a value of an enum declares, as they are written."""
    name = member.get("name", member.get("callback"))
    return name if isinstance(name, list) else [name]


def _parsed(path):
    text = path.read_text()
    try:
        return text, tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = POSITION.search(str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise DataError(f"{path.name}:{line}: {POSITION.sub('', str(error))}: expected TOML, got "
                        f"'{(text.splitlines() + [''])[line - 1].strip()}'") from error


def _items(path):
    text, table = _parsed(path)
    extra = sorted(set(table) - {"title", "item"})
    title, items = table.get("title"), table.get("item")
    if extra or not isinstance(title, str) or not isinstance(items, list):
        raise DataError(f"{path.name}:1: keys of the file: expected title, [[item]], got "
                        f"{', '.join(table) or 'none'}")
    lines = text.splitlines()
    starts = [i for i, line in enumerate(lines) if START.match(line)]
    if len(starts) != len(items):
        raise DataError(f"{path.name}:1: lines [[item]]: expected {len(items)}, got {len(starts)}")
    for fields, start, end in zip(items, starts, starts[1:] + [len(lines)]):
        kinds = [kind for kind in KINDS if kind in fields]
        if len(kinds) != 1 or not isinstance(fields[kinds[0]], str):
            raise DataError(f"{path.name}:{start + 1}: the kind of the item: expected one of "
                            f"{', '.join(KINDS)}, got {', '.join(kinds or fields) or 'nothing'}")
        yield Item(kinds[0], fields.pop(kinds[0]), fields, title, path, start + 1, lines[start:end])


def load(folder):
    """All items of a folder, in the order of the names of its files."""
    paths = sorted(pathlib.Path(folder).glob("*.toml"))
    if not paths:
        raise DataError(f"{folder}: expected files NN_section.toml, got none")
    return [item for path in paths for item in _items(path)]


def functions(items):
    return [item for item in items if item.kind == "function"]


def words_of(declaration):
    """The type and the name of "const weft_token* tokens"; fewer or more if it is not like that."""
    return [word for word in re.findall(r"\w+", re.sub(r"\[\d*\]$", "", declaration))
            if word != "const"]


def parameters(params):
    """The declarations of parameters, and those of the parameters of pointers to functions."""
    for param in params:
        callback = re.fullmatch(r"(\w[\w\* ]*) \(\*(\w+)\)\((.*)\)", param)
        if callback:
            yield f"{callback[1]} {callback[2]}"
            yield from callback[3].split(", ")
        else:
            yield param
