"""Reads a story back by the sentences that the plots can say.

Each plot is told many times with stand-ins for people, places and things. What it
says becomes a pattern, in which a stand-in matches any word that may take its
place. So for each sentence of a story it is known who is meant by which name,
which kind and which pronoun.
"""

import random
import re
from dataclasses import dataclass, field
from unittest import mock

import chats
import tale
import words

_PARTS = "name kind look he him his He His".split()
_KINDS = sorted({*words.ANIMALS, *words.MORE_ANIMALS, *words.ELDERS, *words.WORKERS, "girl", "boy"},
                key=len,
                reverse=True)
_FREE = {
    "full": r"[a-z]+(?: [a-z]+)?(?: [a-z]+)?",
    "noun": r"[a-z]+(?: [a-z]+)?",
    "use": r"[a-z ]+",
    "trait": "[a-z]+",
    "colour": "[a-z]+",
    "food": "[a-z ]+"
}
NAME = re.compile(r"\b[A-Z][a-z]+\b")


def _any(options) -> str:
    return "(?:" + "|".join(sorted(map(re.escape, options), key=len, reverse=True)) + ")"


@dataclass(frozen=True)
class StandIn:
    """A person of whom only the role is known; every word about them is a mark."""

    role: str
    human: bool

    def __getattr__(self, part):
        if part == "who":
            return f"a {self.look} {self.kind}"
        if part in ("furry", "child"):
            return (part == "child") == self.human
        if part not in _PARTS:
            raise AttributeError(part)
        return f"<{self.role}.{part}>"


def _pattern(text: str):
    """The regular expression of a text with marks; each mark is a group r_part_number."""
    out, count = "", 0
    for piece in re.split(r"(<[\w.]+>|\b[Aa]n? (?=<))", text):
        count += 1
        if piece.lower() in ("a ", "an "):
            out += "[Aa]n? "
        elif not re.fullmatch(r"<[\w.]+>", piece):
            out += re.escape(piece)
        elif "." in piece:
            role, part = piece[1:-1].split(".")
            form = {
                "name": "[A-Z][a-z]+",
                "kind": _any(_KINDS),
                "look": "[a-z]+(?: [a-z]+)?",
                "he": "he|she",
                "him": "him|her",
                "his": "his|her",
                "He": "He|She",
                "His": "His|Her"
            }[part]
            out += f"(?P<{role}_{part}_{count}>{form})"
        else:
            mark = piece[1:-1].rstrip("0123456789")
            form = _FREE.get(mark) or {
                "place": _any(p for p, _ in words.PLACES),
                "at": "(?i:" + _any(f"{w} {p}" for p, w in words.PLACES) + ")",
                "when": "(?i:" + _any(_TIMES) + ")"
            }[mark]
            out += f"(?:{form})"
    return re.compile(out + r"(?=\s|$)")


_TIMES = words.TIMES


class _Listener:
    """Stands in for the random parts of a plot, and notes all that it could say."""

    def __init__(self):
        self.said = set()

    def tell(self, plot, seed: int):
        rng = random.Random(seed)
        people = [StandIn(role, rng.random() < 0.5) for role in "hfo"]
        friends = iter(people[1:])
        say, listener = tale.Tale.say, self

        def note(t, *options):
            for text in options:
                listener.said.add(text)
                for _ in range(4 if t.known else 0):
                    called, t.called = t.called, rng.choice(([], people[:2]))[:]
                    listener.said.add(t.by_kind(text, 0.5))
                    t.called = called
            return say(t, *options)

        def choose_thing(t, made=False):
            t.thing = "<full>"
            return "<noun>", "<full>", "<use>"

        with mock.patch.multiple(words, make_hero=lambda _: people[0],
                                 make_friend=lambda *_: next(friends),
                                 FOODS=("<food>", ), TIMES=("<when>", ), TRAITS=("<trait>", ),
                                 COLOURS=("<colour>", ), SIZES=("<h.look>", )), \
             mock.patch.multiple(tale.Tale, say=note, choose_thing=choose_thing,
                                 places=lambda t, n: [(f"<place{i}>", f"<at{i}>")
                                                      for i in range(n)]):
            told = plot(rng)
            return told, tale.epilogue(told)


@dataclass
class Reading:
    """What was understood: who is who, and what did not agree with it."""

    known: dict = field(default_factory=dict)  # (role, "name" | "kind" | "girl" | "look") -> value
    told: dict = field(
        default_factory=dict)  # likewise, but as the text first says it, whatever was known before
    faults: list = field(default_factory=list)  # (part, sentence)
    read: int = 0  # sentences that a plot could say
    unread: list = field(default_factory=list)


def _facts(match) -> list:
    """((role, part), value) for all marks of a match; pronouns become girl or not."""
    facts = []
    for group, value in match.groupdict().items():
        role, part, _ = group.split("_")
        if part in ("he", "him", "his", "He", "His"):
            facts.append(((role, "girl"), value.lower() in ("she", "her")))
        else:
            facts.append(((role, part), value))
    return facts


def _disputes(known: dict, facts: list) -> set:
    """The parts that contradict what is known, or each other."""
    now, bad = dict(known), set()
    for key, value in facts:
        if now.setdefault(key, value) != value and key[1] != "look":
            bad.add(key)
    names = [now.get((role, "name")) for role in "hfo"]
    names = [n for n in names if n]
    if len(set(names)) < len(names):
        bad.add(("f", "name"))
    return bad


class Reader:
    """The patterns of all plots, and of what happens after them."""

    def __init__(self, tries: int = 400):
        self.plots, after = [], set()
        for plot in chats.PLOTS:
            listener = _Listener()
            for seed in range(tries):
                _, epilogue = listener.tell(plot, seed)
                after.update(re.split(r"(?<=\.) ", epilogue))
            self.plots.append((plot.__name__, [_pattern(t) for t in sorted(listener.said)]))
        self.after = [_pattern(t) for t in sorted(after)]

    @staticmethod
    def follow(patterns, text: str, known: dict) -> Reading:
        """Reads a text sentence by sentence; the longest reading without a contradiction counts."""
        r, at = Reading(dict(known)), 0
        while at < len(text):
            found = [m for m in (p.match(text, at) for p in patterns) if m]
            if not found:
                end = re.compile(r'[.!?]"?(?=\s|$)').search(text, at)
                end = end.end() if end else len(text)
                r.unread.append(text[at:end])
            else:
                best = min(found, key=lambda m: (len(_disputes(r.known, _facts(m))), -m.end()))
                for key in _disputes(r.known, _facts(best)):
                    r.faults.append((key, best[0]))
                for key, value in _facts(best):
                    r.known.setdefault(key, value)
                    r.told.setdefault(key, value)
                end = best.end()
                r.read += 1
            at = end + 1
        return r

    def story(self, text: str, known: dict):
        """(plot, reading) for the plot that explains the story best."""
        text = " ".join(text.split())
        intro = re.match(_any(i for i in chats.INTROS if i) + r"|Here is .*?\. ", text)
        text = text[intro.end():] if intro else text
        readings = [(name, self.follow(patterns, text, known)) for name, patterns in self.plots]
        return min(readings, key=lambda x: (len(x[1].unread) + len(x[1].faults), -x[1].read))
