"""Helpers that programs take from llama-cpp-python."""

from typing import Any


class suppress_stdout_stderr:
    """Does nothing: Weft prints nothing that would have to be hidden."""

    def __init__(self, disable: bool = True) -> None:
        self.disable = disable

    def __enter__(self) -> "suppress_stdout_stderr":
        return self

    def __exit__(self, *exception: Any) -> None:
        pass


class MetaSingleton(type):
    """The class of classes with one object each."""

    _instances: dict[type, Any] = {}

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if cls not in MetaSingleton._instances:
            MetaSingleton._instances[cls] = super().__call__(*args, **kwargs)
        return MetaSingleton._instances[cls]


class Singleton(metaclass=MetaSingleton):
    """A class with one object."""
