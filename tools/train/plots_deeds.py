"""Plots that turn on a deed: courage, kindness, a journey, a rescue, a race."""

import words
from tale import Tale
from words import a, cap

FEARS = (("the dark", "the cave", "in the cave",
          ("sunny", "cloudy")), ("deep water", "the lake", "in the lake", ("sunny", "windy")),
         ("thunder", "the old tower", "in the old tower", ("rainy", )),
         ("high places", "the wooden bridge", "on the wooden bridge",
          ("windy", "foggy")), ("the dark", "the forest", "in the forest", ("foggy", "cloudy")),
         ("snow", "the hill", "on the hill", ("snowy", )))
SIGHTS = (("the sea", "blue and endless", "The waves whispered and the air was salty"),
          ("the big mountain", "tall and white", "The top shone in the sun like sugar"),
          ("the rainbow waterfall", "bright and loud", "Every colour danced in the spray"),
          ("the field of sunflowers", "golden and wide", "A thousand flowers turned to the sun"),
          ("the lighthouse", "white and tall",
           "Its light turned round and round"), ("the great city", "loud and full of lights",
                                                 "Trams rang their bells in every street"),
          ("the frozen lake", "smooth and silver",
           "The ice sparkled like glass"), ("the valley of butterflies", "green and warm",
                                            "Wings of all colours filled the air"))
TRAPS = (("stuck in the mud", "by the river", "rope"), ("sitting in a deep hole", "in the meadow",
                                                        "ladder"),
         ("caught in a thorn bush", "behind the stone wall",
          "pair of scissors"), ("stuck on a thin branch", "in the apple tree",
                                "ladder"), ("floating on a log", "on the lake", "rope"),
         ("trapped under a basket", "at the market", "stick"), ("tangled in a net", "on the beach",
                                                                "pair of scissors"))
BARRIERS = (("a wide river", "carried {him} across on {fhis} back", "crossed the river"),
            ("a thick fog", "lit a lamp and led the way", "came out of the fog"),
            ("a high wall", "showed {him} a hidden door", "slipped through the wall"),
            ("a fork in the road", "pointed to the path on the left", "took the right path"),
            ("a broken bridge", "laid a long plank over the gap", "walked over the plank"),
            ("a dark wood", "walked beside {him} and sang", "left the wood behind"))


def fear(rng) -> Tale:
    """The hero is afraid, but a friend needs help."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    what, place, there, weather = rng.choice(FEARS)
    t.theme = "being brave"
    t.wish = f"who is afraid of {what}"
    t.open().say(f"There was one thing {h.name} was afraid of: {what}.",
                 f"{h.name} was afraid of {what}.",
                 f"{h.He} liked almost everything, but {what} frightened {h.him}.")
    t.ask((f"What was {h.name} afraid of?", f"What frightened {h.name}?"),
          (f"{h.name} was afraid of {what}.", f"{h.He} was afraid of {what}."))
    t.maybe(0.5, "The others laughed about it.",
            f"When {h.he} thought of it, {h.his} knees began to shake.",
            f"{h.His} mother said, \"One day you will be brave.\"")
    t.part().weather(*weather)
    t.say(f"{t.when()} {h.name} heard someone call for help. It was {f.name}, {f.who}.",
          f'{t.when()} there was a cry. "Help! Help!" It was {f.name}, {f.who}.',
          f"{t.when()} {h.his} friend {f.name}, {f.who}, did not come home.")
    t.say(f"{f.name} was all alone {there} and had hurt {f.his} foot.",
          f"{f.name} was {there} and could not get out.", f"{f.name} was {there}, cold and alone.")
    t.ask((f"Where was {f.name}?", f"Why did {f.name} need help?", f"What happened to {f.name}?",
           "What was the problem?"),
          (f"{f.name} was {there} and needed help.", f"{f.He} was {there}, all alone."))
    t.ask((f"Who was {f.name}?", "Who needed help?"),
          (f"{f.name} was {f.who}.", f"It was {f.name}, {f.who}."))
    t.part().say(f"{h.name} looked at {place} and trembled.", f"{h.name} wanted to run away.",
                 f"{h.His} heart went thump, thump, thump.",
                 f"{h.name} stopped. {h.He} was so afraid!")
    t.say(f'"But {f.name} needs me," {h.he} thought.',
          f'"I am afraid," {h.he} said, "but I will go."', f'"Be brave," {h.he} told {h.him}self.')
    t.say(f"{h.He} took a deep breath and went on, step by step.",
          f"{h.He} counted to three and ran.", f"Slowly, slowly, {h.he} went to {place}.")
    t.say(f"There was {f.name}! {h.name} ran to {f.him} and led {f.him} home.",
          f"{h.name} found {f.name} and helped {f.him} home.",
          f'"You came!" cried {f.name}. Together they walked home.')
    t.ask((f"Who saved {f.name}?", f"Who helped {f.name}?", f"What did {h.name} do?"),
          (f"{h.name} went to {place} and helped {f.name}.", f"{h.name} saved {f.name}.",
           f"It was {h.name}. {h.He} was afraid, but {h.he} went."))
    t.part().cheer()
    end = t.pick(f"{f.name} called {h.name} the bravest {h.kind} of all.",
                 f"{f.name} thanked {h.him}, and {h.name} was not afraid any more.",
                 f"{h.name} and {f.name} laughed about {what}.")
    return t.close(
        end,
        t.pick("being brave means to do it although you are afraid",
               "love for a friend is stronger than fear", "you can be small and brave"))


def share(rng) -> Tale:
    """Food shared with a stranger is repaid."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    food = rng.choice(words.FOODS)
    (p1, at1), (p2, at2) = t.places(2)
    t.thing, t.theme = food, "sharing"
    t.wish = "who shares"
    t.open().part().weather()
    t.say(f"{t.when()} {h.name} packed some {food} and walked to {p1}.",
          f"{t.when()} {h.name} had some {food} for lunch and walked to {p1}.",
          f"{t.when()} {h.his} mother gave {h.him} some {food}, and {h.he} went to {p1}.")
    t.ask((f"What did {h.name} share?", f"What did {h.name} have to eat?",
           f"What did {h.name} take along?"), (f"{h.name} had some {food}.", f"It was {food}."))
    t.say(f"{cap(at1)} sat {f.who} named {f.name}.",
          f"On the way {h.he} met {f.who} called {f.name}.",
          f"There {h.he} saw {f.who}. {f.His} name was {f.name}.")
    t.say(f'"I am so hungry," said {f.name}.', f'"I have not eaten since yesterday," {f.he} said.',
          f"{f.name} looked thin and hungry.")
    t.maybe(0.6, f"{h.name} was hungry too.", f"{h.name} looked at the {food}. There was not much.",
            f"{h.name} had only enough for one.")
    t.say(f'But {h.name} smiled. "Let us share," {h.he} said.',
          f"But {h.name} gave {f.him} half of it.",
          f'"Here, take half of my {food}," said {h.name}.')
    t.ask(
        (f"Who was hungry?", f"Who was {f.name}?", f"With whom did {h.name} share?"),
        (f"{f.name}, {f.who}, was hungry.", f"{h.name} shared the {food} with {f.name}, {f.who}."))
    trouble, deed = t.pick(
        (f"{h.name} lost {h.his} way {at2}", f"took {h.his} hand and showed {h.him} the way home"
         if h.human else "showed {0} the way home".format(h.him)),
        (f"{h.name} fell into the water", f"pulled {h.him} out"),
        (f"a storm broke a tree over {h.his} path", "lifted the tree away"),
        (f"{h.name} hurt {h.his} leg {at2}", f"carried {h.him} home"),
        (f"it grew dark and {h.name} could not see the path",
         "came with a lantern and walked in front"))
    t.part().say(f"Later that day {trouble}.", f"The next day {trouble}.",
                 f"A week later {trouble}.")
    t.ask(("What went wrong?", "What was the problem?", f"What happened to {h.name}?"),
          (cap(trouble) + ".", ))
    t.say(f'"Help!" {h.he} cried.', f"{h.He} did not know what to do.",
          f"{h.name} was very frightened.")
    t.say(f"Then {f.name} came and {deed}.", f"Who came running? It was {f.name}! {f.He} {deed}.",
          f"But {f.name} heard {h.him} and {deed}.")
    t.helper_question(deed)
    t.maybe(
        0.7, f'"You shared with me, so I help you," said {f.name}.',
        f'"Thank you!" said {h.name}. "Thank YOU for the {food}," said {f.name}.').part().cheer()
    end = t.pick(f"they sat down together and ate {food}.",
                 f"{h.name} and {f.name} became good friends.",
                 f"{h.name} always brought enough {food} for two.")
    return t.close(
        end,
        t.pick("kindness comes back to you", "it is good to share", "a shared meal tastes better"))


def journey(rng) -> Tale:
    """The hero wants to see something wonderful."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    sight, looks, more = rng.choice([s for s in SIGHTS if s[0].split()[-1] not in t.home])
    wall, deed, past = rng.choice(BARRIERS)
    deed = deed.format(him=h.him, fhis=f.his)
    t.thing, t.theme = sight[4:], "following a dream"
    t.wish = f"who wants to see {sight}"
    t.open().part().say(f"{h.name} had one big wish: {h.he} wanted to see {sight}.",
                        f"Every night {h.name} dreamed of {sight}.",
                        f'"I want to see {sight}," {h.name} said every day.')
    t.ask((f"What did {h.name} want to see?", f"What was {h.name}'s wish?",
           f"Where did {h.name} go?", f"Where did {h.name} want to go?"),
          (f"{h.name} wanted to see {sight}.", f"{h.He} went to see {sight}."))
    bag = rng.choice(words.FOODS)
    t.weather("sunny", "windy", "cloudy")
    t.say(f"{t.when()} {h.he} packed some {bag} and set out.",
          f"{t.when()} {h.name} put on {h.his} boots and went off.",
          f"{t.when()} {h.name} said goodbye and began to walk.")
    t.maybe(0.5, "The road was long.", f"{h.He} walked over hills and through fields.",
            f"{h.He} walked and walked and hummed a song.")
    t.part().say(f"Then {h.he} came to {wall}.",
                 f"But soon there was {wall}, and {h.name} had to stop.",
                 f"In the afternoon {wall} stood in {h.his} way.")
    t.ask(("What was the problem?", f"What stopped {h.name}?", "What was in the way?",
           "What went wrong?"), (f"There was {wall} in the way.", f"{cap(wall)} stopped {h.name}."))
    t.say(f'"I must go back," {h.he} thought.', f'"What shall I do now?" said {h.name}.',
          f"{h.name} sat down on a stone and sighed.")
    t.say(f"But then came {f.who} named {f.name}.", f"Just then {f.who} called {f.name} looked up.",
          f"Nearby sat {f.who}. {f.His} name was {f.name}.")
    t.say(f'"Where are you going?" asked {f.name}. "To {sight}," said {h.name}.',
          f'"I want to see {sight}," {h.name} told {f.him}.')
    t.say(f'"I will help you," said {f.name}, and {f.he} {deed}.', f"{f.name} {deed}.",
          f"So {f.name} {deed}.")
    t.helper_question(deed)
    t.say(f"Soon {h.name} {past} and went on.", f"And so {h.name} {past}.")
    t.part().say(f"At last {h.he} saw {sight}. It was {looks}. {more}.",
                 f"And there it was: {sight}, {looks}! {more}.",
                 f"In the evening {h.he} stood still. Before {h.him} was {sight}, {looks}.")
    t.ask((f"What was {sight} like?", f"What did {h.name} see?"),
          (f"{cap(sight)} was {looks}.", f"{h.name} saw {sight}. It was {looks}.")).cheer()
    end = t.pick(f"{h.name} went home and told everyone about {sight}.",
                 f"{h.name} stayed until sunset and then went home with a full heart.",
                 f"{h.name} brought {f.name} a little stone as a thank-you and walked home.")
    return t.close(
        end,
        t.pick("a big wish begins with a small step", "the world is wide and full of friends",
               "you should follow your dreams"))


def rescue(rng) -> Tale:
    """Someone small is stuck; the hero thinks of a way."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    trap, there, tool = rng.choice(TRAPS)
    t.thing, t.theme = tool, "helping others"
    t.wish = "who helps someone"
    t.open().part().weather()
    t.say(f"{t.when()} {h.name} went for a walk.", f"{t.when()} {h.name} was on {h.his} way home.",
          f"{t.when()} {h.name} was looking for berries.")
    t.say(f"Suddenly {h.he} heard a small voice. \"Help me!\"", f'"Help! Help!" someone called.',
          f"{h.He} stopped. Was somebody crying?")
    t.say(f"It was {f.who} named {f.name}, {trap} {there}.",
          f"{cap(there)} was {f.who} called {f.name}, {trap}.",
          f"{cap(there)} {h.he} saw {f.who}, {trap}. {f.His} name was {f.name}.")
    t.ask((f"What happened to {f.name}?", f"Where was {f.name}?", "What was the problem?",
           "What went wrong?", f"Why did {f.name} need help?"),
          (f"{f.name} was {trap} {there}.", f"{f.He} was {trap}."))
    t.ask(("Who needed help?", f"Who was {f.name}?", f"Who did {h.name} help?"),
          (f"{f.name}, {f.who}, needed help.", f"It was {f.name}, {f.who}.",
           f"{f.name} was {f.who}."))
    t.part().say(f'"Do not be afraid," said {h.name}. "I will get you out."',
                 f'"Hold on!" cried {h.name}.',
                 f"{h.name} pulled with all {h.his} might, but it was no use.",
                 f"{h.name} thought hard.")
    t.say(f"{h.He} ran home and came back with {a(tool)}.",
          f"Then {h.he} had an idea. {h.He} fetched {a(tool)}.",
          f'"I know what to do!" said {h.name}, and got {a(tool)}.')
    t.ask((f"What did {h.name} use?", f"What did {h.name} fetch?", f"How did {h.name} help?"),
          (f"{h.name} used {a(tool)}.", f"{h.He} fetched {a(tool)}.",
           f"{h.name} helped {f.name} with {a(tool)}."))
    t.say(f"With the {tool} {h.he} got {f.name} out. Hurray!",
          f"One, two, three, and {f.name} was free!",
          f"It took a long time, but at last {f.name} was free.")
    t.part().say(
        f'"Thank you, {h.name}!" said {f.name}.', f"{f.name} shook {f.his} wet fur and laughed." if
        f.furry else f"{f.name} was safe and laughed.", f'"You saved me," said {f.name}.').cheer()
    end = t.pick(f"{f.name} and {h.name} met every day.",
                 f"{f.name} invited {h.name} to tea, and they became friends.",
                 f"{h.name} walked {f.name} home, and they sang all the way.")
    return t.close(
        end,
        t.pick("even someone small can help", "a good idea is stronger than strong arms",
               "helping others makes you happy"))


def race(rng) -> Tale:
    """The hero gives up a prize to help."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    (p1, at1), (p2, at2) = t.places(2)
    prize = t.pick("golden cup", "big cake", "silver medal", "basket of apples", "crown of flowers")
    what = t.pick("race", "boat race", "sledge race", "running race")
    t.thing, t.theme = what, "kindness"
    t.wish = "who takes part in a race"
    t.open().part().say(f"{t.when()} there was a great {what} from {p1} to {p2}.",
                        f"Every year there was {a(what)} from {p1} to {p2}.")
    t.say(
        f"The winner would get a {prize}." if prize[0] not in "aeiou" else
        f"The winner would get an {prize}.", f"The prize was {a(prize)}.")
    t.ask(("What was the prize?", "What could the winner get?"),
          (f"The prize was {a(prize)}.", f"It was {a(prize)}."))
    t.say(f"{h.name} wanted to win very much.", f"{h.name} had practised for weeks.",
          f'"I will win!" said {h.name}.')
    t.say("One, two, three, go!", "A whistle blew, and off they went!",
          "Everyone was ready. Off they went!")
    t.say(f"{h.name} was fast. Soon {h.he} was in front.", f"{h.name} was the first of all.",
          f"Nobody was as quick as {h.name}.")
    t.part().say(
        f"But then {h.he} saw {f.name}, {f.who}, at the side of the path. {f.He} had fallen.",
        f"Halfway there, {f.who} named {f.name} fell down and cried.",
        f"Suddenly {h.he} heard a cry behind {h.him}. {f.name}, {f.who}, had hurt {f.his} leg.")
    t.ask((f"What happened to {f.name}?", "What went wrong?", "What was the problem?"),
          (f"{f.name} fell down and was hurt.", f"{f.name} had fallen and could not go on."))
    t.ask((f"Who was {f.name}?", "Who needed help?"),
          (f"{f.name} was {f.who}.", f"It was {f.name}, {f.who}."))
    t.say(f"{h.name} looked at the goal. It was so near!",
          f'"If I stop, I will lose," thought {h.name}.',
          "What now? The others were coming closer.")
    t.say(
        f"But {h.name} turned back and helped {f.name} up.",
        f'Still {h.name} stopped. "Lean on me," {h.he} said.',
        f"But {h.name} stopped and gave {f.him} a hand."
        if h.human else f"But {h.name} stopped and helped {f.him} up.")
    t.say("The others ran past them.", f"All the others went by, and {h.name} did not win.",
          "They came in last, side by side.")
    t.ask((f"Did {h.name} win?", f"Who won the {what}?", f"Why did {h.name} not win?"),
          (f"No, {h.name} did not win, because {h.he} stopped to help {f.name}.",
           f"{h.name} did not win. {h.He} helped {f.name}."))
    t.ask((f"Who helped {f.name}?", f"What did {h.name} do?"),
          (f"{h.name} stopped and helped {f.name}.", f"It was {h.name} who helped {f.name}."))
    t.part().say("But everybody clapped and cheered for them.",
                 f"But at the goal all the people called {h.his} name.").cheer()
    end = t.pick(f"the winner came and shared the {prize} with {h.him}.",
                 f"{f.name} made {h.him} a small medal out of paper.",
                 f"{f.name} and {h.name} were friends from that day on.")
    return t.close(
        end,
        t.pick("a kind heart is worth more than a prize", "winning is not everything",
               "a friend is the best prize"))
