#include "jinja/tree_builder.h"

#include <algorithm>

#include "jinja/token_stream.h"

namespace weft::jinja {
namespace {

constexpr int kMaxHeight = 300;

}  // namespace

NodePtr TreeBuilder::make(NodeKind kind, std::size_t at) const {
  auto node = std::make_unique<Node>();
  node->kind = kind;
  node->at = static_cast<std::uint32_t>(at);
  return node;
}

NodePtr TreeBuilder::make(NodeKind kind, std::size_t at, NodePtr a, NodePtr b) const {
  NodePtr node = make(kind, at);
  adopt(*node, std::move(a));
  if (b) adopt(*node, std::move(b));
  return node;
}

void TreeBuilder::adopt(Node& parent, NodePtr kid) const {
  if (kid) raise(parent, *kid);
  parent.kids.push_back(std::move(kid));
}

void TreeBuilder::raise(Node& parent, const Node& kid) const {
  const int height = kid.height + 1;
  if (height > kMaxHeight)
    tokens_.fail(kid.at, fmt::format("nested more than {} deep", kMaxHeight));
  parent.height = std::max(parent.height, static_cast<std::uint16_t>(height));
}

}  // namespace weft::jinja
