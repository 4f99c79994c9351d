#include "text/spm.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/graph/error.h"

#include "text/string_table.h"
#include "text/utf8.h"

namespace weft {
namespace {

constexpr std::string_view kSpaceSymbol = "\xE2\x96\x81";  // U+2581

// Which characters stand side by side somewhere inside a token, hashed into a fixed set of bits. A
// boundary between two characters that no token has inside can never be merged over, so a text
// falls apart there into stretches that do not influence each other. A false "yes" only makes a
// stretch longer.
class JoinableNeighbours {
 public:
  void add(std::string_view token) {
    for (std::size_t at = 0; at < token.size();) {
      const std::size_t next = at + decode_utf8(token, at).length;
      if (next < token.size()) bits_[slot(token, at, next)] = true;
      at = next;
    }
  }
  bool contains(std::string_view text, std::size_t left, std::size_t right) const {
    return bits_[slot(text, left, right)];
  }

 private:
  static constexpr std::size_t kBits = 20;

  static std::size_t slot(std::string_view text, std::size_t left, std::size_t right) {
    const auto code = [&](std::size_t at) {
      const Utf8Char c = decode_utf8(text, at);
      return c.valid ? std::uint64_t{c.code} : 0x110000u + static_cast<std::uint8_t>(text[at]);
    };
    const std::uint64_t pair = code(left) << 21 | code(right);
    return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> (64 - kBits));
  }

  std::vector<bool> bits_ = std::vector<bool>(std::size_t{1} << kBits, false);
};

// One stretch while it is being merged: symbols are a doubly linked list over its characters.
struct Symbol {
  std::int32_t previous;
  std::int32_t next;
  std::uint32_t begin;
  std::uint32_t length;  // 0: merged into its left neighbour
};

struct Join {
  float score;
  std::int32_t left;
  std::int32_t right;
  std::uint32_t
      length;  // of the joint text: tells whether the two symbols are still what they were

  // Heap order: the best is the one that no other precedes.
  bool operator<(const Join& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

class SpmTokenizer final : public Tokenizer {
 public:
  explicit SpmTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  struct Scratch {
    std::vector<Symbol> symbols;
    std::vector<Join> heap;
  };

  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  void encode_apart(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_bytes(std::string_view character, std::vector<TokenId>& out) const;
  void propose(std::string_view text, std::int32_t left, Scratch& scratch) const;
  TokenId find(std::string_view text) const;
  void read_bytes(TokenId id);

  StringTable bytes_;
  std::array<TokenId, 256> byte_tokens_{};
  JoinableNeighbours joinable_;
  std::size_t max_length_ = 0;  // bytes of the longest token
};

// Value of two upper- or lower-case hexadecimal digits; -1 for anything else.
int hex_byte(std::string_view digits) {
  int value = 0;
  for (const char c : digits) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Tokens that merging may produce.
bool grows(TokenType type) {
  return type != TokenType::control && type != TokenType::unknown && type != TokenType::byte;
}

int byte_token_value(std::string_view text) {
  return text.size() == 6 && text.starts_with("<0x") && text.ends_with('>')
             ? hex_byte(text.substr(3, 2))
             : -1;
}

std::string with_spaces(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool space = text.substr(at, kSpaceSymbol.size()) == kSpaceSymbol;
    out += space ? ' ' : text[at];
    at += space ? kSpaceSymbol.size() : 1;
  }
  return out;
}

SpmTokenizer::SpmTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)) {
  if (!vocabulary().has_scores())
    fail<FormatError>("a vocabulary of kind 'llama' needs tokenizer.ggml.scores");
  byte_tokens_.fill(kNoToken);
  for (TokenId id = 0; id < vocabulary().size(); ++id) read_bytes(id);
  // Vocabularies without "<0xXX>" may still have single bytes as ordinary tokens.
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (byte_tokens_[byte] == kNoToken) byte_tokens_[byte] = find({&c, 1});
  }
}

void SpmTokenizer::read_bytes(TokenId id) {
  const std::string_view text = vocabulary().text(id);
  const TokenType type = vocabulary().type(id);
  const int value = byte_token_value(text);
  if (type == TokenType::byte && value >= 0) {
    const char byte = static_cast<char>(value);
    bytes_.add({&byte, 1});
    byte_tokens_[static_cast<std::size_t>(value)] = id;
    return;
  }
  const bool as_it_stands = hidden(id) || type == TokenType::user_defined;
  bytes_.add(as_it_stands ? std::string(text) : with_spaces(text));
  if (grows(type)) {
    joinable_.add(text);
    max_length_ = std::max(max_length_, text.size());
  }
}

TokenId SpmTokenizer::find(std::string_view text) const {
  if (text.size() > max_length_) return kNoToken;
  const TokenId id = vocabulary().find(text);
  return id != kNoToken && grows(vocabulary().type(id)) ? id : kNoToken;
}

void SpmTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  std::string escaped;
  escaped.reserve(text.size() + text.size() / 2 + kSpaceSymbol.size());
  if (vocabulary().flags().add_space_prefix) escaped += kSpaceSymbol;
  for (const char c : text) {
    if (c == ' ') {
      escaped += kSpaceSymbol;
    } else {
      escaped += c;
    }
  }
  Scratch scratch;
  const std::string_view whole = escaped;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < whole.size();) {
    const std::size_t next = at + decode_utf8(whole, at).length;
    if (next == whole.size() || !joinable_.contains(whole, at, next)) {
      encode_apart(whole.substr(begin, next - begin), scratch, out);
      begin = next;
    }
    at = next;
  }
}

void SpmTokenizer::propose(std::string_view text, std::int32_t left, Scratch& scratch) const {
  if (left < 0) return;
  const Symbol& a = scratch.symbols[static_cast<std::size_t>(left)];
  if (a.next < 0) return;
  const Symbol& b = scratch.symbols[static_cast<std::size_t>(a.next)];
  const std::uint32_t length = a.length + b.length;
  const TokenId id = find(text.substr(a.begin, length));
  if (id == kNoToken) return;
  scratch.heap.push_back({vocabulary().score(id), left, a.next, length});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void SpmTokenizer::encode_apart(std::string_view text, Scratch& scratch,
                                std::vector<TokenId>& out) const {
  std::vector<Symbol>& symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = decode_utf8(text, at).length;
    const auto index = static_cast<std::int32_t>(symbols.size());
    const bool last = at + length == text.size();
    symbols.push_back({index - 1, last ? -1 : index + 1, static_cast<std::uint32_t>(at),
                       static_cast<std::uint32_t>(length)});
    at += length;
  }
  for (std::int32_t i = 0; i + 1 < static_cast<std::int32_t>(symbols.size()); ++i)
    propose(text, i, scratch);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end());
    const Join join = scratch.heap.back();
    scratch.heap.pop_back();
    Symbol& left = symbols[static_cast<std::size_t>(join.left)];
    Symbol& right = symbols[static_cast<std::size_t>(join.right)];
    if (left.length == 0 || right.length == 0 || left.length + right.length != join.length)
      continue;
    left.length = join.length;
    right.length = 0;
    left.next = right.next;
    if (right.next >= 0) symbols[static_cast<std::size_t>(right.next)].previous = join.left;
    propose(text, left.previous, scratch);
    propose(text, join.left, scratch);
  }
  for (std::int32_t i = 0; i >= 0; i = symbols[static_cast<std::size_t>(i)].next) {
    const Symbol& symbol = symbols[static_cast<std::size_t>(i)];
    const std::string_view piece = text.substr(symbol.begin, symbol.length);
    if (const TokenId id = find(piece); id != kNoToken) {
      out.push_back(id);
      continue;
    }
    encode_bytes(piece, out);
  }
}

// A character without a token: its bytes, or one unknown token where a byte has none either.
void SpmTokenizer::encode_bytes(std::string_view character, std::vector<TokenId>& out) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<std::uint8_t>(byte)]; };
  if (std::all_of(character.begin(), character.end(),
                  [&](char byte) { return token_of(byte) != kNoToken; })) {
    for (const char byte : character) out.push_back(token_of(byte));
  } else if (vocabulary().special().unk != kNoToken) {
    out.push_back(vocabulary().special().unk);
  }
}

}  // namespace

KindDefaults spm_defaults(std::string_view) {
  return {.flags = {.add_bos = true, .add_space_prefix = true},
          .special = {.bos = 1, .eos = 2, .unk = 0}};
}

std::shared_ptr<const Tokenizer> make_spm(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const SpmTokenizer>(std::move(vocabulary));
}

}  // namespace weft
