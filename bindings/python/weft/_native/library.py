# mypy: ignore-errors
"""libweft.so, and its functions."""

import ctypes
import pathlib

_FOLDER = pathlib.Path(__file__).parents[1] / "lib"
_NAMES = ("libweft.so.1", "libweft.so")


def _load_others():
    """Loads the libraries that a wheel brings along, in whatever order they need each other. The
    loader then knows them by their names."""
    waiting = [path for path in sorted(_FOLDER.glob("*.so*")) if path.name not in _NAMES]
    while waiting:
        failed = []
        for path in waiting:
            try:
                ctypes.CDLL(str(path))
            except OSError:
                failed.append(path)
        if len(failed) == len(waiting):
            return
        waiting = failed


def _load():
    path = next((_FOLDER / name for name in _NAMES if (_FOLDER / name).exists()), None)
    if path is None:  # a package of a distribution: that of the system
        path = _NAMES[0]
    else:
        _load_others()
    try:
        # Functions of the first one let other threads run; those of the second one keep Python's lock.
        return ctypes.CDLL(str(path)), ctypes.PyDLL(str(path))
    except OSError as error:
        raise ImportError(f"weft's library cannot be loaded: {error}") from None


_plain, _short = _load()


def _function(library, name, result, arguments):
    # Not the attribute of the library: the same function may be there with other types.
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


def plain(name, result, *arguments):
    """A function during which other threads run."""
    return _function(_plain, name, result, arguments)


def short(name, result, *arguments):
    """A function that takes less time than letting others run."""
    return _function(_short, name, result, arguments)
