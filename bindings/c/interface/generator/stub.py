"""_weft.pyi: the types of the native module."""

import re
import textwrap

from . import data, forms, options

WIDTH = 100
NAME = re.compile(r"^def (\w+)\(", re.M)
MARK = re.compile(r"^@(constants|classes)@\n", re.M)
MADE_FROM = "# Made by bindings/c/interface/generate.py from _weft.pyi.in and the data of the C API.\n"


def names(stub):
    """The names that a stub defines."""
    return NAME.findall(stub)


def _wrapped(head, arguments, tail):
    """`head(arguments) tail`, in as many lines as it needs."""
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= WIDTH:
        return line
    first = len(head) + 1
    text = textwrap.fill(", ".join(arguments) + f"){tail}".replace(" ", "\0"), WIDTH - first,
                         break_long_words=False, break_on_hyphens=False)
    return f"{head}(" + text.replace("\n", "\n" + " " * first).replace("\0", " ")


def _forward(item, classes, structs, indent):
    """The lines of a forward."""
    found = forms.forms(item, classes, structs)
    owner, _, name = item.get("forward").rpartition(".")
    method = forms.is_method(item, found)
    arguments = [f"{forms.stub_name(form.names[0])}: {form.python}".replace(" ", "\0")
                 for form in found if form.argument]
    arguments = ["self", *arguments[1:]] if method else arguments
    if len(arguments) > method:
        arguments.append("/")
    results = [form.python for form in found if form.is_result]
    returns = results[0] if len(results) == 1 else f"tuple[{', '.join(results)}]" if results else "None"
    if item.get("returns") == "const char*":
        returns = "str"
    line = _wrapped(f"{indent}def {name}", arguments, f" -> {returns}: ...").replace("\0", " ")
    return (f"{indent}@staticmethod\n" if owner and not method else "") + line + "\n"


def _by_hand(stub, indent):
    """The lines of a stub of the data."""
    text = re.sub(r"(?m)^(def .*(?:\n .*)*)$", r"\1: ...", stub)
    return textwrap.indent(text, indent) + "\n"


def _entries(items, classes, structs):
    """Yields (class or "", lines) of all functions, in their order."""
    for item in data.functions(items):
        if "forward" in item.fields:
            owner = item.get("forward").rpartition(".")[0]
            yield owner, _forward(item, classes, structs, "    " if owner else "")
        for name in names(item.get("stub", "")):
            owner = next((n.rpartition(".")[0] for n in item.get("python", [])
                          if n.rpartition(".")[2] == name), "")
            yield owner, _by_hand(item.get("stub"), "    " if owner else "")


def _dict(item):
    lines = "".join(f"    {name}: {options.python_type(kind)}\n" for kind, name, _ in options.members(item))
    return f"class {item.get('python')}(TypedDict):\n{lines}"


def _classes(items):
    classes, structs = forms.classes_of(items), forms.structs_of(items)
    entries = list(_entries(items, classes, structs))
    closed = {name for item in data.functions(items) if item.name.endswith("_free")
              for name in item.get("python", [])}
    parts = [_dict(item) for item in options.infos(items)]
    for item in items:
        name = item.get("python") if item.kind == "type" else None
        if name:
            body = "".join(lines for owner, lines in entries if owner == name)
            body += _by_hand(item.get("stub"), "    ") if "stub" in item.fields else ""
            body += "    def close(self) -> None: ...\n" if f"{name}.close" in closed else ""
            parts.append(f"class {name}:\n{body}")
    parts.append("".join(lines for owner, lines in entries if not owner))
    return "\n".join(parts)


def text(items, template):
    """The stub from its template, with constants and classes where the lines @...@ are."""
    values = {"constants": "".join(f"{name}: int\n" for name in forms.constants(items)),
              "classes": _classes(items)}
    return MADE_FROM + MARK.sub(lambda mark: values[mark[1]], template)


def problems(items):
    """Names of `python` without a stub, and stubs of names that are not there."""
    known = {item.get("forward") for item in data.functions(items) if "forward" in item.fields} | {"*"}
    for item in items:
        if item.kind == "type" and "python" in item.fields:
            known |= {item.get("python"), f"{item.get('python')}.close"}
    for item in data.functions(items):
        for name in names(item.get("stub", "")):
            full = [n for n in item.get("python", []) if n.rpartition(".")[2] == name]
            if not full:
                yield item.problem("stub =", f"stub of {item.name}: expected one of its python names, got "
                                   f"{name}")
            known |= set(full)
    for item in data.functions(items):
        for name in item.get("python", []):
            if name not in known:
                yield item.problem(f'"{name}"', f"python of {item.name}: expected a name with a stub, got "
                                   f"{name}")
