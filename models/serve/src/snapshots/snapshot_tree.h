#pragma once
// The snapshots in a folder that a session can continue from, by their tokens. Each one begins in
// another one, or after it, or at the beginning of a text.

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "weft/base/ledger.h"
#include "weft/run/snapshot_file.h"

namespace weft::serve {

class SnapshotTree {
 public:
  struct Node {
    const Node* parent = nullptr;  // null: it begins a text
    std::uint64_t key = 0;         // unique
    std::uint64_t before = 0;      // as in SnapshotLabel
    std::int64_t begin = 0, n_bytes = 0;
    std::vector<std::int32_t> tokens = {};
    bool is_written = true;  // its file is complete
    std::vector<Node*> children = {};

    std::int64_t end() const { return begin + std::ssize(tokens); }
  };
  // The snapshots that begin as a text does, in order, and how many of its tokens they have.
  struct Match {
    std::vector<const Node*> chain;
    std::int64_t n = 0;
  };

  // `written`: of the chain, only those before the first one that is not complete.
  Match match(const std::string& owner, std::span<const std::int32_t> ids, bool written) const;
  // Where a snapshot of the tokens from match.n on belongs: the label but for its origin and key.
  static SnapshotLabel place(const Match& match, const std::string& owner);
  static std::uint64_t key_of(const SnapshotLabel& label, std::span<const std::int32_t> tokens);

  // Returns false if it is known, or what is before it is not here.
  bool add(const SnapshotLabel& label, const Snapshot& snapshot, std::int64_t n_bytes,
           bool is_written);
  bool has(std::uint64_t key) const { return nodes_.contains(key); }
  void set_written(std::uint64_t key);  // nothing happens if it is unknown
  // With all that begin in it or after it. Nothing happens if it is unknown.
  void remove(std::uint64_t key);
  // Whether more may be added: its memory is at most a quarter of what the ledger allows.
  bool has_room() const;
  std::int64_t n_tokens() const { return n_tokens_; }
  std::int64_t n_bytes() const { return n_bytes_; }
  std::size_t size() const { return nodes_.size(); }

 private:
  void count_memory();
  const Node* longest(const std::vector<Node*>& among, std::span<const std::int32_t> ids,
                      std::int64_t& n) const;

  std::unordered_map<std::uint64_t, std::unique_ptr<Node>> nodes_;
  std::map<std::string, std::vector<Node*>> roots_;  // by owner
  std::int64_t n_tokens_ = 0, n_bytes_ = 0;
  Taken memory_{Account::snapshots};  // for the nodes
};

}  // namespace weft::serve
