"""A tale under construction, and the beats that every plot can use."""

import random
import re

import words
from words import Being, a, cap


class Tale:
    """Collects sentences and, beside them, the questions which they answer."""

    def __init__(self, rng: random.Random, old_friend: bool = True):
        self.rng = rng
        self.hero = words.make_hero(rng)
        self.friend = words.make_friend(rng, self.hero, old_friend)
        self.home = rng.choice(words.CHILD_HOMES if self.hero.human else words.ANIMAL_HOMES)
        self.paragraphs = [[]]
        self.qa = []
        self.common = []  # who, who else, how it ended: what every story can be asked
        self.theme = ""
        self.wish = ""
        self.thing = ""
        self.known = False  # whether the opening is over
        self.called = []  # who has been called by name and kind
        self.ask(("Who was the story about?", "Who is the hero of the story?",
                  "What was the name of the hero?", "Who was it about?"),
                 (f"It was about {a(self.hero.kind)} named {self.hero.name}.", ))

    def pick(self, *options):
        return self.rng.choice(options)

    def some(self, chance: float) -> bool:
        return self.rng.random() < chance

    def say(self, *options: str) -> "Tale":
        """Adds one of the given wordings."""
        text = self.rng.choice(options)
        if self.known:
            text = self.by_kind(text, 0.2)
        self.paragraphs[-1].append(text)
        return self

    def by_kind(self, text: str, chance: float) -> str:
        """Calls someone "Pip the fox" the first time, and now and then "the fox": so the kind is
        kept in mind."""
        for being in (self.hero, self.friend):
            for before, after in ((r"^", r"(?= (?!and\b))"), (r"\b(?:said|asked|cried) ",
                                                              r"(?=[. ,])")):
                found = re.search(f"{before}{being.name}{after}", text)
                new = being not in self.called and not being.child
                if found and (new or self.some(chance)):
                    start = found.end() - len(being.name)
                    the = f"{being.name} the " if new else "the " if start else "The "
                    text = text[:start] + the + being.kind + text[found.end():]
                    self.called.append(being)
        return text

    def maybe(self, chance: float, *options: str) -> "Tale":
        return self.say(*options) if self.some(chance) else self

    def part(self) -> "Tale":
        """Begins a new paragraph, most of the time."""
        if self.paragraphs[-1] and self.some(0.7):
            self.paragraphs.append([])
        return self

    def ask(self, questions, answers) -> "Tale":
        """Notes questions, each of which any of the answers answers."""
        self.qa.append((tuple(questions), tuple(answers)))
        return self

    def text(self) -> str:
        return "\n".join(" ".join(p) for p in self.paragraphs if p)

    def marks(self) -> frozenset:
        """Words which, once said, must be said again as they were: names, kinds, the thing."""
        h, f = self.hero, self.friend
        return frozenset([h.name, f.name, h.kind, f.kind, *self.thing.split()])

    def choose_thing(self, made: bool = False):
        """A thing (one that can be made by hand, if asked): noun, full name ("red kite") and its
        use."""
        noun, looks, use = self.rng.choice(
            [t for t in words.THINGS if not made or t[0] not in words.NOT_MADE])
        full = f"{self.rng.choice(looks)} {noun}"
        self.thing = full
        return noun, full, use.format(his=self.hero.his)

    def places(self, count: int):
        """Different places, each with its "there" phrase; none repeats a word of the home."""
        free = [p for p in words.PLACES if p[0].split()[-1] not in self.home]
        return [(name, f"{where} {name}") for name, where in self.rng.sample(free, count)]

    # -- beats ------------------------------------------------------------

    def open(self) -> "Tale":
        """Introduces the hero and the home."""
        h, home = self.hero, self.home
        self.say(
            f"Once upon a time there was {h.who} named {h.name}. {h.name} lived {home}.",
            f"Once upon a time, {h.who} named {h.name} lived {home}.",
            f"Once upon a time there lived {h.who}. {h.His} name was {h.name}, and {h.he} lived "
            f"{home}.",
            f"There once was {h.who} called {h.name}, who lived {home}.",
            f"{h.name} was {h.who}. {h.He} lived {home}.",
            f"Long ago, {home}, there lived {h.who} named {h.name}.",
            f"{cap(home)} lived {h.who} called {h.name}.",
            f"Have you heard of {h.name}? {h.name} was {h.who} who lived {home}.",
            f"This is the story of {h.name}, {h.who}. {h.name} lived {home}.")
        if h.look in words.SIZES and self.some(0.35):
            trait = self.rng.choice(words.TRAITS)
            self.say(f"{h.name} was very {trait}.", f"Everyone knew that {h.name} was {trait}.",
                     f"{h.He} was {trait}, and everyone liked {h.him}.")
        if self.some(0.3):
            self.detail()
        where, self.known = home, True
        self.ask((f"Where did {h.name} live?", f"Where was {h.name}'s home?"),
                 (f"{h.name} lived {where}.", f"{h.He} lived {where}."))
        kind = f"{h.name} was {h.who}."
        return self.ask((f"Who was {h.name}?", f"What was {h.name}?"),
                        (kind, f"{h.name} was {a(h.kind)}."))

    def detail(self) -> "Tale":
        """Some small thing about the hero that changes nothing."""
        h, rng = self.hero, self.rng
        food = rng.choice(words.FOODS)
        return self.say(f"{h.He} liked {food} and long walks.",
                        f"{h.He} hummed a song all day long.",
                        f"{h.He} had {words.a(rng.choice(words.COLOURS))} coat with two pockets.",
                        f"{h.He} could stand on {h.his} head for a whole minute.",
                        f"Every morning {h.he} said hello to the sun.",
                        f"{h.His} laugh was so loud that the birds flew up.",
                        f"In the evening {h.he} liked to look at the stars.",
                        f"{h.He} asked a hundred questions a day.",
                        f"{h.He} collected round stones.",
                        f"{h.He} always had a crumb of {food} in {h.his} pocket.")

    def weather(self, *allowed: str) -> str:
        """Says what the day was like; returns the time phrase to begin the next sentence with."""
        name, lines = self.rng.choice([w for w in words.WEATHERS if not allowed or w[0] in allowed])
        if self.some(0.6):
            self.say(*(line + "." for line in lines))
            self.ask(("What was the weather like?", "How was the weather?"),
                     (f"It was {name}.", f"The day was {name}."))
        return name

    def when(self) -> str:
        return self.rng.choice(words.TIMES)

    def meet(self, there: str) -> "Tale":
        """The helper comes in and asks what is wrong."""
        h, f = self.hero, self.friend
        self.say(f"{cap(there)} {h.he} met {f.who} named {f.name}.",
                 f"Then {f.who} named {f.name} came by.",
                 f"There {h.he} saw {f.who}. {f.His} name was {f.name}.",
                 f"Just then {f.who} called {f.name} came along.",
                 f"{cap(there)} sat {f.who} called {f.name}.")
        return self.say(f'"What is the matter, {h.name}?" asked {f.name}.',
                        f'"Why do you look so sad?" asked {f.name}.',
                        f'"Can I help you?" said {f.name}.',
                        f'"Hello, {h.name}! What is wrong?" {f.he} asked.')

    def helper_question(self, how: str) -> "Tale":
        """Questions about the helper; `how` completes "<friend> ..."."""
        h, f = self.hero, self.friend
        return self.ask(
            (f"Who helped {h.name}?", f"Did someone help {h.name}?", f"Who was {f.name}?"),
            (f"{f.name}, {f.who}, {how}.", f"It was {f.name}, {f.who}. {f.He} {how}."))

    def cheer(self) -> "Tale":
        """How the hero felt when all was well."""
        h = self.hero
        feel = self.pick("happy", "glad", "proud", "cheerful", "merry")
        self.say(f"{h.name} was {feel}.", f"{h.name} laughed and jumped. {h.He} was {feel}.",
                 f"{h.name} smiled from ear to ear.", f"How {feel} {h.name} was!",
                 f"{h.name} felt warm inside.",
                 f"{h.name} was so {feel} that {h.he} began to sing.", f"{h.name} hopped for joy.",
                 f"{h.His} eyes were shining.")
        return self.ask((f"How did {h.name} feel at the end?", f"How was {h.name} at the end?"),
                        (f"{h.name} was happy in the end.", f"At the end {h.name} was happy.")) \
            .ask((f"Was {h.name} happy?", f"Was {h.name} happy at the end?"),
                 (f"Yes, {h.name} was happy at the end.",))

    def close(self, end: str, moral: str) -> "Tale":
        """The ending, the lesson and the questions about both."""
        h = self.hero
        end = f"In the end {end}"
        self.say(end)
        self.ask(("How did it end?", "How did the story end?", "What happened at the end?",
                  "What happened in the end?"), (end, ))
        self.ask(
            ("Who else was in the story?", "Was anyone else in the story?", "Who else was there?"),
            (f"There was also {self.friend.name} the {self.friend.kind}.", ))
        self.common = [self.qa[0], self.qa[-1], self.qa[-2]]
        self.say(f"From that day on, {h.name} knew that {moral}.",
                 f"{h.name} had learned that {moral}.", f"And {h.name} never forgot that {moral}.",
                 f"That night {h.name} thought, \"Now I know that {moral}.\"",
                 f"So {h.name} learned that {moral}.")
        return self.ask((f"What did {h.name} learn?", "What is the moral of the story?",
                         "What was the lesson?", "What is the moral?"),
                        (f"{h.name} learned that {moral}.", f"The lesson is that {moral}.",
                         f"The moral is that {moral}."))


def epilogue(tale: Tale) -> str:
    """A short answer to "what happened next?" that keeps the same people."""
    h, f, rng = tale.hero, tale.friend, tale.rng
    place, there = tale.places(1)[0]
    first = rng.choice((f"The next day {h.name} went to see {f.name} again.",
                        f"A week later {h.name} and {f.name} met {there}.",
                        f"The next morning {f.name} came to visit {h.name}.",
                        f"After that, {h.name} and {f.name} often went to {place} together."))
    food = rng.choice(words.FOODS)
    second = rng.choice(
        (f"They ate {food} and told each other stories.", "They played until the sun went down.",
         f"{f.name} brought some {food}, and they shared it.",
         "They sang a song and laughed a lot.",
         f"They sat side by side and watched the clouds above {place}."))
    last = rng.choice(("They were the best of friends.", f"{h.name} was very happy.",
                       "It was a lovely day.", "And they stayed friends for ever."))
    return f"{first} {second} {last}"
