#include "prefixes/sequence_tree.h"

#include <algorithm>
#include <utility>

#include "weft/run/kept_texts.h"

namespace weft::serve {
namespace {

using Node = SequenceTree::Node;

std::unique_ptr<Node>& owner_of(Node& node) {
  return *std::ranges::find_if(node.parent->children,
                               [&](const auto& child) { return child.get() == &node; });
}

// Calls f(sequence) for all below the node, until it returns false.
template <class F>
bool for_each_sequence(const Node& node, F f) {
  if (node.is_leaf()) return f(node.sequence);
  return std::ranges::all_of(node.children,
                             [&](const auto& child) { return for_each_sequence(*child, f); });
}

}  // namespace

SequenceTree::SequenceTree(const Session& session)
    : session_(session),
      leaves_(static_cast<std::size_t>(session.options().sequences + session.options().kept)) {}

std::int64_t SequenceTree::end_of(const Node& node) const {
  return node.is_leaf() ? session_.length(node.sequence) : node.end;
}

std::int32_t SequenceTree::any_sequence(const Node& node) const {
  const Node* n = &node;
  while (!n->is_leaf()) n = n->children.front().get();
  return n->sequence;
}

SequenceTree::Match SequenceTree::match_below(Node& node, std::span<const std::int32_t> ids) const {
  Match best{.n = std::min(node.end, std::ssize(ids)), .node = &node};
  for (const auto& child : node.children) {
    const std::int64_t end = std::min(end_of(*child), std::ssize(ids));
    if (end <= child->begin) continue;
    const auto wanted = ids.first(static_cast<std::size_t>(end));
    const std::int64_t n = session_.common_prefix(any_sequence(*child), wanted, child->begin);
    if (n <= child->begin) continue;
    const bool goes_on = n == end && !child->is_leaf();
    const Match found = goes_on ? match_below(*child, ids) : Match{.n = n, .node = child.get()};
    if (found.n > best.n) best = found;
  }
  return best;
}

SequenceTree::Match SequenceTree::match(const Scope& scope,
                                        std::span<const std::int32_t> ids) const {
  const auto root = roots_.find(scope);
  return root == roots_.end() ? Match() : match_below(*root->second, ids);
}

// Updates `best` by the sequences below a child, whose first child.begin tokens are those of `ids`.
void SequenceTree::improve(const Node& child, std::span<const std::int32_t> ids,
                           Start& best) const {
  const std::int64_t end = std::min(end_of(child), std::ssize(ids));
  const auto common = [&](std::int32_t sequence, std::int64_t n) {
    return session_.common_prefix(sequence, ids.first(static_cast<std::size_t>(n)), child.begin);
  };
  const bool differs = end <= child.begin || common(any_sequence(child), end) <= child.begin;
  if (differs && best.n >= child.begin) return;
  for_each_sequence(child, [&](std::int32_t sequence) {
    const std::int64_t held = std::min(session_.length(sequence), std::ssize(ids));
    const std::int64_t n = session_.resume_point(
        sequence, differs ? std::min(child.begin, held) : common(sequence, held));
    if (n > best.n) best = {sequence, n};
    return best.n < std::ssize(ids);
  });
}

SequenceTree::Start SequenceTree::start(const Match& match,
                                        std::span<const std::int32_t> ids) const {
  const auto wanted = ids.first(static_cast<std::size_t>(match.n));
  Start best;
  if (match.node && match.node->is_leaf())
    best = {match.node->sequence, session_.resume_point(match.node->sequence, match.n)};
  const Node* done = nullptr;
  for (const Node* node = match.node; node && best.n < match.n; node = node->parent) {
    for (const auto& child : node->children)
      if (child.get() != done) improve(*child, wanted, best);
    done = node;
  }
  // Running texts forget guesses that were wrong, which the tree may not know yet.
  const bool is_true = best.n > 0 && session_.common_prefix(best.sequence, wanted) >= best.n;
  return is_true ? best : Start();
}

// The part of the node before `at` becomes its parent, with the same use.
SequenceTree::Node& SequenceTree::split(Node& node, std::int64_t at) {
  std::unique_ptr<Node>& place = owner_of(node);
  auto upper = std::make_unique<Node>(
      Node{.parent = node.parent, .begin = node.begin, .end = at, .use = node.use});
  node.parent = upper.get();
  node.begin = at;
  upper->children.push_back(std::exchange(place, nullptr));
  place = std::move(upper);
  return *place;
}

SequenceTree::Node& SequenceTree::add(const Scope& scope, std::int32_t sequence) {
  std::unique_ptr<Node>& root = roots_[scope];
  if (!root) root = std::make_unique<Node>();
  // Its tokens, compared with those of the others.
  const std::vector<std::int32_t> ids =
      held_tokens(session_, sequence, 0, session_.length(sequence));
  const Match found = match_below(*root, ids);
  Node* parent = found.node;
  if (parent != root.get() && (parent->is_leaf() || found.n < parent->end))
    parent = &split(*parent, found.n);
  parent->children.push_back(
      std::make_unique<Node>(Node{.parent = parent, .begin = found.n, .sequence = sequence}));
  return *(leaves_[static_cast<std::size_t>(sequence)] = parent->children.back().get());
}

void SequenceTree::remove(std::int32_t sequence) {
  Node* node = std::exchange(leaves_[static_cast<std::size_t>(sequence)], nullptr);
  while (node && node->parent) {  // with the nodes that led to it alone
    Node* const parent = node->parent;
    std::erase_if(parent->children, [&](const auto& child) { return child.get() == node; });
    node = parent->children.empty() ? parent : nullptr;
  }
  if (node) std::erase_if(roots_, [&](const auto& root) { return root.second.get() == node; });
}

void SequenceTree::rename(std::int32_t from, std::int32_t to) {
  Node* const node = std::exchange(leaves_[static_cast<std::size_t>(from)], nullptr);
  node->sequence = to;
  leaves_[static_cast<std::size_t>(to)] = node;
}

// An empty leaf takes the place of the node above that leads to it alone.
void SequenceTree::merge_up(Node& leaf) {
  Node& parent = *leaf.parent;
  std::unique_ptr<Node> own = std::move(parent.children.front());
  own->parent = parent.parent;
  own->begin = parent.begin;
  own->use = parent.use;
  owner_of(parent) = std::move(own);
}

bool SequenceTree::shorten(std::int32_t sequence, std::int64_t length) {
  Node& node = *leaf(sequence);
  while (node.begin >= length && node.parent->parent && node.parent->children.size() == 1)
    merge_up(node);
  if (node.begin < length) return true;
  remove(sequence);
  return false;
}

// `begin`: where the tokens begin that no other leaf has added.
void SequenceTree::collect_ids(const Node& node, std::int64_t begin, std::int64_t overlap,
                               std::vector<HeldIds>& all) const {
  if (node.is_leaf()) {
    const std::int64_t from = std::max<std::int64_t>(0, begin - overlap);
    const std::int64_t n = session_.length(node.sequence) - from;
    if (n > 0) all.push_back({node.sequence, from, held_tokens(session_, node.sequence, from, n)});
    return;
  }
  for (const auto& child : node.children)
    collect_ids(*child, child == node.children.front() ? begin : child->begin, overlap, all);
}

std::vector<HeldIds> SequenceTree::held_ids(const Scope& scope, std::int64_t overlap) const {
  std::vector<HeldIds> all;
  const auto root = roots_.find(scope);
  if (root != roots_.end()) collect_ids(*root->second, 0, overlap, all);
  return all;
}

SequenceTree::Size SequenceTree::size_below(const Node& node) const {
  Size all;
  for (const auto& child : node.children) {
    const Size below = size_below(*child);
    all.nodes += below.nodes + 1;
    all.sequences += below.sequences + (child->is_leaf() ? 1 : 0);
    all.tokens += below.tokens + std::max<std::int64_t>(0, end_of(*child) - child->begin);
  }
  return all;
}

SequenceTree::Size SequenceTree::size() const {
  Size all;
  for (const auto& [scope, root] : roots_) {
    const Size of_scope = size_below(*root);
    all.nodes += of_scope.nodes;
    all.sequences += of_scope.sequences;
    all.tokens += of_scope.tokens;
  }
  return all;
}

}  // namespace weft::serve
