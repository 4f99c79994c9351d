"""Drafts: guesses of what follows, of which one step checks several."""

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, Optional

from . import _weft
from ._objects import Unpicklable
from ._opened_model import OpenedModel
from ._session import Session


class DraftCounts(NamedTuple):
    """What became of guesses: how many steps checked, and how many were right. seconds: steps and
    guessing; seconds_without: an estimate of what the same tokens would have taken. Both are 0 for
    one type."""

    n_drafted: int
    n_accepted: int
    seconds: float
    seconds_without: float


class Speculation(Unpicklable):
    """Guesses for the texts of a session: the `draft` of Session.stream() and Chat(). Every text is
    the same as without them, and its tokens come faster where guesses are often right.

        drafts = weft.Speculation(session, draft_model=weft.Model("small.gguf"))
        session.generate("Once upon a time", draft=drafts)

    type: who guesses, in this order until one has guesses, as "ngram-simple,draft": "draft" is
    draft_model, a smaller model of the same vocabulary; "draft-mtp" the model's own layer, and
    "draft-eagle3" a head (Model(draft_file=...)), for which the session needs draft_layer=True;
    "ngram-simple" what followed the last tokens when this text, or one that ended, had them. By
    default the first of these that there is. n_max: guesses in a step of a text. p_min: a model
    stops before a guess that it finds less likely. ngram_size_n: how many of the last tokens
    "ngram-simple" compares. adaptive: only as many guesses as measured times justify; False: always
    n_max. draft_session: options of the draft model's session; by default they are those of the
    session. A draft model that cannot help is left out with a warning."""

    _instead = "open one for a session there"

    def __init__(self, session: Session, type: Optional[str] = None, *,
                 draft_model: Optional[OpenedModel] = None, n_max: int = 16, p_min: float = 0.0,
                 ngram_size_n: int = 2, adaptive: bool = True,
                 draft_session: Optional[Mapping[str, Any]] = None) -> None:
        if not isinstance(session, Session):
            raise TypeError(f"session must be a weft.Session, not {_name_of(session)}")
        if draft_model is not None and not isinstance(draft_model, OpenedModel):
            raise TypeError(f"draft_model must be a weft.Model, not {_name_of(draft_model)}")
        if type is not None and not isinstance(type, str):
            raise TypeError(f"type must be str, not {_name_of(type)}")
        session._sequence(0)
        self._native, left_out = _weft.Speculation.open(
            session._native, None if draft_model is None else draft_model._opened(),
            None if draft_session is None else dict(draft_session),
            {"type": type, "n_max": n_max, "p_min": p_min, "ngram_size_n": ngram_size_n,
             "adaptive": adaptive})
        for line in left_out:
            warnings.warn(line, stacklevel=2)

    def __repr__(self) -> str:
        return f"<weft.Speculation by {self.type or 'nobody'}>"

    @property
    def type(self) -> str:
        """Who guesses, without what was left out."""
        return self._native.info(None)["type"]

    def counts(self, type: Optional[str] = None) -> DraftCounts:
        """Of all texts so far; of one type, or of all together."""
        info = self._native.info(type)
        return DraftCounts(info["n_drafted"], info["n_accepted"], info["seconds"],
                           info["seconds_without"])


def _name_of(value: object) -> str:
    return value.__class__.__name__
