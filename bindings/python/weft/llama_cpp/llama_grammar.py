"""Grammars."""

import json
import pathlib
from typing import Any, Optional, Union

from .. import _weft
from .._sampler import Grammar
from ._missing import refuse_name

LLAMA_GRAMMAR_DEFAULT_ROOT = "root"
LIST_GBNF = r"""root ::= ( "- " [^\r\n]+ "\n" )+
"""
ARITHMETIC_GBNF = r"""root ::= ( sum "=" ws atom "\n" )+
sum ::= atom ( [-+*/] ws atom )*
atom ::= ( [0-9]+ | [a-z] [a-z0-9_]* | "(" ws sum ")" ) ws
ws ::= [ \t]*
"""

JSON_GBNF = r"""root ::= value
object ::= "{" ws ( string ":" ws value ( "," ws string ":" ws value )* )? "}" ws
array ::= "[" ws ( value ( "," ws value )* )? "]" ws
value ::= object | array | string | number | ( "true" | "false" | "null" ) ws
string ::= "\"" ( [^"\\\x00-\x1f] | "\\" ( ["\\/bfnrt] | "u" hex hex hex hex ) )* "\"" ws
hex ::= [0-9a-fA-F]
number ::= "-"? ( "0" | [1-9] [0-9]* ) ( "." [0-9]+ )? ( [eE] [-+]? [0-9]+ )? ws
ws ::= [ \t\n]*
"""
JSON_ARR_GBNF = JSON_GBNF.replace("root ::= value", "root ::= array", 1)


class LlamaGrammar:
    """What a text may be. Checked when it is made, and reusable."""

    def __init__(self, *args: Any, _grammar: str, _kind: int = _weft.GRAMMAR_GBNF,
                 **kwargs: Any) -> None:
        self._grammar = _grammar
        self._native = Grammar(_grammar, _kind)

    @classmethod
    def from_string(cls, grammar: str, verbose: bool = True) -> "LlamaGrammar":
        """From GBNF."""
        return cls(_grammar=grammar)

    @classmethod
    def from_file(cls, file: Union[str, pathlib.Path], verbose: bool = True) -> "LlamaGrammar":
        """From a file with GBNF."""
        return cls.from_string(pathlib.Path(file).read_text(encoding="utf-8"), verbose)

    @classmethod
    def from_json_schema(cls, json_schema: str, verbose: bool = True) -> "LlamaGrammar":
        """From a JSON schema, as text."""
        text = json_schema if isinstance(json_schema, str) else json.dumps(json_schema)
        return cls(_grammar=text, _kind=_weft.GRAMMAR_JSON_SCHEMA)

    def reset(self) -> None:
        """Nothing to do: a text has a state of its own."""


def native_grammar(grammar: Optional[Any]) -> Optional[Grammar]:
    """The weft.Grammar of the argument `grammar`; None if there is none."""
    if grammar is None:
        return None
    if isinstance(grammar, LlamaGrammar):
        return grammar._native
    if isinstance(grammar, Grammar):
        return grammar
    raise TypeError(f"grammar must be a LlamaGrammar, not {type(grammar).__name__}")


def __getattr__(name: str) -> Any:
    why = "use LlamaGrammar.from_json_schema()" if name == "json_schema_to_gbnf" else \
        "only grammars of JSON, lists and arithmetic are part of weft.llama_cpp"
    refuse_name(__name__, name, why)
