"""Sources of the native module of the Python package: what can be written from signatures."""

import re

from . import data, forms, options

MADE_FROM = ("// Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit "
             "it.\n")
OPEN = "namespace weft_python {\n"
CLOSE = "\n}  // namespace weft_python\n"
# The files of forwards, by the sections with which they begin.
PARTS = {"Errors and memory": "models", "Sessions": "sessions", "Generations": "generations",
         "Chats": "chats", "Graphs": "graphs", "Custom ops and architectures": "architectures"}


def _has_handle(item):
    return "object" in item.fields


def classes_header(items):
    """classes.h: the class of each handle, and what the sources declare to each other."""
    text = ""
    for item in items:
        name = item.get("python") if item.kind == "type" else None
        if name and _has_handle(item):
            noun = item.get("called", item.get("object"))
            text += f'using {name} = Handle<{item.name}, {item.name}_free, "{noun}">;\n'
        elif name:
            text += f"using {name} = Lent<{item.name}>;\n"
    text += "\n// Takes the members that need no code of their own.\n"
    for item in options.readers(items):
        text += f"void take_members(Options& reader, {item.name}& options);\n"
    text += "\n"
    for item in options.infos(items):
        text += f"py::dict dict_of(const {item.name}& info);\n"
    text += "\n// Parts of the module: all classes come first.\nvoid add_classes(py::module_& m);\n"
    text += "void add_constants(py::module_& m);\n"
    for part in PARTS.values():
        text += f"void add_forwards_of_{part}(py::module_& m);\n"
    return (MADE_FROM + "#pragma once\n// Classes of handles, and parts of the module.\n\n"
            f'#include "native.h"\n\n{OPEN}\n{text}{CLOSE}')


def _class_functions(items):
    closed = {item.get("python")[0] for item in data.functions(items)
              if item.name.endswith("_free") and item.get("python", ["*"])[0].endswith(".close")}
    text = "\nvoid add_classes(py::module_& m) {\n"
    for name in forms.classes_of(items).values():
        close = f'.def("close", &{name}::close)' if f"{name}.close" in closed else ""
        text += f'  py::class_<{name}>(m, "{name}"){close};\n'
    return text + "}\n"


def options_source(items):
    """options.cpp: options from dicts, dicts of what the library fills, constants and classes."""
    text = ""
    for item in options.readers(items):
        text += f"\nvoid take_members(Options& reader, {item.name}& options) {{\n"
        text += "".join(f'  reader.take("{name}", options.{name});\n' for _, name in options.taken(item))
        text += "}\n"
    for item in options.infos(items):
        text += f"\npy::dict dict_of(const {item.name}& info) {{\n  py::dict all;\n"
        for kind, name, _ in options.members(item):
            text += f'  all["{name}"] = {options.value_of(kind, name)};\n'
        text += "  return all;\n}\n"
    text += "\nnamespace {\n\nconstexpr std::pair<const char*, int> kConstants[] = {\n"
    text += "".join(f'    {{"{name}", {value}}},\n' for name, value in forms.constants(items))
    text += ("};\n\n}  // namespace\n\nvoid add_constants(py::module_& m) {\n"
             "  for (const auto& [name, value] : kConstants) m.attr(name) = value;\n}\n")
    text += _class_functions(items)
    return f'{MADE_FROM}#include "classes.h"\n\n{OPEN}{text}{CLOSE}'


def _call(item, found):
    arguments = ", ".join(argument for form in found for argument in form.arguments)
    if any(p.startswith("weft_canceller*") for p in item.get("params")):
        return (f"  call_watched([&](weft_canceller* canceller, weft_error** error) {{\n"
                f"    return {item.name}({arguments});\n  }});\n")
    # What a call lends stays as it is until another call of the handle, or until it is closed: with
    # the GIL, neither comes.
    holds = any(form.lent for form in found)
    return (f"  {'call_with_gil' if holds else 'call'}([&](weft_error** error) {{ return "
            f"{item.name}({arguments}); }});\n")


def _forward(item, classes, structs):
    """The C++ function of a forward."""
    found = forms.forms(item, classes, structs)
    results = [form for form in found if form.is_result]
    if len(results) == 1:
        returns, result = results[0].result_type, results[0].result
    else:
        returns = "py::tuple" if results else "void"
        result = f"py::make_tuple({', '.join(form.result for form in results)})" if results else ""
    name = item.name.removeprefix("weft_")
    parameters = ", ".join(form.argument for form in found if form.argument)
    body = "".join(f"  {form.convert}\n" for form in found if form.convert)
    body += "".join(f"  {form.handle}\n" for form in found if form.handle)
    body += "".join(f"  {form.declare}\n" for form in found if form.declare)
    if "weft_error** error" in item.get("params"):
        body += _call(item, found)
    elif item.get("returns", "weft_status") == "const char*":
        returns, result = "py::str", f"text_of({item.name}())"
    else:
        body += f"  {item.name}({', '.join(a for form in found for a in form.arguments)});\n"
    if result:
        body += f"  return {result};\n"
    return f"\n{returns} {name}({parameters}) {{\n{body}}}\n"


def _definitions(items, classes, structs):
    """The statements that add the forwards of a part to the module and its classes."""
    owners = {}
    for item in items:
        owner, _, name = item.get("forward").rpartition(".")
        method = not owner or forms.is_method(item, forms.forms(item, classes, structs))
        define = "def" if method else "def_static"
        owners.setdefault(owner, []).append(f'.{define}("{name}", &{item.name.removeprefix("weft_")})')
    text = ""
    for owner, lines in owners.items():
        if owner:
            text += f'  py::class_<{owner}>(m.attr("{owner}"))' + "".join(lines) + ";\n"
        else:
            text += "".join(f"  m{line};\n" for line in lines)
    return text


def forwards(items):
    """The sources of the forwards, by the names of their files."""
    classes, structs = forms.classes_of(items), forms.structs_of(items)
    parts, part = {}, None
    for item in items:
        part = PARTS.get(item.section, part)
        parts.setdefault(part, [])
        if item.kind == "function" and "forward" in item.fields:
            parts[part].append(item)
    sources = {}
    for part, group in parts.items():
        functions = "".join(_forward(item, classes, structs) for item in group)
        header = "graphs.h" if re.search(r"Dims|Values", functions) else "classes.h"
        sources[f"forwards_{part}.cpp"] = (
            f"{MADE_FROM}// Functions of the C API that need no code of their own.\n#include "
            f'"{header}"\n\n{OPEN}namespace {{\n{functions}\n}}  // namespace\n\n'
            f"void add_forwards_of_{part}(py::module_& m) {{\n{_definitions(group, classes, structs)}}}\n"
            f"{CLOSE}")
    return sources


def sources(items):
    """The texts of all made sources, by the names of their files."""
    return {"classes.h": classes_header(items), "options.cpp": options_source(items), **forwards(items)}
