"""`generate` on the bundled model: kinds of prompts, reproducible texts, and ways to stop it."""

import json
import os
import re
import signal
import subprocess
import unittest

from support import BIN, CLEAN, SystemTest, TIMEOUT, run
from waiting import eventually


class TokenHealing(SystemTest):
    def test_the_prompt_stays_and_goes_on_within_its_last_word(self):
        prompt = "Once upon a ti"
        args = ("generate", "-n", "4", "--temp", "0", "-p", prompt, "--token-healing")
        whole = self.runs(*args).out
        self.assertTrue(whole.startswith(b"Once upon a time"), whole)
        self.assertEqual(prompt.encode() + self.runs(*args, "--no-display-prompt").out, whole)

    def test_nothing_to_heal(self):
        for prompt in ("", "a"):
            args = ("generate", "-n", "4", "--temp", "0", "-p", prompt)
            self.assertTrue(self.runs(*args, "--token-healing").out.startswith(prompt.encode()))


class Flags(SystemTest):
    def generate(self, *args, **kwargs):
        return self.runs("generate", "-n", "4", "--temp", "0", *args, **kwargs).out

    def test_unknown_options_are_named(self):
        self.refuses(2, "unknown option --sed; did you mean --seed?", "generate", "--sed", "3")
        self.refuses(2, "unknown option --frobnicate\n", "generate", "-p", "x", "--frobnicate=3")
        self.refuses(2, "unexpected argument 'x'", "generate", "x")

    def test_a_context_beyond_that_of_the_training(self):
        r = self.runs("generate", "-n", "1", "-p", "Once", "-c", "100000")
        self.assertIn("warning: a context of 100000 tokens, but the model was trained for", r.err)
        self.assertNotIn("warning", self.runs("generate", "-n", "1", "-p", "Once").err)

    def test_stdin_files_and_escapes(self):
        plain = self.generate("-p", 'One\ntwo "x" \\d')
        self.assertEqual(self.generate("-e", "-p", r'One\ntwo \"x" \\d'), plain)
        text = b'One\ntwo "x" \\d'
        self.assertEqual(self.generate("-p", "-", stdin=text), plain)
        file = self.folder / "prompt.txt"
        file.write_bytes(b"\xef\xbb\xbf" + text.replace(b"\n", b"\r\n") + b"\r\n")
        self.assertEqual(self.generate("-f", file), plain)

    def test_negative_temperatures(self):
        self.refuses(2, "--temp", "generate", "-n", "1", "--temp", "-0.5")

    def test_numbers_that_no_flag_can_hold(self):
        for flag in ("--presence-penalty", "--dynatemp-exp", "--temp", "--length-penalty"):
            for value in ("1e39", "nan", "inf", "-inf"):
                self.refuses(2, f"{flag}: ", "generate", "-n", "1", f"{flag}={value}")
        self.refuses(2, "--diffusion-cfg-scale: ", "generate", "--diffusion-cfg-scale", "nan")
        self.refuses(2, "--presence-penalty: must be a number from -3.40282e+38 to 3.40282e+38, "
                        "got 1e39", "generate", "-n", "1", "--presence-penalty", "1e39")


class Constraints(SystemTest):
    def generate(self, *args):
        r = self.runs("generate", "-p", "Once upon a time", "--no-display-prompt", "-s", "3", *args)
        return r.out.decode()

    def test_text_is_of_the_grammar(self):
        text = self.generate("-n", "200", "--grammar",
                             'root ::= " " [a-z]{3,9} (", " [a-z]{3,9}){2} "."')
        self.assertRegex(text, r"\A [a-z]{3,9}(, [a-z]{3,9}){2}\.\n\Z")
        schema = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 12},
                                                   "age": {"type": "integer", "minimum": 1,
                                                           "maximum": 99}},
                  "required": ["name", "age"], "additionalProperties": False}
        value = json.loads(self.generate("-n", "200", "--json-schema", json.dumps(schema)))
        self.assertEqual(list(value), ["name", "age"])
        self.assertTrue(len(value["name"]) <= 12 and 1 <= value["age"] <= 99)
        self.assertRegex(self.generate("-n", "99", "--regex", "[0-9]{4}-[0-9]{2}"),
                         r"\A\d{4}-\d\d\n\Z")

    def test_stop_and_ban(self):
        text = self.generate("-n", "60", "--temp", "0")
        word = re.findall(r"\w{4,}", text)[5]
        stopped = self.generate("-n", "60", "--temp", "0", "--stop", word)
        self.assertEqual(stopped, text[:text.index(word)] + "\n")
        self.assertNotIn(word, self.generate("-n", "60", "--temp", "0", "--ban", word))

    def test_samples_share_the_prompt(self):
        texts = self.generate("-n", "12", "--samples", "3").split("\n--- ")
        self.assertEqual(len(texts), 3)
        self.assertEqual(len({t.split("\n", 1)[-1] for t in texts[1:]}), 2)

    def test_samplers(self):
        for flags in ("--mirostat 1", "--mirostat 2", "--dry-multiplier 0.8", "--tfs 0.9",
                      "--adaptive-target 0.3",
                      "--samplers top_k;temperature", "--typical 0.9 --xtc-probability 1",
                      "--dynatemp-range 0.5"):
            self.assertEqual(self.generate("-n", "8", *flags.split()),
                             self.generate("-n", "8", *flags.split()))
        draw = ("-n", "8", "--temp", "2", "-s", "3", "--samplers")
        self.assertEqual(self.generate(*draw, "top-k;typical_p;temp"),
                         self.generate(*draw, "top_k;typ_p;temperature"))
        # Without stages, the model's own distribution.
        own = ("-n", "8", "-s", "3", "--temp", "1", "--top-k", "0", "--top-p", "1", "--min-p", "0")
        for none in (("--samplers", ""), ("--samplers", ";"), ("--sampler-seq", "")):
            self.assertEqual(self.generate("-n", "8", "-s", "3", "--temp", "0", *none),
                             self.generate(*own))
        self.refuses(2, "--top-p: must be a number from 0 to 1, got 1.5", "generate", "--top-p", "1.5")
        self.refuses(2, "unknown sampler 'top_q'", "generate", "--samplers", "top_q")
        self.refuses(2, "ID+BIAS", "generate", "--logit-bias", "x")
        self.refuses(1, "1:10: rule 'foo' is not defined", "generate", "--grammar", "root ::= foo")


class PromptCache(SystemTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"

    def generate(self, prompt, *args):
        return self.runs("generate", "-n", "24", "--temp", "0", "-p", prompt, *args)

    def cached(self, prompt, *args):
        return self.generate(prompt, "--prompt-cache", self.cache, *args)

    def test_same_text_with_and_without(self):
        begin = "Once upon a time there was a little girl"
        for prompt in (begin, begin, begin + " named Lily. One day", "One day"):
            self.assertEqual(self.cached(prompt).out, self.generate(prompt).out)

    def test_says_what_it_took(self):
        self.assertNotIn("from cache", self.cached("Once upon a time").err)
        self.assertRegex(self.cached("Once upon a time").err, r"from cache +[1-9]\d* tokens")

    def test_what_was_generated_goes_on(self):
        first = self.cached("Once upon a time", "--prompt-cache-all").out.decode().rstrip("\n")
        longer = self.cached(first, "--prompt-cache-ro")
        kept = int(re.search(r"from cache +(\d+)", longer.err)[1])
        self.assertGreater(kept, 20)
        self.assertEqual(longer.out, self.generate(first).out)

    def test_what_the_file_holds_is_not_written_again(self):
        self.cache.touch()
        self.cached("Once upon a time", "--prompt-cache-all")
        before = self.cache.stat().st_mtime_ns
        self.cached("Once upon a time")
        self.assertEqual(self.cache.stat().st_mtime_ns, before)

    def test_read_only_changes_nothing(self):
        self.cached("Once upon a time", "--prompt-cache-ro")
        self.assertFalse(self.cache.exists())

    def test_damaged_or_of_another_model(self):
        want = self.cached("Once upon a time").out
        self.assertIn("not used", self.cached("Once upon a time", "--cache-type-k", "f32").err)
        good = self.cache.read_bytes()
        self.cache.write_bytes(good[:-9] + bytes([good[-9] ^ 1]) + good[-8:])
        r = self.cached("Once upon a time")
        self.assertIn(": damaged:", r.err)
        self.assertEqual(r.out, want)
        self.assertRegex(self.cached("Once upon a time").err, "from cache")

    def test_no_other_file_is_overwritten(self):
        self.cache.write_bytes(b"precious")
        r = run("generate", "-n", "1", "--prompt-cache", self.cache)
        self.assertEqual(r.code, 1)
        self.assertIn("not a saved sequence", r.err)
        self.assertEqual(self.cache.read_bytes(), b"precious")
        r = run("generate", "-n", "1", "--prompt-cache", self.folder / "no/where")
        self.assertEqual((r.code, r.out), (1, b""))
        self.assertIn("cannot be written", r.err)
        self.assertEqual(run("generate", "--prompt-cache-all").code, 2)


class Prompts(SystemTest):
    def text(self, *args, **kwargs):
        return self.runs("generate", "-n", "16", "--temp", "0", *args, **kwargs).out

    def test_default_prompt(self):
        self.assertTrue(self.text().startswith(b"Once upon a time"))

    def test_prompt_is_echoed_and_can_be_hidden(self):
        whole = self.text("-p", "One day")
        self.assertTrue(whole.startswith(b"One day"))
        self.assertEqual(b"One day" + self.text("-p", "One day", "--no-display-prompt"), whole)

    def test_empty_prompt(self):
        self.assertGreater(len(self.text("-p", "").strip()), 0)

    def test_no_tokens(self):
        r = self.runs("generate", "-n", "0", "-p", "One day")
        self.assertEqual(r.out, b"One day\n")
        self.assertIn("prompt", r.err)

    def test_from_file_and_stdin(self):
        path = self.folder / "prompt.txt"
        path.write_bytes(b"One day\n")
        want = self.text("-p", "One day")
        self.assertEqual(self.text("-f", path), want)
        self.assertEqual(self.text("-f", "-", stdin=b"One day\n"), want)

    def test_bytes_that_are_no_text(self):
        prompt = bytes(range(256)) + b"\xff\xfe\xed\xa0\x80"
        self.assertTrue(self.text("-f", "-", stdin=prompt).startswith(prompt))

    def test_prompt_longer_than_the_context(self):
        r = self.refuses(1, "-c", "generate", "-c", "8", "-p",
                         "One day a fox and a bear went into the dark forest.")
        self.assertIn("the context holds 8", r.err)

    def test_context_gets_full(self):
        r = self.runs("generate", "-c", "16", "--ignore-eos", "--temp", "0")
        self.assertIn("the context is full", r.err)

    def test_prompt_wider_than_a_batch(self):
        prompt = "One day a fox and a bear went into the dark forest. " * 4
        self.assertEqual(self.text("-p", prompt, "-b", "7"), self.text("-p", prompt))


class SameText(SystemTest):
    def story(self, *args):
        return self.runs("generate", "-n", "48", "--seed", "11", *args).out

    def test_same_seed_same_text(self):
        self.assertEqual(self.story(), self.story())

    def test_another_seed_another_text(self):
        self.assertNotEqual(self.story(), self.runs("generate", "-n", "48", "--seed", "12").out)

    def test_any_number_of_workers(self):
        for n in "2", "3":
            self.assertEqual(self.story("-t", n), self.story("-t", "1"), f"-t {n}")

    def test_greedy_is_argmax_for_any_seed(self):
        self.assertEqual(self.story("--temp", "0"), self.runs("generate", "-n", "48", "--temp",
                                                              "0").out)


class Stopping(SystemTest):
    def start(self, *args):
        process = subprocess.Popen([str(BIN / "generate"), "--ignore-eos", *args],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=CLEAN)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        return process

    def test_interrupt(self):
        process = self.start("-c", "4096")
        process.stdout.read(40)  # it is writing
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130, err)
        self.assertTrue(out.endswith(b"\n"))
        self.assertIn(b"stopped: interrupted", err)
        self.assertIn(b"tokens/s", err)

    def test_interrupt_while_waiting_for_the_prompt(self):
        process = subprocess.Popen([str(BIN / "generate"), "-f", "-"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=CLEAN)
        self.addCleanup(process.kill)

        def catches_it():
            with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                caught = next(int(line.split()[1], 16) for line in status
                              if line.startswith("SigCgt"))
            return caught & 1 << (signal.SIGINT - 1)
        eventually(catches_it, "the handler of the signal")
        process.send_signal(signal.SIGINT)
        # If the signal comes before the read begins, the prompt is empty.
        process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 130)

    def test_closed_pipe(self):
        process = self.start("-c", "4096")
        os.read(process.stdout.fileno(), 40)
        process.stdout.close()
        self.assertEqual(process.wait(TIMEOUT), 0)
        said = process.stderr.read().splitlines()
        self.assertEqual([line for line in said if not line.startswith(b"warning: a context")], [])


if __name__ == "__main__":
    unittest.main()
