#!/usr/bin/env python3
"""Writes models/files/src/safetensors/tokenizer/pipeline_cases.jsonl: tokenizers with random
components and flags, random texts, and the ids that the library of tokenizer.json gives.

    npm install tokenizers@0.23.2       # in a folder of your own
    tests/tokenizers/make_pipeline_cases.py FOLDER [COUNT [SEED]] > pipeline_cases.jsonl

FOLDER: the one with node_modules. The file in the repository has COUNT 64 and SEED 3. Texts for which the library fails are left out."""
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ORACLE = """
const {Tokenizer} = require('tokenizers');
const lines = require('fs').readFileSync(0, 'utf8').split('\\n').filter((line) => line);
(async () => {
  const tokenizer = Tokenizer.fromFile(process.argv[1]);
  for (const line of lines)
    console.log(JSON.stringify((await tokenizer.encode(JSON.parse(line), null)).getIds()));
})();
"""
ATOMS = ['abc', 'ab', 'a', 'b', 'c', 'cab', ' ', '  ', '   ', '\n', '\u00a0', '\u3000', '.', '!', "b's",
         '12', '1234', 'É', 'é', 'e\u0301', 'İ', '中', '▁', '▁▁', '<t>', '<T>', '<u>', '<s>', 'AB', 'Ab',
         '<tt>', '²', 'ﬁ', 'x_b', '-', '\ufeff']
SPECIAL = ['<unk>', '<s>']
BEHAVIORS = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_names():
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    others = [byte for byte in range(256) if byte not in plain]
    return {**{b: chr(b) for b in plain}, **{b: chr(256 + i) for i, b in enumerate(others)}}


NAMES = byte_names()


def written(text):
    return ''.join(NAMES[byte] for byte in text.encode())


def with_symbols(text):
    return text.replace(' ', '▁')


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def chance(self, share):
        return self.random.random() < share

    def normalizer(self):
        one = self.random.choice
        kinds = [
            lambda: {'type': one(['NFC', 'NFD', 'NFKC', 'NFKD', 'Lowercase', 'StripAccents', 'Nmt'])},
            lambda: {'type': 'Strip', 'strip_left': self.chance(.6), 'strip_right': self.chance(.6)},
            lambda: {'type': 'Replace', 'content': one(['▁', ' ', '', 'c']),
                     'pattern': one([{'String': ' '}, {'Regex': ' {2,}'}, {'Regex': r'\s+'}, {'String': 'ab'}])},
            lambda: {'type': 'Prepend', 'prepend': one(['▁', 'c'])},
            lambda: {'type': 'BertNormalizer', 'clean_text': self.chance(.8), 'handle_chinese_chars': self.chance(.8),
                     'strip_accents': one([None, True, False]), 'lowercase': self.chance(.6)}]
        count = one([0, 0, 1, 1, 2])
        steps = [one(kinds)() for _ in range(count)]
        return {'type': 'Sequence', 'normalizers': steps} if count > 1 else steps[0] if steps else None

    def metaspace(self):
        return {'type': 'Metaspace', 'replacement': '▁', 'split': self.chance(.5),
                'prepend_scheme': self.random.choice(['first', 'always', 'never'])}

    def pre_tokenizer(self, last=None):
        one = self.random.choice
        kinds = [
            lambda: {'type': one(['Whitespace', 'WhitespaceSplit', 'BertPreTokenizer'])},
            lambda: {'type': 'Digits', 'individual_digits': self.chance(.5)},
            lambda: {'type': 'Punctuation', 'behavior': one(BEHAVIORS)},
            lambda: {'type': 'CharDelimiterSplit', 'delimiter': one(['▁', '-', 'a'])},
            self.metaspace,
            lambda: {'type': 'Split', 'behavior': one(BEHAVIORS), 'invert': self.chance(.3),
                     'pattern': one([{'String': ' '}, {'String': 'ab'}, {'Regex': r'\s+'}, {'Regex': r'\d{1,3}'}])},
            lambda: {'type': 'Split', 'pattern': {'Regex': LLAMA3}, 'behavior': 'Isolated', 'invert': False},
            lambda: {'type': 'FixedLength', 'length': self.random.randint(1, 4)}]
        steps = [one(kinds)() for _ in range(one([0, 1, 1, 2]))] + ([last] if last else [])
        return {'type': 'Sequence', 'pretokenizers': steps} if len(steps) > 1 else steps[0] if steps else None

    def merges(self, vocabulary, words):
        pairs = []
        for _ in range(60):
            word = self.random.choice(words)
            if len(word) < 2:
                continue
            at = self.random.randrange(1, len(word))
            left = word[max(0, at - self.random.choice([1, 1, 2])):at]
            right = word[at:at + self.random.choice([1, 1, 2])]
            if left in vocabulary and right in vocabulary and ' ' not in left + right and [left, right] not in pairs:
                pairs.append([left, right])
                if left + right not in vocabulary:
                    vocabulary.append(left + right)
        return pairs

    def bpe(self, fallback, as_bytes):
        form = written if as_bytes else with_symbols
        words = [form(atom) for atom in ATOMS] + [form(' ' + atom) for atom in ATOMS[:6]]
        characters = sorted(set(''.join(words)))
        vocabulary = list(SPECIAL)
        if fallback:
            vocabulary += [f'<0x{byte:02X}>' for byte in sorted(set(''.join(ATOMS).encode()))]
        vocabulary += characters if as_bytes else [c for c in characters if c == '▁' or self.chance(.8)]
        pairs = self.merges(vocabulary, words)
        return vocabulary, {'type': 'BPE', 'dropout': None, 'unk_token': self.random.choice(['<unk>', None]),
                            'continuing_subword_prefix': None, 'end_of_word_suffix': None,
                            'fuse_unk': self.chance(.5), 'byte_fallback': fallback,
                            'ignore_merges': self.chance(.4), 'merges': pairs}

    def unigram(self):
        pieces = [[text, 0.0] for text in SPECIAL]
        known = set(SPECIAL)
        for word in [with_symbols(atom) for atom in ATOMS] + sorted(set(with_symbols(''.join(ATOMS)))):
            at = self.random.randrange(len(word))
            piece = word[at:at + self.random.randint(1, 4)]
            if piece not in known:
                known.add(piece)
                pieces.append([piece, round(-8 * self.random.random(), self.random.choice([1, 4, 12]))])
        return [text for text, _ in pieces], {'type': 'Unigram', 'unk_id': 0, 'vocab': pieces,
                                              'byte_fallback': False}

    def words(self, kind):
        prefix = self.random.choice(['##', '##', '@@']) if kind == 'WordPiece' else ''
        vocabulary = list(SPECIAL)
        for word in sorted(set(''.join(ATOMS).split()) | set(''.join(ATOMS)) | {'abc', 'ab', 'cab'}):
            for form in (word, word.lower()):
                at = self.random.randrange(len(form)) if kind == 'WordPiece' else 0
                piece = (prefix if at else '') + form[at:at + self.random.randint(1, 3)]
                if piece not in vocabulary:
                    vocabulary.append(piece)
        model = {'type': kind, 'unk_token': '<unk>'}
        if kind == 'WordPiece':
            model.update(continuing_subword_prefix=prefix, max_input_chars_per_word=self.random.choice([100, 4]))
        return vocabulary, model

    def added(self, vocabulary):
        tokens = [{'id': i, 'content': text, 'special': True, 'normalized': False, 'single_word': False,
                   'lstrip': False, 'rstrip': False} for i, text in enumerate(SPECIAL)]
        texts = self.random.sample(['<t>', '<u>', 'AB', 'ab', '<tt>', 't><u', 'É', '  ', '<t><', '中'],
                                   self.random.randint(0, 4))
        for text in texts:
            if text not in vocabulary:
                vocabulary.append(text)
            tokens.append({'id': vocabulary.index(text), 'content': text, 'special': self.chance(.3),
                           'normalized': self.chance(.5), 'single_word': self.chance(.2),
                           'lstrip': self.chance(.2), 'rstrip': self.chance(.2)})
        return sorted(tokens, key=lambda token: token['id'])

    def tokenizer(self):
        family = self.random.choice(['fallback', 'plain', 'bytes', 'bytes', 'unigram', 'unigram', 'WordPiece',
                                     'WordLevel'])
        json_ = {'normalizer': self.normalizer(), 'pre_tokenizer': self.pre_tokenizer(), 'decoder': None,
                 'post_processor': None}
        if family == 'unigram':
            vocabulary, model = self.unigram()
            json_['pre_tokenizer'] = self.random.choice([self.metaspace(), json_['pre_tokenizer']])
        elif family in ('WordPiece', 'WordLevel'):
            vocabulary, model = self.words(family)
            json_['pre_tokenizer'] = json_['pre_tokenizer'] or {'type': 'BertPreTokenizer'}
        else:
            vocabulary, model = self.bpe(family == 'fallback', family == 'bytes')
        if family == 'bytes':
            json_['pre_tokenizer'] = self.pre_tokenizer(
                {'type': 'ByteLevel', 'add_prefix_space': self.chance(.4), 'trim_offsets': True,
                 'use_regex': self.chance(.6)})
        n_model = len(vocabulary)
        json_['added_tokens'] = self.added(vocabulary)
        if family != 'unigram':
            model['vocab'] = {text: i for i, text in enumerate(vocabulary[:n_model])}
        return {**json_, 'model': model}, len(vocabulary)

    def named_rule(self):
        """Byte-level BPE as the kind "gpt2" of GGUF files has it, or with one thing changed."""
        bytes_ = {'type': 'ByteLevel', 'add_prefix_space': False, 'trim_offsets': True, 'use_regex': True}
        only = {**bytes_, 'use_regex': False}
        llama3 = {'type': 'Split', 'pattern': {'Regex': LLAMA3}, 'behavior': 'Isolated', 'invert': False}
        falcon = [{'type': 'Punctuation', 'behavior': 'Contiguous'}, bytes_,
                  {'type': 'Digits', 'individual_digits': False},
                  {'type': 'Split', 'pattern': {'Regex': '[0-9][0-9][0-9]'}, 'behavior': 'Isolated', 'invert': False}]
        steps = self.random.choice([[bytes_], [bytes_], [llama3, only], [llama3, only], falcon, [bytes_, bytes_],
                                    [llama3], [only, llama3]])
        vocabulary, model = self.bpe(False, True)
        missing = self.random.choice([[], [], [NAMES[0xC3]], [NAMES[ord('c')]]])
        vocabulary += [name for name in NAMES.values() if name not in vocabulary]
        vocabulary = [text for text in vocabulary if not any(name in text for name in missing)]
        merges = [pair for pair in model['merges'] if ''.join(pair) in vocabulary]
        model['merges'] = self.random.choice([merges, merges, [], merges + merges[:3]])
        model['vocab'] = {text: i for i, text in enumerate(vocabulary)}
        added = [token for token in self.added(list(vocabulary)) if token['id'] < len(SPECIAL)]
        return {'normalizer': None, 'pre_tokenizer': {'type': 'Sequence', 'pretokenizers': steps},
                'decoder': bytes_, 'post_processor': None, 'added_tokens': added, 'model': model}, len(vocabulary)

    def text(self):
        return ''.join(self.random.choice(ATOMS) for _ in range(self.random.randint(1, 8)))


def library_ids(folder, tokenizer, texts):
    with tempfile.NamedTemporaryFile('w', suffix='.json', encoding='utf-8') as file:
        json.dump(tokenizer, file)
        file.flush()
        lines = ''.join(json.dumps(text) + '\n' for text in texts)
        run = subprocess.run(['node', '-e', ORACLE, file.name], input=lines, capture_output=True, text=True,
                             cwd=folder, check=False)
    return [json.loads(line) for line in run.stdout.split('\n') if line]


def main():
    folder = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    maker = Maker(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    for i in range(count + count // 3):
        tokenizer, size = maker.tokenizer() if i < count else maker.named_rule()
        texts = [maker.text() for _ in range(8)]
        ids = library_ids(folder, tokenizer, texts)
        case = {'tokenizer': tokenizer, 'size': size, 'texts': texts[:len(ids)], 'ids': ids}
        print(json.dumps(case, ensure_ascii=False, separators=(',', ':')))


if __name__ == '__main__':
    main()
