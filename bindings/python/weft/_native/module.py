# mypy: ignore-errors
"""What the module _weft offers."""

from . import (architectures, chats, custom_ops, embedders, forwards_architectures,  # noqa: F401
               forwards_chats, forwards_generations, forwards_graphs, forwards_models,
               forwards_sessions, generations, graphs, models, samplers, sessions, speculations)
from .classes import CLASSES
from .constants import PUBLIC
from .errors import set_errors
from .handles import FUNCTIONS
from .interpreter import begin_exit, set_main_thread
from .values import ids_of


def ids(ids):
    """Ids as a list."""
    return ids_of(ids).tolist()


NAMES = {**PUBLIC, **CLASSES, **FUNCTIONS, "begin_exit": begin_exit, "ids": ids, "set_errors": set_errors,
         "set_main_thread": set_main_thread}
