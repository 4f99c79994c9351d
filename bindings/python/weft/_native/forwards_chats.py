# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_int32, c_size_t, c_void_p

from . import functions as api
from . import structs
from .calls import finish
from .classes import Chat, ChatPlan, Embedder, Grammar, Model, Reply
from .handles import function, handle_of, method, static
from .values import c_text_of, lent_bytes, list_of, optional_c_text_of, taken_str, text_of


@static(Chat, "open")
def chat_open(model, chat_template):
    c_chat_template = optional_c_text_of(chat_template, "chat_template")
    c_model = handle_of(model, Model, "model")
    c_chat = c_void_p()
    error = c_void_p()
    finish(api.weft_chat_open(c_model, c_chat_template, c_chat, error), error)
    return Chat(c_chat.value)


@function("chat_templates_json")
def chat_templates_json():
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_chat_templates_json(c_json, error), error)
    return taken_str(c_json)


@function("render_template")
def template_render(chat_template, variables):
    c_chat_template = c_text_of(chat_template, "chat_template")
    c_variables = c_text_of(variables, "variables")
    c_text = structs.weft_text()
    error = c_void_p()
    finish(api.weft_template_render(c_chat_template, c_variables, c_text, error), error)
    return taken_str(c_text)


@method(ChatPlan, "tokens")
def chat_plan_get_tokens(plan):
    c_plan = plan._handle or plan._refuse()
    c_tokens, c_n = c_void_p(), c_size_t()
    error = c_void_p()
    with plan._lock:
        finish(api.weft_chat_plan_get_tokens(c_plan, c_tokens, c_n, error), error)
        return list_of(c_int32, c_tokens, c_n)


@method(ChatPlan, "shown")
def chat_plan_get_shown(plan):
    c_plan = plan._handle or plan._refuse()
    c_tokens, c_n = c_void_p(), c_size_t()
    error = c_void_p()
    with plan._lock:
        finish(api.weft_chat_plan_get_shown(c_plan, c_tokens, c_n, error), error)
        return list_of(c_int32, c_tokens, c_n)


@method(ChatPlan, "text")
def chat_plan_get_text(plan):
    c_plan = plan._handle or plan._refuse()
    c_text, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with plan._lock:
        finish(api.weft_chat_plan_get_text(c_plan, c_text, c_size, error), error)
        return text_of(lent_bytes(c_text, c_size))


@method(ChatPlan, "grammar")
def chat_plan_get_grammar(plan):
    c_plan = plan._handle or plan._refuse()
    c_grammar = c_void_p()
    error = c_void_p()
    finish(api.weft_chat_plan_get_grammar(c_plan, c_grammar, error), error)
    return Grammar(c_grammar.value) if c_grammar else None


@static(Reply, "open")
def reply_open(plan):
    c_plan = handle_of(plan, ChatPlan, "plan")
    c_reply = c_void_p()
    error = c_void_p()
    finish(api.weft_reply_open(c_plan, c_reply, error), error)
    return Reply(c_reply.value)


@method(Reply, "message_json")
def reply_message_json(reply):
    c_reply = reply._handle or reply._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_reply_message_json(c_reply, c_json, error), error)
    return taken_str(c_json)


@method(Embedder, "cancel")
def embedder_cancel(embedder):
    c_embedder = embedder._handle or embedder._refuse()
    api.weft_embedder_cancel(c_embedder)
