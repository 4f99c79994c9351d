"""What the data must be like. Each problem is a line "FILE:LINE: what: expected ..., got ..."."""

import re

from . import data, forms, options, stub

COMMON = {"blank_before", "doc", "since"}
KEYS = {
    "function": COMMON | {"returns", "params", "errors", "threads", "forward", "as", "python", "no_python",
                          "stub"},
    "struct": COMMON | {"role", "python", "members"},
    "enum": COMMON | {"about", "no_python", "values"},
    "type": COMMON | {"alias", "object", "threads", "shares", "python", "called", "stub"},
    "callback": COMMON | {"returns", "params"},
    "define": COMMON | {"value"},
    "text": {"blank_before"},
}
MEMBER_KEYS = {"type", "name", "callback", "returns", "params", "doc", "since", "by_hand", "no_python"}
VALUE_KEYS = {"name", "value", "doc", "since"}
REQUIRED = {"function": ("since", "params", "threads"), "struct": ("since", "role", "members"),
            "enum": ("since", "values"), "type": ("since",), "callback": ("since", "params"),
            "define": ("since", "value"), "text": ()}
LISTS = {"params": str, "errors": str, "members": dict, "values": dict}
SWITCHES = ("blank_before", "by_hand")
THREADS = ("any", "handle", "always")
# options: the caller fills it after NAME_init(); given: the caller fills it, without defaults;
# filled: the library fills it up to its size; value: without a size, so it never grows.
ROLES = ("options", "given", "filled", "value")
SCALARS = {"void", "char", "float", "double", "size_t", "int32_t", "int64_t", "uint32_t", "uint64_t"}
MAX_COLUMNS, INDENT = 97, 2  # of a line of a comment; what members have less
SINCE = re.compile(r"\d+\.\d+")


def newer(since, other):
    return tuple(map(int, since.split("."))) > tuple(map(int, other.split(".")))


def _wrong_values(item, fields, name, known):
    """Values of another type than their keys have."""
    for key, value in fields.items():
        kind = str if key == "python" and item.kind == "function" else LISTS.get(key)
        if kind:
            fits = isinstance(value, list) and all(isinstance(v, kind) for v in value)
            expected = "a list of " + ("tables" if kind is dict else "texts")
        elif key == "as":
            fits, expected = isinstance(value, dict), "a table"
        elif key not in known or key == "value" or (key == "name" and isinstance(value, list)):
            continue
        else:
            fits = isinstance(value, bool if key in SWITCHES else str)
            expected = "true" if key in SWITCHES else "a text"
        if not fits:
            yield item.problem(f"{key} =", f"{key} of {name}: expected {expected}, got {value!r}")


def _keys(item):
    wrong = list(_wrong_values(item, item.fields, item.name, KEYS[item.kind]))
    if wrong:
        yield from wrong
        return
    for key in sorted(set(item.fields) - KEYS[item.kind]):
        yield item.problem(f"{key} =", f"unknown key of a {item.kind}: expected one of "
                           f"{', '.join(sorted(KEYS[item.kind]))}, got {key}")
    for key in REQUIRED[item.kind]:
        if key not in item.fields:
            yield item.problem(item.name, f"{item.name}: expected {key}, got none")
    known = MEMBER_KEYS if item.kind == "struct" else VALUE_KEYS
    for member in item.members:
        for key in sorted(set(member) - known):
            yield item.problem(f"{key} =", f"unknown key of a member of {item.name}: expected one of "
                               f"{', '.join(sorted(known))}, got {key}")
        if not {"name", "callback"} & set(member):
            yield item.problem(item.name, f"a member of {item.name}: expected name, got none")
        yield from _wrong_values(item, member, f"a member of {item.name}", known)


def _one_of(item, key, known):
    value = item.get(key)
    if value is not None and value not in known:
        yield item.problem(f"{key} =", f"{key} of {item.name}: expected one of {', '.join(known)}, "
                           f"got {value}")


def _versions(item, version):
    for fields in (item.fields, *item.members):
        since = fields.get("since")
        if since is None:
            continue
        name = item.name if fields is item.fields else data.member_names(fields)[0]
        if not SINCE.fullmatch(since):
            yield item.problem(f'"{since}"', f"since of {name}: expected \"MAJOR.MINOR\", got {since}")
        elif newer(since, version):
            yield item.problem(f'"{since}"', f"since of {name}: expected at most {version}, the version of "
                               f"weft.h.in, got {since}")


def _comments(item):
    own = item.name if item.kind == "text" else item.get("doc", "")
    texts = [(own, MAX_COLUMNS)]
    texts += [(member.get("doc", ""), MAX_COLUMNS - INDENT) for member in item.members]
    for text, limit in texts:
        for line in text.split("\n"):
            if len(line) > limit:
                yield item.problem(line, f"a line of a comment: expected at most {limit} columns, "
                                   f"got {len(line)}")


def _function(item, statuses):
    called = {"forward", "python"} & set(item.fields)
    if bool(called) == ("no_python" in item.fields):
        got = "both" if called else "none"
        yield item.problem(item.name, f"{item.name}: expected forward, python or no_python, got {got}")
    yield from _one_of(item, "threads", THREADS)
    named = re.findall(r"\bWEFT_ERROR_(\w+)", item.get("doc", ""))
    for status in item.get("errors", []):
        if f"WEFT_ERROR_{status}" not in statuses:
            yield item.problem(f'"{status}"', f"errors of {item.name}: expected statuses of "
                               f"weft_status_code, got {status}")
    for status in dict.fromkeys(named):
        if status not in item.get("errors", []):
            yield item.problem("doc =", f"errors of {item.name}: expected {status}, which its doc "
                               f"names, got {', '.join(item.get('errors', [])) or 'none'}")


def _struct(item, names):
    yield from _one_of(item, "role", ROLES)
    first = item.members[0] if item.members else {}
    sized = (first.get("type"), first.get("name")) == ("uint32_t", "struct_size")
    if sized != (item.get("role") != "value"):
        yield item.problem("role =", f"first member of {item.name}, role {item.get('role')}: expected "
                           f"{'another one' if sized else 'uint32_t struct_size'}, got "
                           f"{first.get('type')} {first.get('name')}")
    if item.get("role") == "options" and f"{item.name}_init" not in names:
        yield item.problem(item.name, f"options {item.name}: expected a function {item.name}_init, "
                           "got none")
    last = item.get("since", "1.0")
    for member in item.members:
        since = member.get("since", item.get("since", "1.0"))
        if newer(last, since):
            yield item.problem(f'"{data.member_names(member)[0]}"', f"member of {item.name} of version "
                               f"{since} after one of {last}: expected new members at the end, got "
                               f"{data.member_names(member)[0]}")
        elif newer(since, item.get("since", since)) and not sized:
            yield item.problem(f'"{data.member_names(member)[0]}"', f"{item.name} has no struct_size: "
                               f"expected no new members, got {data.member_names(member)[0]}")
        last = max(last, since, key=lambda v: tuple(map(int, v.split("."))))


def _forwards(items):
    """Functions that have no forward, and what of structs the native module neither takes nor declines."""
    classes, structs = forms.classes_of(items), forms.structs_of(items)
    for item in data.functions(items):
        if "forward" not in item.fields:
            continue
        owner = item.get("forward").rpartition(".")[0]
        if owner and owner not in classes.values():
            yield item.problem("forward =", f"forward of {item.name}: expected a class of a type, got {owner}")
        known = {forms.split(declaration)[1] for declaration in item.get("params")}
        for name, how in item.get("as", {}).items():
            if name not in known or how not in forms.AS:
                yield item.problem("as =", f"as of {item.name}: expected a parameter with one of "
                                   f"{', '.join(forms.AS)}, got {name} = {how}")
        try:
            forms.forms(item, classes, structs)
        except forms.Unknown as unknown:
            yield item.problem(str(unknown), f"forward of {item.name}: expected parameters that have a form "
                               f"in Python, got {unknown}")
    for item in options.readers(items):
        yield from options.problems(item)
    for item in options.infos(items):
        yield from options.info_problems(item)
    yield from stub.problems(items)


def _declarations(item):
    """The declarations of an item, in which all types must be known."""
    if item.kind in ("function", "callback"):
        yield from data.parameters(item.get("params", []))
        yield f"{item.get('returns', 'weft_status')} {item.name}"
    elif item.kind == "struct":
        for member in item.members:
            if "callback" in member:
                yield from data.parameters(member.get("params", []))
            else:
                yield f"{member.get('type', '')} {data.member_names(member)[0]}"
    elif "alias" in item.fields:
        yield f"{item.fields['alias']} {item.name}"


def _types(item, known):
    for declaration in _declarations(item):
        words = data.words_of(declaration)
        if len(words) != 2:
            yield item.problem(declaration, f"declaration in {item.name}: expected \"TYPE NAME\", got "
                               f"\"{declaration}\"")
        elif words[0] not in known:
            yield item.problem(words[0], f"type in {item.name}: expected one that is declared before, "
                               f"got {words[0]}")


def _names(item):
    """The names that an item declares."""
    if item.kind == "text":
        return []
    values = [value.get("name") for value in item.members] if item.kind == "enum" else []
    return [item.name, *values]


def problems(items, version):
    """All problems, in the order of the items. `version` is that of weft.h.in: "1.1"."""
    statuses = {value.get("name") for item in items if item.name == "weft_status_code"
                for value in item.members}
    functions = {item.name for item in data.functions(items)}
    known, places, found = set(SCALARS), {}, []
    for item in items:
        wrong = list(_keys(item))
        if wrong:
            found += wrong
            known.add(item.name)
            continue
        found += [*_versions(item, version), *_comments(item)]
        for name in _names(item):
            if name in places:
                found.append(item.problem(name, f"name {name}: expected a new one, got that of "
                                          f"{places[name]}"))
            places.setdefault(name, f"{item.path.name}:{item.line_of(name)}")
        if item.kind == "function":
            found += _function(item, statuses)
        if item.kind == "struct":
            found += _struct(item, functions)
        if item.kind == "type":
            found += _one_of(item, "threads", THREADS[:2])
        found += _types(item, known | {item.name})
        if item.kind in ("struct", "type", "callback"):
            known.add(item.name)
    return found or list(_forwards(items))
