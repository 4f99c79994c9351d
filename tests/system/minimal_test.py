"""`minimal`: the small program that README names."""

import unittest

from support import MODEL, SOURCE, SystemTest, run


class Minimal(SystemTest):
    def test_it_is_small(self):
        lines = (SOURCE / "examples/minimal/minimal.cpp").read_text().splitlines()
        self.assertLessEqual(len(lines), 40)

    def test_it_writes_what_generate_writes(self):
        args = ("-m", MODEL, "-c", "1024", "-s", "1", "--temp", "0.4")
        self.assertEqual(self.runs("minimal", MODEL).out, self.runs("generate", *args).out)
        prompt = "One day, a fox"
        self.assertEqual(self.runs("minimal", MODEL, prompt).out,
                         self.runs("generate", *args, "-p", prompt).out)

    def test_wrong_use(self):
        self.refuses(2, "usage", "minimal")
        self.refuses(1, "no-such-model", "minimal", "no-such-model")
        self.assertNotEqual(run("minimal", MODEL, "a", "b").code, 0)


class Schemas(SystemTest):
    """Keys that a schema does not name are written only if it allows them."""
    OPEN = '{"type": "object", "properties": {"a": {"type": "boolean"}}, "minProperties": 1}'

    def verdicts(self, *args):
        schema = self.folder / "schema.json"
        schema.write_text(self.OPEN)
        texts = b'"{\\"a\\": true}"\n"{\\"a\\": true, \\"b\\": 1}"\n"{\\"b\\": 1}"\n'
        return self.runs("weft", "grammar", "--json-schema-file", schema, "--jsonl", *args,
                         stdin=texts).out.split()

    def test_weft_grammar_checks_by_the_specification(self):
        self.assertEqual(self.verdicts(), [b'"accept"'] * 3)
        self.assertEqual(self.verdicts("--json-schema-closed"),
                         [b'"accept"', b'"reject"', b'"reject"'])

    def test_generate_reads_schemas_as_closed(self):
        args = ("generate", "-n", "60", "-p", "x", "--no-display-prompt", "--json-schema",
                self.OPEN)
        closed = rb'\A\{\s*"a":\s*(true|false)\s*\}\n\Z'
        for seed in range(4):
            more = ("--temp", "2", "-s", str(seed))
            self.assertRegex(self.runs(*args, *more).out, closed)
            self.assertNotRegex(self.runs(*args, *more, "--json-schema-open").out, closed)


if __name__ == "__main__":
    unittest.main()
