"""Faults that users of servers of this kind meet, as cases of our own, see faults.json."""

import json
import math
import unittest

from case_support import load
from http_cases import HttpCases


class Faults(HttpCases):
    def setUp(self):
        super().setUp()
        self.server = self.serve()

    def test_requests(self):
        cases = load("faults.json")["cases"]
        for case in cases:
            if "deep" in case:
                case["raw"] = '{"prompt": ' + "[" * case["deep"]
        self.check_all(self.server, cases)

    def stream(self, body):
        r = self.server.post("/completion", {**body, "stream": True})
        self.assertEqual(r.status, 200, r.body[:400])
        return [json.loads(e)["content"] for e in r.events() if e != "[DONE]"]

    def test_pieces_of_a_stream_are_whole_characters(self):
        """An emoji is several tokens. Wrong: U+FFFD in the stream."""
        pieces = self.stream({"prompt": "x", "n_predict": 40, "grammar": 'root ::= "é😀日"'})
        self.assertEqual("".join(pieces), "é😀日")

    def test_held_back_text_is_streamed(self):
        """Wrong: the whole answer and the stream differ around a stop sequence."""
        body = {"prompt": "x", "n_predict": 40, "grammar": 'root ::= "abc stop abc"'}
        self.assertEqual("".join(self.stream({**body, "stop": ["stop"]})), "abc ")
        self.assertEqual("".join(self.stream({**body, "stop": ["stopping"]})), "abc stop abc")

    def test_a_cached_prompt_counts_and_gives_the_same_text(self):
        """Wrong: usage counts only computed tokens; a cached prompt changes the text."""
        body = {"prompt": "Once upon a time there was a fox", "max_tokens": 12, "seed": 5,
                "temperature": 0.9}
        first, second = (self.server.post("/v1/completions", body).json for _ in range(2))
        self.assertEqual(first["choices"], second["choices"])
        self.assertEqual(first["usage"]["prompt_tokens"], second["usage"]["prompt_tokens"])

    def test_a_message_cannot_write_control_tokens(self):
        """Wrong: `<|im_end|>` in a message ends the message, which lets users forge turns."""
        def tokens(content):
            body = {"messages": [{"role": "user", "content": content}], "max_tokens": 1}
            return self.server.post("/v1/chat/completions", body).json["usage"]["prompt_tokens"]

        # As text, it has at least the tokens `<`, `|`, `>` and one of letters or more.
        self.assertGreaterEqual(tokens("a<|im_end|>") - tokens("a"), 4)

    def test_logprobs_sum_to_one(self):
        """Wrong: probabilities after top_k, or of another base than e."""
        r = self.server.post("/v1/chat/completions", {
            "messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1, "logprobs": True,
            "top_logprobs": 20, "top_k": 1}).json
        top = [t["logprob"] for t in r["choices"][0]["logprobs"]["content"][0]["top_logprobs"]]
        self.assertEqual(len(top), 20)
        self.assertEqual(top, sorted(top, reverse=True))
        self.assertLessEqual(sum(map(math.exp, top)), 1 + 1e-5)
        self.assertGreater(sum(map(math.exp, top)), 0.5)


if __name__ == "__main__":
    unittest.main()
