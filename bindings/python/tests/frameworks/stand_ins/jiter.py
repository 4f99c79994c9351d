"""Parses JSON, of which the end may be missing: with pydantic, which has the same parser inside."""

from typing import Any, Union

import pydantic_core


def from_json(data: bytes, *, partial_mode: Union[bool, str] = False, **_: Any) -> Any:
    """The value of JSON. Options about caches and numbers change no value here."""
    return pydantic_core.from_json(data, allow_partial=partial_mode or False)
