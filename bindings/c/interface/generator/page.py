"""The parts of docs/ that are made from the data: of c_api.md all functions by section, and threads;
of options.md the members that Python has no argument for."""

import itertools
import re

from . import data, options

OPTIONS = ("weft_model_options", "weft_session_options", "weft_generation_options",
           "weft_speculation_options")
DEFAULTS = "_init"  # ends the names of functions that set defaults; the page leaves them out


def _groups(items, types):
    """Yields (prefix, names) of functions of a section: of those that share the prefix of a type,
    and with "" of neighbours that share none."""
    prefixes = {}
    for item in items:
        found = [name for name in types if item.name.startswith(f"{name}_")]
        prefixes.setdefault(f"{max(found, key=len)}_" if found else item.name, []).append(item.name)
    single = [(prefix if len(names) > 1 else "", names) for prefix, names in prefixes.items()]
    for prefix, group in itertools.groupby(single, key=lambda entry: entry[0]):
        yield prefix, [name for _, names in group for name in names]


def _cell(items, types):
    parts = []
    for prefix, names in _groups(items, types):
        if prefix:
            parts.append(f"`{prefix}`: " + ", ".join(name[len(prefix):] for name in names))
        else:
            parts.append(", ".join(f"`{name}`" for name in names))
    return "; ".join(parts)


def functions(items):
    """The table of all functions by section of the header."""
    types = [item.name for item in items if item.kind == "type"]
    rows = "| section of the header | functions |\n|---|---|\n"
    for section, group in itertools.groupby(data.functions(items), key=lambda item: item.section):
        rows += f"| {section} | {_cell([f for f in group if not f.name.endswith(DEFAULTS)], types)} |\n"
    return rows


def _plural(noun):
    return noun + ("es" if noun.endswith("ch") else "s")


def _listed(names):
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def threads(items):
    """The table of what may run at the same time."""
    objects = [item for item in items if item.kind == "type" and "object" in item.fields]
    at_once = ", ".join(_plural(o.get("object")) for o in objects if o.get("threads") == "any")
    rows = ("| object | calls at the same time |\n|---|---|\n"
            f"| {at_once}; functions without a handle | any number |\n")
    alone = [o for o in objects if o.get("threads") == "handle" and "shares" not in o.fields]
    for owner in alone:
        with_it = [_plural(o.get("object")) for o in objects if o.get("shares") == owner.name]
        if with_it:
            rows += f"| a {owner.get('object')} with its {_listed(with_it)} | one |\n"
    each = [o.get("object") for o in alone if not any(p.get("shares") == o.name for p in objects)]
    rows += f"| each {', '.join(each)} | one |\n"
    always = [f.name for f in data.functions(items) if f.get("threads") == "always"
              and not f.name.endswith(("_free", "_cancel"))]
    named = ", ".join(f"`{name}()`" for name in always)
    rows += f"| all `weft_X_free()` and `weft_X_cancel()`, {named} | any number, beside a running one |\n"
    return rows


def declined(items):
    """The table of members that Python does not take, of the structs of docs/options.md."""
    rows = "| member in C | why Python has no argument |\n|---|---|\n"
    for item in items:
        if item.name in OPTIONS:
            rows += "".join(f"| `{item.name}.{name}` | {member['no_python']} |\n"
                            for _, name, member in options.members(item) if "no_python" in member)
    return rows


def replaced(name, page, marker, text):
    """The page of this name with another text between `<!-- marker: generated -->` and
    `<!-- /marker -->`."""
    begin, end = f"<!-- {marker}: generated -->\n", f"<!-- /{marker} -->"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.S)
    if len(pattern.findall(page)) != 1:
        raise data.DataError(f"{name}: expected the lines {begin.strip()} and {end} once, got "
                             f"{len(pattern.findall(page))}")
    return pattern.sub(lambda _: begin + text + end, page)
