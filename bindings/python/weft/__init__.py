"""Weft runs language models on CPUs and lets you inspect every step.

    import weft
    with weft.Model() as model, model.session() as session:
        print(session.generate("Once upon a time"))
"""

import atexit as _atexit
import importlib as _importlib
import os as _os
import threading as _threading
from typing import TYPE_CHECKING
from typing import Any as _Any

from . import _weft
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
from ._chat import Answer, Chat
from ._conversion import convert, quantize
from ._library import architectures, load_backend, load_extension
from ._model import Model, bundled_model
from ._plan import Plan, Profile
from ._report import Proof, Report
from ._sampler import Candidate, Grammar, Sampler, logprob_of, top_logprobs
from ._saved import Saved
from ._session import Session
from ._speculation import DraftCounts, Speculation
from ._stream import FoundText, Stream
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    from . import ops
    from ._architecture import new_model_check, register_architecture, write_made_model
    from ._custom_op import register_op
    from ._graph import Graph, Tensor
    from ._graph_function import graph

# The modules of names that programs need which build graphs; they are loaded when they are used.
_LATER = {
    "Graph": "_graph", "Tensor": "_graph", "graph": "_graph_function", "new_model_check": "_architecture",
    "ops": "ops", "register_architecture": "_architecture", "register_op": "_custom_op",
    "write_made_model": "_architecture",
}

__version__: str = _weft.version()

__all__ = [
    "Answer", "ArgumentError", "BudgetError", "BusyError", "CallbackError", "CancelledError",
    "Candidate", "Chat", "ClosedError", "DTypeError", "DraftCounts", "Error", "ForkedError",
    "FormatError", "FoundText", "Grammar", "Graph", "InternalError", "IoError", "Model", "NanError",
    "Plan", "Profile", "Proof", "Report", "Sampler", "Saved", "Session", "ShapeError", "Speculation",
    "Stream", "Tensor", "Tokenizer", "UnsupportedError", "architectures", "bundled_model", "convert",
    "graph", "load_backend", "load_extension", "logprob_of", "new_model_check", "ops", "quantize",
    "register_architecture", "register_op", "top_logprobs", "write_made_model",
]


def _note_main_thread() -> None:
    ident = _threading.main_thread().ident
    assert ident is not None
    _weft.set_main_thread(ident)


_note_main_thread()
_os.register_at_fork(after_in_child=_note_main_thread)
_atexit.register(_weft.begin_exit)

for _name in __all__:
    if isinstance(globals().get(_name), type):
        globals()[_name].__module__ = "weft"
del _name


def __getattr__(name: str) -> _Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _importlib.import_module(f"{__name__}.{_LATER[name]}")
    value = module if name == "ops" else getattr(module, name)
    if isinstance(value, type):
        value.__module__ = "weft"
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
