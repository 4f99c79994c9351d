"""Functions of the Python package that can be written from signatures, as modules by sections."""

import re

from . import data, forms

# The modules of forwards, by the sections with which they begin.
PARTS = {"Errors and memory": "models", "Sessions": "sessions", "Generations": "generations",
         "Chats": "chats", "Graphs": "graphs", "Custom ops and architectures": "architectures"}
# Where names come from that forwards use.
MODULES = {
    "ctypes": ["c_double", "c_float", "c_int32", "c_int64", "c_size_t", "c_uint32",
               "c_uint64", "c_void_p"],
    "callbacks": ["progress_of", "token_progress_of"],
    "calls": ["finish", "finish_watched"],
    "handles": ["function", "handle_of", "method", "optional_handle", "static"],
    "options": ["beam_options", "bench_options", "quantize_options", "sampler_options",
                "session_options"],
    "values": ["address_of", "bytes_of", "c_text_of", "dims_of", "filled", "id_of", "ids_of", "int32_of",
               "int32s_of", "int64_of", "int64s_of", "lent_bytes", "list_of", "number_of", "numbers_of",
               "only_bytes", "optional_c_text_of", "optional_text_at", "optional_uint64_of",
               "size_t_of", "taken_bytes", "taken_str", "text_at", "text_of", "uint32_of", "uint64_of", "values_of",
               "words_of"],
}
WIDTH = 100
SESSION = "weft_session"


def _locks(item, found):
    """Whether the call keeps others of its objects out until its results are copied: what it lends,
    another call may change, and what it changes, another one may have lent."""
    if item.get("threads") == "always":
        return False
    if item.get("threads") == "handle":
        return any(form.lent for form in found) or "_get_" not in item.name and not item.name.endswith("_json")
    return any(form.lent and form.given_class == "" for form in found) and bool(found[0].given_class)


def _sharing(items):
    """Classes whose objects share the lock of a session."""
    return {item.get("python") for item in items if item.kind == "type" and "python" in item.fields
            and SESSION in (item.name, item.get("shares"))} - {None}


def _wrapped(line, indent):
    """A call, in as many lines as it needs."""
    if len(line) <= WIDTH:
        return line
    at = line.rindex(", ", 0, WIDTH) + 1
    return line[:at] + "\n" + _wrapped(" " * indent + line[at:].lstrip(), indent)


def _call(item, found, indent):
    arguments = ", ".join(argument for form in found for argument in form.arguments)
    if any(p.startswith("weft_canceller*") for p in item.get("params")):
        begin = f"{indent}finish_watched(lambda canceller, error: "
        return _wrapped(f"{begin}api.{item.name}({arguments}))", len(begin) + 4) + "\n"
    begin = f"{indent}finish(api.{item.name}("
    return _wrapped(f"{begin}{arguments}), error)", len(begin)) + "\n"


def _made(expression, form, found, sharing):
    """A result as an expression: handles of a session have its lock."""
    owner = next((f for f in found if f.given_class in sharing), None)
    if form.made_class in sharing and owner:
        return expression.replace(".value)", f".value, {forms.stub_name(owner.names[0])}._lock)", 1)
    return expression


def _results(found, sharing):
    results = [_made(form.result, form, found, sharing) for form in found if form.is_result]
    return results[0] if len(results) == 1 else f"({', '.join(results)})" if results else ""


def _body(item, found, sharing):
    own = forms.stub_name(found[0].names[0]) if forms.is_method(item, found) else None
    lines = [form.convert for form in found if form.convert]
    for form in found:
        if form.handle:
            mine = form is found[0] and own
            lines.append(f"c_{own} = {own}._handle or {own}._refuse()" if mine else form.handle)
    if item.get("returns") == "const char*":
        return [*lines, f"return text_of(api.{item.name}())"]
    lines += [form.declare for form in found if form.declare]
    if "weft_error** error" not in item.get("params"):
        arguments = ", ".join(a for form in found for a in form.arguments)
        return [*lines, f"api.{item.name}({arguments})"]
    if not any(p.startswith("weft_canceller*") for p in item.get("params")):
        lines.append("error = c_void_p()")
    lock = own or next((forms.stub_name(form.names[0]) for form in found if form.given_class), None)
    inside = lock is not None and _locks(item, found)
    if inside:
        lines.append(f"with {lock}._lock:")
    lines.append(_call(item, found, "        " if inside else "    ").strip("\n")[4:])
    result = _results(found, sharing)
    if result:
        lines.append(f"{'    ' if inside else ''}return {result}")
    return lines


def _forward(item, classes, structs, sharing):
    """The function of a forward, with what adds it to its class or to the module."""
    found = forms.forms(item, classes, structs)
    owner, _, name = item.get("forward").rpartition(".")
    how = "method" if forms.is_method(item, found) else "static"
    mark = f'@{how}({owner}, "{name}")' if owner else f'@function("{name}")'
    parameters = ", ".join(form.argument or forms.stub_name(form.names[0]) for form in found
                           if form.argument or form.given_class)
    body = "".join(f"    {line}\n" for line in _body(item, found, sharing))
    return f"\n\n{mark}\ndef {item.name.removeprefix('weft_')}({parameters}):\n{body}"


def _import(module, names):
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= WIDTH:
        return line + "\n"
    text, line = "", f"from {module} import ("
    indent = " " * len(line)
    for i, name in enumerate(names):
        word = name + (")" if name is names[-1] else ",")
        if len(line) + len(word) + 1 > WIDTH:
            text, line = text + line + "\n", indent
        line += word if line.endswith(("(", "  ")) and (i == 0 or line == indent) else f" {word}"
    return text + line + "\n"


def _imports(body, classes):
    used = set(re.findall(r"\w+", body))
    text = _import("ctypes", [n for n in MODULES["ctypes"] if n in used]) + "\n"
    text += "from . import functions as api\n"
    packages = [name for name in ("structs", "tables") if f"{name}." in body]
    text += f"from . import {', '.join(packages)}\n" if packages else ""
    for module, names in sorted({**MODULES, "classes": sorted(classes.values())}.items()):
        needed = sorted(name for name in names if name in used)
        if module != "ctypes" and needed:
            text += _import(f".{module}", needed)
    return text


def sources(items):
    """(what the module is, its text) of the modules, by the names of their files."""
    classes, structs, sharing = forms.classes_of(items), forms.structs_of(items), _sharing(items)
    parts, part = {}, None
    for item in items:
        part = PARTS.get(item.section, part)
        parts.setdefault(part, [])
        if item.kind == "function" and "forward" in item.fields:
            parts[part].append(item)
    made = {}
    for part, group in parts.items():
        body = "".join(_forward(item, classes, structs, sharing) for item in group)
        made[f"forwards_{part}.py"] = ("Functions of the C API that need no code of their own.",
                                       _imports(body, classes) + body)
    return made


def names(items):
    return [item.name for item in data.functions(items) if "forward" in item.fields]
