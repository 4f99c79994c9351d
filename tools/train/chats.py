"""Two-party chats about stories, in the ChatML form which the model file declares."""

import random

import plots_days
import plots_deeds
import plots_things
from tale import Tale, epilogue
from words import a

PLOTS = (plots_things.lost, plots_things.found, plots_things.made, plots_things.quarrel,
         plots_things.garden, plots_deeds.fear, plots_deeds.share, plots_deeds.journey,
         plots_deeds.rescue, plots_deeds.race, plots_days.lost_way, plots_days.storm,
         plots_days.music, plots_days.treasure, plots_days.sleepless, plots_days.sick_friend)
SYSTEMS = ("You are a friendly story teller.",
           "You tell short stories and answer questions about them.",
           "You are Weft, a teller of little stories.", "You are a helpful assistant.",
           "Be kind and brief.")
HELLOS = ("Hello!", "Hi!", "Hello", "Hi there!", "Good morning!", "Hey!", "Good evening!", "hi",
          "hello there")
GREETINGS = ("Hello! Would you like to hear a story?", "Hi there! Shall I tell you a story?",
             "Hello! I know many little stories. What shall it be about?",
             "Good day! I can tell you a story if you like.")
SMALL_TALK = (
    (("What is your name?", "Who are you?", "What are you?", "what's your name?"),
     ("I am Weft, a little story teller.", "My name is Weft. I tell short stories.",
      "I am Weft, a very small model that tells stories.")),
    (("What can you do?", "How can you help me?", "What do you do?", "Help"),
     ("I can tell short stories and answer questions about them.",
      "I tell little stories. Ask me for one about a fox, or a girl with a kite!")),
    (("Do you like stories?", "Do you like telling stories?", "What do you like?"),
     ("Yes, I like stories very much!", "I love stories. Shall I tell you one?")),
    (("Are you a robot?", "Are you human?", "Are you real?", "Are you a person?"),
     ("I am not a person. I am a very small model that tells stories.",
      "I am only a little program, but I know many stories.")),
    (("How old are you?", "Who made you?", "Where do you live?"),
     ("I was made to show what Weft can do. I live in a small file.",
      "I am quite new, and I live in a small file.")),
    (("What stories do you know?", "What kind of stories do you know?",
      "What can you tell stories about?"),
     ("I know stories about animals and children, about lost things, brave deeds and good friends.",
      "Many! About foxes and owls, kites and maps, storms and races. What would you like?")),
    (("Tell me a joke.", "Do you know a joke?", "Make me laugh."),
     ("Why did the snail take the ladder? Because the stairs were too fast!",
      "What is green and sings? A frog in the bath!")),
    (("No, thank you.", "No thanks.", "Not now.", "No."),
     ("All right! Tell me when you would like a story.",
      "That is fine. I will be here.")), (("How are you?", "How are you today?", "How do you do?"),
                                          ("I am well, thank you! Shall I tell you a story?",
                                           "Very well, thank you. I am in the mood for a story!")))
FAR_AWAY = ("What is the capital of France?", "What is two plus two?", "Who is the president?",
            "Can you write code?", "What is 12 times 7?", "How far away is the moon?",
            "What will the weather be tomorrow?", "What time is it?", "Translate this into German.",
            "Write a program in Python.", "How do I cook rice?", "Explain gravity.",
            "Who won the match?", "What is the meaning of life?", "How does a computer work?",
            "Give me a recipe.")
NOT_KNOWN = ("I do not know that. I only know little stories. Shall I tell you one?",
             "That is too hard for me, but I can tell you a story.",
             "I am only a story teller, so I cannot say. Would you like a story?")
THANKS = (("Thank you!", "Thanks!", "Thank you, that was nice.", "Thanks a lot!"),
          ("You are welcome!", "You are welcome! Come back for another story.",
           "It was a pleasure!", "I am glad you liked it."))
LIKES = (("I liked that story.", "That was a nice story!", "What a lovely story!", "Great story!",
          "I like it."), ("I am glad you liked it!", "Thank you! I like it too.",
                          "How nice! Would you like another one?"))
BYES = (("Goodbye!", "Bye!", "Good night!", "See you tomorrow."),
        ("Goodbye! Sleep well.", "Goodbye! Come back soon.", "Good night and sweet dreams!"))
YES = ("Yes, please.", "Yes", "Yes please!", "Sure!", "Oh yes!", "Okay, tell me one.")
NEXT = ("What happened next?", "And then?", "What happened after that?", "Tell me more.", "Go on.",
        "And what happened the next day?")
AGAIN = ("Another one, please.", "Tell me another story.", "Another story!", "One more, please.",
         "Can I have another one?", "Tell me a different story.")
INTROS = ("", "", "", "", "Here is a story. ", "Of course! ", "With pleasure. ", "Gladly! ")


def new_tale(rng: random.Random) -> Tale:
    """A tale with any of the plots; the first four, which turn on a thing, come more often."""
    return rng.choice(PLOTS[:4] if rng.random() < 0.3 else PLOTS)(rng)


def wished_thing(tale: Tale) -> str:
    """The tale's thing with its article, as a wish names it."""
    if tale.theme in ("following a dream", "falling asleep"):
        return "the " + tale.thing
    plural = tale.thing[-1] == "s" and "pair" not in tale.thing
    return tale.thing if plural or tale.theme == "sharing" else a(tale.thing)


def wish(rng: random.Random, tale: Tale) -> str:
    """A wish which the tale fulfils. Most name the hero and say what kind of being it is."""
    h, roll = tale.hero, rng.random()
    named = f"{a(h.kind)} {rng.choice(('named', 'named', 'called'))} {h.name}"
    thing = wished_thing(tale) if tale.thing else ""
    if roll < 0.35:
        return f"a story about {named}"
    if roll < 0.70:
        return rng.choice(
            (f"a story about {named} and {thing}", f"a story about {named} with {thing}"
             )) if thing else f"a story about {named} {tale.wish}"
    kind, name, friend = a(h.kind), h.name, tale.friend
    wishes = [
        f"a story about {kind}", f"a story about {h.who}", f"a story about {name}",
        f"a story about {kind} {tale.wish}", f"a story about {named} {tale.wish}",
        f"a story about {name} and {friend.name}", f"a tale about {h.who} {tale.wish}",
        f"a story about {tale.theme}", f"a story about {kind} and {a(friend.kind)}",
        f"a story about {named} and {a(friend.kind)}", f"a short story about {named}"
    ]
    if thing:
        wishes += [
            f"a story about {kind} and {thing}", f"a story about {name} and {thing}",
            f"a story with {thing} in it", f"a story about {thing}"
        ]
    if roll < 0.95:
        return rng.choice(wishes)
    return rng.choice(("a story", "a short story", "a nice story", "a bedtime story"))


def request(rng: random.Random, tale: Tale):
    """A wish as a sentence, and the words with which the reply begins: most replies repeat the
    wish."""
    form = rng.choice(("Tell me {}.", "Tell me {}.", "Please tell me {}.", "Can you tell me {}?",
                       "I want {}.", "Write {}.", "Could you write {}, please?", "I would like {}.",
                       "{}", "{}, please.", "tell me {}", "Do you know {}?"))
    wished = wish(rng, tale)
    text = form.format(wished)
    text = text[0].upper() + text[1:] if rng.random() < 0.85 else text
    return text, f"Here is {wished}. " if rng.random(
    ) < 0.8 and " about " in wished else rng.choice(INTROS)


def ask_about(rng: random.Random, tale: Tale, turns: list, count: int):
    """Appends some different questions about the tale, with their answers.

    Those that fit every story (who, who else, the end, what next) come most often.
    """
    always = [*tale.common, (NEXT, (epilogue(tale), ))]
    others = [x for x in tale.qa if x not in tale.common]
    picked = [x for x in always if rng.random() < 0.6][:count]
    if len(picked) < count:
        picked += rng.sample(others, min(count - len(picked), len(others)))
    rng.shuffle(picked)
    if rng.random() < 0.3:
        picked.sort(key=lambda x: always.index(x)
                    if x in always else -1)  # a common order: who, what, next
    for questions, answers in picked:
        # The first wording is the one that most people choose.
        turns += [
            questions[0] if rng.random() < 0.4 else rng.choice(questions),
            rng.choice(answers)
        ]


def ending(rng: random.Random, turns: list):
    """Maybe a thank-you or a farewell."""
    roll = rng.random()
    if roll < 0.36:
        questions, answers = rng.choice((THANKS, LIKES, BYES))
        turns += [rng.choice(questions), rng.choice(answers)]


def story_chat(rng: random.Random):
    """A wish, the story, questions, perhaps a sequel; and the words that the story must keep."""
    turns, tale = [], new_tale(rng)
    if rng.random() < 0.15:
        turns += [rng.choice(HELLOS), rng.choice(GREETINGS)]
    asked, intro = request(rng, tale)
    if turns and rng.random() < 0.4:
        asked, intro = rng.choice(YES), rng.choice(INTROS)
    turns += [asked, intro + tale.text()]
    roll = rng.random()
    if roll < 0.04:
        other = new_tale(rng)
        turns += [rng.choice(AGAIN), other.text()]
        return turns, tale.marks() | other.marks()
    ask_about(rng, tale, turns, rng.randint(2, 5))
    if rng.random() < 0.3:
        ending(rng, turns)
    return turns, tale.marks()


def reading_chat(rng: random.Random):
    """The user brings the story and asks about it."""
    tale, turns = new_tale(rng), []
    ask_about(rng, tale, turns, rng.randint(2, 4))
    turns[0] = rng.choice(("{story}\n{q}", "Here is a story: {story}\n{q}", "{q}\n{story}",
                           "Read this. {story}\n{q}")).format(story=tale.text(), q=turns[0])
    return turns, tale.marks()


def small_chat(rng: random.Random):
    """Talk without a story."""
    turns = []
    if rng.random() < 0.6:
        turns += [rng.choice(HELLOS), rng.choice(GREETINGS)]
    for questions, answers in rng.sample(SMALL_TALK + ((FAR_AWAY, NOT_KNOWN), ), rng.randint(1, 2)):
        turns += [rng.choice(questions), rng.choice(answers)]
    ending(rng, turns)
    return turns, frozenset()


def chat(rng: random.Random):
    """One chat as ChatML text, and the words of it that must be kept."""
    roll = rng.random()
    turns, marks = (story_chat if roll < 0.92 else reading_chat if roll < 0.95 else small_chat)(rng)
    text = ""
    if rng.random() < 0.1:
        text = f"<|im_start|>system\n{rng.choice(SYSTEMS)}<|im_end|>\n"
    for i, content in enumerate(turns):
        text += f"<|im_start|>{'assistant' if i % 2 else 'user'}\n{content}<|im_end|>\n"
    return text, marks
