#pragma once
// A radix tree of the tokens that the sequences of a session hold, running and kept ones: it finds
// the longest beginning of a text that any of them holds, in time that depends on the text alone.
// It has no ids of its own: it asks the session for those of a sequence, so that the leaf of a text
// that runs grows by itself.
//
//   root -- [0, 120) system prompt -+- [120, 300) sequence 4: a conversation that ended
//                                   +- [120, 180) --+- [180, 210) sequence 0: runs
//                                                   +- [180, 260) sequence 7
//
// Each scope has a root of its own: texts of different scopes share nothing, even if their tokens
// are the same. Two leaves may hold the same tokens, if both were computed.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"

#include "prefixes/moved_parts.h"
#include "prefixes/use.h"

namespace weft::serve {

// Who may continue from a text: the same owner, with the same scales of LoRAs. Texts that have
// parts from other positions, or have lost tokens at the end of the context, are not what computing
// them gives, and are kept apart.
struct Scope {
  std::string owner;
  std::vector<float> lora_scales;
  bool has_moved_parts = false;
  bool has_dropped = false;

  auto operator<=>(const Scope&) const = default;
};

class SequenceTree {
 public:
  // A run of tokens, from position `begin` on. Sequences end in leaves.
  struct Node {
    Node* parent = nullptr;
    std::int64_t begin = 0, end = 0;  // end: that of inner nodes
    std::vector<std::unique_ptr<Node>> children = {};
    std::int32_t sequence = -1;  // what a leaf is the end of
    Use use = {};

    bool is_leaf() const { return sequence >= 0; }
  };
  struct Match {
    std::int64_t n = 0;    // tokens in common
    Node* node = nullptr;  // in which they end; null: nothing is held in this scope
  };

  explicit SequenceTree(const Session& session);

  Match match(const Scope& scope, std::span<const std::int32_t> ids) const;
  // A sequence that a text can continue from, and where: at the largest length up to `match.n` that
  // any sequence of the scope allows. `match` is that of `ids`. -1, 0: none.
  struct Start {
    std::int32_t sequence = -1;
    std::int64_t n = 0;
  };
  Start start(const Match& match, std::span<const std::int32_t> ids) const;

  // One of those below the node.
  std::int32_t any_sequence(const Node& node) const;

  // Adds a sequence by its tokens. REQUIRES: it is not in the tree.
  Node& add(const Scope& scope, std::int32_t sequence);
  void remove(std::int32_t sequence);
  // Another sequence now holds the tokens of `from`. REQUIRES: `to` is not in the tree.
  void rename(std::int32_t from, std::int32_t to);
  // The sequence was cut. Returns false, and removes it, if others hold all that is left of it.
  bool shorten(std::int32_t sequence, std::int64_t length);
  bool has(std::int32_t sequence) const { return leaf(sequence) != nullptr; }
  // Null if it is not in the tree.
  Node* leaf(std::int32_t sequence) const { return leaves_[static_cast<std::size_t>(sequence)]; }
  // Calls f(node, end) for the leaf of a sequence and all nodes above it but the root.
  template <class F>
  void for_each_above(std::int32_t sequence, F f) {
    for (Node* node = leaf(sequence); node && node->parent; node = node->parent)
      f(*node, end_of(*node));
  }
  // The tokens of a scope, each once but for `overlap` tokens before those that others share.
  std::vector<HeldIds> held_ids(const Scope& scope, std::int64_t overlap) const;
  struct Size {
    std::int64_t nodes = 0;  // without roots
    std::int64_t sequences = 0, tokens = 0;
  };
  Size size() const;

 private:
  std::int64_t end_of(const Node& node) const;
  void improve(const Node& child, std::span<const std::int32_t> ids, Start& best) const;
  void collect_ids(const Node& node, std::int64_t begin, std::int64_t overlap,
                   std::vector<HeldIds>& all) const;
  Size size_below(const Node& node) const;
  Match match_below(Node& node, std::span<const std::int32_t> ids) const;
  static Node& split(Node& node, std::int64_t at);
  void merge_up(Node& leaf);

  const Session& session_;
  std::map<Scope, std::unique_ptr<Node>> roots_;
  std::vector<Node*> leaves_;  // by sequence
};

}  // namespace weft::serve
