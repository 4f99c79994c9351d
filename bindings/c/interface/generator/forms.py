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
# Arrays that the caller gives, with their size behind them.
GIVEN_ARRAYS = {
    "const char*": ("const py::handle&", "const std::string {v} = bytes_of({n}, \"{n}\");", "_Text"),
    "const void*": ("const py::bytes&", "const std::string_view {v} = {n};", "bytes"),
    "const weft_token*": ("const py::handle&", "const auto {v} = ids_of({n});", "_Ids"),
    "const int64_t*": ("const std::vector<std::int64_t>&", "", "Sequence[int]"),
    "const weft_tensor_id*": ("const std::vector<weft_tensor_id>&", "", "Sequence[int]"),
    "const float*": ("const py::handle&", "const Numbers {v}({n}, \"{n}\");", "_Numbers"),
    "const weft_dim*": ("const Dims&", "const auto {v} = dims_of({n});", "_Dims"),
    "const weft_value*": ("const py::dict&", "const Values {v}({n});", "_Options"),
}
# Arrays that the library lends, with their size behind them, of which Python gets a copy.
LENT_ARRAYS = {
    "const weft_token**": ("std::vector<weft_token>", "{n}, {n} + {size}", "list[int]"),
    "const float**": ("std::vector<float>", "{n}, {n} + {size}", "list[float]"),
    "const uint64_t**": ("py::array_t<std::uint64_t>", "static_cast<py::ssize_t>({size}), {n}", "_Words"),
}
# Options that the caller gives, by the classes that read them from a dict.
GIVEN_OPTIONS = {
    "const weft_session_options*": ("const auto {v} = session_options({n});", "{v}.get()"),
    "const weft_sampler_options*": ("const SamplerOptions {v}({n});", "&{v}.options"),
    "const weft_beam_options*": ("const BeamOptions {v}({n});", "&{v}.options"),
    "const weft_quantize_options*": ("const QuantizeOptions {v}({n});", "&{v}.options"),
    "const weft_bench_options*": ("const BenchOptions {v}({n});", "&{v}.options"),
}
# Callbacks that tell how far a call is, with their `user` behind them.
PROGRESS = {
    "weft_progress": ("call_progress", "Optional[Callable[[float], Any]]"),
    "weft_token_progress": ("call_token_progress", "Optional[Callable[[int, int], Any]]"),
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
    argument: str = ""  # the parameter of the C++ function: "const py::handle& ids"
    python: str = ""  # its type in the stub, or that of the result
    convert: str = ""  # a statement that converts an argument; may run code of Python
    handle: str = ""  # a statement that takes a handle, after all conversions
    given_class: str = ""  # the class of that handle
    declare: str = ""  # the statement that declares a result
    result: str = ""  # the result as an expression
    result_type: str = ""  # and its type in C++
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


def _cpp_scalar(kind):
    return kind if kind.startswith("weft_") or kind in ("float", "double") else f"std::{kind}"


def _lent_array(kind, name, size, how):
    arguments = [f"&{name}", f"&{size}"]
    if kind == "const char**":
        result, cpp, python = (f"text_of({name}, {size})", "py::str", "str") if how == "str" else \
            (f"py::bytes({name}, {size})", "py::bytes", "bytes")
        return Form([name, size], arguments, python=python, result=result, result_type=cpp, lent=True,
                    declare=f"const char* {name} = nullptr;\nstd::size_t {size} = 0;")
    cpp, values, python = LENT_ARRAYS[kind]
    element = _cpp_scalar(kind.removeprefix("const ").removesuffix("**"))
    return Form([name, size], arguments, python=python, lent=True,
                result=f"{cpp}({values.format(n=name, size=size)})", result_type=cpp,
                declare=f"const {element}* {name} = nullptr;\nstd::size_t {size} = 0;")


def _given_array(kind, name, size):
    cpp, convert, python = GIVEN_ARRAYS[kind]
    v = f"c_{name}" if convert else name
    return Form([name, size], [f"{v}.data()", f"{v}.size()"], f"{cpp} {name}", python,
                convert.format(v=v, n=name))


def _pair(first, second, how):
    """The form of two parameters of which the second belongs to the first, as its size or its `user`;
    None: it does not."""
    (kind, name), (size_kind, size) = first, second
    if size_kind == "void*" and kind in PROGRESS:
        function, python = PROGRESS[kind]
        return Form([name, size], [function, f"user_of({name})"], f"const py::object& {name}", python)
    if size_kind == "size_t" and kind in GIVEN_ARRAYS:
        return _given_array(kind, name, size)
    if size_kind == "size_t*" and (kind in LENT_ARRAYS or kind == "const char**"):
        return _lent_array(kind, name, size, how)
    return None


def _given(kind, name, how, classes):
    """The form of one parameter that is an argument; None: it is not."""
    if kind in CALL:
        return Form([name], [name])
    if kind == "const char*":
        function = "optional_c_text_of" if how == "optional" else "c_text_of"
        value = f"c_str_of(c_{name})" if how == "optional" else f"c_{name}.c_str()"
        return Form([name], [value], f"const py::handle& {name}",
                    "Optional[_Text]" if how == "optional" else "_Text",
                    f'const auto c_{name} = {function}({name}, "{name}");')
    if kind in GIVEN_OPTIONS:
        convert, value = (text.format(v=f"c_{name}", n=name) for text in GIVEN_OPTIONS[kind])
        return Form([name], [value], f"const py::dict& {name}", "_Options", convert)
    if kind == "weft_token":
        return Form([name], [f"c_{name}"], f"std::int64_t {name}", "int",
                    f"const weft_token c_{name} = id_of({name});")
    if kind == "const uint64_t*":
        return Form([name], [f"{name} ? &*{name} : nullptr"],
                    f"const std::optional<std::uint64_t>& {name}", "Optional[int]")
    if kind in INTEGERS or kind == "double":
        if how == "bool":
            return Form([name], [name], f"bool {name}", "bool")
        return Form([name], [name], f"{_cpp_scalar(kind)} {name}",
                    "float" if kind == "double" else "int")
    if kind.endswith("*") and kind[:-1] in classes:
        python = classes[kind[:-1]]
        optional = how == "optional"
        value = f"{name} ? {name}->get() : nullptr" if optional else f"{name}.get()"
        return Form([name], [f"c_{name}"], f"const {python}{'*' if optional else '&'} {name}",
                    f"Optional[{python}]" if optional else python, given_class=python,
                    handle=f"{kind} const c_{name} = {value};")
    return None


def _result(kind, name, how, classes, structs):
    """The form of one parameter that is a result; None: it is not."""
    if kind == "weft_text*":
        python = "bytes" if how == "bytes" else "str"
        return Form([name], [f"{name}.out()"], python=python, declare=f"Text {name};",
                    result=f"{name}.{python}()", result_type=f"py::{python}")
    if kind == "const char**":
        optional = how == "optional"
        return Form([name], [f"&{name}"], python="Optional[str]" if optional else "str", lent=True,
                    declare=f"const char* {name} = nullptr;",
                    result=f"{'optional_' if optional else ''}text_of({name})",
                    result_type="py::object" if optional else "py::str")
    if kind.endswith("**") and kind[:-2] in classes:
        python = classes[kind[:-2]]
        optional = how == "optional"
        return Form([name], [f"{name}->out()"], python=f"Optional[{python}]" if optional else python,
                    declare=f"auto {name} = std::make_unique<{python}>();",
                    result=f"{name}->closed() ? nullptr : std::move({name})" if optional else name,
                    result_type=f"std::unique_ptr<{python}>")
    scalar = kind[:-1]
    if kind.endswith("*") and scalar in structs:
        return Form([name], [f"&{name}"], python=structs[scalar], result=f"dict_of({name})", lent=True,
                    declare=f"{scalar} {name}{{}};\n{name}.struct_size = sizeof {name};",
                    result_type="py::dict")
    if kind.endswith("*") and scalar in INTEGERS | FLOATS | {"weft_token"}:
        python = "bool" if how == "bool" else "float" if scalar in FLOATS else "int"
        return Form([name], [f"&{name}"], python=python, declare=f"{_cpp_scalar(scalar)} {name} = 0;",
                    result=f"{name} != 0" if how == "bool" else name,
                    result_type="bool" if how == "bool" else _cpp_scalar(scalar))
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
    """The names of the constants of Python, with the values of their enums."""
    return [(value["name"].removeprefix("WEFT_"), value["name"]) for item in items
            if item.kind == "enum" and "no_python" not in item.fields for value in item.members]


def is_method(item, found):
    """Whether a forward is a method: its first argument is a handle of its class. Other forwards of
    classes are static methods."""
    owner = item.get("forward").rpartition(".")[0]
    given = [form for form in found if form.argument]
    return bool(owner and given and given[0].given_class == owner)
