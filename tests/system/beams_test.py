"""`generate --beams` and `--logprobs` on the bundled model."""

import json
import math
import re
import signal
import subprocess
import unittest

from support import BIN, CLEAN, SystemTest, TIMEOUT

PROMPT = "Once upon a time there was a little"


class Generate(SystemTest):
    prompt = PROMPT

    def generate(self, *args):
        r = self.runs("generate", "--no-display-prompt", "-p", self.prompt, *args)
        return r.out.decode().removesuffix("\n"), r.err


class Beams(Generate):
    def found(self, err):
        """Score, log-probability and number of tokens of each text."""
        return [(float(s), float(p), int(n))
                for s, p, n
                in re.findall(r"beam \d+: score (\S+), log probability (\S+), (\d+) tokens", err)]

    def test_one_beam_is_greedy(self):
        self.assertEqual(self.generate("-n", "20", "--beams", "1")[0],
                         self.generate("-n", "20", "--temp", "0")[0])

    def test_several_find_likelier_texts(self):
        self.prompt = "Tim was sad because"
        args = ("-n", "12", "--length-penalty", "0", "--ignore-eos")
        greedy = self.found(self.generate(*args, "--beams", "1")[1])[0]
        text, err = self.generate(*args, "--beams", "8", "--samples", "8")
        found = self.found(err)
        self.assertEqual(len(found), 8)
        self.assertGreater(found[0][0], greedy[0])
        self.assertEqual(found, sorted(found, reverse=True))
        self.assertEqual(len(set(re.split(r"\n--- \d+\n", text))), 8)
        self.assertEqual({n for _, _, n in found}, {12})

    def test_scores_are_those_of_the_texts(self):
        """The sum of the log-probabilities of the tokens, from the model fed with the text."""
        text, err = self.generate("-n", "8", "--beams", "4", "--length-penalty", "0",
                                  "--ignore-eos")
        lines = self.runs("generate", "-p", PROMPT, "-n", "8", "--temp", "0", "--logprobs", "0",
                          "--json", "--ignore-eos",
                          "--grammar", f"root ::= {json.dumps(text)} .*").out.decode().splitlines()
        total = sum(json.loads(line)["logprob"] for line in lines)
        self.assertAlmostEqual(self.found(err)[0][1], total, delta=0.02)

    def test_same_texts_for_any_workers(self):
        args = ("-n", "16", "--beams", "3", "--samples", "3")
        once = self.generate(*args, "-t", "1")
        self.assertEqual(self.generate(*args, "-t", "2")[0], once[0])
        self.assertEqual(self.generate(*args, "-s", "5", "-b", "1")[0], once[0])

    def test_texts_keep_the_rules(self):
        grammar = 'root ::= " " [a-z]{3,9} (", " [a-z]{3,9}){2} "."'
        text, _ = self.generate("-n", "99", "--beams", "4", "--samples", "4", "--grammar", grammar)
        for t in re.split(r"\n--- \d+\n", text):
            self.assertRegex(t, r"\A [a-z]{3,9}(, [a-z]{3,9}){2}\.\Z")
        schema = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 1,
                                                           "maximum": 99}},
                  "required": ["age"], "additionalProperties": False}
        text, _ = self.generate("-n", "120", "--beams", "3", "--json-schema", json.dumps(schema))
        self.assertTrue(1 <= json.loads(text)["age"] <= 99)

    def test_stop_and_ban(self):
        for early in ("first", "likely", "never"):
            args = ("-n", "24", "--beams", "3", "--samples", "3", "--early-stopping", early)
            text, err = self.generate(*args, "--stop", ".")
            self.assertNotIn(".", text)
            self.assertTrue(self.found(err))
        text, _ = self.generate("-n", "24", "--beams", "3", "--samples", "3", "--ban", "girl")
        self.assertNotIn("girl", text)

    def test_length_penalty_decides_between_short_and_long(self):
        def length(penalty):
            return self.found(self.generate("-n", "40", "--beams", "4", "--stop", ".",
                                            "--early-stopping", "never",
                                            "--length-penalty", penalty)[1])[0][2]
        self.assertLessEqual(length("0"), length("3"))
        self.assertLess(length("-2"), 40)

    def test_prompt_from_cache(self):
        args = ("-n", "8", "--beams", "3", "--prompt-cache", self.folder / "cache")
        once = self.generate(*args)
        again = self.generate(*args)
        self.assertEqual(once[0], again[0])
        self.assertIn("from cache", again[1])

    def test_beams_share_cells(self):
        args = ("-n", "16", "--beams", "4", "--samples", "4", "-c", "512")
        free, tight = self.generate(*args), self.generate(*args, "--cache-cells", "512")
        self.assertEqual(tight[0], free[0])
        self.assertNotEqual(*(re.search("memory +(.*) in all", err)[1] for _, err in (free, tight)))
        self.refuses(1, "shared blocks", "generate", "--no-display-prompt", *args, "--cache-cells",
                     "64")
        self.refuses(2, "--cache-cells requires --beams", "generate", "--cache-cells", "64")

    def test_ends_of_all_kinds(self):
        self.assertEqual(self.generate("-n", "0", "--beams", "2")[0], "")
        text, err = self.generate("--beams", "2", "-c", "16",
                                  "--ignore-eos")  # up to the end of the context
        self.assertIn("cut", err)
        process = subprocess.Popen([BIN / "generate", "-p", PROMPT, "--beams", "4", "-c", "4096",
                                    "--ignore-eos"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=CLEAN)
        self.assertTrue(process.stdout.read(len(PROMPT)))  # the prompt is printed before the search
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertIn(b"stopped: interrupted", err)
        self.assertEqual(process.returncode, 130)

    def test_what_does_not_go_together(self):
        for flags in ("--temp 0", "--top-k 5", "--mirostat 2", "-l 5+1", "--samplers top_k",
                      "--token-healing",
                      "--logprobs 2", "--prompt-cache c --prompt-cache-all"):
            self.refuses(2, "--beams", "generate", "--beams", "2", *flags.split())
        self.refuses(2, "--samples asks for 3", "generate", "--beams", "2", "--samples", "3")
        for flags in ("--beams 0", "--beams x", "--length-penalty 1", "--early-stopping never",
                      "--beams 2 --early-stopping sometimes", "--beams 99999"):
            self.refuses(2, "--", "generate", *flags.split())
        self.refuses(2, "--length-penalty: must be a number from -10 to 10, got nan", "generate", "--no-display-prompt", "--beams", "2",
                     "--length-penalty", "nan")


class Logprobs(Generate):
    def lines(self, *args):
        return [json.loads(line) for line in self.generate("--json", *args)[0].splitlines()]

    def test_lines_are_the_text(self):
        plain = self.generate("-n", "12", "-s", "4")[0]
        lines = self.lines("-n", "12", "-s", "4", "--logprobs", "3")
        self.assertEqual(bytes(b for line in lines for b in line["bytes"]).decode(), plain)
        for line in lines:
            top = line["top_logprobs"]
            self.assertEqual(len(top), 3)
            self.assertEqual(sorted((t["logprob"] for t in top), reverse=True),
                             [t["logprob"] for t in top])
            self.assertLessEqual(line["logprob"], top[0]["logprob"])
            self.assertLessEqual(sum(math.exp(t["logprob"]) for t in top), 1.0001)

    def test_lines_end_where_the_text_ends(self):
        """At a stop string that begins and ends within tokens."""
        args = ("-n", "40", "-s", "4")
        lines = self.lines(*args, "--logprobs", "0")
        tokens = [bytes(line["bytes"]).decode() for line in lines]
        stop = tokens[10][-1:] + tokens[11] + tokens[12][:1]
        plain = self.generate(*args, "--stop", stop)[0]
        text = "".join(bytes(line["bytes"]).decode()
                       for line in self.lines(*args, "--logprobs", "0", "--stop", stop))
        self.assertEqual(text[:len(plain)], plain)
        self.assertLess(len(text), len(plain) + len(tokens[10]))

    def test_they_are_the_models_own(self):
        """They do not depend on sampler, grammar or number of workers."""
        args = ("-n", "5", "--logprobs", "2")
        greedy = self.lines(*args, "--temp", "0")
        self.assertEqual(greedy[0]["id"], greedy[0]["top_logprobs"][0]["id"])
        self.assertEqual(self.lines(*args, "--temp", "0.01", "--top-k", "1", "-t", "1"), greedy)
        forced = self.lines(*args, "--temp", "0", "--grammar", 'root ::= "qqqq"')
        self.assertEqual("".join(line["token"] for line in forced), "qqqq")
        self.assertEqual(forced[0]["top_logprobs"], greedy[0]["top_logprobs"])
        self.assertLess(forced[0]["logprob"], greedy[0]["top_logprobs"][1]["logprob"])
        everything = self.lines("-n", "1", "--logprobs", "100000")[0]["top_logprobs"]
        self.assertAlmostEqual(sum(math.exp(t["logprob"]) for t in everything), 1, places=3)

    def test_readable(self):
        text, _ = self.generate("-n", "3", "--temp", "0", "--logprobs", "2")
        self.assertEqual(len(text.splitlines()), 3)
        self.assertRegex(text.splitlines()[0],
                         r'\A"[^"]+" +-\d+\.\d{4}  "[^"]+" -\d+\.\d{4}  "[^"]+" -\d+\.\d{4}\Z')
        self.assertNotIn('  "', self.generate("-n", "3", "--logprobs", "0")[0])

    def test_wrong_usage(self):
        self.refuses(2, "--logprobs", "generate", "--json")
        self.refuses(2, "--logprobs", "generate", "--logprobs", "-1")
        self.refuses(2, "--samples asks for 2", "generate", "--logprobs", "1", "--samples", "2")


if __name__ == "__main__":
    unittest.main()
