"""Functions of the native module that the package itself does not use."""

import gc
import json
import pathlib
import sys
import tempfile
import threading
import unittest

try:
    import numpy as np
except ImportError:
    print("numpy is not installed")
    sys.exit(77)

import weft
from weft import _weft

STORY = "Once upon a time"


def model():
    return _weft.Model.open(bytes(weft.bundled_model()), {})


class Texts(unittest.TestCase):
    def setUp(self):
        self.model = model()
        self.ids = self.model.encode(STORY, False, False)

    def test_detokenizers_write_whole_characters(self):
        detokenizer = _weft.Detokenizer.open(self.model, _weft.DETOKENIZE_STRIP_SPACE_PREFIX)
        for _ in range(2):
            pieces = [detokenizer.push(id) for id in self.ids]
            self.assertEqual("".join(pieces) + detokenizer.finish(), STORY)
        with self.assertRaises(weft.ArgumentError):
            detokenizer.push(1 << 40)

    def test_threads_share_a_detokenizer_without_harm(self):
        detokenizer = _weft.Detokenizer.open(self.model, 0)
        known = {self.model.decode([id], False, False).decode() for id in self.ids}
        found = set()
        threads = [threading.Thread(target=lambda: found.update(
            detokenizer.push(id) for _ in range(200) for id in self.ids)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, known)

    def test_constraints_force_bytes_and_begin_again(self):
        grammar = _weft.Grammar.open(_weft.GRAMMAR_GBNF, 'root ::= "One" " day"?', None)
        constraint = _weft.Constraint.open(grammar, self.model)
        self.assertEqual((constraint.forced(64), constraint.forced(2)), (b"One", b"On"))
        before = constraint.state()
        self.assertEqual(before, (False, True))
        logits = np.zeros(len(weft.Model().tokenizer), np.float32)
        constraint.apply(logits)
        mask = constraint.mask()
        self.assertEqual((mask.dtype, mask.ndim), (np.uint64, 1))
        allowed = [int(mask[id // 64]) >> id % 64 & 1 for id in range(len(logits))]
        self.assertEqual(allowed, [int(x == 0) for x in logits])
        constraint.accept(int(np.argmax(logits)))
        constraint.reset()
        self.assertEqual((constraint.state(), constraint.forced(64)), (before, b"One"))

    def test_samplers_are_copied_and_reseeded(self):
        logits = np.linspace(0, 1, 64, dtype=np.float32)
        one = _weft.Sampler.open({"seed": 3, "temperature": 2.0})
        other = one.copy()
        drawn = [one.sample(logits) for _ in range(16)]
        self.assertEqual([other.sample(logits) for _ in range(16)], drawn)
        one.reseed(3)
        self.assertEqual([one.sample(logits) for _ in range(16)], drawn)

    def test_a_generation_takes_other_rules(self):
        session = _weft.Session.open(self.model, {"context": 64})
        text = _weft.Generation.open(session, 0, {"temperature": 0}, None, [], None, {"max_tokens": 8})
        text.set_grammar(_weft.Grammar.open(_weft.GRAMMAR_GBNF, 'root ::= "yes"', None))
        text.set_sampler({"temperature": 1.0, "seed": 1})
        text.begin(self.ids)
        pieces, stop = [], _weft.STOP_NONE
        while stop == _weft.STOP_NONE:
            piece, _, stop = text.next()
            pieces.append(piece)
        info = text.info()
        self.assertEqual(("".join(pieces), info["ended"], info["stop_string"]), ("yes", 1, ""))
        self.assertEqual(info["tokens"][:info["n_prompt"]], self.ids)
        text.set_grammar(None)
        with self.assertRaises(TypeError):
            text.set_grammar("yes")

    def test_texts_avoid_and_end_at_what_is_given(self):
        session = _weft.Session.open(self.model, {"context": 64})

        def write(**options):
            text = _weft.Generation.open(session, 0, {"temperature": 0}, None, [], None,
                                         {"max_tokens": 8, **options})
            text.begin(self.ids)
            events = [text.next()]
            while events[-1][2] == _weft.STOP_NONE:
                events.append(text.next())
            return "".join(piece for piece, _, _ in events), [id for _, id, _ in events], events[-1][2]
        plain, ids, _ = write()
        word = plain.split()[0]
        self.assertNotIn(word, write(banned=[word])[0])
        self.assertEqual(write(stop_tokens=[ids[3]])[1:], (ids[:4], _weft.STOP_END_OF_TEXT))
        for wrong in ({"banned": "word"}, {"banned": [5]}, {"stop_tokens": "5"}):
            with self.assertRaises(TypeError):
                write(**wrong)

    def test_prompts_have_logprobs(self):
        session = _weft.Session.open(self.model, {"context": 64})
        text = _weft.Generation.open(session, 0, {}, None, [], None,
                                     {"n_logprobs": 2, "prompt_logprobs": True})
        text.begin(self.ids)
        text.next()
        found = text.prompt_logprobs()
        self.assertEqual([id for id, _, _ in found], self.ids[1:])
        for _, logprob, top in found:
            self.assertEqual(len(top), 2)
            self.assertLessEqual(logprob, top[0][1])

    def test_a_batch_tells_whose_rules_failed(self):
        session = _weft.Session.open(self.model, {"context": 64, "sequences": 2})
        texts = [_weft.Generation.open(session, i, {"temperature": 0, **bias}, None, [], None, {})
                 for i, bias in enumerate(({}, {"logit_bias": {i: float("-inf") for i in range(2048)}}))]
        for text in texts:
            text.begin(self.ids)
        batch = _weft.Batch.open(session)
        for _ in range(8):
            fine, failed = batch.step(texts)
            if fine is not None:
                break
        self.assertEqual(fine[2], _weft.STOP_NONE)
        self.assertIsInstance(failed, weft.ArgumentError)
        for wrong in ([None], [session], 5):
            with self.assertRaises(TypeError):
                batch.step(wrong)
        self.assertEqual(batch.step([]), [])

    def test_plans_have_their_text(self):
        plan = _weft.ChatPlan.open(_weft.Chat.open(self.model, "chatml"),
                                   {"messages": '[{"role": "user", "content": "Hi"}]'})
        self.assertIn("<|im_start|>user\nHi<|im_end|>", plan.text())


class Sessions(unittest.TestCase):
    def setUp(self):
        self.model = model()
        self.session = _weft.Session.open(self.model, {"context": 64})

    def test_they_are_described(self):
        self.assertTrue(json.loads(self.session.json()))
        self.assertTrue(self.session.dot(1).startswith("digraph"))
        self.assertEqual(self.session.lora_scales(0), [])
        self.session.feed(0, [5, 6, 7])
        self.assertEqual(self.session.resume_point(0, 2), 2)
        self.assertEqual(self.session.common_prefix(0, [5, 6, 9]), 2)
        with self.assertRaises(weft.UnsupportedError):
            self.session.encode(0, [5])

    def test_a_saved_sequence_is_restored_in_part(self):
        self.session.feed(0, [5, 6, 7])
        with self.assertRaises(weft.ArgumentError):
            self.session.save(0, [5, 6], b"")
        saved = _weft.Saved.open_memory(self.session.save(0, [5, 6, 7], b""))
        self.assertEqual(saved.resume_point(self.session, 2), 2)
        saved.restore(self.session, 0, 2)
        self.assertEqual(self.session.tokens(0), [5, 6])

    def test_options_that_do_not_exist_are_refused(self):
        with self.assertRaisesRegex(TypeError, "Session\\(\\) got .*'no'; it has .*prefill_width"):
            _weft.Session.open(self.model, {"no": 1})
        with self.assertRaisesRegex(weft.ArgumentError, "workers is out of range"):
            _weft.Session.open(self.model, {"workers": 1 << 40})

    def test_masked_tokens_are_filled_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = str(pathlib.Path(folder, "llada.gguf"))
            _weft.write_made_model("llada", {}, path)
            how = {"max_tokens": 8, "steps": 4, "mask_token": 7, "shift_logits": 0}
            given = {"context": 64, "prefill_width": 2}
            fitting = _weft.diffusion_session(how, 3, given)
            self.assertEqual(fitting, {"context": 64, "prefill_width": 11, "logits_rows": 8})
            self.assertEqual(given, {"context": 64, "prefill_width": 2})
            session = _weft.Session.open(_weft.Model.open(path, {}), fitting)
            diffusion = _weft.Diffusion.open(session, 0, {}, how)
            diffusion.begin([3, 11, 42])
            begun = diffusion.info()
            self.assertEqual(begun["tokens"], [3, 11, 42] + [7] * 8)
            self.assertEqual((begun["n_prompt"], begun["n_masked"], begun["n_steps"]), (3, 8, 4))
            while diffusion.step():
                pass
            self.assertEqual(diffusion.info()["n_masked"], 0)
            for masked in ("#", None):
                with self.assertRaisesRegex(weft.UnsupportedError, "no tokenizer"):
                    diffusion.text(masked)


class Graphs(unittest.TestCase):
    def test_nodes_have_scopes(self):
        graph = _weft.Graph.open()
        graph.push_scope("blk.3")
        x = graph.input("x", "F32", [(4, 0)])
        y = graph.op("silu", [x], {})
        graph.set_name(y, "gate")
        graph.pop_scope()
        graph.output("y", y)
        graph.check()
        self.assertEqual(graph.info(y)[0], "blk.3.gate")
        computation = _weft.Computation.open(graph, {})
        computation.set_input("x", np.ones(4, np.float32))
        computation.run([])
        computation.cancel()  # nothing runs
        for wrong in ("a\0b", 5, None):
            with self.assertRaises((TypeError, ValueError)):
                graph.push_scope(wrong)
        with self.assertRaises(weft.Error):
            graph.pop_scope()

    def test_objects_outlive_what_they_were_made_from(self):
        graph = _weft.Graph.of_model(model(), 1)
        gc.collect()
        self.assertGreater(graph.size(), 0)


class Tools(unittest.TestCase):
    def test_files_are_inspected(self):
        inspected = json.loads(_weft.inspect_json(bytes(weft.bundled_model())))
        self.assertTrue(inspected)
        with self.assertRaises(OSError):
            _weft.inspect_json("/no/such")

    def test_truncated_files_can_be_errors(self):
        _weft.guard_mappings()

    def test_models_are_planned_and_tested(self):
        self.assertTrue(json.loads(_weft.plan_json(model(), {"context": 64})))
        passed, report = _weft.selftest_json(model(), {"context": 64})
        self.assertIsInstance(passed, bool)  # what else the process holds is measured as well
        self.assertTrue(json.loads(report))

    def test_the_machine_is_measured(self):
        self.assertTrue(json.loads(_weft.limits_json(1, 1 << 20)))


if __name__ == "__main__":
    unittest.main()
