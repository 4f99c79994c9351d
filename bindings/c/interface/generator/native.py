"""Modules of the Python package that say to ctypes what weft.h says: constants, structs, functions,
classes of handles, and tables of options."""

import textwrap

from . import data, forms, forwards, options

MADE_FROM = "Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it."
WIDTH = 100
# Structs whose texts may have zeros inside, so that their members are addresses.
COUNTED = {"weft_text": ["data"]}
POINTER_MEMBERS = {"const weft_token*": "c_int32", "const float*": "c_float"}
# Short functions, for which letting other threads run would take longer than they do.
SHORT_ENDINGS = ("_init", "_accept", "_reset", "_push", "_finish")
SHORT_BEGINNINGS = ("weft_error_", "weft_text_", "weft_status_", "weft_token_")


def module(doc, *parts):
    """The text of a module. mypy knows the module _weft by its stub."""
    return f'# {MADE_FROM}\n# mypy: ignore-errors\n"""{doc}"""\n\n' + "\n".join(parts)


def _listed(head, words, tail):
    """`head`, words with commas, and `tail`, in as many lines as they need."""
    line = f"{head}{', '.join(words)}{tail}"
    if len(line) <= WIDTH:
        return line + "\n"
    # A word is not broken: its spaces are none until then.
    filled = textwrap.fill(", ".join(word.replace(" ", "\0") for word in words) + tail, WIDTH,
                           initial_indent=head.replace(" ", "\0"), subsequent_indent=" " * head.index("(" if "(" in head else "[") + " ",
                           break_long_words=False, break_on_hyphens=False)
    return filled.replace("\0", " ") + "\n"


def _number(value):
    left, _, shift = str(value).partition("<<")
    return int(left.rstrip("u ")) << int(shift or 0)


def constants(items):
    """constants.py: the values of all enums; PUBLIC has those that users of the package see."""
    text = "".join(f"{value['name']} = {_number(value['value'])}\n"
                   for item in items if item.kind == "enum" for value in item.members)
    public = "PUBLIC = {\n" + "".join(f'    "{name}": WEFT_{name},\n' for name in forms.constants(items)) + "}\n"
    return module("The constants of weft.h.", text, public)


def _scalar(kind, known):
    """The type of ctypes of a member, a parameter or a result; None for pointers."""
    if kind in forms.INTEGERS | forms.FLOATS | {"weft_token", "weft_status"}:
        return "c_int32" if kind == "weft_status" else forms.c_scalar(kind)
    return kind if kind in known else None


def _member(item, kind, name, known):
    """The pair of a member in _fields_."""
    count = 1
    if "[" in name:
        name, count = name[:-1].split("[")
    texts = COUNTED.get(item.name, [n[:-5] for m in item.members for n in data.member_names(m)
                                    if n.endswith("_size")])
    base = kind.removeprefix("const ").removesuffix("*")
    if name in texts or kind == "const char* const*":
        made = "c_void_p"
    elif kind == "const char*":
        made = "c_char_p"
    elif kind.startswith("const ") and base in known or kind in POINTER_MEMBERS:
        made = f"POINTER({POINTER_MEMBERS.get(kind, base)})"
    else:
        made = _scalar(kind, known) or "c_void_p"
    return f'("{name}", {made}{f" * {count}" if int(count) > 1 else ""})'


def _parameter(declaration, known):
    kind = forms.split(declaration)[0]
    base = kind.removeprefix("const ").removesuffix("*")
    return _scalar(kind, known) or (f"POINTER({base})" if base in known and kind.endswith("*")
                                    and not base.endswith("*") else "c_void_p")


def _callback(name, returns, params, known):
    result = _scalar(returns, known) or "None"
    return _listed(f"{name} = CFUNCTYPE(", [result, *(_parameter(p, known) for p in params)], ")")


def structs(items):
    """structs.py: structs and callbacks, in their order."""
    text, known = "", set()
    for item in items:
        if item.kind == "callback":
            text += "\n" + _callback(item.name, item.get("returns", "weft_status"), item.get("params"), known)
            known.add(item.name)
        if item.kind != "struct":
            continue
        members = []
        for member in item.members:
            if "callback" in member:
                made = f"{item.name}_{member['callback']}"
                text += "\n" + _callback(made, member.get("returns", "weft_status"), member["params"], known)
                members.append(f'("{member["callback"]}", {made})')
            else:
                members += [_member(item, member["type"], name, known) for name in data.member_names(member)]
        text += f"\n\nclass {item.name}(Structure):\n" + _listed("    _fields_ = [", members, "]")
        known.add(item.name)
    imports = ("from ctypes import (CFUNCTYPE, POINTER, Structure, c_char_p, c_double, c_float, c_int32,\n"
               "                    c_int64, c_size_t, c_uint32, c_uint64, c_void_p)\n")
    return module("The structs and callbacks of weft.h.", imports + text)


def _argument(declaration, following, known):
    """What ctypes takes for a parameter: any address for handles and for arrays of numbers, which have
    their size behind them."""
    kind = forms.split(declaration)[0] if "(*" not in declaration else "void*"
    base = kind.removeprefix("const ").removesuffix("*")
    if kind.endswith("**"):
        return "Out"
    if base in known and kind.endswith("*"):
        return f"POINTER(structs.{base})"
    if kind.endswith("*") and "const" not in kind and _scalar(base, known) and not following.startswith("size_t "):
        return f"POINTER({_scalar(base, known)})"
    made = _scalar(kind, known)
    return f"structs.{made}" if made in known else made or "c_void_p"


def is_short(item):
    return "_get_" in item.name or item.name.startswith(SHORT_BEGINNINGS) or \
        item.name.endswith(SHORT_ENDINGS) and not item.name.startswith("weft_reply_")


def functions(items):
    """functions.py: the functions that Python calls."""
    known = {item.name for item in items if item.kind in ("struct", "callback")}
    text = ""
    for item in data.functions(items):
        if "no_python" in item.fields:
            continue
        returns = item.get("returns", "weft_status")
        result = "c_char_p" if returns == "const char*" else _scalar(returns, known) or "None"
        made = "short" if is_short(item) else "plain"
        params = [*item.get("params"), ""]
        text += _listed(f"{item.name} = {made}(", [f'"{item.name}"', result, *(
            _argument(*pair, known) for pair in zip(params, params[1:]))], ")")
    imports = ("from ctypes import (POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t,\n"
               "                    c_uint32, c_uint64, c_void_p)\n\nfrom . import structs\n"
               "from .library import plain, short\n\nOut = POINTER(c_void_p)\n\n")
    return module("The functions of weft.h. Calls look them up here, as begin_exit() replaces them.",
                  imports + text)


def classes(items):
    """classes.py: the class of each handle."""
    text, names = "", []
    closed = {item.get("python")[0] for item in data.functions(items)
              if item.name.endswith("_free") and item.get("python", ["*"])[0].endswith(".close")}
    for item in items:
        name = item.get("python") if item.kind == "type" else None
        if not name:
            continue
        names.append(name)
        base = "Handle" if "object" in item.fields else "Lent"
        text += f'\n\nclass {name}({base}):\n    """A {item.name}."""\n\n    __slots__ = ()\n'
        if base == "Handle":
            text += f'    _noun = "{item.get("called", item.get("object"))}"\n'
            text += f"    _free = functions.{item.name}_free\n"
        if f"{name}.close" in closed:
            text += "    close = Handle._close\n"
    text += "\n\nCLASSES = {\n" + "".join(f'    "{name}": {name},\n' for name in names) + "}\n"
    return module("The classes of handles.", "from . import functions\nfrom .handles import Handle, Lent\n" + text)


def tables(items):
    """tables.py: members of options with their types, and dicts of what the library fills."""
    text = "# Members that Options.take() takes, with what converts them.\n"
    for item in options.readers(items):
        text += f"{item.name.upper()} = {{\n"
        for kind, name in options.taken(item):
            text += f'    "{name}": {options.reader_of(kind)},\n'
        text += "}\n"
    for item in options.infos(items):
        text += f"\n\ndef {item.name.removeprefix('weft_')}_dict(info):\n    return {{\n"
        for kind, name, _ in options.members(item):
            text += f'        "{name}": {options.value_of(kind, name)},\n'
        text += "    }\n"
    return module("Options and results as dicts.", "from .values import (c_text_of, int32_in, int64_in, number_of, "
                  "text_of, uint32_in,\n                     uint64_in)\n\n" + text)


def sources(items):
    """The texts of all made modules, by the names of their files."""
    return {"constants.py": constants(items), "structs.py": structs(items), "functions.py": functions(items),
            "classes.py": classes(items), "tables.py": tables(items),
            **{name: module(doc, text) for name, (doc, text) in forwards.sources(items).items()}}
