#!/usr/bin/python3
"""Composes the corpus: stories and chats, all from our own words and grammar.

Document number i depends on the seed and on i alone, so the corpus is the same
on every machine, and any part of it can be composed again.
"""

import argparse
import random
from dataclasses import dataclass

import chats

STORY_SHARE = 0.06


@dataclass(frozen=True)
class Document:
    """A text, and those of its words which must not change once they have been said."""

    text: str
    marks: frozenset


def document(seed: int, index: int) -> Document:
    """A plain story, or a chat."""
    rng = random.Random(seed * 1_000_003 + index)
    if rng.random() < STORY_SHARE:
        tale = chats.new_tale(rng)
        return Document(tale.text(), tale.marks())
    return Document(*chats.chat(rng))


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--count", type=int, default=10)
    args.add_argument("--first", type=int, default=0)
    o = args.parse_args()
    for i in range(o.first, o.first + o.count):
        print(document(o.seed, i).text, end="\n\n----\n")


if __name__ == "__main__":
    main()
