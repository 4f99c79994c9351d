"""Regular expressions on vocabularies, by interegular and bitmasks of numpy: what outlines asks of
outlines_core for choices and regular expressions. It makes no regular expression of a JSON
schema."""

import sys
import types
from collections.abc import Mapping
from typing import Any, NoReturn

import numpy as np


class Vocabulary:
    """Texts, and the ids that have each."""

    def __init__(self, eos_token_id: int, texts: Mapping[str, list[int]]) -> None:
        self.end = eos_token_id
        self.texts = {text: ids for text, ids in texts.items() if text}


class Index:
    """A regular expression on a vocabulary."""

    def __init__(self, regex: str, vocabulary: Vocabulary) -> None:
        import interegular
        self.machine = interegular.parse_pattern(regex).to_fsm().reduce()
        self.vocabulary = vocabulary
        self._following: dict[int, dict[int, int]] = {}

    def following(self, state: int) -> dict[int, int]:
        """The ids that may follow in a state, and the states after them."""
        if state not in self._following:
            found = {}
            for text, ids in self.vocabulary.texts.items():
                after = self._after(state, text)
                if after is not None:
                    found.update(dict.fromkeys(ids, after))
            if state in self.machine.finals:
                found[self.vocabulary.end] = state
            self._following[state] = found
        return self._following[state]

    def _after(self, state: Any, text: str) -> Any:
        for character in text:
            symbol = self.machine.alphabet[character]
            state = self.machine.map.get(state, {}).get(symbol)
            if state is None or not self.machine.islive(state):
                return None
        return state


class Guide:
    """A text that is being written."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.state = index.machine.initial

    def is_finished(self) -> bool:
        """Whether the text may end here."""
        return self.state in self.index.machine.finals

    def accepts_tokens(self, ids: list[int]) -> bool:
        """Whether ids may follow."""
        state = self.state
        for i in ids:
            if i not in self.index.following(state):
                return False
            state = self.index.following(state)[i]
        return True

    def advance(self, token_id: int, return_tokens: bool = True) -> Any:
        """Appends an id."""
        self.state = self.index.following(self.state)[token_id]
        return list(self.index.following(self.state)) if return_tokens else None


def _build_regex_from_schema(*_: Any) -> NoReturn:
    raise ModuleNotFoundError("JSON schemas need outlines_core itself", name="outlines_core")


def _fill(guide: Guide, mask: Any) -> None:
    mask[:] = False
    mask[:, list(guide.index.following(guide.state))] = True


def _apply(logits: Any, mask: Any) -> None:
    logits[~mask] = -np.inf


def _module(name: str, **names: Any) -> None:
    made = types.ModuleType(f"outlines_core.{name}")
    made.__dict__.update(names)
    sys.modules[made.__name__] = made


__path__: list[str] = []
_module("json_schema", build_regex_from_schema=_build_regex_from_schema)
_module("kernels", __path__=[])
_module("kernels.numpy", allocate_token_bitmask=lambda n: np.zeros((1, n), bool),
        fill_next_token_bitmask=_fill, apply_token_bitmask_inplace=_apply)
