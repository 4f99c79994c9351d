# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""The classes of handles."""

from . import functions
from .handles import Handle, Lent


class Model(Handle):
    """A weft_model."""

    __slots__ = ()
    _noun = "model"
    _free = functions.weft_model_free
    close = Handle._close


class Detokenizer(Handle):
    """A weft_detokenizer."""

    __slots__ = ()
    _noun = "detokenizer"
    _free = functions.weft_detokenizer_free


class Grammar(Handle):
    """A weft_grammar."""

    __slots__ = ()
    _noun = "grammar"
    _free = functions.weft_grammar_free


class Constraint(Handle):
    """A weft_constraint."""

    __slots__ = ()
    _noun = "constraint"
    _free = functions.weft_constraint_free


class Sampler(Handle):
    """A weft_sampler."""

    __slots__ = ()
    _noun = "sampler"
    _free = functions.weft_sampler_free


class Session(Handle):
    """A weft_session."""

    __slots__ = ()
    _noun = "session"
    _free = functions.weft_session_free
    close = Handle._close


class Saved(Handle):
    """A weft_saved."""

    __slots__ = ()
    _noun = "saved sequence"
    _free = functions.weft_saved_free


class Speculation(Handle):
    """A weft_speculation."""

    __slots__ = ()
    _noun = "speculation"
    _free = functions.weft_speculation_free
    close = Handle._close


class Generation(Handle):
    """A weft_generation."""

    __slots__ = ()
    _noun = "text"
    _free = functions.weft_generation_free
    close = Handle._close


class Batch(Handle):
    """A weft_batch."""

    __slots__ = ()
    _noun = "batch"
    _free = functions.weft_batch_free


class Diffusion(Handle):
    """A weft_diffusion."""

    __slots__ = ()
    _noun = "diffusion"
    _free = functions.weft_diffusion_free


class Chat(Handle):
    """A weft_chat."""

    __slots__ = ()
    _noun = "chat"
    _free = functions.weft_chat_free


class ChatPlan(Handle):
    """A weft_chat_plan."""

    __slots__ = ()
    _noun = "plan"
    _free = functions.weft_chat_plan_free


class Reply(Handle):
    """A weft_reply."""

    __slots__ = ()
    _noun = "reply"
    _free = functions.weft_reply_free


class Embedder(Handle):
    """A weft_embedder."""

    __slots__ = ()
    _noun = "session"
    _free = functions.weft_embedder_free
    close = Handle._close


class Graph(Handle):
    """A weft_graph."""

    __slots__ = ()
    _noun = "graph"
    _free = functions.weft_graph_free


class Computation(Handle):
    """A weft_computation."""

    __slots__ = ()
    _noun = "computation"
    _free = functions.weft_computation_free


class Keys(Lent):
    """A weft_config."""

    __slots__ = ()


class Builder(Lent):
    """A weft_builder."""

    __slots__ = ()


CLASSES = {
    "Model": Model,
    "Detokenizer": Detokenizer,
    "Grammar": Grammar,
    "Constraint": Constraint,
    "Sampler": Sampler,
    "Session": Session,
    "Saved": Saved,
    "Speculation": Speculation,
    "Generation": Generation,
    "Batch": Batch,
    "Diffusion": Diffusion,
    "Chat": Chat,
    "ChatPlan": ChatPlan,
    "Reply": Reply,
    "Embedder": Embedder,
    "Graph": Graph,
    "Computation": Computation,
    "Keys": Keys,
    "Builder": Builder,
}
