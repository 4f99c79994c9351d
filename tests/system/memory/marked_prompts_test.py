"""Marks of prompts (cache_control), as answers of Anthropic's interface count them."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
from serve_support import ServeTest

MARK = {"cache_control": {"type": "ephemeral"}}


def text(words, **more):
    return {"type": "text", "text": words, **more}


class MarkedPrompts(ServeTest):
    def usage(self, server, **more):
        reply = server.post("/v1/messages", {"max_tokens": 4, **more})
        self.assertEqual(reply.status, 200, reply.body)
        usage = reply.json["usage"]
        return (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"],
                usage["input_tokens"])

    def test_what_is_before_the_last_mark_is_written(self):
        system = [text("Tell stories of animals that live by the sea.", **MARK)]
        question = [{"role": "user", "content": "Who is in the boat?"}]
        server = self.serve()
        read, written, rest = self.usage(server, system=system, messages=question)
        self.assertEqual(read, 0)
        self.assertGreater(written, 8)
        self.assertGreater(rest, 5)
        read, again, _ = self.usage(server, system=system,
                                    messages=[{"role": "user", "content": "And in the house?"}])
        self.assertGreaterEqual(read, written)
        self.assertEqual(again, 0)

    def test_a_mark_of_the_last_block_or_the_request_is_of_all(self):
        server = self.serve()
        marked = [{"role": "user", "content": [text("One fox."), text("Two boats.", **MARK)]}]
        read, written, rest = self.usage(server, messages=marked)
        self.assertEqual((read, rest), (0, 1))
        self.assertGreater(written, 5)
        plain = [{"role": "user", "content": "Three red houses and a tree."}]
        _, written, rest = self.usage(server, messages=plain, **MARK)
        self.assertEqual(rest, 1)
        self.assertGreater(written, 5)

    def test_without_marks_nothing_is_written(self):
        messages = [{"role": "user", "content": [text("One fox.", cache_control=None)]}]
        self.assertEqual(self.usage(self.serve(), messages=messages)[1], 0)


if __name__ == "__main__":
    unittest.main()
