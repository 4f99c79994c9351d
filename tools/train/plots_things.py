"""Plots that turn on a thing: lost, found, made, quarrelled over, hoped for."""

import words
from tale import Tale
from words import a, cap


def lost(rng) -> Tale:
    """The hero loses a treasure and finds it with help."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    noun, full, use = t.choose_thing()
    (p1, at1), (p2, at2), (p3, at3) = t.places(3)
    t.theme = "asking for help"
    t.wish = f"who loses {a(full)}"
    t.open()
    t.say(f"{h.name} had {a(full)} and loved to {use}.",
          f"{h.His} best treasure was {a(full)}. {h.He} loved to {use}.",
          f"More than anything, {h.name} loved {h.his} {full}. Every day {h.he} would {use}.")
    t.part().weather("windy", "foggy", "rainy", "cloudy")
    t.say(f"{t.when()} the {noun} was gone.", f"{t.when()} {h.name} could not find the {full}.",
          f"{t.when()} {h.name} came home and saw that the {noun} was not there.")
    t.ask((f"What did {h.name} lose?", f"What was lost?", f"What was {h.name} looking for?"),
          (f"{h.name} lost {h.his} {full}.", f"It was {a(full)}.", f"{h.He} lost {a(full)}."))
    t.ask((f"Why was {h.name} sad?", f"What was the problem?", f"What went wrong?"),
          (f"{h.name} was sad because the {full} was gone.", f"The {full} was lost.",
           f"Because {h.he} could not find the {full}."))
    t.maybe(0.6, f'"Oh no! Where is my {noun}?" cried {h.name}.',
            f"{h.name} felt a lump in {h.his} throat.",
            f'"My {noun}!" {h.he} said. "Where can it be?"')
    t.say(f"{h.He} looked {at1}, but it was not there.", f"First {h.he} searched {at1}. Nothing!",
          f"{h.name} ran to {p1} and looked everywhere, but found nothing.")
    t.maybe(0.6, f"{h.He} looked {at2} too. No {noun}.",
            f"Then {h.he} went to {p2}, but the {noun} was not there either.")
    t.part().meet(at2)
    t.say(f'"I have lost my {full}," said {h.name}.', f'"My {noun} is gone," {h.name} sobbed.',
          f'{h.name} told {f.him} about the {full}.')
    t.say(f'"I saw something {at3}," said {f.name}. "Come with me!"',
          f'"Let us look for it together," said {f.name}.',
          f'"Two can look better than one," said {f.name}.',
          f'"Do not cry," said {f.name}. "I will help you."')
    t.part().say(f"They went to {p3}, and there was the {noun}!",
                 f"Together they walked to {p3}. And there, {at3}, lay the {full}.",
                 f"They searched {at3}. Something was there in the grass. It was the {full}!")
    t.ask((f"Where was the {noun}?", f"Where did they find the {noun}?",
           f"Did {h.name} find the {noun}?"),
          (f"They found it {at3}.", f"The {noun} was {at3}.", f"Yes, they found the {full} {at3}."))
    t.helper_question(f"helped to look for the {noun}").cheer()
    end = t.pick(f"{h.name} and {f.name} went home together with the {full}.",
                 f"{h.name} held the {full} tight and thanked {f.name}.",
                 f"{h.name} gave {f.name} a big hug and carried the {noun} home.")
    return t.close(
        end,
        t.pick("it is good to ask for help", "a friend can help you when you are sad",
               "four eyes see more than two"))


def found(rng) -> Tale:
    """The hero finds a thing and gives it back."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    noun, full, _ = t.choose_thing()
    (p1, at1), (p2, at2) = t.places(2)
    t.theme = "being honest"
    t.wish = f"who finds {a(full)}"
    t.open().part().weather()
    t.say(f"{t.when()} {h.name} went for a walk to {p1}.",
          f"{t.when()} {h.name} was playing {at1}.", f"{t.when()} {h.he} walked to {p1}.")
    t.say(f"There {h.he} found {a(full)}.",
          f"{cap(at1)}, something caught {h.his} eye. It was {a(full)}!",
          f"{h.He} looked down and saw {a(full)}.", f"In the grass lay {a(full)}.")
    t.ask((f"What did {h.name} find?", "What was found?"),
          (f"{h.name} found {a(full)}.", f"It was {a(full)}.", f"{h.He} found {a(full)} {at1}."))
    t.ask((f"Where did {h.name} find the {noun}?", f"Where was the {noun}?"),
          (f"{h.He} found it {at1}.", f"The {noun} was {at1}."))
    t.say(f'"How lovely!" said {h.name}. "I wish I could keep it."',
          f"{h.He} wanted to keep it very much.",
          f'"Finders keepers," {h.he} whispered, but it did not feel right.',
          f"It was the finest {noun} {h.he} had ever seen.")
    t.maybe(0.7, f'"But someone must be missing it," {h.he} thought.',
            f'"Whose {noun} is this?" {h.he} wondered.',
            f"But then {h.he} thought of the one who had lost it.")
    t.part().say(f"So {h.name} took the {noun} and went to {p2}.",
                 f"{h.He} carried the {noun} to {p2}.",
                 f"So {h.he} walked and asked, all the way to {p2}.")
    t.say(f"{cap(at2)} sat {f.who} named {f.name}, who looked very sad.",
          f"There {h.he} met {f.who} called {f.name}. {f.He} was crying.",
          f"{f.who[0].upper() + f.who[1:]} named {f.name} was searching {at2}.")
    t.say(f'"I have lost my {noun}," said {f.name}.', f'"My {full} is gone," {f.he} said.',
          f'"Have you seen my {noun}?" asked {f.name}.')
    t.say(f'"Here it is!" said {h.name}, and gave it back.',
          f'{h.name} held out the {full}. "Is this yours?"',
          f'"I found it {at1}," said {h.name}. "Please take it."')
    t.ask((f"Whose {noun} was it?", f"Who had lost the {noun}?", f"To whom did the {noun} belong?"),
          (f"It belonged to {f.name}, {f.who}.", f"The {noun} was {f.name}'s."))
    t.ask((f"Did {h.name} keep the {noun}?", f"What did {h.name} do with the {noun}?"),
          (f"No, {h.he} gave it back to {f.name}.", f"{h.name} gave the {noun} back to {f.name}."))
    food = t.rng.choice(words.FOODS)
    t.part().say(f"{f.name} danced with joy.", f'"Thank you, {h.name}!" cried {f.name}.',
                 f"{f.name} could not stop smiling.").cheer()
    t.ask((f"Who was {f.name}?"),
          (f"{f.name} was {f.who}.", f"{f.name}, {f.who}, was in the story too."))
    end = t.pick(f"{f.name} shared some {food} with {h.name}, and they became friends.",
                 f"they sat down {at2} and ate {food} together.",
                 f"{f.name} and {h.name} played together until evening.")
    return t.close(
        end,
        t.pick("it feels good to be honest", "a friend is worth more than a thing",
               "it is right to give back what is not yours"))


def made(rng) -> Tale:
    """The hero makes a present, fails, and tries again."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    noun, full, _ = t.choose_thing(made=True)
    other = words.make_friend(rng, h, False)
    while other.name == f.name or other.kind == f.kind:
        other = words.make_friend(rng, h, False)
    (p1, at1), = t.places(1)
    t.theme = "not giving up"
    t.wish = f"who makes {a(full)}"
    t.open().part()
    t.say(f"{h.His} best friend was {other.name}, {other.who}.",
          f"{h.name} had a friend, {other.who} named {other.name}.")
    t.say(
        f"Soon it would be {other.name}'s birthday, and {h.name} wanted to make {a(full)} for "
        f"{other.him}.",
        f'"Tomorrow is {other.name}\'s birthday," said {h.name}. "I will make {other.him} '
        f'{a(full)}!"',
        f"For {other.his} birthday {h.name} wanted to make {a(full)}.")
    t.ask((f"What did {h.name} make?", f"What did {h.name} want to make?", "What was the present?"),
          (f"{h.name} made {a(full)}.", f"It was {a(full)} for {other.name}."))
    t.ask((f"Who was the {noun} for?", f"Whose birthday was it?", f"Who was {other.name}?"),
          (f"It was for {other.name}, {other.who}.",
           f"It was {other.name}'s birthday. {other.name} was {h.name}'s best friend."))
    t.part().say(f"{h.name} worked all morning, but the {noun} fell apart.",
                 f"{h.He} tried and tried, but the {noun} broke in two.",
                 f"The first {noun} was crooked. The second one broke.")
    t.ask((f"What went wrong?", "What was the problem?", f"Why was {h.name} sad?"),
          (f"The {noun} broke when {h.name} tried to make it.",
           f"{h.name} could not make the {noun} at first. It broke."))
    t.maybe(0.7, f'"I will never finish it!" {h.he} sighed.',
            f"{h.name} stamped {h.his} foot and sat down.", f"{h.name} wanted to give up.",
            f"A tear ran down {h.his} nose.")
    t.meet(at1)
    t.say(f'"I cannot make this {noun}," said {h.name}.',
          f'{h.name} showed {f.him} the broken {noun}.', f'"It always breaks," said {h.name}.')
    tip = t.pick("Go slowly, one step at a time", "Take a deep breath and begin again",
                 "First draw it, then make it", "Use more string and less glue",
                 "Every master began by making mistakes")
    t.say(f'"{tip}," said {f.name}.', f'{f.name} smiled. "{tip}," {f.he} said.')
    t.ask((f"What did {f.name} say?", f"How did {f.name} help?"),
          (f'{f.name} said: "{tip}."', f'{f.He} told {h.him}: "{tip}."'))
    t.part().say(f"So {h.name} tried once more, and this time the {noun} was perfect.",
                 f"{h.name} began again. When the sun went down, the {full} was ready.",
                 f"{h.He} tried again, and again, and at last there was a fine {full}.")
    t.helper_question(f"told {h.him} how to go on").cheer()
    end = t.pick(f"{other.name} saw the {full}, clapped and laughed.",
                 f"{other.name} hugged {h.name} for the best present of all.",
                 f"{other.name} loved the {noun} and kept it always.")
    return t.close(
        end,
        t.pick("you must try again when something goes wrong", "good things take time",
               "practice makes perfect"))


def quarrel(rng) -> Tale:
    """Two friends quarrel over a thing and make up."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    noun, full, use = t.choose_thing()
    (p1, at1), (p2, at2) = t.places(2)
    t.theme = "saying sorry"
    t.wish = "who quarrels with a friend"
    t.open().say(f"{h.His} best friend was {f.name}, {f.who}.",
                 f"{h.He} had a good friend named {f.name}. {f.name} was {f.who}.",
                 f"Next door lived {f.who} called {f.name}.")
    t.ask(
        (f"Who was {f.name}?", f"Who was {h.name}'s friend?"),
        (f"{f.name} was {f.who}, {h.name}'s friend.", f"{h.name}'s friend was {f.name}, {f.who}."))
    t.part().weather("sunny", "cloudy")
    t.say(f"{t.when()} they found {a(full)} {at1}.",
          f"{t.when()} the two friends were playing {at1} and found {a(full)}.")
    t.ask(("What did they find?", f"What did {h.name} and {f.name} find?"),
          (f"They found {a(full)}.", f"It was {a(full)}."))
    t.say(f'"It is mine!" said {h.name}. "No, it is mine!" said {f.name}.',
          f'"I saw it first!" cried {h.name}. "But I picked it up!" cried {f.name}.',
          f'Both of them wanted the {noun}. They pulled and pulled.')
    t.ask(("Why did they quarrel?", f"Why were {h.name} and {f.name} angry?",
           "What was the problem?", "What went wrong?"),
          (f"They quarrelled because both wanted the {full}.", f"Both of them wanted the {noun}."))
    t.say(f"They shouted, and then {f.name} ran away.", f"{f.name} went home without a word.",
          f"They turned their backs and went away, one to the left and one to the right.")
    t.part().say(f"{h.name} sat alone {at2}. It was no fun to have {a(noun)} without a friend.",
                 f"Now {h.name} had the {noun}, but nobody to play with.",
                 f"{h.name} tried to play, but alone it was dull.")
    t.maybe(0.5, f"{h.He} felt sorry.", f"{h.He} thought about {f.name} and felt bad.",
            f"{h.His} heart was heavy.")
    t.part().say(
        f"So {h.he} went to {f.name} and said, \"I am sorry. Let us share it.\"",
        f'{h.name} knocked on {f.name}\'s door. "I am sorry," {h.he} said. "You can have the '
        f'{noun} first."',
        f'{h.name} ran to find {f.name}. "I am sorry I shouted," {h.he} said.')
    t.say(f'"I am sorry too," said {f.name}.', f'{f.name} smiled. "I missed you," {f.he} said.',
          f'"So am I," said {f.name}, and they shook hands.')
    t.ask(("Who said sorry?", f"What did {h.name} do?", "How did they make up?"),
          (f"{h.name} said sorry to {f.name}.",
           f"{h.name} went to {f.name} and said sorry.")).cheer()
    end = t.pick(f"they took turns with the {full} until evening.",
                 f"they played with the {noun} together, and it was twice as much fun.",
                 f"the {full} belonged to both of them.")
    return t.close(
        end,
        t.pick("it is brave to say sorry", "sharing is more fun than having",
               "a friend is better than any toy"))


def garden(rng) -> Tale:
    """A seed, a long wait and a harvest to share."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    plant, fruit = t.pick(("seed", "sunflower"), ("seed", "pumpkin"), ("bean", "bean plant"),
                          ("bulb", "tulip"), ("seed", "melon"), ("acorn", "oak tree"),
                          ("cherry stone", "cherry tree"), ("seed", "rose bush"))
    t.thing, t.theme = fruit, "being patient"
    (p1, at1), = t.places(1)
    t.wish = f"who plants {a(plant)}"
    t.open().part().say(f"{t.when()} {h.name} found {a(plant)} {at1}.",
                        f"{t.when()} the wind blew {a(plant)} to {h.his} door.",
                        f"{t.when()} {h.name} got {a(plant)} as a present.")
    t.say(f"{h.He} put the {plant} into the earth and gave it water.",
          f"{h.name} dug a hole, put the {plant} in it, and covered it with soft earth.")
    t.ask((f"What did {h.name} plant?", f"What did {h.name} put into the earth?"),
          (f"{h.name} planted {a(plant)}.", f"It was {a(plant)}, and it became {a(fruit)}."))
    t.say(f"{h.name} waited one day, and two days, and three. Nothing happened.",
          f"Every morning {h.he} ran to look, but there was only brown earth.",
          f'"Grow!" said {h.name}. But the {plant} did not grow.')
    t.ask(("What was the problem?", f"Why was {h.name} sad?", "What went wrong?"),
          (f"The {plant} did not grow at first.", f"{h.name} was sad because nothing grew."))
    t.maybe(0.5, f"{h.name} almost dug it up again.", f'"It will never grow," {h.he} sighed.')
    t.part().meet(at1)
    t.say(f'"My {plant} does not grow," said {h.name}.',
          f'{h.name} pointed at the brown earth. "Nothing grows here," {h.he} said.')
    tip = t.pick("Give it water, sun and time", "Good things grow slowly", "Sing to it and wait",
                 "It is still asleep. Wait a little longer")
    t.say(f'"{tip}," said {f.name}.', f'{f.name} nodded. "{tip}," {f.he} said.')
    t.ask((f"What did {f.name} say?", f"How did {f.name} help?"),
          (f'{f.name} said: "{tip}."', f'{f.He} told {h.him}: "{tip}."'))
    t.part().say("So they waited. Rain fell and the sun shone.",
                 f"{h.name} gave it water every day and did not hurry.",
                 f"Days went by, and {h.name} waited.")
    t.say(
        "And then a green tip came out of the earth. It grew and grew, and became a beautiful "
        f"{fruit}.",
        f"At last something green peeped out, and by summer there was a splendid {fruit}!",
        f"One morning there was a small green leaf. In the end it was a big {fruit}.")
    t.ask(("What grew?", f"What did the {plant} become?"),
          (f"A beautiful {fruit} grew.", f"It became {a(fruit)}."))
    t.helper_question(f"told {h.him} to wait").cheer()
    end = t.pick(f"{h.name} invited {f.name} to sit beside the {fruit}, and they drank tea.",
                 f"everyone came to see the {fruit}, and {h.name} shared what {h.he} had.",
                 f"{h.name} and {f.name} danced around the {fruit}.")
    return t.close(
        end, t.pick("good things take time", "it is worth waiting", "you cannot hurry a seed"))
