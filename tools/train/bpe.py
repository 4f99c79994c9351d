"""A byte-level BPE tokenizer: training, encoding, decoding.

It follows GPT-2: text is cut into pieces by a fixed rule, a piece is written in
GPT-2's 256 printable stand-ins for bytes, and learnt merges join neighbours.
All 256 byte tokens are present, so that any text can be encoded.
"""

import heapq
import json
import re
from collections import Counter, defaultdict

SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
_SPECIAL_SPLIT = re.compile("(" + "|".join(re.escape(s) for s in SPECIALS) + ")")
# GPT-2's rule; Python's re has no \p{L}, and [^\W\d_] is the same for letters.
_PIECE = re.compile(r"'s|'t|'re|'ve|'m|'ll|'d| ?[^\W\d_]+| ?\d+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+")


def byte_letters() -> list:
    """GPT-2's table: for each byte the character that stands for it."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table, extra = {b: chr(b) for b in plain}, 256
    for b in range(256):
        if b not in table:
            table[b] = chr(extra)
            extra += 1
    return [table[b] for b in range(256)]


LETTERS = byte_letters()
BYTES = {c: b for b, c in enumerate(LETTERS)}


def in_letters(piece: str) -> str:
    """A pre-token in stand-in letters."""
    return "".join(LETTERS[b] for b in piece.encode())


def cut(text: str) -> list:
    """The pre-tokens of a text without special tokens."""
    return _PIECE.findall(text)


def pieces(text: str):
    """The pre-tokens of a text without special tokens, in stand-in letters."""
    return map(in_letters, cut(text))


def learn_merges(counts: Counter, count: int) -> list:
    """The `count` most useful merges; ties go to the alphabetically first pair."""
    pieces_ = [list(word) for word in sorted(counts)]
    weight = [counts[word] for word in sorted(counts)]
    pairs, where = Counter(), defaultdict(set)
    for i, piece in enumerate(pieces_):
        for pair in zip(piece, piece[1:]):
            pairs[pair] += weight[i]
            where[pair].add(i)
    heap = [(-n, p) for p, n in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while heap and len(merges) < count:
        n, best = heapq.heappop(heap)
        if pairs[best] != -n:
            if pairs[best] > 0:
                heapq.heappush(heap, (-pairs[best], best))
            continue
        if n >= -1:
            break
        merges.append(best)
        for i in sorted(where.pop(best)):
            for pair in zip(pieces_[i], pieces_[i][1:]):
                pairs[pair] -= weight[i]
            pieces_[i] = join(pieces_[i], best)
            for pair in zip(pieces_[i], pieces_[i][1:]):
                pairs[pair] += weight[i]
                where[pair].add(i)
                heapq.heappush(heap, (-pairs[pair], pair))
    return merges


def join(piece: list, pair: tuple) -> list:
    """The piece with every occurrence of the pair joined, from the left."""
    out, i = [], 0
    while i < len(piece):
        if i + 1 < len(piece) and (piece[i], piece[i + 1]) == pair:
            out.append(piece[i] + piece[i + 1])
            i += 2
        else:
            out.append(piece[i])
            i += 1
    return out


class Tokenizer:
    """Token ids: the three specials, the 256 bytes, then one token for each merge."""

    def __init__(self, merges: list):
        self.merges = [tuple(m) for m in merges]
        self.tokens = list(SPECIALS) + LETTERS + [a + b for a, b in self.merges]
        self.ids = {t: i for i, t in enumerate(self.tokens)}
        self.rank = {m: i for i, m in enumerate(self.merges)}
        self.end, self.im_start, self.im_end = (self.ids[s] for s in SPECIALS)
        self._cache = {}

    @classmethod
    def train(cls, texts, size: int, favourites=()) -> "Tokenizer":
        """Learns merges until there are `size` tokens. A favourite word is sure to become one
        token."""
        counts = Counter()
        for word in favourites:
            counts.update({piece: 1_000_000 for piece in pieces(" " + word)})
        for text in texts:
            for part in _SPECIAL_SPLIT.split(text):
                if part not in SPECIALS:
                    counts.update(pieces(part))
        return cls(learn_merges(counts, size - len(SPECIALS) - 256))

    @classmethod
    def load(cls, path) -> "Tokenizer":
        with open(path, encoding="utf-8") as f:
            return cls(json.load(f))

    def save(self, path):
        with open(path, "w", encoding="utf-8") as f:
            json.dump(self.merges, f, ensure_ascii=False)

    def encode_piece(self, piece: str) -> list:
        """The ids of one pre-token."""
        if piece not in self._cache:
            parts = list(in_letters(piece))
            while len(parts) > 1:
                pair = min(zip(parts, parts[1:]), key=lambda p: self.rank.get(p, 1 << 30))
                if pair not in self.rank:
                    break
                parts = join(parts, pair)
            self._cache[piece] = [self.ids[p] for p in parts]
        return self._cache[piece]

    def encode(self, text: str) -> list:
        """Ids of a text; the names of the special tokens become those tokens."""
        ids = []
        for part in _SPECIAL_SPLIT.split(text):
            if part in SPECIALS:
                ids.append(self.ids[part])
            else:
                for piece in cut(part):
                    ids += self.encode_piece(piece)
        return ids

    def decode(self, ids) -> str:
        """The text of the ids; special tokens are written by name."""
        data = b""
        for i in ids:
            token = self.tokens[i]
            data += token.encode() if i < len(SPECIALS) else bytes(BYTES[c] for c in token)
        return data.decode("utf-8", "replace")
