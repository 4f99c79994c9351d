#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "weft/graph/error.h"

#include "text/byte_map.h"
#include "text/merge_table.h"
#include "text/pre_tokenizer.h"
#include "text/string_table.h"

namespace weft {
namespace {

struct Symbol {
  std::int32_t previous;
  std::int32_t next;
  TokenId id;  // kNoToken: a byte without a token
};

constexpr TokenId kGone = -2;  // merged into its left neighbour

struct Join {
  std::int32_t rank;
  std::int32_t left;
  TokenId left_id;  // with right_id: tells whether the two symbols are still what they were
  TokenId right_id;
  TokenId joint;

  // Heap order: the best is the one that no other precedes.
  bool operator<(const Join& other) const {
    return rank != other.rank ? rank > other.rank : left > other.left;
  }
};

class BpeTokenizer final : public Tokenizer {
 public:
  explicit BpeTokenizer(std::shared_ptr<const Vocabulary> vocabulary);

  std::string_view bytes(TokenId id) const override { return bytes_[static_cast<std::size_t>(id)]; }

 private:
  class Encoder;

  void encode_stretch(std::string_view text, std::vector<TokenId>& out) const override;
  void read_tokens();
  void read_merges();

  const PreTokenizerRule* rule_ = nullptr;
  StringTable bytes_;
  StringTable whole_;  // the bytes of the tokens that pieces may be as a whole; empty strings for
                       // the others
  StringIndex whole_index_;
  std::array<TokenId, 256> byte_tokens_{};
  MergeTable merges_;
};

// Merges one piece after the other into `out`; the buffers are kept between pieces.
class BpeTokenizer::Encoder final : public PieceSink {
 public:
  Encoder(const BpeTokenizer& tokenizer, std::vector<TokenId>& out)
      : tokenizer_(tokenizer), out_(out) {}

  void piece(std::string_view text) override;

 private:
  void propose(std::int32_t left);
  void join_all();
  Symbol& at(std::int32_t i) { return symbols_[static_cast<std::size_t>(i)]; }

  const BpeTokenizer& tokenizer_;
  std::vector<TokenId>& out_;
  std::vector<Symbol> symbols_;
  std::vector<Join> heap_;
};

void BpeTokenizer::Encoder::piece(std::string_view text) {
  if (tokenizer_.rule_->ignore_merges) {
    if (const std::int64_t id = tokenizer_.whole_index_.find(text); id >= 0) {
      out_.push_back(static_cast<TokenId>(id));
      return;
    }
  }
  symbols_.clear();
  heap_.clear();
  const auto n = static_cast<std::int32_t>(text.size());
  for (std::int32_t i = 0; i < n; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[static_cast<std::size_t>(i)]);
    symbols_.push_back({i - 1, i + 1 < n ? i + 1 : -1, tokenizer_.byte_tokens_[byte]});
  }
  for (std::int32_t i = 0; i < n; ++i) propose(i);
  join_all();
  for (std::int32_t i = 0; i >= 0; i = at(i).next) {
    const TokenId id = at(i).id == kNoToken ? tokenizer_.vocabulary().special().unk : at(i).id;
    if (id != kNoToken) out_.push_back(id);
  }
}

void BpeTokenizer::Encoder::propose(std::int32_t left) {
  if (left < 0 || at(left).next < 0) return;
  const TokenId a = at(left).id;
  const TokenId b = at(at(left).next).id;
  const MergeTable::Merge merge = tokenizer_.merges_.find(a, b);
  if (merge.rank < 0) return;
  heap_.push_back({merge.rank, left, a, b, merge.joint});
  std::push_heap(heap_.begin(), heap_.end());
}

void BpeTokenizer::Encoder::join_all() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Join join = heap_.back();
    heap_.pop_back();
    Symbol& left = at(join.left);
    if (left.id != join.left_id || left.next < 0 || at(left.next).id != join.right_id) continue;
    Symbol& right = at(left.next);
    left.id = join.joint;
    right.id = kGone;
    left.next = right.next;
    if (right.next >= 0) at(right.next).previous = join.left;
    propose(left.previous);
    propose(join.left);
  }
}

BpeTokenizer::BpeTokenizer(std::shared_ptr<const Vocabulary> shared)
    : Tokenizer(std::move(shared)), merges_(static_cast<std::size_t>(vocabulary().n_merges())) {
  rule_ = find_pre_tokenizer_rule(vocabulary().pre());
  if (rule_ == nullptr) {
    rule_ = &default_pre_tokenizer_rule();
    warn(
        fmt::format("tokenizer.ggml.pre '{}' is not known: texts are split by the default rule, "
                    "ids may differ from the model's own",
                    vocabulary().pre()));
  }
  read_tokens();
  read_merges();
}

void BpeTokenizer::read_tokens() {
  byte_tokens_.fill(kNoToken);
  for (unsigned byte = 0; byte < 256; ++byte)
    byte_tokens_[byte] = vocabulary().find(byte_as_text(static_cast<std::uint8_t>(byte)));
  for (TokenId id = 0; id < vocabulary().size(); ++id) {
    const std::string_view text = vocabulary().text(id);
    const bool as_it_stands = hidden(id) || vocabulary().type(id) == TokenType::user_defined;
    const auto bytes = as_it_stands ? std::nullopt : text_as_bytes(text);
    bytes_.add(bytes ? *bytes : text);
    if (rule_->ignore_merges) whole_.add(bytes ? *bytes : std::string_view());
  }
  if (rule_->ignore_merges) whole_index_.build(whole_);
}

void BpeTokenizer::read_merges() {
  std::int64_t n_unknown = 0;
  std::string joint;
  for (std::int64_t rank = 0; rank < vocabulary().n_merges(); ++rank) {
    const std::string_view merge = vocabulary().merge(rank);
    const std::size_t space = merge.find(' ', 1);
    TokenId left = kNoToken;
    TokenId right = kNoToken;
    TokenId both = kNoToken;
    if (space != std::string_view::npos) {
      left = vocabulary().find(merge.substr(0, space));
      right = vocabulary().find(merge.substr(space + 1));
      joint.assign(merge.substr(0, space)).append(merge.substr(space + 1));
      both = vocabulary().find(joint);
    }
    if (left == kNoToken || right == kNoToken || both == kNoToken) {
      ++n_unknown;
    } else {
      merges_.add(left, right, {static_cast<std::int32_t>(rank), both});
    }
  }
  if (n_unknown > 0)
    warn(fmt::format("{} of {} merges name tokens that do not exist and are left out", n_unknown,
                     vocabulary().n_merges()));
}

void BpeTokenizer::encode_stretch(std::string_view text, std::vector<TokenId>& out) const {
  Encoder encoder(*this, out);
  pre_tokenize(rule_->stages, text, encoder);
}

}  // namespace

KindDefaults bpe_defaults(std::string_view pre) {
  const PreTokenizerRule* rule = find_pre_tokenizer_rule(pre);
  return {.flags = {.add_bos = rule != nullptr && rule->add_bos}, .special = {}};
}

std::shared_ptr<const Tokenizer> make_bpe(std::shared_ptr<const Vocabulary> vocabulary) {
  return std::make_shared<const BpeTokenizer>(std::move(vocabulary));
}

}  // namespace weft
