# mypy: ignore-errors
"""Arguments as ctypes takes them, and results as objects of Python."""

import operator
from array import array
from ctypes import (addressof, byref, c_char, c_char_p, c_double, c_float, c_int32, c_size_t,
                    c_uint64, c_void_p, sizeof, string_at)

from . import functions as api
from . import structs
from .constants import (WEFT_VALUE_BOOL, WEFT_VALUE_INTEGER, WEFT_VALUE_NUMBER, WEFT_VALUE_TEXT)
from .errors import failed, text_of  # noqa: F401 - also for those who import this

_MOST_IN_SIZE = 2 ** (8 * sizeof(c_size_t)) - 1
_CODES = {c_int32: "i", c_float: "f"}  # of arrays
_numpy = None


def numpy():
    """numpy, which is imported when an array is first needed."""
    global _numpy
    if _numpy is None:
        import numpy
        _numpy = numpy
    return _numpy


# ---- numbers

def integer_of(value, name):
    """An integer of at most 64 bits."""
    if not hasattr(type(value), "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = operator.index(value)
    if not -1 << 63 <= number < 1 << 63:
        raise failed("argument", f"{name} is out of range")
    return number


def _within(low, high):
    def convert(value, name):
        if not hasattr(type(value), "__index__"):
            raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
        number = operator.index(value)
        if not low <= number <= high:
            raise failed("argument", f"{name} is out of range: {number}")
        return number
    return convert


int32_of = int32_in = _within(-1 << 31, (1 << 31) - 1)
int64_of = int64_in = _within(-1 << 63, (1 << 63) - 1)
uint32_of = uint32_in = _within(0, (1 << 32) - 1)
uint64_of = uint64_in = _within(0, (1 << 64) - 1)
size_t_of = _within(0, _MOST_IN_SIZE)


def optional_uint64_of(value, name):
    """A pointer to a number; None is null."""
    return None if value is None else byref(c_uint64(uint64_of(value, name)))


def number_of(value, name):
    try:
        return c_double(value).value
    except TypeError:
        raise TypeError(f"{name} must be a number, not {type(value).__name__}") from None


def id_of(number):
    """A token id; ArgumentError for numbers that none can have."""
    number = operator.index(number)
    if not -1 << 31 <= number < 1 << 31:
        raise failed("argument", f"token {number} is not in the vocabulary")
    return number


# ---- arrays that are given

def _refuse_ids(ids):
    raise TypeError(f"ids must be a sequence of integers, not {type(ids).__name__}")


def ids_of(ids):
    """Ids from a sequence of integers, or an array of one dimension of integers, as an array."""
    if type(ids) is not list and type(ids) is not tuple:
        if isinstance(ids, (str, bytes, bytearray)):
            _refuse_ids(ids)
        try:
            memoryview(ids)
        except TypeError:
            pass
        else:
            return _ids_of_array(ids)
        if isinstance(ids, dict) or not hasattr(type(ids), "__getitem__"):
            _refuse_ids(ids)
    ids = tuple(ids)  # a copy, as __index__ of an item may change a list
    try:
        return array("i", ids)
    except (OverflowError, TypeError):
        return array("i", [id_of(integer_of(id, "an id")) for id in ids])


def _ids_of_array(ids):
    given = numpy().asarray(ids)
    if given.dtype.kind not in "iu":
        raise TypeError(f"ids must be integers, not an array of {given.dtype}")
    if given.ndim != 1:
        raise failed("argument", f"ids must have one dimension, not {given.ndim}")
    return array("i", [id_of(id) for id in given.tolist()])


def _integers_of(code, convert):
    def integers(values, name):
        if isinstance(values, (str, bytes, bytearray)):
            raise TypeError(f"{name} must be a sequence of integers, not {type(values).__name__}")
        return array(code, [convert(value, name) for value in values])
    return integers


int32s_of = _integers_of("i", int32_of)
int64s_of = _integers_of("q", int64_of)


def numbers_of(given, name):
    """Numbers of one dimension as an array of floats."""
    np = _numpy or numpy()
    if type(given) is not np.ndarray or given.dtype != np.float32 or not given.flags.c_contiguous:
        try:
            given = np.ascontiguousarray(given, np.float32) if np.ndim(given) else np.asarray(given, np.float32)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be an array of numbers") from None
    if given.ndim != 1:
        raise failed("shape", f"{name} must have one dimension, not {given.ndim}")
    return given


def address_of(numbers):
    """The address of a contiguous array."""
    try:
        return addressof(c_char.from_buffer(numbers))
    except (TypeError, ValueError):  # it cannot be written to, or is empty
        return numbers.__array_interface__["data"][0]


def strings_of(texts):
    """Texts for a list of weft_string, which refers to them."""
    return (structs.weft_string * len(texts))(*(structs.weft_string(text, len(text)) for text in texts))


def dims_of(shape):
    """Dimensions from pairs of a bound, and of the number of a variable or 0."""
    pairs = [(int64_of(bound, "a bound"), int32_of(variable, "a variable")) for bound, variable in shape]
    return (structs.weft_dim * len(pairs))(*pairs)


# ---- texts

def bytes_of(text, name):
    """UTF-8 of a str, or bytes as they are. TypeError for all else."""
    if isinstance(text, str):
        return text.encode()
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"{name} must be str or bytes, not {type(text).__name__}")


def only_bytes(data, name):
    if not isinstance(data, bytes):
        raise TypeError(f"{name} must be bytes, not {type(data).__name__}")
    return data


def c_text_of(text, name):
    """The same for functions that take a text up to a NUL: ArgumentError if it has one."""
    data = bytes_of(text, name)
    if b"\0" in data:
        raise failed("argument", f"{name} must not contain NUL")
    return data


def optional_c_text_of(text, name):
    return None if text is None else c_text_of(text, name)


def text_at(address):
    """The text at an address, which a NUL ends."""
    return text_of(c_char_p(address).value)


def optional_text_at(address):
    return text_at(address) if address else None


def taken_bytes(text):
    """The bytes of a weft_text, which is freed."""
    try:
        return string_at(text.data, text.size) if text.size else b""
    finally:
        api.weft_text_free(text)


def taken_str(text):
    return taken_bytes(text).decode()


# ---- results

def filled(struct):
    """A struct that the library fills."""
    return struct(struct_size=sizeof(struct))


def lent_bytes(data, size):
    return string_at(data.value, size.value) if size.value else b""


def list_of(kind, data, size):
    """A copy of the numbers at an address, as a list."""
    return array(_CODES[kind], lent_bytes(data, c_size_t(sizeof(kind) * size.value))).tolist()


def words_of(data, size):
    """A copy of 64-bit words, as an array."""
    return numpy().frombuffer(bytearray(lent_bytes(data, c_size_t(8 * size.value))), numpy().uint64)


def out_of(address):
    """The weft_error** of a callback."""
    return c_void_p.from_address(address) if address else None


# ---- attributes and keys

def values_of(given, all_integers=True):
    """A dict of bool, int, float and str for a list of weft_value. all_integers: also what is only
    used as an integer."""
    values = (structs.weft_value * len(given))()
    for value, (key, x) in zip(values, given.items()):
        value.name = c_text_of(key, "a key")
        if isinstance(x, bool):
            value.kind, value.integer = WEFT_VALUE_BOOL, x
        elif isinstance(x, int) or all_integers and hasattr(type(x), "__index__"):
            value.kind, value.integer = WEFT_VALUE_INTEGER, integer_of(x, key)
        elif isinstance(x, float) or all_integers and not isinstance(x, str):
            value.kind, value.number = WEFT_VALUE_NUMBER, number_of(x, key)
        else:
            value.kind, value.text = WEFT_VALUE_TEXT, c_text_of(x, key)
    return values


def dict_of(values, n):
    """A list of weft_value as a dict."""
    read = {WEFT_VALUE_BOOL: lambda value: value.integer != 0, WEFT_VALUE_INTEGER: lambda value: value.integer,
            WEFT_VALUE_NUMBER: lambda value: value.number}
    return {values[i].name.decode(): read.get(values[i].kind, lambda value: value.text.decode())(values[i])
            for i in range(n)}
