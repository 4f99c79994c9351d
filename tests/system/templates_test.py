"""`weft template`, and templates and tools in `chat` and `generate`."""

import json
import random
import unittest

from hf_directory import write_hf_directory, write_safetensors
from support import BIN, MODEL, SystemTest, run


class WithFiles(SystemTest):
    def write(self, name, text):
        path = self.folder / name
        path.write_text(text)
        return path


class Template(WithFiles):
    def render(self, template, *arguments, args=()):
        lines = "".join((a if isinstance(a, str) else json.dumps(a)) + "\n" for a in arguments)
        path = self.write("t.jinja", template)
        r = self.runs("weft", "template", "--chat-template-file", path, "--jsonl", *args,
                      stdin=lines.encode())
        return [json.loads(line) for line in r.out.decode().splitlines()]

    def test_a_line_for_a_line(self):
        got = self.render("{% for m in messages %}{{ m.role }}: {{ m.content + '\\n' }}{% endfor %}",
                          {"messages": [{"role": "user", "content": "hé"}]},
                          {"messages": [{"role": "user", "content": None}]},
                          "[]", "nonsense", {"messages": []})
        self.assertEqual(got[0], {"output": "user: hé\n"})
        self.assertEqual((got[1]["line"], got[1]["column"]), (1, 51))
        self.assertIn("line 1, column 51: + does not apply", got[1]["error"])
        self.assertIn("JSON object", got[2]["error"])
        self.assertIn("is not JSON", got[3]["error"])
        self.assertEqual(got[4], {"output": ""})

    def test_clock_and_refusal(self):
        got = self.render("{{ strftime_now('%Y') }}{% if no %}{{ raise_exception('I refuse') }}{% endif %}",
                          {"strftime_now": "1999-12-31T23:59:59"}, {"no": True})
        self.assertEqual(got[0], {"output": "1999"})
        self.assertEqual(got[1]["error"], "I refuse")

    def test_expressions_mean_what_they_mean_in_python(self):
        """Compares with Python: these expressions are valid in both languages."""
        chance = random.Random(1)
        one = chance.choice

        def text():
            return repr("".join(one(["a", "b", "ab", " ", "X", "--", "é", "ß", "\n", "1"]) for _
                                in range(chance.randrange(7))))

        def part():
            return repr(one(["a", "b", "ab", "-", "--", "X", " ", "é", "ba"]))

        def number():
            return str(one([0, 1, 2, -1, -2, 3, 5, 7, 13, -100]))

        def expression():
            s, p, n, m = text(), part(), number(), number()
            return one([
                f"{s}[{n}:{m}]", f"{s}[::{one([1, 2, -1, -2])}]", f"{s}[{n}:]",
                        f"[1, 2, 3, 4][{n}:{m}]",
                f"{s}.split({p})", f"{s}.split()", f"{s}.split({p}, {n})", f"{s}.rsplit({p}, {n})",
                        f"{s}.rsplit(none, {n})",
                f"{s}.partition({p})", f"{s}.rpartition({p})", f"{s}.splitlines()",
                        f"{p}.join([{s}, {p}, {s}])",
                f"{s}.find({p}, {n})", f"{s}.rfind({p})", f"{s}.rfind({p}, {n}, {m})",
                        f"{s}.count({p})", f"{p} in {s}",
                f"{s}.replace({p}, {part()})", f"{s}.replace({p}, {part()}, {n})",
                        f"{s}.replace('', '.')", f"{s}.strip({p})",
                f"{s}.startswith({p}, {n})", f"{s}.endswith({p})", f"{s}.upper()", f"{s}.title()",
                        f"{s}.swapcase()",
                f"{s}.center({n} + 9)", f"{s}.zfill({n})", f"{s} < {p}", f"{s} * {n}",
                        f"{s}.isalpha()", f"{s}.expandtabs()",
                f"{n} // {one([2, -3, 7])}", f"{n} % {one([2, -3, 7])}", f"{n} / {one([4, -8])}",
                        f"{n} + 0.5 * {m}",
                f"'%5d|%-4s|%.2f|%x' % ({n}, {p}, {m}, 254)",
                        f"'{{:>6}}|{{:^5}}|{{:+d}}'.format({p}, {n}, {m})",
                f"[{s}, {n}, none, ({m}, 0.1)]", f"{{{p}: {n}, 'k': [{s}]}}",
            ])

        expressions = [expression() for _ in range(1500)]
        expected = [str(eval(e, {"none": None})) for e in expressions]
        got = self.render("\0".join("{{ " + e + " }}" for e in expressions),
                          {})[0]["output"].split("\0")
        for e, want, have in zip(expressions, expected, got, strict=True):
            self.assertEqual(have, want, e)

    def test_facts(self):
        source = ("{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
                  "{{ raise_exception('first') }}{% endif %}<{{ m.role }}>{{ m.content }}"
                  "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>"
                  "{% endfor %}{% endfor %}{{ tools }}")
        r = self.runs("weft", "template", "--facts", "--chat-template-file", self.write("t", source))
        facts = dict((line[:18].strip(), line[18:]) for line in r.out.decode().splitlines())
        self.assertEqual(facts, {
            "system message": "shown at the beginning", "tools": "shown, from tools",
            "calls": "shown", "results": "shown", "ids of calls": "any", "reasoning": "none",
            "notation": "hermes, read back equal"})

    def test_of_a_model(self):
        source = self.runs("weft", "template", "-m", MODEL).out.decode()
        self.assertIn("message", source)
        line = json.dumps({"messages": [{"role": "user", "content": "Hi"}],
                           "add_generation_prompt": True})
        r = self.runs("weft", "template", "-m", MODEL, "--jsonl", stdin=line.encode())
        self.assertIn("Hi", json.loads(r.out)["output"])

    def test_of_a_model_with_another_one_for_tools(self):
        folder = self.folder / "model"
        n = write_hf_directory(BIN / "weft", MODEL, folder)["vocab_size"]
        write_safetensors(folder / "model.safetensors", {  # in the place of Q8_0 weights
            name: ("F32", [n, 1], bytes(4 * n)) for name in ("model.embed_tokens.weight",
                                                             "lm_head.weight")})
        path = folder / "tokenizer_config.json"
        about = json.loads(path.read_text())

        def write(for_tools):
            about["chat_template"] = [{"name": "default", "template": "usual"},
                                      {"name": "tool_use", "template": for_tools}]
            path.write_text(json.dumps(about))

        write("{{ tools[0].name }}")
        lines = '{"tools": [{"name": "f"}]}\n{"tools": []}\n{}\n'.encode()
        r = self.runs("weft", "template", "-m", folder, "--jsonl", stdin=lines)
        self.assertEqual([json.loads(line)["output"] for line in r.out.decode().splitlines()],
                         ["f", "usual", "usual"])
        r = self.runs("weft", "template", "-m", folder, "--facts")
        self.assertIn("shown, from tools", r.out.decode())
        r = self.runs("weft", "template", "-m", folder, "--jsonl", "--chat-template-file",
                      self.write("t", "another"), stdin=lines)
        self.assertEqual(r.out.decode(), '{"output":"another"}\n' * 3)
        write("{% if x %}")
        self.refuses(1, "the template for tools: this 'if' has no end", "weft", "template", "-m",
                     folder)

    def test_bad_templates_are_one_error(self):
        self.refuses(1, "line 1, column 4: this 'if' has no end", "weft", "template", "--jsonl",
                     "--chat-template-file", self.write("a", "{% if x %}"))
        self.refuses(1, "nested more than", "weft", "template", "--jsonl",
                     "--chat-template-file", self.write("b", "{% if 1 %}" * 150000))
        self.refuses(1, "o such file", "weft", "template", "--chat-template-file",
                     self.folder / "none")
        self.refuses(2, "--chat-template-file", "weft", "template", "--jsonl")
        loop = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}"
        self.assertIn("more than", self.render(loop, {})[0]["error"])


class Programs(WithFiles):
    CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}<|im_start|>assistant\n\n"

    def test_chat_takes_another_template(self):
        say = b"Tell me a story about a fox named Pip.\n"
        plain = self.runs("chat", "--temp", "0", "-n", "24", stdin=say).out
        path = self.write("c.jinja", self.CHATML)
        self.assertEqual(self.runs("chat", "--temp", "0", "-n", "24", "--chat-template-file", path,
                                   stdin=say).out, plain)
        path = self.write("d.jinja", "{% if shout %}{{ raise_exception('no shouting') }}{% endif %}"
                          + self.CHATML)
        r = run("chat", "--chat-template-file", path, "--template-kwargs", '{"shout": true}',
                stdin=say)
        self.assertIn("no shouting", r.err)
        self.assertIn("was not accepted", r.err)
        self.refuses(1, "line 2, column 4", "chat", "--chat-template-file",
                     self.write("e.jinja", "\n{{ }"), stdin=say)
        self.refuses(1, "JSON", "chat", "--template-kwargs", "nonsense", stdin=say)
        self.refuses(1, "tools", "chat", "--tools", self.write("t.json", "{}"), stdin=say)

    def test_thoughts_and_calls_are_shown_apart(self):
        """A template that begins the reply: the part that it opens is reasoning."""
        path = self.write("t.jinja", self.CHATML + "<think>\n{# </think> #}")
        r = self.runs("chat", "--temp", "0", "-n", "8", "--chat-template-file", path,
                      stdin=b"Tell me a story.\n")
        self.assertEqual(r.out.strip(), b"")
        self.assertGreater(len(r.err.split("[cut")[0].strip()), 3)
        tools = self.write("tools.json", json.dumps([{"type": "function",
                                                      "function": {"name": "f"}}]))
        r = run("chat", "--temp", "0", "-n", "8", "--tools", tools,
                stdin=b"/result 3\nTell me a story.\n")
        self.assertEqual(r.code, 1)
        self.assertIn("No open tool call", r.err)
        self.assertGreater(len(r.out), 3)

    def test_generate_a_conversation(self):
        say = "Tell me a story about a fox named Pip."
        reply = self.runs("chat", "--temp", "0", "-n", "12", stdin=say.encode()).out
        r = self.runs("generate", "--conversation", "--temp", "0", "-n", "12",
                      "--no-display-prompt", "-p", say)
        self.assertEqual(r.out.strip(), reply.strip())
        self.refuses(2, "--conversation", "generate", "--system", "x")


if __name__ == "__main__":
    unittest.main()
