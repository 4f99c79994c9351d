#pragma once
// A grammar over the tokens of a vocabulary: which of them may come next.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/grammar/grammar.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The bytes of all tokens as a tree. Make it once per vocabulary; immutable.
class TokenTree {
 public:
  explicit TokenTree(const Tokenizer& tokenizer);

  // Nodes in the order of a walk, parents first. Each adds one byte to its parent.
  std::size_t n_nodes() const { return byte_.size(); }
  std::uint8_t byte(std::size_t node) const { return byte_[node]; }
  std::uint32_t depth(std::size_t node) const { return depth_[node]; }    // 1: a first byte
  std::uint32_t behind(std::size_t node) const { return behind_[node]; }  // past all below it
  std::span<const TokenId> tokens(std::size_t node) const {
    return {tokens_.data() + first_[node], tokens_.data() + first_[node + 1]};
  }
  std::uint32_t max_depth() const { return max_depth_; }
  std::int64_t n_tokens() const { return n_tokens_; }
  const std::vector<TokenId>& ends() const { return ends_; }  // tokens that end a text
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::uint8_t> byte_;
  std::vector<std::uint32_t> depth_, behind_, first_;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> ends_;
  std::uint32_t max_depth_ = 0;
  std::int64_t n_tokens_ = 0;
};

// One text under a grammar. Tokens that stand for no text (control tokens) are allowed only where
// the grammar names them, and those that end a text where it may end. Used by one thread at a time;
// what it computes serves all texts that follow: reset() keeps it.
class TokenConstraint {
 public:
  // The tree's tokenizer must outlive it.
  TokenConstraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);
  ~TokenConstraint();
  TokenConstraint(TokenConstraint&&) noexcept;
  TokenConstraint& operator=(TokenConstraint&&) noexcept;

  void reset();
  // Where a text is, to come back to it after others. Cheap to keep and to copy.
  struct Place {
    std::uint32_t at = 0;
    std::uint64_t epoch = 0;
  };
  Place place() const;
  // False where the place is not known any more, because memory was given back since: reset() and
  // accept() the text's tokens anew. REQUIRES: a place of this object.
  bool go_to(const Place& place);
  // One bit per token, the lowest first: it may come next. Valid until the next call. Never empty
  // but where the text is complete and the vocabulary has no token that ends it. A token that no
  // bit allows leads to no text of the grammar; each one that is allowed can be continued to such a
  // text, given tokens for all bytes.
  std::span<const std::uint64_t> mask();
  bool allows(TokenId id);
  // Logits of all other tokens become -inf. Throws ValueError where nothing would be left.
  void apply(std::span<float> logits);
  // False, and nothing changes, for a token that is not allowed.
  bool accept(TokenId id);
  bool complete() const;
  bool goes_on() const;
  // Bytes that must come next, `most` of them at most.
  std::string forced(std::size_t most);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
