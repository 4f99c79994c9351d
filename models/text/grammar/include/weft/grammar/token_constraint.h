#pragma once
// A grammar applied to the tokens of a vocabulary: which tokens may come next.

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/grammar/grammar.h"
#include "weft/tokenize/tokenizer.h"

namespace weft {

// The bytes of all tokens as a prefix tree. Build it once per vocabulary; immutable.
class TokenTree {
 public:
  explicit TokenTree(const Tokenizer& tokenizer);

  // Nodes in depth-first order, parents first. Each adds one byte to its parent. REQUIRES for the
  // functions of a node: it is below n_nodes().
  std::size_t n_nodes() const { return byte_.size(); }
  std::uint8_t byte(std::size_t node) const { return byte_.data()[node]; }
  std::uint32_t depth(std::size_t node) const { return depth_.data()[node]; }  // 1: a first byte
  std::uint32_t subtree_end(std::size_t node) const { return subtree_end_.data()[node]; }
  std::span<const TokenId> tokens(std::size_t node) const {
    const std::uint32_t* const first = first_.data() + node;
    return {tokens_.data() + first[0], tokens_.data() + first[1]};
  }
  std::uint32_t max_depth() const { return max_depth_; }
  std::int64_t n_tokens() const { return n_tokens_; }
  const std::vector<TokenId>& ends() const { return ends_; }  // tokens that end a text
  const Tokenizer& tokenizer() const { return *tokenizer_; }

 private:
  const Tokenizer* tokenizer_;
  std::vector<std::uint8_t> byte_;
  std::vector<std::uint32_t> depth_, subtree_end_, first_;
  std::vector<TokenId> tokens_;
  std::vector<TokenId> ends_;
  std::uint32_t max_depth_ = 0;
  std::int64_t n_tokens_ = 0;
};

// The state of one text under a grammar. Control tokens are allowed only where the grammar names
// them, and tokens that end a text only where the grammar may end. One thread at a time may use it.
// reset() keeps computed results, so that later texts are faster.
//
// mask() and what prepares it throw BudgetError if the grammar takes too many steps for one mask or
// for all texts of this object (Limits), or too much memory. The others throw it only if the
// grammar reads a text in too many ways. A step takes some tens of nanoseconds.
class TokenConstraint {
 public:
  struct Limits {
    std::uint64_t mask = 100'000'000;  // steps
    std::uint64_t text = 500'000'000;  // for all texts together,
    std::uint64_t token = 10'000'000;  // and for each of their tokens
  };
  // The tree's tokenizer must outlive it.
  TokenConstraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree);
  TokenConstraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const TokenTree> tree,
                  const Limits& limits);  // LedgerError if the ledger has no room for it
  ~TokenConstraint();
  TokenConstraint(TokenConstraint&&) noexcept;
  TokenConstraint& operator=(TokenConstraint&&) noexcept;

  void reset();
  // A position in a text, to return to after working on others. Cheap to keep and to copy.
  struct Place {
    std::uint32_t at = 0;
    std::uint64_t epoch = 0;
  };
  Place place() const;
  // Returns false if the place is no longer valid, because memory was freed since: reset() and
  // accept_again() the text's tokens. REQUIRES: a place of this object.
  bool return_to(const Place& place);
  // Does part of the work of mask() at this place, in about `steps` steps. Returns true once the
  // mask is ready. Other functions may be called in between. `may_free`: false does nothing if that
  // would free memory, and with it masks and places of other texts.
  bool prepare_mask(std::uint64_t steps, bool may_free = true);
  // Whether prepare_mask() has nothing left to do at this place.
  bool has_mask(const Place& place) const;
  std::uint64_t steps() const;  // the steps of all functions so far
  // One bit per token, lowest first: the token may come next. Valid until the next call. Empty only
  // if the text is complete and the vocabulary has no token that ends it. A token whose bit is 0
  // leads to no text of the grammar; after every allowed one a text of the grammar can follow,
  // provided that there are tokens for all bytes.
  std::span<const std::uint64_t> mask();
  bool allows(TokenId id);
  // Sets the logits of all other tokens to -inf. Throws ValueError if no token is allowed.
  void apply(std::span<float> logits);
  // Returns false, and changes nothing, if the token is not allowed. Needs no mask.
  bool accept(TokenId id);
  // The same for a token that was accepted before: it does not raise the limit of steps. May free
  // memory.
  bool accept_again(TokenId id);
  bool may_end() const;       // the text may end here
  bool may_continue() const;  // more may follow
  // The bytes that must come next, at most `max_bytes` of them.
  std::string forced(std::size_t max_bytes);
  std::size_t memory() const;  // bytes that it keeps, about

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
