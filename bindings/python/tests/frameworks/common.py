"""What the checks of frameworks share: what the package weft itself says."""

import functools
import json

import weft

STORY = "Once upon a time"
MODEL = str(weft.bundled_model())
SCHEMA = {"type": "object", "properties": {"name": {"enum": ["Tom", "Lily"]},
                                           "age": {"enum": [3, 4, 5]}},
          "required": ["name", "age"], "additionalProperties": False}


def equal(got, want):
    """Raises unless both are equal."""
    if got != want:
        raise AssertionError(f"got {got!r}, expected {want!r}")


@functools.lru_cache(maxsize=None)
def greedy(prompt=STORY, max_tokens=9, stop=None):
    """The likeliest text after a prompt."""
    with weft.Model() as model, model.session(context=512) as session:
        return session.generate(prompt, max_tokens=max_tokens, stop=[stop] if stop else [],
                                sampler=weft.Sampler(temperature=0))


def greedy_chat(messages, max_tokens=9):
    """The likeliest answer to messages, by the template of the model."""
    with weft.Model() as model:
        prompt = model.tokenizer.apply_chat_template(messages)
        ids = model.tokenizer.encode(prompt, add_special=False, parse_special=True)
        with model.session(context=512) as session:
            return session.generate(ids, max_tokens=max_tokens, sampler=weft.Sampler(temperature=0))


def embedding(text):
    """The mean of the hidden states of a text."""
    with weft.Model() as model, model.session(context=512) as session:
        return session.embed(text)


def is_of_schema(text):
    """Raises unless a text is JSON that fits SCHEMA."""
    value = json.loads(text) if isinstance(text, str) else text
    if sorted(value) != ["age", "name"] or value["name"] not in ("Tom", "Lily") or \
            value["age"] not in (3, 4, 5):
        raise AssertionError(f"{text!r} does not fit the schema")
