"""How parameters of C become arguments and results of Python: by their types, and by `as`."""

import dataclasses
import re

# What `as` may say of a parameter whose type does not tell it.
AS = {
    "bool": "0 or 1",
    "bytes": "a text that need not be UTF-8",
    "str": "bytes that are a text",
    "optional": "NULL is None",
}
INTEGERS = {"int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "weft_tensor_id"}
FLOATS = {"float", "double"}
# Arrays that the caller gives, with their size behind them: how they are converted, the two
# arguments, and the type in the stub.
GIVEN_ARRAYS = {
    "const char*": ("bytes_of({n}, \"{n}\")", ("{v}", "len({v})"), "_Text"),
    "const void*": ("only_bytes({n}, \"{n}\")", ("{v}", "len({v})"), "bytes"),
    "const weft_token*": ("ids_of({n})", ("*{v}.buffer_info()",), "_Ids"),
    "const int64_t*": ("int64s_of({n}, \"{n}\")", ("*{v}.buffer_info()",), "Sequence[int]"),
    "const weft_tensor_id*": ("int32s_of({n}, \"{n}\")", ("*{v}.buffer_info()",), "Sequence[int]"),
    "const float*": ("numbers_of({n}, \"{n}\")", ("address_of({v})", "{v}.size"), "_Numbers"),
    "const weft_dim*": ("dims_of({n})", ("{v}", "len({v})"), "_Dims"),
    "const weft_value*": ("values_of({n})", ("{v}", "len({v})"), "_Options"),
}
# Arrays that the library lends, with their size behind them, of which Python gets a copy.
LENT_ARRAYS = {
    "const weft_token**": ("list_of(c_int32, {n}, {size})", "list[int]"),
    "const float**": ("list_of(c_float, {n}, {size})", "list[float]"),
    "const uint64_t**": ("words_of({n}, {size})", "_Words"),
}
# Options that the caller gives, by the functions that read them from a dict.
GIVEN_OPTIONS = {
    "const weft_session_options*": "session_options",
    "const weft_sampler_options*": "sampler_options",
    "const weft_beam_options*": "beam_options",
    "const weft_quantize_options*": "quantize_options",
    "const weft_bench_options*": "bench_options",
}
# Callbacks that tell how far a call is, with their `user` behind them.
PROGRESS = {
    "weft_progress": ("progress_of", "Optional[Callable[[float], Any]]"),
    "weft_token_progress": ("token_progress_of", "Optional[Callable[[int, int], Any]]"),
}
CALL = {"weft_error**", "weft_canceller*"}  # what the call itself gives
KEYWORDS = {"from", "in", "is", "not", "or", "and", "def", "class", "lambda", "pass"}


class Unknown(Exception):
    """A parameter that has no form in Python."""


@dataclasses.dataclass
class Form:
    """What one or two parameters of C are."""
    names: list[str]  # of the parameters
    arguments: list[str]  # what the call gets
    argument: str = ""  # the parameter of the function of Python
    python: str = ""  # its type in the stub, or that of the result
    convert: str = ""  # a statement that converts an argument; may run code of Python
    handle: str = ""  # a statement that takes a handle, after all conversions
    given_class: str = ""  # the class of that handle
    declare: str = ""  # the statement that declares a result
    result: str = ""  # the result as an expression
    made_class: str = ""  # the class of the handle that is a result
    lent: bool = False  # memory that the library may change in the next call

    @property
    def is_result(self):
        return bool(self.result)


def split(declaration):
    """("const char*", "name") of "const char* name"."""
    found = re.fullmatch(r"(.*[\w*])\s*?[ ](\w+)", declaration)
    if not found:
        raise Unknown(declaration)
    return found[1], found[2]


def stub_name(name):
    return f"{name}_" if name in KEYWORDS else name


def c_scalar(kind):
    """The type of ctypes."""
    return f"c_{kind.removesuffix('_t')}" if kind not in ("size_t", "weft_token", "weft_tensor_id") \
        else "c_size_t" if kind == "size_t" else "c_int32"


def _lent_array(kind, name, size, how):
    if kind == "const char**":
        copied = f"lent_bytes(c_{name}, c_{size})"
        python, result = ("str", f"text_of({copied})") if how == "str" else ("bytes", copied)
    else:
        copied, python = LENT_ARRAYS[kind]
        result = copied.format(n=f"c_{name}", size=f"c_{size}")
    return Form([name, size], [f"c_{name}", f"c_{size}"], python=python, result=result, lent=True,
                declare=f"c_{name}, c_{size} = c_void_p(), c_size_t()")


def _given_array(kind, name, size):
    convert, arguments, python = GIVEN_ARRAYS[kind]
    v = f"c_{name}"
    return Form([name, size], [one.format(v=v) for one in arguments], name, python,
                f"{v} = {convert.format(n=name)}")


def _pair(first, second, how):
    """The form of two parameters of which the second belongs to the first, as its size or its `user`;
    None: it does not."""
    (kind, name), (size_kind, size) = first, second
    if size_kind == "void*" and kind in PROGRESS:
        function, python = PROGRESS[kind]
        return Form([name, size], [f"c_{name}", "None"], name, python, f"c_{name} = {function}({name})")
    if size_kind == "size_t" and kind in GIVEN_ARRAYS:
        return _given_array(kind, name, size)
    if size_kind == "size_t*" and (kind in LENT_ARRAYS or kind == "const char**"):
        return _lent_array(kind, name, size, how)
    return None


def _given(kind, name, how, classes):
    """The form of one parameter that is an argument; None: it is not."""
    value, optional = stub_name(name), how == "optional"
    if kind in CALL:
        return Form([name], [name])
    if kind == "const char*":
        function = "optional_c_text_of" if optional else "c_text_of"
        return Form([name], [f"c_{name}"], value, "Optional[_Text]" if optional else "_Text",
                    f'c_{name} = {function}({value}, "{name}")')
    if kind in GIVEN_OPTIONS:
        return Form([name], [f"c_{name}"], value, "_Options", f"c_{name} = {GIVEN_OPTIONS[kind]}({value})")
    if kind == "weft_token":
        return Form([name], [f"c_{name}"], value, "int", f"c_{name} = id_of({value})")
    if kind == "const uint64_t*":
        return Form([name], [f"c_{name}"], value, "Optional[int]",
                    f'c_{name} = optional_uint64_of({value}, "{name}")')
    if kind in INTEGERS | FLOATS:
        if how == "bool":
            return Form([name], [f"bool({value})"], value, "bool")
        function = "number_of" if kind in FLOATS else f"{c_scalar(kind).removeprefix('c_')}_of"
        return Form([name], [f"c_{name}"], value, "float" if kind in FLOATS else "int",
                    f'c_{name} = {function}({value}, "{name}")')
    if kind.endswith("*") and kind[:-1] in classes:
        python = classes[kind[:-1]]
        function = "optional_handle" if optional else "handle_of"
        return Form([name], [f"c_{name}"], value, f"Optional[{python}]" if optional else python,
                    given_class=python, handle=f'c_{name} = {function}({value}, {python}, "{name}")')
    return None


def _result(kind, name, how, classes, structs):
    """The form of one parameter that is a result; None: it is not."""
    optional, v = how == "optional", f"c_{name}"
    if kind == "weft_text*":
        python = "bytes" if how == "bytes" else "str"
        return Form([name], [v], python=python, declare=f"{v} = structs.weft_text()",
                    result=f"taken_{python}({v})")
    if kind == "const char**":
        return Form([name], [v], python="Optional[str]" if optional else "str", lent=True,
                    declare=f"{v} = c_void_p()", result=f"{'optional_' if optional else ''}text_at({v}.value)")
    if kind.endswith("**") and kind[:-2] in classes:
        python = classes[kind[:-2]]
        return Form([name], [v], python=f"Optional[{python}]" if optional else python, made_class=python,
                    declare=f"{v} = c_void_p()", result=f"{python}({v}.value)" + f" if {v} else None" * optional)
    scalar = kind[:-1]
    if kind.endswith("*") and scalar in structs:
        return Form([name], [v], python=structs[scalar], lent=True,
                    declare=f"{v} = filled(structs.{scalar})",
                    result=f"tables.{scalar.removeprefix('weft_')}_dict({v})")
    if kind.endswith("*") and scalar in INTEGERS | FLOATS | {"weft_token"}:
        python = "bool" if how == "bool" else "float" if scalar in FLOATS else "int"
        return Form([name], [v], python=python, declare=f"{v} = {c_scalar(scalar)}()",
                    result=f"{v}.value" + " != 0" * (how == "bool"))
    return None


def forms(item, classes, structs):
    """The forms of the parameters of a function. `classes`: by the names of handles; `structs`: names
    of their dicts by those of structs."""
    parameters = [split(declaration) for declaration in item.get("params")]
    ways, found = item.get("as", {}), []
    while parameters:
        kind, name = parameters[0]
        how = ways.get(name)
        form = _pair(parameters[0], parameters[1], how) if len(parameters) > 1 else None
        form = form or _given(kind, name, how, classes) or _result(kind, name, how, classes, structs)
        if not form:
            raise Unknown(f"{kind} {name}")
        del parameters[:len(form.names)]
        found.append(form)
    return found


def classes_of(items):
    """Names of classes of Python by those of handles."""
    return {item.name: item.get("python") for item in items
            if item.kind == "type" and "python" in item.fields}


def structs_of(items):
    """Names of the dicts of Python by those of structs that the library fills."""
    return {item.name: item.get("python") for item in items
            if item.kind == "struct" and "python" in item.fields}


def constants(items):
    """The names of the constants of Python."""
    return [value["name"].removeprefix("WEFT_") for item in items
            if item.kind == "enum" and "no_python" not in item.fields for value in item.members]


def is_method(item, found):
    """Whether a forward is a method: its first argument is a handle of its class. Other forwards of
    classes are static methods."""
    owner = item.get("forward").rpartition(".")[0]
    given = [form for form in found if form.argument]
    return bool(owner and given and given[0].given_class == owner)
