"""Turns a document into ids and weights: how much each token counts in the loss.

What the user says counts nothing, since the model is never asked to guess it.
Answers count double, and so do three times over the words that must be kept:
names, kinds, things and pronouns. A new name that is one token counts like any word.
One of several tokens counts nothing: a model that learns to make up such names
from syllables repeats a syllable without end.
"""

import re

from bpe import SPECIALS, Tokenizer, cut

KEPT, ANSWER, TOLD, GIVEN = 4.0, 2.0, 1.0, 0.0
PRONOUNS = frozenset("he she him her his He She His Her".split())
_SPECIAL = re.compile("(" + "|".join(re.escape(s) for s in SPECIALS) + ")")


def _turns(text: str):
    """(text, weight) for each stretch between special tokens, and for these tokens themselves."""
    weight, replies = TOLD, 0
    for part in _SPECIAL.split(text):
        if part.startswith("assistant\n"):
            replies += 1
            weight = TOLD if replies == 1 or len(part) > 600 else ANSWER
            yield "assistant\n", GIVEN
            yield part[len("assistant\n"):], weight
        elif part == "<|im_start|>":
            weight = GIVEN
            yield part, GIVEN
        elif part:
            yield part, weight
            if part == "<|im_end|>":
                weight = GIVEN  # the line break between two turns


def lesson(tokenizer: Tokenizer, text: str, marks: frozenset):
    """The ids of a text and the weight of each."""
    ids, weights, seen = [], [], set()
    for part, weight in _turns(text):
        if part in SPECIALS:
            ids.append(tokenizer.ids[part])
            weights.append(weight)
            continue
        for piece in cut(part):
            new = tokenizer.encode_piece(piece)
            word = piece.strip()
            known = word in seen
            seen.add(word)
            if word in PRONOUNS or (word in marks and known):
                value = weight * KEPT
            elif word in marks and word[0].isupper() and len(new) > 1:
                value = GIVEN
            else:
                value = weight
            ids += new
            weights += [value] * len(new)
    return ids, weights
