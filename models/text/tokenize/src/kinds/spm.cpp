#include "kinds/spm.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "weft/base/error.h"
#include "weft/base/keyed_hash.h"
#include "weft/base/utf8.h"
#include "weft/tokenize/space_symbol.h"

#include "joinable.h"
#include "kinds/sentencepiece.h"
#include "string_table.h"

namespace weft::tokenize {
namespace {

// One stretch while it is being merged: symbols are a doubly linked list over its characters.
struct SpmSymbol {
  std::int32_t previous;
  std::int32_t next;
  std::uint32_t begin;
  std::uint32_t length;  // 0: merged into its left neighbour
};

struct SpmJoin {
  float score;
  std::int32_t left;
  std::int32_t right;
  std::uint32_t length;  // length of the joint text: it differs if a symbol changed since

  // Heap order: the best is the one that no other precedes.
  bool operator<(const SpmJoin& other) const {
    return score != other.score ? score < other.score : left > other.left;
  }
};

class SpmTokenizer final : public SentencePieceTokenizer {
 public:
  explicit SpmTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  struct Scratch {
    std::vector<SpmSymbol> symbols;
    std::vector<SpmJoin> heap;
    std::vector<std::string_view> todo;
    bool after_unknown = false;
    // How many bytes of a merged text, which is an unused token, came from its left half.
    ForeignMap<std::string_view, std::uint32_t> unused;
  };

  void encode_by(const SentencePieceRules& rules, std::string_view text,
                 std::vector<TokenId>& out) const override;
  void encode_apart(std::string_view text, Scratch& scratch, std::vector<TokenId>& out) const;
  void emit(std::string_view whole, Scratch& scratch, std::vector<TokenId>& out) const;
  void encode_bytes(std::string_view character, bool& after_unknown,
                    std::vector<TokenId>& out) const;
  void propose(std::string_view text, std::int32_t left, Scratch& scratch) const;
  TokenId find(std::string_view text) const;
  void read_bytes(TokenId id);

  StringTable bytes_;
  std::array<TokenId, 256> byte_tokens_{};
  JoinableNeighbours joinable_;
  std::size_t max_length_ = 0;  // bytes of the longest token
};

// Tokens that merging may produce.
bool grows(TokenType type) {
  return type != TokenType::control && type != TokenType::unknown && type != TokenType::byte;
}

SpmTokenizer::SpmTokenizer(std::shared_ptr<const Vocabulary> shared)
    : SentencePieceTokenizer(std::move(shared)) {
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

void SpmTokenizer::encode_by(const SentencePieceRules& rules, std::string_view text,
                             std::vector<TokenId>& out) const {
  // Most models change nothing but spaces; then bytes that are not UTF-8 can stay as they are.
  const bool plain = charsmap().empty() && !rules.remove_extra_spaces;
  const std::string escaped =
      plain ? with_space_symbols(text, rules.space_prefix) : normalize(charsmap(), rules, text);
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
  const SpmSymbol& a = scratch.symbols[static_cast<std::size_t>(left)];
  if (a.next < 0) return;
  const SpmSymbol& b = scratch.symbols[static_cast<std::size_t>(a.next)];
  const std::uint32_t length = a.length + b.length;
  const TokenId id = find(text.substr(a.begin, length));
  if (id == kNoToken) return;
  if (vocabulary().type(id) == TokenType::unused)
    scratch.unused[text.substr(a.begin, length)] = a.length;
  scratch.heap.push_back({vocabulary().score(id), left, a.next, length});
  std::push_heap(scratch.heap.begin(), scratch.heap.end());
}

void SpmTokenizer::encode_apart(std::string_view text, Scratch& scratch,
                                std::vector<TokenId>& out) const {
  std::vector<SpmSymbol>& symbols = scratch.symbols;
  symbols.clear();
  scratch.heap.clear();
  scratch.unused.clear();
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
    const SpmJoin join = scratch.heap.back();
    scratch.heap.pop_back();
    SpmSymbol& left = symbols[static_cast<std::size_t>(join.left)];
    SpmSymbol& right = symbols[static_cast<std::size_t>(join.right)];
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
    const SpmSymbol& symbol = symbols[static_cast<std::size_t>(i)];
    emit(text.substr(symbol.begin, symbol.length), scratch, out);
  }
}

// A token that is marked as unused may be merged on the way, but if it is left at the end, it is
// split again.
void SpmTokenizer::emit(std::string_view whole, Scratch& scratch, std::vector<TokenId>& out) const {
  std::vector<std::string_view>& todo = scratch.todo;
  for (todo.push_back(whole); !todo.empty();) {
    const std::string_view piece = todo.back();
    todo.pop_back();
    const TokenId id = find(piece);
    if (id != kNoToken && !scratch.unused.empty()) {
      if (const auto found = scratch.unused.find(piece); found != scratch.unused.end()) {
        todo.push_back(piece.substr(found->second));
        todo.push_back(piece.substr(0, found->second));
        continue;
      }
    }
    if (id == kNoToken) {
      encode_bytes(piece, scratch.after_unknown, out);
    } else {
      out.push_back(id);
      scratch.after_unknown = false;
    }
  }
}

// A character without a token: its bytes, or the unknown token if a byte has none either, one
// for all such characters in a row.
void SpmTokenizer::encode_bytes(std::string_view character, bool& after_unknown,
                                std::vector<TokenId>& out) const {
  const auto token_of = [&](char byte) { return byte_tokens_[static_cast<std::uint8_t>(byte)]; };
  if (std::all_of(character.begin(), character.end(),
                  [&](char byte) { return token_of(byte) != kNoToken; })) {
    for (const char byte : character) out.push_back(token_of(byte));
    after_unknown = false;
  } else {
    if (!after_unknown && vocabulary().special().unk != kNoToken)
      out.push_back(vocabulary().special().unk);
    after_unknown = true;
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

}  // namespace weft::tokenize
