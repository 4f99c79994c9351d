"""Tokenizers: made vocabularies, against naive ones in plain Python, see tokenizers.json."""

import json
import re
import unicodedata
import unittest

from case_support import json_lines, load
from gguf_writer import gguf
from support import SystemTest

# The pattern of GPT-2 with the classes of Python, which are the same for the texts here.
GPT2 = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")
CONTROL, UNKNOWN, BYTE, NORMAL = 3, 2, 6, 1


def byte_letters():
    """GPT-2's letter for every byte."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in own]
    return {**{b: chr(b) for b in own}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


LETTERS = byte_letters()


def merged(parts, rank):
    """Merges the neighbours with the lowest rank, the leftmost first, as long as there are any."""
    while True:
        ranks = [(rank(a, b), i) for i, (a, b) in enumerate(zip(parts, parts[1:]))]
        ranks = [(r, i) for r, i in ranks if r is not None]
        if not ranks:
            return parts
        i = min(ranks)[1]
        parts = parts[:i] + [parts[i] + parts[i + 1]] + parts[i + 2:]


def llama(book, text):
    scores = dict(zip(book["pieces"], book["scores"]))
    if not text:
        return []

    def rank(a, b):
        return -scores[a + b] if a + b in scores else None

    out = []
    for piece in merged(list("▁" + text.replace(" ", "▁")), rank):
        out += [piece] if piece in scores else [f"<0x{b:02X}>" for b in piece.encode()]
    return out


def gpt2(book, text):
    ranks = {tuple(m.split(" ")): i for i, m in enumerate(book["merges"])}
    out = []
    for piece in GPT2.findall(text):
        letters = [LETTERS[b] for b in piece.encode()]
        out += merged(letters, lambda a, b: ranks.get((a, b)))
    return out


def words(text):
    """BERT's basic tokenizer, uncased."""
    text = "".join(c for c in unicodedata.normalize("NFD", text.lower())
                   if unicodedata.category(c) != "Mn")
    cjk = re.sub("([\u4e00-\u9fff])", r" \1 ", text)
    return re.findall(r"[^\W_]+|[^\w\s]|_", cjk)


def bert(book, text):
    out = []
    for word in words(text):
        rest, parts = "▁" + word, []
        while rest:
            fits = [p for p in book["pieces"] if rest.startswith(p)]
            if not fits:
                parts = ["[UNK]"]
                break
            parts.append(max(fits, key=len))
            rest = rest[len(parts[-1]):]
        out += parts
    return out


def rwkv(book, text):
    rest, out = text.encode(), []
    while rest:
        fits = [p for p in book["pieces"] if rest.startswith(p.encode())]
        best = max(fits, key=lambda p: len(p.encode())) if fits else ""
        out.append(best or f"\\x{rest[0]:02x}")
        rest = rest[len(best.encode()) or 1:]
    return out


def vocabulary(kind, book):
    """Tokens, their types, and further metadata."""
    if kind == "llama":
        tokens = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)] + book["pieces"]
        scores = [0.0] * 259 + [float(s) for s in book["scores"]]
        return tokens, [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256, {"scores": scores}
    if kind == "gpt2":
        tokens = [*LETTERS.values(), *(m.replace(" ", "") for m in book["merges"])]
        return tokens, [], {"merges": book["merges"], "pre": "gpt-2"}
    if kind == "bert":
        tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + book["pieces"]
        ids = {"unknown_token_id": 1, "cls_token_id": 2, "seperator_token_id": 3,
               "padding_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
        return tokens, [CONTROL, UNKNOWN, CONTROL, CONTROL], ids
    tokens = ["<s>"] + [f"\\x{b:02x}" for b in range(256)] + book["pieces"]
    return tokens, [CONTROL], {}


def model_file(kind, book):
    tokens, types, more = vocabulary(kind, book)
    types += [NORMAL] * (len(tokens) - len(types))
    keys = {"model": kind, "tokens": tokens, "token_type": types, **more}
    return gguf({"general.architecture": "llama",
                 **{f"tokenizer.ggml.{k}": v for k, v in keys.items()}})


class Tokenizers(SystemTest):
    def tokenize(self, texts, *flags):
        r = self.runs("weft", "tokenize", "-m", self.folder / "v.gguf", "--jsonl", *flags,
                      stdin=json_lines(texts))
        return [json.loads(line) for line in r.out.splitlines()]

    def check(self, kind, reference):
        book, texts = load("tokenizers.json")[kind], load("tokenizers.json")["texts"]
        (self.folder / "v.gguf").write_bytes(model_file(kind, book))
        tokens = vocabulary(kind, book)[0]
        for case in book["known"]:
            self.assertEqual(reference(book, case["text"]), case["pieces"])
        texts = texts + [case["text"] for case in book["known"]]

        for text, got in zip(texts, self.tokenize(texts, "--no-bos")):
            with self.subTest(kind=kind, text=text):
                self.assertEqual([tokens[i] for i in got], reference(book, text))

    def test_llama(self):
        self.check("llama", llama)
        self.assertEqual(self.tokenize(["hello"])[0][0], 1, "BOS")

    def test_gpt2(self):
        self.check("gpt2", gpt2)

    def test_bert(self):
        self.check("bert", bert)
        got = self.tokenize(["hello"])[0]
        self.assertEqual((got[0], got[-1]), (2, 3), "[CLS] and [SEP]")

    def test_rwkv(self):
        self.check("rwkv", rwkv)


if __name__ == "__main__":
    unittest.main()
