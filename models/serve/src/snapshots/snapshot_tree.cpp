#include "snapshots/snapshot_tree.h"

#include <algorithm>

#include "weft/base/checksum.h"

namespace weft::serve {
namespace {

// The hash of the tokens before a text's first one: texts of different owners have other hashes.
std::uint64_t hash_owner(const std::string& owner) {
  return checksum(std::as_bytes(std::span(owner)));
}

// The hash of all tokens of the text before this position, which lies in or after the node.
std::uint64_t hash_until(const SnapshotTree::Node& node, std::int64_t position) {
  return hash_tokens(node.before,
                     std::span(node.tokens).first(static_cast<std::size_t>(position - node.begin)));
}

}  // namespace

// Among the nodes that begin within the first n tokens, the one that has more of them in common;
// `n` becomes that number. Null: none has more.
const SnapshotTree::Node* SnapshotTree::longest(const std::vector<Node*>& among,
                                                std::span<const std::int32_t> ids,
                                                std::int64_t& n) const {
  const Node* best = nullptr;
  const std::int64_t reached = n;
  for (const Node* node : among) {
    if (node->begin > reached) continue;
    const auto rest = ids.subspan(static_cast<std::size_t>(node->begin));
    const auto same = std::ranges::mismatch(node->tokens, rest).in1 - node->tokens.begin();
    if (node->begin + same <= n) continue;
    n = node->begin + same;
    best = node;
  }
  return best;
}

SnapshotTree::Match SnapshotTree::match(const std::string& owner, std::span<const std::int32_t> ids,
                                        bool written) const {
  Match match;
  const auto own = roots_.find(owner);
  if (own == roots_.end()) return match;
  for (const std::vector<Node*>* among = &own->second;;) {
    std::int64_t n = match.n;
    const Node* next = longest(*among, ids, n);
    if (!next || (written && !next->is_written)) return match;
    match.chain.push_back(next);
    match.n = n;
    among = &next->children;
  }
}

SnapshotLabel SnapshotTree::place(const Match& match, const std::string& owner) {
  SnapshotLabel label{.origin = {}, .before = hash_owner(owner), .owner = owner};
  if (match.chain.empty()) return label;
  label.parent = match.chain.back()->key;
  label.before = hash_until(*match.chain.back(), match.n);
  return label;
}

std::uint64_t SnapshotTree::key_of(const SnapshotLabel& label,
                                   std::span<const std::int32_t> tokens) {
  return hash_tokens(label.before, tokens);
}

bool SnapshotTree::add(const SnapshotLabel& label, const Snapshot& snapshot, std::int64_t n_bytes,
                       bool is_written) {
  if (has(label.key) || label.key != key_of(label, snapshot.tokens)) return false;
  Node* parent = nullptr;
  if (snapshot.begin > 0) {
    const auto found = nodes_.find(label.parent);
    if (found == nodes_.end()) return false;
    parent = found->second.get();
    if (snapshot.begin <= parent->begin || snapshot.begin > parent->end()) return false;
  }
  if (label.before != (parent ? hash_until(*parent, snapshot.begin) : hash_owner(label.owner)))
    return false;
  auto node = std::make_unique<Node>(Node{.parent = parent,
                                          .key = label.key,
                                          .before = label.before,
                                          .begin = snapshot.begin,
                                          .n_bytes = n_bytes,
                                          .tokens = snapshot.tokens,
                                          .is_written = is_written});
  (parent ? parent->children : roots_[label.owner]).push_back(node.get());
  n_tokens_ += std::ssize(node->tokens);
  n_bytes_ += n_bytes;
  nodes_.emplace(label.key, std::move(node));
  count_memory();
  return true;
}

bool SnapshotTree::has_room() const {
  return memory_.bytes() < process_ledger().limit() / 4;
}

void SnapshotTree::count_memory() {
  constexpr std::int64_t kPerNode = sizeof(Node) + 128;  // with its places in lists and the map
  memory_.set(kPerNode * static_cast<std::int64_t>(nodes_.size()) +
              n_tokens_ * static_cast<std::int64_t>(sizeof(std::int32_t)));
}

void SnapshotTree::set_written(std::uint64_t key) {
  if (const auto found = nodes_.find(key); found != nodes_.end()) found->second->is_written = true;
}

void SnapshotTree::remove(std::uint64_t key) {
  const auto found = nodes_.find(key);
  if (found == nodes_.end()) return;
  Node* first = found->second.get();
  if (first->parent) {
    std::erase(nodes_.at(first->parent->key)->children, first);
  } else {
    for (auto& [owner, roots] : roots_) std::erase(roots, first);
    std::erase_if(roots_, [](const auto& own) { return own.second.empty(); });
  }
  std::vector<Node*> goes{first};
  while (!goes.empty()) {
    Node* node = goes.back();
    goes.pop_back();
    goes.insert(goes.end(), node->children.begin(), node->children.end());
    n_tokens_ -= std::ssize(node->tokens);
    n_bytes_ -= node->n_bytes;
    nodes_.erase(node->key);
  }
  count_memory();
}

}  // namespace weft::serve
