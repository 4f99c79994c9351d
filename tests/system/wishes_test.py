"""The count of wishes of tools/train accepts facts of the plots and rejects others."""

import random
import re
import sys
import unittest

from support import SOURCE

sys.path.insert(0, str(SOURCE / "tools/train"))
sys.dont_write_bytecode = True
import chats  # noqa: E402
import wishes  # noqa: E402


class Wishes(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.judge = wishes.Judge()

    def setUp(self):
        self.judge.right.clear()
        self.judge.asked.clear()

    def tales(self, count=40):
        for i in range(count):
            yield chats.new_tale(random.Random(i))

    def wrong(self, tale, story, thing=""):
        h = tale.hero
        return self.judge.story(story, h.name, h.kind, h.girl, thing)[1]

    def answers(self, tale, said):
        """How many of the four answers are right about the tale's story."""
        h = tale.hero
        reading, _ = self.judge.story(tale.text(), h.name, h.kind, h.girl, "")
        return [self.judge.answer(q, a, tale.text(), reading) for q, a
                in zip(wishes.QUESTIONS, said)]

    def test_stories_of_the_plots_keep_to_their_wish(self):
        for tale in self.tales():
            with self.subTest(tale.text()):
                self.assertFalse(self.wrong(tale, tale.text(), tale.thing if tale.thing
                                            in tale.text() else ""))

    def test_another_name_in_one_place(self):
        for tale in self.tales():
            head, name, tail = tale.text().rpartition(tale.hero.name)
            with self.subTest(tale.text()):
                self.assertIn("name", self.wrong(tale, f"{head}Esmeralda{tail}") | self.wrong(tale, f"{head}Agnes{tail}"))

    def test_another_kind(self):
        for tale in self.tales():
            story = re.sub(rf"\b{tale.hero.kind}\b", "wombat" if tale.hero.kind != "bat" else "fox",
                           tale.text())
            with self.subTest(story):
                self.assertIn("kind", self.wrong(tale, story))

    def test_other_pronouns_in_the_opening(self):
        swap = {"he": "she", "she": "he", "He": "She", "She": "He", "his": "her", "His": "Her",
                "Her": "His"}
        for tale in self.tales():
            opening, others = tale.paragraphs[0][0], [s for p in tale.paragraphs for s in p][1:]
            changed = re.sub(r"\b(?:[Ss]?he|His|Her|his)\b", lambda m: swap[m[0]], opening)
            if changed != opening:
                with self.subTest(changed):
                    self.assertIn("girl", self.wrong(tale, " ".join([changed, *others])))

    def test_a_thing_that_was_not_told_of(self):
        tale = next(self.tales())
        self.assertIn("thing", self.wrong(tale, tale.text(), "purple sousaphone"))

    def test_answers_of_the_plots(self):
        for tale in self.tales():
            with self.subTest(tale.text()):
                said = [answers[0] for _, answers in tale.common] + [chats.epilogue(tale)]
                self.assertEqual(self.answers(tale, said), [True] * 4)

    def test_answers_about_another_story(self):
        tales = list(self.tales())
        for tale, other in zip(tales, tales[1:]):
            with self.subTest(tale.text()):
                said = [answers[0] for _, answers in other.common] + [chats.epilogue(other)]
                self.assertFalse(any(self.answers(tale, said)), said)

    def test_wishes_name_each_hero_once(self):
        heroes = [w[1] for w in wishes.wishes(40)]
        self.assertEqual(len(set(heroes)), 40)


if __name__ == "__main__":
    unittest.main()
