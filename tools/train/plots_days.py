"""Plots about small days and nights: lost ways, storms, songs, maps, sleep, a sick friend."""

import words
from tale import Tale
from words import a, cap

GUIDES = (("a trail of white pebbles", "followed the pebbles"), ("the sound of a bell",
                                                                 "walked towards the bell"),
          ("the evening star", "kept the star before {him}"), ("the smell of fresh bread",
                                                               "followed the smell"),
          ("a line of fireflies", "went after the tiny lights"), ("the song of the river",
                                                                  "walked along the water"))
GUESTS = ("two wet sparrows", "a family of mice", "a shivering hen", "three small frogs",
          "a lost lamb", "a tired donkey", "an old cat", "four ants", "a sleepy snail",
          "a very large goose")
CHESTS = (("a heap of walnuts", "crunchy"), ("a music box", "sweet"),
          ("a letter from long ago", "yellow"), ("a bag of flower seeds", "tiny"),
          ("a wooden crown", "light"), ("a picture of two friends", "old"),
          ("a pair of skates", "shiny"), ("a jar of honey", "golden"))
SLEEP = (("count the stars", "one, two, three", "At twenty-seven"),
         ("think of the best thing of the day", "the sun on the grass",
          "In the middle of that thought"), ("listen to the wind", "shh, shh, shh",
                                             "At the third breath of wind"),
         ("breathe very slowly", "in and out, in and out", "After ten breaths"),
         ("tell the pillow a story", "about a sheep in a boat", "Before the story was over"),
         ("wiggle every toe once", "first the left, then the right", "At the last toe"))
CURES = ("a pot of soup", "a bunch of daisies", "a funny song", "warm milk with honey",
         "a picture book", "a cup of mint tea")


def lost_way(rng) -> Tale:
    """The hero walks too far and finds the way home."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    (p1, at1), (p2, at2) = t.places(2)
    sign, deed = rng.choice(GUIDES)
    deed = deed.format(him=h.him)
    t.theme, t.wish = "finding the way home", "who gets lost"
    t.open().part()
    chase = t.pick("a blue butterfly", "a rolling acorn", "a yellow leaf", "a funny little cloud",
                   "a dragonfly", "a feather in the wind")
    t.say(f"{t.when()} {h.name} saw {chase} and ran after it.",
          f"{t.when()} {h.he} followed {chase}, past {p1} and on and on.",
          f'{t.when()} {h.name} cried, "Look, {chase}!" and off {h.he} went.')
    t.ask((f"What did {h.name} follow?", f"Why did {h.name} get lost?",
           f"What did {h.name} run after?"),
          (f"{h.name} followed {chase}.", f"{h.He} ran after {chase} and lost the way."))
    t.say(f"When {h.he} looked up, nothing looked the same.",
          f"Then {h.he} stopped. Where was the path?",
          f"Soon {h.he} did not know where {h.he} was.",
          "But then it was gone, and so was the path.")
    t.maybe(
        0.6, "The shadows grew long.", "An owl hooted somewhere."
        if f.kind != "owl" and h.kind != "owl" else "A twig snapped somewhere.",
        f"{h.name} turned left, then right, then left again.", "All the trees looked alike.")
    t.ask(("What was the problem?", "What went wrong?", f"Why was {h.name} sad?",
           f"Why was {h.name} afraid?"),
          (f"{h.name} was lost.", f"{h.name} could not find the way home."))
    t.part().meet(at2)
    t.say(f'"I do not know the way home," said {h.name}.', f'"I am lost," {h.he} whispered.',
          f'"I want to go home," said {h.name}, and a tear fell.')
    t.say(f'"Stand still and look around," said {f.name}. "There is {sign}!"',
          f'"Do you notice {sign}?" asked {f.name}. "It will lead you home."',
          f'{f.name} pointed. "There is {sign}. That is your way."')
    t.helper_question(f"showed {h.him} the way")
    t.ask((f"How did {h.name} find the way home?", f"What showed {h.name} the way?"),
          (f"{cap(sign)} showed {h.him} the way.", f"{h.name} {deed} and came home."))
    t.part().say(f"So {h.name} {deed}, over a hill and past {p1}.",
                 f"{h.name} {deed}, and {f.name} came along.", f"{h.He} {deed}, step by step.")
    t.say("And there was the light of home!", f"At last {h.he} saw {h.his} own door.",
          f"And soon {h.he} stood before {h.his} home.").cheer()
    end = t.pick(f"{h.name} waved to {f.name} until {f.he} was out of sight.",
                 f"{h.name} asked {f.name} in, and they had supper by the fire.",
                 f"{h.name} slept better than ever.")
    return t.close(
        end,
        t.pick("when you are lost you should stop and look", "home is the best place",
               "help is often nearer than you think"))


def storm(rng) -> Tale:
    """One small house, and more and more guests."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    one, two = rng.sample(GUESTS, 2)
    t.theme, t.wish = "making room for others", "who has many guests"
    t.thing = "storm"
    t.open().part().say(f"{t.when()} a great storm came up.",
                        "One night there was thunder and rain.",
                        "Late one evening the wind began to howl.",
                        "One winter evening it snowed and snowed.")
    t.say(f"{h.name} sat by the fire, warm and dry.",
          f"But inside, {h.name} was warm and had hot tea.",
          f"{h.name} pulled the door shut and lit a candle.")
    t.say(f"Knock, knock! Outside stood {f.who} named {f.name}. \"May I come in?\"",
          f"Then there was a knock. It was {f.who} called {f.name}, wet to the bone.",
          f'"Is anyone at home?" called a voice. It was {f.name}, {f.who}.')
    t.ask((f"Who was {f.name}?", f"Who knocked first?", "Who was at the door?"),
          (f"It was {f.name}, {f.who}.", f"{f.name} was {f.who}."))
    t.say(f'"Come in!" said {h.name}.', f"{h.name} opened the door wide.",
          f'"My home is small," said {h.name}, "but there is room for one more."')
    t.say(f"Soon there was another knock. It was {one}.", f"Then {one} came to the door.",
          f"Hardly was the door closed when {one} asked for shelter.")
    t.say(f"And after that came {two}!", f"And who came next? It was {two}.",
          f"Last of all came {two}.")
    t.ask(("Who else came?", "Who came to the house?", "Who were the guests?"),
          (f"{f.name} came, then {one}, and then {two}.",
           f"First came {f.name}, and later {one} and {two}."))
    t.part().say("Now it was so full that nobody could turn around.",
                 f"There was hardly any room left for {h.name}.",
                 "They sat on the table, under the chair and in the sink.")
    t.ask(("What was the problem?", "What went wrong?"),
          ("There was a storm, and the home became very full.",
           "The house was small and there were many guests."))
    t.maybe(0.6, f'"Are we too many?" asked {f.name}. "No," said {h.name}. "It is cosy!"',
            f'"Shall I go?" asked {f.name}. "Never!" said {h.name}.',
            f"{h.name} shared out {h.his} blankets.")
    t.say("They sang songs until the thunder was only a small noise.",
          f"{f.name} told a tale, and nobody heard the storm any more.",
          f"They ate {rng.choice(words.FOODS)}, and it was like a feast.")
    t.ask(("What did they do?", "What did they do during the storm?"),
          ("They sat close together until the storm was over.", )).cheer()
    end = t.pick("the sun came out, and everyone thanked the good host.",
                 f"the guests mended {h.name}'s roof.",
                 f"every guest left a small present at {h.name}'s door.")
    return t.close(
        end,
        t.pick("there is always room for one more", "a small house can have a big heart",
               "a storm is not so bad together"))


def music(rng) -> Tale:
    """The hero thinks that the others make better music."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    place, there = t.places(1)[0]
    sound = t.pick("a deep hum", "a squeaky voice", "a loud stamp", "a funny whistle",
                   "a soft clap", "a long howl")
    t.theme, t.wish, t.thing = "being yourself", "who wants to sing", "song"
    t.open().say(f"{h.name} wanted to sing like the nightingale.",
                 f"All the others could sing, only {h.name} could not.",
                 f"{h.name} loved music more than anything.")
    t.part().say(f"{t.when()} there was to be a concert {there}.",
                 f'{t.when()} a poster said: "Tonight, a concert {there}!"')
    t.say(f"But when {h.name} opened {h.his} mouth, there came only {sound}.",
          f"{h.name} practised all day. But all that came out was {sound}.")
    t.ask((f"What did {h.name} want?", f"What did {h.name} want to do?"),
          (f"{h.name} wanted to sing.", f"{h.He} wanted to sing in the concert {there}."))
    t.ask(("What was the problem?", f"Why was {h.name} sad?", "What went wrong?"),
          (f"{h.name} could not sing. {h.He} could only make {sound}.",
           f"{h.name} had only {sound}."))
    t.say("Some of them giggled.", f"{h.name} turned red and hid.",
          f'"I had better stay at home," {h.he} said.')
    t.meet(there)
    t.say(f'"I have only {sound}," said {h.name}.', f'"My voice is all wrong," said {h.name}.')
    t.say(f'"Wonderful!" said {f.name}. "That is just what our song needs."',
          f'"Nobody else has that," said {f.name}. "Come and play with us!"',
          f'{f.name} listened. "I have never heard anything so fine," {f.he} said.')
    t.helper_question("asked " + h.him + " to join the concert")
    t.part().say(f"That evening the moon rose, and the concert began {there}.",
                 f"In the evening everyone came to {place}.",
                 "When the lamps were lit, the music began.")
    t.say(f"In the middle of the song {h.name} made {h.his} sound, and all was silent.",
          f"Then it was {h.name}'s turn. It was {sound}, and it fitted perfectly.",
          f"{h.name} closed {h.his} eyes and did it: {sound}!")
    t.say('"Bravo!" they called. "Once more!"', "They clapped so loudly that the leaves shook.",
          "And then everybody cheered.").cheer()
    end = t.pick(f"no concert began without {h.name}.",
                 f"{f.name} and {h.name} played until the moon went down.",
                 f"{h.name} played with {f.name} every week.")
    return t.close(
        end,
        t.pick("everyone has a music of their own", "it is best to be yourself",
               "what is different can be beautiful"))


def treasure(rng) -> Tale:
    """A map leads two friends to a chest."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    (p1, at1), (p2, at2), (p3, at3) = t.places(3)
    inside, looks = rng.choice(CHESTS)
    t.theme, t.wish, t.thing = "looking for a treasure", "who finds a treasure", "map"
    t.open().part().say(f"{t.when()} {h.name} found an old map {at1}.",
                        f"{t.when()} a map fell out of a book, right before {h.name}.",
                        f"{t.when()} the wind blew a map to {h.name}'s feet.")
    t.ask((f"What did {h.name} find?", f"What did {h.name} find first?"),
          (f"{h.name} found a map.", f"{h.He} found an old map, and later a chest."))
    t.say(f'"A treasure map!" cried {h.name}, and ran to {h.his} friend {f.name}, {f.who}.',
          f"{h.He} showed it to {f.name}, {f.who}.",
          f"{h.His} friend {f.name}, {f.who}, had to see it at once.")
    t.ask((f"Who was {f.name}?", f"Who went with {h.name}?"),
          (f"{f.name} was {f.who}.", f"It was {f.name}, {f.who}."))
    t.say(f'"Look, here is {p2}!" said {f.name}.', f'"There is a cross near {p3}," said {f.name}.')
    t.part().say(f"They went to {p2} and counted forty steps.",
                 f"First they came to {p2}, as the map said.",
                 f"From {p2} they followed a dotted line.")
    t.say(
        f"Then they had to climb, and {f.name} slipped. {h.name} held {f.his} hand." if f.human else
        f"Then they had to climb, and {f.name} slipped. {h.name} held {f.him} tight.",
        "They lost the path twice and found it again.",
        f"The way was steep, but {h.name} and {f.name} helped each other.")
    t.say(f"{cap(at3)} they began to dig.", f"At last they stood before {p3}. There was the cross!",
          f"{cap(at3)} something hard was in the ground.")
    t.say("It was a chest!", "Clonk! A wooden chest.", "They lifted out a small chest.")
    t.say(f'"Gold!" whispered {f.name}. But in the chest was {inside}.',
          f"{h.name} opened the lid. Inside was {inside}.", f"In it they found {inside}.")
    t.ask(("What was the treasure?", "What was in the chest?"),
          (f"It was {inside}.", f"In the chest was {inside}."))
    t.ask(("Where was the treasure?", "Where did they find the chest?"),
          (f"It was {at3}.", f"They found it {at3}."))
    t.say(f'"No gold," said {h.name}, "but it was the best day ever!"',
          "They looked at each other and began to laugh.",
          f'"It is {looks}," said {f.name}, "and it is ours."').part().cheer()
    end = t.pick(f"they shared the treasure and hid the map {at1} again.",
                 f"{h.name} and {f.name} put the chest under {h.name}'s bed.",
                 f"{h.name} and {f.name} planned the next adventure.")
    return t.close(
        end,
        t.pick("the real treasure is a good friend", "an adventure is best with a friend",
               "the way can be better than the goal"))


def sleepless(rng) -> Tale:
    """The hero cannot sleep and learns a trick."""
    t = Tale(rng)
    h, f = t.hero, t.friend
    trick, words_, when = rng.choice(SLEEP)
    t.theme, t.wish, t.thing = "falling asleep", "who cannot sleep", "moon"
    t.open().part().say(f"One night {h.name} could not sleep.", f"One night {h.name} lay awake.",
                        f"The moon was high, but {h.name} was wide awake.")
    t.ask(("What was the problem?", "What went wrong?", f"Why was {h.name} awake?",
           f"Why was {h.name} sad?"),
          (f"{h.name} could not sleep.", f"It was night, but {h.name} was awake."))
    t.say(f"{h.He} turned to the left and {h.he} turned to the right.",
          f"The bed was too hot, and then it was too cold.",
          f"{h.He} drank some water. {h.He} shook {h.his} pillow. Nothing helped.")
    t.maybe(0.5, "Somewhere a clock struck ten.", "The floor creaked.",
            f'"Sleep, where are you?" {h.he} asked.')
    t.say(f"So {h.he} went outside. There sat {f.who} named {f.name}.",
          f"At the window {h.he} saw {f.who} called {f.name}.",
          f"Outside, {f.who} named {f.name} was looking at the moon.")
    t.say(f'"You are up late, {h.name}," said {f.name}.',
          f'"Still awake?" asked {f.name}.').say(f'"I cannot sleep," said {h.name}.',
                                                 f'"Sleep has forgotten me," said {h.name}.')
    t.say(f'"I know a trick," said {f.name}. "You must {trick}."',
          f'"When I cannot sleep, I {trick}," said {f.name}.')
    t.ask((f"What was the trick?", f"What did {f.name} say?", f"How did {f.name} help?"),
          (f'{f.name} said: "You must {trick}."', f"The trick was to {trick}."))
    t.helper_question(f"knew a trick against being awake")
    t.part().say(f"{h.name} went back to bed and tried it: {words_}.",
                 f"Back in bed, {h.name} began: {words_}.")
    t.say(f"{when} {h.he} was fast asleep.", f"{when} {h.his} eyes fell shut.",
          f"{when} {h.he} began to snore.")
    end = t.pick(f"{h.name} dreamed of {f.name} and the moon until morning.",
                 f"{h.name} thanked {f.name} and told {f.him} about a lovely dream.",
                 f"{f.name} smiled and whispered, \"Good night.\"")
    return t.close(
        end,
        t.pick("sleep comes when you do not chase it", "the night is nothing to worry about",
               "a calm heart sleeps well"))


def sick_friend(rng) -> Tale:
    """The hero misses a feast to stay with a friend who is ill."""
    t = Tale(rng, old_friend=False)
    h, f = t.hero, t.friend
    feast = t.pick("spring fair", "lantern walk", "circus", "village dance", "summer picnic",
                   "puppet show")
    cure = rng.choice(CURES)
    t.theme, t.wish, t.thing = "caring for a friend", "whose friend is ill", cure.split(
        " ", 1)[1] if cure.startswith("a ") else cure
    t.open().say(f"{h.name} had a dear friend, {f.who} named {f.name}.",
                 f"{h.His} best friend was {f.name}, {f.who}.")
    t.ask((f"Who was {f.name}?", f"Who was {h.name}'s friend?", "Who was ill?"),
          (f"{f.name} was {f.who}.", f"It was {f.name}, {f.who}."))
    t.part().say(f"{t.when()} they wanted to go to the {feast} together.",
                 f"For weeks they had looked forward to the {feast}.",
                 f'"Today is the {feast}!" cried {h.name} {t.when().lower()}.')
    t.say(f"But {f.name} was ill and had to stay in bed.",
          f"But {f.name} had a cold and a very red nose.", f"But {f.name} lay in bed and coughed.")
    t.ask(("What was the problem?", "What went wrong?", f"What happened to {f.name}?"),
          (f"{f.name} was ill and could not go to the {feast}.", f"{f.name} was ill."))
    t.say(f'"Go without me," said {f.name}.',
          f'"You must tell me all about it," said {f.name} in a small voice.').say(
              f"{h.name} stood at the door. {h.He} could already hear the music.",
              f"{h.name} went out, but with every step {h.he} walked more slowly.",
              f"{h.name} thought for a while.")
    t.say(f'"No," said {h.name}. "Without you it is no fun."',
          f"Then {h.he} turned round and stayed.", f'"The {feast} can wait," said {h.name}.')
    t.ask((f"Did {h.name} go to the {feast}?", f"What did {h.name} do?"),
          (f"No, {h.name} stayed with {f.name}.",
           f"{h.name} stayed with {f.name} and brought {f.him} {cure}."))
    t.part().say(f"{h.He} brought {f.name} {cure}.", f"{h.He} came back with {cure}.",
                 f"Soon {h.he} stood beside the bed with {cure}.")
    t.ask((f"What did {h.name} bring?", f"How did {h.name} help?"),
          (f"{h.name} brought {cure}.", f"{h.He} brought {f.name} {cure}."))
    t.say(f"{f.name} began to smile.", f"{f.name} laughed so much that {f.he} forgot to cough.",
          f"Slowly {f.name}'s cheeks grew pink again.")
    t.say("Then they made a fair of their own, with paper flags and a blanket for a tent.",
          f"They opened the window and listened to the music far away.",
          f"They played guessing games until it was dark.").cheer()
    end = t.pick(f"{f.name} was well, and the two went out together.",
                 f"{f.name} said that {h.name} was better than any {feast}.",
                 f"{f.name} was as fit as a fiddle.")
    return t.close(
        end,
        t.pick("being together is better than any feast", "a friend is the best medicine",
               "love shows in small things"))
