"""Drafts: texts are the same with them."""

import copy
import pathlib
import tempfile
import unittest
import warnings

from support import STORY

import weft

GREEDY = weft.Sampler(temperature=0)
SAMPLERS = (GREEDY, weft.Sampler(seed=7, temperature=0.9))
PROMPT = f"{STORY} there was a fox named Pip. {STORY}"


def made_model(test, architecture, **keys):
    """A tiny model of an architecture, in a folder that the test removes."""
    path = pathlib.Path(test.enterContext(tempfile.TemporaryDirectory())) / "made.gguf"
    weft.write_made_model(architecture, path,
                          keys={f"{architecture}.{k}": v for k, v in keys.items()})
    return weft.Model(path)


class Texts(unittest.TestCase):
    def setUp(self):
        self.model = weft.Model()

    def check(self, session, speculation, prompt):
        for sampler in SAMPLERS:
            plain = session.stream(prompt, max_tokens=60, sampler=sampler)
            want = "".join(plain)
            text = session.stream(prompt, max_tokens=60, sampler=sampler, draft=speculation)
            self.assertEqual(("".join(text), text.tokens), (want, plain.tokens))
        counts = speculation.counts()
        self.assertGreater(counts.n_drafted, 0)
        self.assertLessEqual(counts.n_accepted, counts.n_drafted)
        self.assertGreater(min(counts.seconds, counts.seconds_without), 0)

    def test_the_same_with_all_types(self):
        session = self.model.session(context=256)
        for kind in ("ngram-simple", "draft", "ngram-simple,draft"):
            with self.subTest(kind):
                speculation = weft.Speculation(
                    session, kind, draft_model=self.model, n_max=5, ngram_size_n=1, adaptive=False)
                self.assertEqual(speculation.type, kind)
                self.check(session, speculation, PROMPT)

    def test_the_same_with_a_draft_layer(self):
        model = made_model(self, "glm4moe", block_count=3, nextn_predict_layers=1)
        self.assertTrue(model.drafts)
        self.assertFalse(model.recurrent or self.model.drafts or self.model.recurrent)
        session = model.session(context=256, draft_layer=True)
        speculation = weft.Speculation(session, adaptive=False)
        self.assertEqual(speculation.type, "draft-mtp")
        self.check(session, speculation, [3, 1, 4, 1, 5, 9, 3, 1, 4])

    def test_draft_files_are_checked(self):
        path = weft.bundled_model()
        with self.assertRaisesRegex(weft.Error, "a model of its own, expected a draft layer"):
            weft.Model(path, draft_file=path)
        with self.assertRaisesRegex(OSError, "no-such-draft.gguf"):
            weft.Model(path, draft_file=pathlib.Path("no-such-draft.gguf"))

    def test_models_with_states_need_rewind(self):
        model = made_model(self, "mamba")
        self.assertTrue(model.recurrent)
        prompt = [3, 1, 4, 1, 5, 9, 3, 1, 4]
        session = model.session(context=256)
        without = weft.Speculation(session, draft_model=model, adaptive=False)
        session.generate(prompt, max_tokens=20, sampler=GREEDY, draft=without)
        self.assertEqual(without.counts().n_drafted, 0)
        session = model.session(context=256, rewind=4)
        self.check(session, weft.Speculation(session, draft_model=model, adaptive=False), prompt)

    def test_types_are_counted(self):
        session = self.model.session(context=256)
        speculation = weft.Speculation(session, draft_model=self.model, adaptive=False)
        session.generate(PROMPT, max_tokens=60, sampler=GREEDY, draft=speculation)
        counts = speculation.counts("draft")
        self.assertGreater(counts.n_drafted, 40)
        self.assertEqual(counts.n_accepted, counts.n_drafted)  # it is its own draft
        self.assertEqual(speculation.counts("ngram-simple").n_drafted, 0)
        self.assertEqual(repr(speculation), "<weft.Speculation by draft>")

    def test_chats_say_the_same(self):
        said = []
        session = self.model.session(context=512)
        speculation = weft.Speculation(session, draft_model=self.model, adaptive=False)
        for draft in (None, speculation):
            chat = weft.Chat(session, max_tokens=40, sampler=weft.Sampler(seed=3), draft=draft)
            said.append((chat.say("A fox?"), chat.messages))
        self.assertEqual(said[0], said[1])
        self.assertGreater(speculation.counts().n_drafted, 0)


class Sequences(unittest.TestCase):
    def setUp(self):
        self.session = weft.Model().session(context=256, sequences=2)
        self.speculation = weft.Speculation(
            self.session, draft_model=weft.Model(), adaptive=False)
        self.stream = self.session.stream(PROMPT, max_tokens=60, sampler=GREEDY,
                                          draft=self.speculation)
        n_prompt = len(weft.Model().tokenizer.encode(PROMPT))
        for _ in range(20):
            next(self.stream)
            self.held = n_prompt + len(self.stream.tokens)
            if self.session.length() > self.held:
                return
        self.fail("there were no guesses")

    def test_ended_texts_leave_no_guesses(self):
        self.stream.close()
        self.assertLessEqual(self.session.length(), self.held)

    def test_an_old_text_takes_nothing_from_a_new_one(self):
        want = self.session.generate(PROMPT, max_tokens=30, sampler=GREEDY, sequence=1)
        new = self.session.stream(PROMPT, max_tokens=30, sampler=GREEDY)
        text = next(new)
        with self.assertRaisesRegex(weft.ArgumentError, "changed"):
            next(self.stream)
        self.stream.close()
        del self.stream
        self.assertEqual(text + "".join(new), want)

    def test_other_changes_come_after_the_text(self):
        self.session.truncate(3)
        self.assertEqual(self.session.length(), 3)
        self.assertEqual(self.stream.finish_reason, "closed")

    def test_copies_have_no_guesses(self):
        self.session.copy(0, 1)
        self.assertLessEqual(self.session.length(1), self.held)
        rest = "".join(self.stream)  # which goes on
        self.assertEqual((self.stream.finish_reason, bool(rest)), ("length", True))


    def test_saved_sequences_have_no_guesses(self):
        saved = self.session.save()
        self.assertLessEqual(self.session.length(), self.held)
        self.session.restore(saved, sequence=1)
        self.assertEqual(self.session.tokens(1), self.session.tokens(0))
        want = self.session.generate(PROMPT, max_tokens=60, sampler=GREEDY, sequence=1)
        said = weft.Model().tokenizer.decode(self.stream.tokens)
        self.assertEqual(said + "".join(self.stream), want)  # it went on


class Refusals(unittest.TestCase):
    def setUp(self):
        self.session = weft.Model().session(context=64)

    def refused(self, message, *arguments, error=weft.ArgumentError, **options):
        with self.assertRaisesRegex(error, message):
            weft.Speculation(self.session, *arguments, **options)

    def test_what_cannot_draft(self):
        self.refused("'magic'; known: draft, draft-mtp, draft-eagle3, ngram-simple", "magic")
        self.refused("need a draft model", "draft")
        self.refused("same vocabulary", draft_model=made_model(self, "llama"))
        self.refused("need a session with such a layer", "draft-mtp")
        for wrong in ({"n_max": 0}, {"p_min": 2}, {"ngram_size_n": 0}):
            self.refused(next(iter(wrong)), **wrong)
        with self.assertRaises(weft.UnsupportedError):
            weft.Model().session(draft_layer=True)

    def test_other_objects(self):
        self.refused("draft_model must be a weft.Model", error=TypeError, draft_model="a.gguf")
        self.refused("type must be str", ["draft"], error=TypeError)
        with self.assertRaisesRegex(TypeError, "session must be"):
            weft.Speculation(weft.Model())
        with self.assertRaisesRegex(TypeError, "draft must be a weft.Speculation, not str"):
            self.session.stream(STORY, draft="draft")
        other = weft.Model().session(context=64)
        with self.assertRaisesRegex(weft.ArgumentError, "another session"):
            other.stream(STORY, draft=weft.Speculation(self.session))
        with self.assertRaisesRegex(TypeError, "cannot be pickled"):
            copy.copy(weft.Speculation(self.session))
        self.session.close()
        self.refused("closed", error=weft.ClosedError)

    def test_a_draft_model_without_room_is_left_out(self):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            speculation = weft.Speculation(self.session, draft_model=weft.Model(),
                                           draft_session={"mem_budget": 1000})
        self.assertIn("no drafts by this model: no room", str(said[0].message))
        self.assertEqual(speculation.type, "")
        self.assertTrue(self.session.generate(STORY, max_tokens=5, draft=speculation))


if __name__ == "__main__":
    unittest.main()
