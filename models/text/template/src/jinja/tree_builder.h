#pragma once
// Makes the nodes of a tree, and limits its height because trees are evaluated recursively.

#include "jinja/ast.h"

namespace weft::jinja {

class TokenStream;

class TreeBuilder {
 public:
  // `tokens` reports the errors.
  explicit TreeBuilder(const TokenStream& tokens) : tokens_(tokens) {}

  // A node without kids, or with the kids `a` and, unless it is null, `b`.
  NodePtr make(NodeKind kind, std::size_t at) const;
  NodePtr make(NodeKind kind, std::size_t at, NodePtr a, NodePtr b = nullptr) const;
  // Appends a kid, which may be null.
  void adopt(Node& parent, NodePtr kid) const;
  // Makes the parent higher than this kid, which adopt() does as well.
  void raise(Node& parent, const Node& kid) const;

 private:
  const TokenStream& tokens_;
};

}  // namespace weft::jinja
