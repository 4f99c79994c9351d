"""Counts how often a model keeps to a wish, and how often its answers fit the story it told.

Everything is judged by what the plots can say (see reader.py), so the count needs
no reader of flesh and blood and is the same each time.
"""

import re
from collections import Counter

import words
from reader import NAME, Reader

QUESTIONS = ("Who was the story about?", "Who else was in the story?", "How did it end?",
             "What happened next?")
FORMS = ("Tell me a story about {}.", "A story about {}, please.",
         "Please tell me a story about {}.", "I would like a story about {}.")
# Names in no list of words.py, which the corpus can hardly ever contain.
UNKNOWN_GIRLS = "Sarah Bianca Lotte Priya Annika Odette Carmen Heidi Fiona Philippa".split()
UNKNOWN_BOYS = "Marvin Zeno Quill Rajesh Bjorn Dominic Cedric Igor Pascal Timothy".split()
STORY_LIMIT, ANSWER_LIMIT = 320, 60
KINDS = {*words.ANIMALS, *words.MORE_ANIMALS, *words.ELDERS, *words.WORKERS, "girl", "boy"}
LOOKS = {*words.TRAITS, *words.SIZES, "old", "wise", "grey", "shy", "merry", "gentle"}


def wishes(count: int = 40):
    """For each wish: (text, hero's name, kind, girl, thing).

    girl is None when the wish does not say, thing is "" when it has none.

    Half the names are in the lists, half in none; half the wishes name a thing.
    """
    listed = [n for pair in zip(words.GIRLS, words.BOYS) for n in pair]
    unknown = [n for pair in zip(UNKNOWN_GIRLS, UNKNOWN_BOYS) for n in pair]
    for i in range(count):
        girl, pool = i % 2 == 0, unknown if i // 2 % 2 else listed
        # Steps of 3 pairs through the lists, so that the choice is not their beginning alone.
        name = pool[(i // 4 * 6 + i % 2) % (len(pool) - len(pool) % 2)]
        kind = ("girl" if girl else "boy") if i % 10 >= 8 else words.ANIMALS[i * 7 %
                                                                             len(words.ANIMALS)]
        noun, looks, _ = words.THINGS[i * 5 % len(words.THINGS)]
        thing = f"{looks[i % len(looks)]} {noun}" if i % 8 >= 4 else ""
        sure = girl if name in listed or kind in ("girl", "boy") else None
        wish = f"{words.a(kind)} named {name}" + (f" and {words.a(thing)}" if thing else "")
        yield FORMS[i % len(FORMS)].format(wish), name, kind, sure, thing


def _strangers(sentence: str, known: dict) -> set:
    """The parts that a sentence outside the plots gets wrong: names and "the <kind>" of nobody in
    the story."""
    names = {v for (_, part), v in known.items() if part == "name"}
    kinds = {v for (_, part), v in known.items() if part == "kind"}
    listed = {*words.GIRLS, *words.BOYS, *words.MORE_GIRLS, *words.MORE_BOYS}
    wrong = {"name" for n in NAME.findall(sentence) if n in listed and n not in names}
    return wrong | {
        "kind"
        for k in re.findall(r"[Tt]he ([a-z]+)", sentence) if k in KINDS and k not in kinds
    }


class Judge:
    """Judges stories and answers; `counts` holds (right, asked) by what was judged."""

    def __init__(self):
        self.reader = Reader()
        self.right, self.asked = Counter(), Counter()
        self.read = self.unread = 0

    def note(self, what: str, right: bool) -> bool:
        self.asked[what] += 1
        self.right[what] += bool(right)
        return bool(right)

    def story(self, story: str, name: str, kind: str, girl, thing: str):
        """Notes whether the story keeps to the wish; returns the reading and what is wrong."""
        known = {("h", "name"): name, ("h", "kind"): kind}
        echo = re.match(r"Here is (.*?)\. ", story)
        if girl is not None:
            known["h", "girl"] = girl
        _, reading = self.reader.story(story, known)
        self.read += reading.read
        self.unread += len(reading.unread)
        wrong = {part if role == "h" else "others" for (role, part), _ in reading.faults}
        for sentence in reading.unread:
            wrong |= _strangers(sentence, reading.known)
        if echo and echo[1] != "a story":  # a reply may repeat the wish, and must not change it
            wrong |= set() if name in echo[1].split() else {"name"}
            wrong |= set() if kind in echo[1].split() else {"kind"}
        wrong |= {"name"} if len(re.findall(rf"\b{name}\b", story)) < 2 else set()
        wrong |= {"kind"} if not re.search(rf"\b{kind}\b", story) else set()
        wrong |= {"others"} if ("f", "name") not in reading.known else set()
        for part in ("name", "kind", "girl"):
            self.note("pronouns" if part == "girl" else part, part not in wrong)
        self.note("story", not wrong & {"name", "kind", "girl"})
        self.note("others", "others" not in wrong)
        if thing:
            wrong |= set() if self.note("thing", thing in story) else {"thing"}
        return reading, wrong

    def about(self, answer: str, reading, roles) -> bool:
        """Whether the answer names someone with one of the roles, and nothing that is untrue of
        them."""
        known = reading.told
        names = [n for n in NAME.findall(answer) if n in known.values()]
        role = next((r for r in roles if known.get((r, "name")) in names), None)
        if role is None or set(
                NAME.findall(answer)) - {*known.values(), "It", "The", "There", "She", "He"}:
            return False
        text = set(re.findall(r"[a-z]+", answer.lower()))
        looks = set(str(known.get((role, "look"), "")).split())
        pronouns = {
            True: {"he", "his", "him"},
            False: {"she"},
            None: set()
        }[known.get((role, "girl"))]
        kind = known.get((role, "kind"))
        return kind in text and text & KINDS <= {kind} and text & LOOKS <= looks | {"kind"} \
            and not text & pronouns

    def ending(self, answer: str, story: str) -> bool:
        """Whether the answer is what the last part of the story says, word for word."""
        core = re.sub(r"^In the end it went well\. ", "", answer)
        story = " ".join(story.split())
        return len(core.split()) >= 4 and core in story[len(story) // 2:]

    def sequel(self, answer: str, reading) -> bool:
        """Whether each sentence is one that can follow a story, about the same two people."""
        people = {k: v for k, v in reading.told.items() if k[1] != "look"}
        after = self.reader.follow(self.reader.after, " ".join(answer.split()), people)
        named = {n for n in NAME.findall(answer) if n in people.values()}
        return bool(named) and not after.faults and not after.unread

    def answer(self, question: str, answer: str, story: str, reading) -> bool:
        """Notes whether an answer fits the story."""
        right = (self.about(answer, reading, "h") if question == QUESTIONS[0] else
                 self.about(answer, reading, "of") if question == QUESTIONS[1] else self.ending(
                     answer, story) if question == QUESTIONS[2] else self.sequel(answer, reading))
        self.note("answers", right)
        return self.note(question, right)

    def report(self):
        """Prints the counts."""
        for what, asked in self.asked.items():
            print(
                f"{what:30} {self.right[what]:4} of {asked:4}  "
                f"{100 * self.right[what] / asked:5.1f} %"
            )
        print(f"sentences which no plot can say: {self.unread} of {self.read + self.unread}")


def score(model, count: int, temperature: float, rng, verbose: bool):
    """Tells `count` stories, asks the questions about each, and prints how many were right."""
    judge = Judge()
    for text, name, kind, girl, thing in wishes(count):
        chat = f"<|im_start|>user\n{text}<|im_end|>\n<|im_start|>assistant\n"

        def reply(limit):
            ids = model.prompt(chat)
            # A story that runs on and on leaves no room for an answer, which then is wrong.
            room = min(limit, model.context - len(ids))
            out = model.generate(ids, room, temperature, rng)[0] if room > 0 else []
            return model.tokenizer.decode(out)

        told = reply(STORY_LIMIT)
        story = told.replace("<|im_end|>", "")
        reading, wrong = judge.story(story, name, kind, girl, thing)
        if verbose:
            print(
                f"=== {text}\n{story}\n  wrong: {sorted(wrong)} {reading.faults} {reading.unread}")
        chat += told
        for question in QUESTIONS:
            chat += f"\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
            told = reply(ANSWER_LIMIT)
            chat += told
            right = judge.answer(question, told.replace("<|im_end|>", ""), story, reading)
            if verbose:
                print(f"  {question} {told} {'' if right else 'WRONG'}")
    judge.report()
