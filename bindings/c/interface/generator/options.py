"""Members of structs as Python has them: keywords of options, and dicts of what the library fills."""

from . import data

PLAIN = {"int32_t", "int64_t", "uint32_t", "uint64_t", "float", "double", "const char*",
         "weft_token", "weft_tensor_id"}
TOKENS = "const weft_token*"
NEVER = ("struct_size", "reserved")


def readers(items):
    """The structs of options that the native module reads from dicts."""
    called = {item.name for item in data.functions(items) if "no_python" not in item.fields}
    return [item for item in items if item.kind == "struct" and item.get("role") == "options"
            and f"{item.name}_init" in called]


def infos(items):
    """The structs that become dicts."""
    return [item for item in items if item.kind == "struct" and "python" in item.fields]


def _counts(item):
    """Names that belong to another member: counts of arrays, and the `user` of callbacks."""
    names = {name for member in item.members for name in data.member_names(member)}
    return {f"n_{name}" for name in names} | {f"{name}_user" for name in names}


def members(item):
    """Yields (type, name, member) of what a caller of Python sees."""
    others = _counts(item)
    for member in item.members:
        for name in data.member_names(member):
            if name not in NEVER and name not in others:
                yield member.get("type"), name, member


def taken(item):
    """The members of options that generated code takes, with their types."""
    return [(kind, name) for kind, name, member in members(item)
            if "no_python" not in member and not member.get("by_hand")]


def problems(item):
    """Members that are neither taken nor declined."""
    for kind, name, member in members(item):
        if member.get("by_hand") and "no_python" in member:
            yield item.problem(f'"{name}"', f"member {name} of {item.name}: expected by_hand or no_python, "
                               "got both")
        elif kind not in PLAIN and not member.get("by_hand") and "no_python" not in member:
            yield item.problem(f'"{name}"', f"member {name} of {item.name}, which no generated code can "
                               "take: expected by_hand or no_python, got none")


def info_problems(item):
    for kind, name, _ in members(item):
        if kind not in PLAIN | {TOKENS}:
            yield item.problem(f'"{name}"', f"member {name} of {item.name} with python: expected a plain "
                               f"type, got {kind}")


READERS = {"const char*": "c_text_of", "float": "number_of", "double": "number_of", "weft_token": "int32_in",
           "weft_tensor_id": "int32_in"}


def reader_of(kind):
    """The function that converts what is given for a member."""
    return READERS.get(kind) or f"{kind.removesuffix('_t')}_in"


def value_of(kind, name):
    """A member as an expression that becomes an object of Python."""
    if kind == TOKENS:
        return f"info.{name}[:info.n_{name}]"
    return f"text_of(info.{name})" if kind == "const char*" else f"info.{name}"


def python_type(kind):
    if kind == TOKENS:
        return "list[int]"
    return "str" if kind == "const char*" else "float" if kind in ("float", "double") else "int"
