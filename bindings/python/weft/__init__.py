"""Weft runs language models on CPUs and lets you inspect every step.

    import weft
    with weft.Model() as model, model.session() as session:
        print(session.generate("Once upon a time"))
"""

from ._errors import (
    ArgumentError,
    BudgetError,
    BusyError,
    CallbackError,
    CancelledError,
    ClosedError,
    DTypeError,
    Error,
    ForkedError,
    FormatError,
    InternalError,
    IoError,
    NanError,
    ShapeError,
    UnsupportedError,
)
from ._model import Model, Tokenizer, bundled_model
from ._plan import Plan
from ._sampler import Grammar, Sampler
from ._session import Session, Stream
from ._weft import version as _version

__version__: str = _version()

__all__ = [
    "ArgumentError", "BudgetError", "BusyError", "CallbackError", "CancelledError", "ClosedError",
    "DTypeError", "Error", "ForkedError", "FormatError", "Grammar", "InternalError", "IoError",
    "Model", "NanError", "Plan", "Sampler", "Session", "ShapeError", "Stream", "Tokenizer",
    "UnsupportedError", "bundled_model",
]

for _name in __all__:
    if isinstance(globals()[_name], type):
        globals()[_name].__module__ = "weft"
del _name


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
