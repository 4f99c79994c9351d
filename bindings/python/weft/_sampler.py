"""Samplers and grammars."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Optional, Union

from . import _weft
from ._objects import Unpicklable
from ._opened_model import OpenedModel


class Candidate(NamedTuple):
    """A token that the stages of a sampler kept."""

    id: int
    logit: float
    probability: float


class Sampler(Unpicklable):
    """Chooses tokens. docs/sampling.md describes all parameters; logit_bias: id to number."""

    _instead = "make one with the same parameters"

    def __init__(self, *, temperature: float = 0.8, top_k: int = 40, top_p: float = 0.95,
                 min_p: float = 0.05, seed: int = 0,
                 logit_bias: Optional[Mapping[int, float]] = None, **more: Any) -> None:
        self._options: dict[str, Any] = {"temperature": temperature, "top_k": top_k, "top_p": top_p,
                                         "min_p": min_p, "seed": seed, **more}
        if logit_bias is not None:
            self._options["logit_bias"] = dict(logit_bias)
        self._native = _weft.Sampler.open(self._options)

    def __repr__(self) -> str:
        given = ", ".join(f"{k}={v!r}" for k, v in self._options.items())
        return f"weft.Sampler({given})"

    def sample(self, logits: Any) -> int:
        """A token from logits [V], which are not changed."""
        token: int = self._native.sample(logits)
        return token

    def candidates(self) -> list[Candidate]:
        """What the stages kept at the last sample()."""
        return [Candidate(*one) for one in self._native.candidates()]

    def accept(self, id: int) -> None:
        """Appends a token to the text that penalties see."""
        self._native.accept(id)

    def reset(self) -> None:
        """Begins a new text, with random numbers from the seed on."""
        self._native.reset()


def top_logprobs(logits: Any, n: int) -> list[tuple[int, float]]:
    """The n most likely tokens of logits [V] with their log-probabilities, best first."""
    return _weft.top_logprobs(logits, n)


def logprob_of(logits: Any, id: int) -> float:
    """The log-probability of a token by logits [V]."""
    return _weft.logprob_of(logits, id)


class Grammar(Unpicklable):
    """What a text may be: from_gbnf(), from_json_schema(), from_regex(), from_choices()."""

    _instead = "make it from its text"

    def __init__(self, text: Union[str, bytes], kind: int = _weft.GRAMMAR_GBNF,
                 model: Optional[OpenedModel] = None) -> None:
        self._native = _weft.Grammar.open(kind, text, None if model is None else model._opened())

    def __repr__(self) -> str:
        return "<weft.Grammar>"

    def accepts(self, text: Union[str, bytes]) -> bool:
        """Whether it is a complete text of the grammar."""
        result: bool = self._native.accepts(text)
        return result

    @classmethod
    def from_gbnf(cls, text: str, model: Optional[OpenedModel] = None) -> "Grammar":
        """From GBNF; a grammar that names tokens needs the model."""
        return cls(text, _weft.GRAMMAR_GBNF, model)

    @classmethod
    def from_json_schema(cls, schema: Union[str, Mapping[str, Any]]) -> "Grammar":
        """From a JSON schema, as text or as a dict."""
        import json
        return cls(schema if isinstance(schema, str) else json.dumps(schema),
                   _weft.GRAMMAR_JSON_SCHEMA)

    @classmethod
    def from_regex(cls, pattern: str) -> "Grammar":
        """From a regular expression of the whole text."""
        return cls(pattern, _weft.GRAMMAR_REGEX)

    @classmethod
    def from_choices(cls, choices: "list[str]") -> "Grammar":
        """One of these texts."""
        import json
        return cls(json.dumps(list(choices)), _weft.GRAMMAR_CHOICE)
