"""Word lists for the stories, and the small grammar helpers that use them."""

import random
from dataclasses import dataclass

GIRLS = (
    "Nora Mila Lily Ruby Hazel Ivy Poppy Clara Wren Tilly Daisy Bella Luna Maya Elsie Freya Juno "
    "Olive Pearl Rosie Stella Tess Willa Zoe Anna Betty Cora Dora Fern Greta Holly Iris Kitty "
    "Mabel Nell Penny Sally Nina").split()
BOYS = (
    "Pip Oscar Finn Leo Max Toby Ben Hugo Sam Theo Milo Jack Otto Felix Barney Bruno Charlie "
    "Dexter "
    "Eddie Frank George Harry Jasper Kit Louis Monty Ned Ollie Percy Robin Rufus Tom Victor Will "
    "Arlo Basil Cosmo Teddy").split()
# Names of several tokens: the tokenizer knows only those above as a whole.
MORE_GIRLS = (
    "Emma Olivia Sophie Alice Amelia Charlotte Emily Grace Hannah Jasmine Julia Katie Laura Lucy "
    "Maria "
    "Martha Megan Molly Naomi Paula Rachel Rebecca Rosa Samantha Sandra Selma Simone Susan Tanya "
    "Teresa "
    "Valerie Vera Violet Yvonne Agnes Beatrice Camilla Clementine Delia Edith Eleanor Flora Gloria "
    "Harriet "
    "Ingrid Jenny Linda Matilda Nadia Pia Romy Sylvie Thea Ursula Wanda Zelda").split()
MORE_BOYS = (
    "David Daniel Michael Peter Paul Simon Thomas William James Henry Andrew Adam Alfred Anton "
    "Arthur Boris "
    "Caspar Colin Dennis Edgar Edwin Elias Emil Erik Felipe Fritz Gabriel Gregor Gustav Hector "
    "Henrik Ivan "
    "Jacob Jonas Joshua Karl Kevin Lars Linus Lucas Magnus Martin Mateo Nathan Nicholas Nils "
    "Oliver Patrick "
    "Quentin Ralph Ronan Samuel Stefan Tobias Ulrich Vincent Walter Xavier Yuri Zachary").split()
ANIMALS = (
    "fox rabbit bear mouse hedgehog squirrel duck frog otter badger kitten puppy goat lamb turtle "
    "mole "
    "sparrow beaver deer donkey penguin elephant lion goose piglet crow pony monkey tiger owl "
    "dragon cat dog horse cow panda hamster snail robot").split()
# Rarer heroes, mostly of several tokens: a kind must be copied too.
MORE_ANIMALS = (
    "wolf hare zebra giraffe parrot camel koala raccoon lizard seal whale raven peacock hen sheep "
    "llama "
    "kangaroo moose bat bee beetle weasel parrot rat pig ostrich unicorn").split()
ELDERS = ("owl turtle badger goat heron toad bear goose horse crow ram cat dog swan".split())
WORKERS = "baker miller gardener fisherman postman shepherd farmer carpenter weaver sailor".split()
TRAITS = (
    "brave curious shy clever cheerful quiet gentle lively kind dreamy busy merry careful playful "
    "friendly stubborn patient proud").split()
SIZES = ("little", "small", "young", "tiny")

ANIMAL_HOMES = ("in a cosy burrow under an oak tree", "in a warm den beside a stream",
                "in a hollow log at the edge of the forest", "in a nest of leaves behind the barn",
                "on a green farm near the river",
                "in a little house under the roots of a pine tree",
                "in a snug hut at the foot of a hill", "in a quiet corner of the meadow")
CHILD_HOMES = ("in a small house by the sea", "in a white cottage at the end of the lane",
               "in a village between two hills", "in a tall house with a blue door",
               "on a farm near the river", "in a little town beside the forest",
               "in a boat house on the lake", "above the bakery in the market square")

# Name of the place, and the word that says one is there.
PLACES = (("the pond", "by"), ("the meadow", "in"), ("the hill", "on"), ("the forest", "in"),
          ("the old mill", "at"), ("the wooden bridge", "under"), ("the apple tree", "under"),
          ("the garden", "in"), ("the river", "by"), ("the market", "at"), ("the barn", "behind"),
          ("the stone wall", "behind"), ("the beach", "on"), ("the lake", "by"), ("the cave", "in"),
          ("the orchard", "in"), ("the well", "beside"), ("the rose bush", "under"),
          ("the haystack", "behind"), ("the windmill", "near"), ("the waterfall",
                                                                 "near"), ("the old tower", "in"))

# Noun, what it may look like, and what its owner does with it ({his} is the owner).
COLOURS = ("red", "blue", "green", "yellow", "orange", "purple", "white")
THINGS = (("kite", COLOURS + ("striped", "paper"),
           "fly it in the wind"), ("ball", COLOURS + ("rubber", "striped"),
                                   "bounce it along the path"), ("drum", COLOURS + ("tin", "small"),
                                                                 "beat it in the morning"),
          ("flute", ("wooden", "silver", "small"), "play it in the evening"),
          ("scarf", COLOURS + ("woolly", "striped"), "wear it on cold days"),
          ("hat", COLOURS + ("straw", "pointed", "woolly"), "wear it everywhere"),
          ("bell", ("silver", "golden", "brass", "little"),
           "ring it before breakfast"), ("lantern", ("brass", "paper", "red", "old"),
                                         "light it after sunset"), ("book", ("blue", "thick",
                                                                             "picture", "old"),
                                                                    "read it before bed"),
          ("blanket", ("soft", "woolly", "blue", "patched"),
           "sleep under it at night"), ("basket", ("straw", "round", "brown", "little"),
                                        "fill it with berries"), ("whistle", ("tin", "silver",
                                                                              "wooden"),
                                                                  "blow it to call {his} friends"),
          ("boat", ("paper", "toy", "wooden", "white"),
           "sail it on the water"), ("spinning top", ("wooden", "red", "shiny"),
                                     "make it dance on the floor"),
          ("umbrella", COLOURS + ("spotted", ),
           "carry it in the rain"), ("shell", ("pink", "white", "spiral", "shiny"),
                                     "hold it close and hear the sea"),
          ("paintbrush", ("long", "soft", "wooden"),
           "paint flowers with it"), ("cart", ("wooden", "red", "little"), "pull it up the hill"),
          ("coin", ("golden", "silver", "shiny", "old"), "look at it in the sunlight"),
          ("ribbon", COLOURS + ("silk", "long"),
           "wave it in the air"), ("button", ("brass", "shiny", "blue", "round"),
                                   "keep it in {his} pocket"), ("puppet", ("wooden", "funny",
                                                                           "painted"),
                                                                "make it bow and talk"))
NOT_MADE = ("shell", "coin", "button", "bell", "umbrella", "ball", "book")
FOODS = ("apple pie", "bread and honey", "blueberry cake", "carrot soup", "nut bread", "plum cake",
         "cheese", "oat biscuits", "pear tart", "pancakes", "ginger cake", "strawberries")
WEATHERS = (("sunny", ("The sun was shining", "The sky was blue and the sun was warm",
                       "It was a bright, sunny day")), ("windy", ("A strong wind was blowing",
                                                                  "The wind sang in the trees",
                                                                  "It was a wild and windy day")),
            ("rainy", ("Rain was falling softly", "Grey clouds hung low and it rained",
                       "It was a wet, rainy day")), ("snowy", ("Snow lay on the ground",
                                                               "White snow was falling",
                                                               "It was a cold, snowy day")),
            ("foggy", ("A thick fog covered the land", "The fog was as white as milk",
                       "It was a grey, foggy day")), ("cloudy", ("Soft clouds drifted over the sky",
                                                                 "Clouds hid the sun",
                                                                 "It was a cool, cloudy day")))
TIMES = ("One morning", "One day", "One afternoon", "Early one morning", "One fine day",
         "On the first day of spring", "On a Saturday", "One autumn day", "Late one afternoon",
         "One summer morning")


def a(phrase: str) -> str:
    """Puts "a" or "an" before a phrase."""
    return ("an " if phrase[0].lower() in "aeiou" else "a ") + phrase


def cap(sentence: str) -> str:
    """Makes the first letter a capital."""
    return sentence[0].upper() + sentence[1:]


@dataclass(frozen=True)
class Being:
    """Someone in a story, with the pronouns that belong to them."""

    name: str
    kind: str
    girl: bool
    look: str

    @property
    def he(self):
        return "she" if self.girl else "he"

    @property
    def him(self):
        return "her" if self.girl else "him"

    @property
    def his(self):
        return "her" if self.girl else "his"

    @property
    def He(self):
        return cap(self.he)

    @property
    def His(self):
        return cap(self.his)

    @property
    def who(self):
        """An introduction such as "a little fox"."""
        return a(f"{self.look} {self.kind}")

    @property
    def furry(self):
        return self.kind in ("fox", "rabbit", "bear", "otter", "kitten", "puppy")

    @property
    def child(self):
        return self.kind in ("boy", "girl")

    @property
    def human(self):
        return self.kind in ("boy", "girl") or self.kind in WORKERS


def coined_name(rng: random.Random, girl: bool) -> str:
    """A name in no list, so that the model learns to copy names and not only to know them.

    Its ending says whether it is a girl's, as with most names in the lists.
    """
    syllables = [
        rng.choice("b d f g h k l m n p r s t v w z br fl gr j kl sh st tr th".split()) +
        rng.choice("a e i o u ee oo ai".split()) for _ in range(rng.choice((1, 1, 2)))
    ]
    ends = "na lla ra mia bel nna lly sa ta vy" if girl else "n l r s t m ck bert do ko ric"
    return cap("".join(syllables) + rng.choice(ends.split()))


def make_hero(rng: random.Random) -> Being:
    """A young animal, or a child in one story of four. Half the names are not in the short
    lists."""
    girl = rng.random() < 0.5
    roll = rng.random()
    if roll < 0.25:
        name = coined_name(rng, girl)
    else:
        short, long = (GIRLS, MORE_GIRLS) if girl else (BOYS, MORE_BOYS)
        name = rng.choice(long if roll < 0.5 else short)
    look = rng.choice(SIZES) if rng.random() < 0.5 else rng.choice(TRAITS)
    roll = rng.random()
    kind = ("girl" if girl else
            "boy") if roll < 0.2 else rng.choice(ANIMALS if roll < 0.9 else MORE_ANIMALS)
    return Being(name, kind, girl, look)


def make_friend(rng: random.Random, hero: Being, old: bool) -> Being:
    """Someone else: another name, another kind, wise and old when asked for."""
    girl = rng.random() < 0.5
    name = rng.choice([n for n in (GIRLS if girl else BOYS) if n != hero.name])
    if old:
        kind = rng.choice([k for k in ELDERS if k != hero.kind])
        if hero.human and rng.random() < 0.5:
            kind = rng.choice(WORKERS)
            girl = girl and kind not in ("fisherman", "postman")
            name = name if girl == (name in GIRLS) else rng.choice(
                [n for n in BOYS if n != hero.name])
        return Being(name, kind, girl, rng.choice(("old", "wise", "kind old", "friendly", "grey")))
    kind = rng.choice([k for k in ANIMALS if k != hero.kind])
    return Being(name, kind, girl,
                 rng.choice(SIZES + ("shy", "merry", "gentle", "cheerful", "quiet")))
