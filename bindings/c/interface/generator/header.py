"""weft.h, and the list of symbols of the library."""

import re
import shutil
import subprocess

from . import data

FORMATTER = "clang-format-14"
SECTIONS = "@sections@\n"
MADE_FROM = "Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it."
WIDTH = 90  # of the line that begins a section


def version(template):
    """The version in the template of the header: "1.1"."""
    return "{}.{}".format(*re.findall(r"#define WEFT_API_VERSION_M\w+ (\d+)", template))


def _comment(text):
    return "/* " + "\n * ".join(text.split("\n")) + " */"


def _is_behind(doc):
    """Whether a comment stands behind its declaration: sentences stand above. "WEFT_STOP_..." is
    the name of a family of constants."""
    return "\n" not in doc and (not doc.endswith(".") or doc.endswith("_..."))


def _documented(declaration, doc):
    if not doc:
        return f"{declaration}\n"
    if _is_behind(doc):
        return f"{declaration} {_comment(doc)}\n"
    return f"{_comment(doc)}\n{declaration}\n"


def _above(item):
    doc = item.get("doc")
    return f"{_comment(doc)}\n" if doc else ""


def _function(item):
    prototype = f"{item.get('returns', 'weft_status')} {item.name}"
    params = ", ".join(item.get("params")) or "void"
    return _documented(f"WEFT_API {prototype}({params});", item.get("doc"))


def _member(member):
    if "callback" in member:
        params = ", ".join(member["params"])
        declaration = f"{member.get('returns', 'weft_status')} (*{member['callback']})({params});"
    else:
        declaration = f"{member['type']} {', '.join(data.member_names(member))};"
    return _documented(declaration, member.get("doc"))


def _struct(item):
    members = "".join(map(_member, item.members))
    return f"{_above(item)}typedef struct {item.name} {{\n{members}}} {item.name};\n"


def _enum(item):
    about = f"{_comment(item.get('about'))} " if "about" in item.fields else ""
    values = ""
    for value in item.members:
        comma = "" if value is item.members[-1] else ","
        values += _documented(f"{value['name']} = {value['value']}{comma}", value.get("doc"))
    return f"{_above(item)}enum {item.name} {about}{{\n{values}}};\n"


def _type(item):
    what = item.get("alias", f"struct {item.name}")
    return _documented(f"typedef {what} {item.name};", item.get("doc"))


def _callback(item):
    params = ", ".join(item.get("params"))
    return f"{_above(item)}typedef {item.get('returns', 'weft_status')} (*{item.name})({params});\n"


def _define(item):
    return _documented(f"#define {item.name} {item.get('value')}", item.get("doc"))


def _text(item):
    return f"{_comment(item.name)}\n"


WRITERS = {"function": _function, "struct": _struct, "enum": _enum, "type": _type,
           "callback": _callback, "define": _define, "text": _text}


def unformatted(items, template):
    """The header as it is before its lines are broken."""
    text, section = "", None
    for item in items:
        if item.section != section:
            section = item.section
            text += f"\n/* ---- {section} ".ljust(WIDTH, "-") + " */\n"
        elif item.get("blank_before"):
            text += "\n"
        text += WRITERS[item.kind](item)
    before, after = template.split(SECTIONS)
    return f"/* {MADE_FROM} */\n{before.rstrip()}\n{text}\n{after}"


def can_format():
    return shutil.which(FORMATTER) is not None


def formatted(text, path):
    """The text as `path`, in the style of the repository."""
    return subprocess.run([FORMATTER, f"--assume-filename={path}"], check=True, input=text,
                          capture_output=True, text=True).stdout


def without_layout(text):
    """The words of a header: two texts with the same ones differ only in where lines break."""
    return re.sub(r"\s+", "", re.sub(r"\n\s*\*(?!/)", " ", text))


def symbols(items, major):
    """The symbols that the library exports, all with one version, and what is hidden: the rest."""
    names = "".join(f"    {item.name};\n" for item in data.functions(items))
    return f"# {MADE_FROM}\nWEFT_{major} {{\n  global:\n{names}  local:\n    *;\n}};\n"
