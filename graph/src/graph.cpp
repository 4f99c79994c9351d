#include "weft/graph/graph.h"

#include <algorithm>

#include "weft/base/error.h"

#include "with_place.h"

namespace weft {

std::string_view to_string(NodeKind kind) {
  switch (kind) {
    case NodeKind::input:
      return "input";
    case NodeKind::weight:
      return "weight";
    case NodeKind::state:
      return "state";
    case NodeKind::op:
      break;
  }
  return "op";
}

const TensorSpec& Tensor::spec() const {
  return (*graph_)[id_].spec;
}

Tensor Tensor::named(std::string_view name) const {
  graph_->rename(id_, name);
  return *this;
}

Dim Graph::variable(std::string_view name, std::int64_t bound) {
  if (bound < 1)
    fail<ValueError>("variable '{}' must have a bound of at least 1, got {}", name, bound);
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].name != name) continue;
    if (variables_[i].bound != bound) {
      fail<ValueError>("variable '{}' has the bound {}, not {}", name, variables_[i].bound, bound);
    }
    return {bound, static_cast<std::int32_t>(i)};
  }
  if (variables_.size() == kMaxVariables)
    fail<ValueError>("a graph has at most {} variables", kMaxVariables);
  variables_.push_back({std::string(name), bound});
  return {bound, static_cast<std::int32_t>(variables_.size() - 1)};
}

Extents Graph::bounds() const {
  Extents extents{};
  for (std::size_t i = 0; i < variables_.size(); ++i) extents[i] = variables_[i].bound;
  return extents;
}

Tensor Graph::insert(Node node) {
  const NodeId id = size();
  if (!by_path_.emplace(node.path, id).second)
    fail<ValueError>("the graph already has a node '{}'", node.path);
  nodes_.push_back(std::move(node));
  return {this, id};
}

Tensor Graph::input(std::string_view name, TensorSpec spec, SourceLine where) {
  return insert({.kind = NodeKind::input, .spec = spec, .path = std::string(name), .where = where});
}

Tensor Graph::weight(std::string_view name, TensorSpec spec, SourceLine where) {
  if (const NodeId id = find(name);
      id != kNoNode && (*this)[id].kind == NodeKind::weight && (*this)[id].spec == spec) {
    return {this, id};  // tied weights: the same tensor used twice
  }
  return insert(
      {.kind = NodeKind::weight, .spec = spec, .path = std::string(name), .where = where});
}

Tensor Graph::state(std::string_view name, TensorSpec spec, SourceLine where) {
  return insert({.kind = NodeKind::state, .spec = spec, .path = std::string(name), .where = where});
}

std::string Graph::unique(std::string path) const {
  if (!by_path_.contains(path)) return path;
  for (int n = 1;; ++n) {
    if (std::string other = fmt::format("{}_{}", path, n); !by_path_.contains(other)) return other;
  }
}

void Graph::rename(NodeId id, std::string_view name) {
  const std::string path = scope_ + std::string(name);
  Node& node = nodes_[static_cast<std::size_t>(id)];
  if (path == node.path) return;
  if (by_path_.contains(path)) fail<ValueError>("the graph already has a node '{}'", path);
  by_path_.erase(node.path);
  for (Router& router : routers_)
    for (std::string* named : {&router.ids, &router.weight, &router.norm})
      if (*named == node.path) *named = path;
  node.path = path;
  by_path_.emplace(path, id);
}

namespace {

void check_arity(const OpDef& op, std::span<const Tensor> inputs, const Graph* graph) {
  if (inputs.size() > op.inputs.size() && !op.variadic) {
    fail<ValueError>("takes {} inputs, got {}", op.inputs.size(), inputs.size());
  }
  for (std::size_t i = 0; i < std::max(inputs.size(), op.inputs.size()); ++i) {
    const OpInput& info = op.input(i);
    const bool present = i < inputs.size() && inputs[i];
    if (!present && !info.optional) fail<ValueError>("input '{}' is missing", info.name);
    if (present && &inputs[i].graph() != graph)
      fail<ValueError>("input '{}' belongs to another graph", info.name);
  }
}

}  // namespace

Tensor Graph::add(const OpDef& op, std::span<const Tensor> inputs, Attrs attrs, SourceLine where,
                  std::string_view name) {
  return add_at(scope_ + std::string(name.empty() ? op.name : name), op, inputs, std::move(attrs),
                where);
}

Tensor Graph::add_at(std::string_view wanted_path, const OpDef& op, std::span<const Tensor> inputs,
                     Attrs attrs, SourceLine where) {
  const std::string path = unique(std::string(wanted_path));
  return graph::with_place(op, path, where, [&] {
    check_arity(op, inputs, this);
    if (!attrs.holds(*op.attrs->id)) fail<ValueError>("attributes of another op");
    Node node{.op = &op, .attrs = std::move(attrs), .path = path, .where = where};
    for (const Tensor& t : inputs) node.inputs.push_back(t ? t.id() : kNoNode);
    node.inputs.resize(std::max(node.inputs.size(), op.inputs.size()), kNoNode);
    node.spec = op.infer(node.attrs, input_specs(node));
    node.spec.bytes();  // rows must be whole blocks
    return insert(std::move(node));
  });
}

void Graph::output(std::string_view name, Tensor t) {
  if (!t || &t.graph() != this) fail<ValueError>("output '{}' is not a tensor of this graph", name);
  outputs_.push_back({std::string(name), t.id()});
}

void Graph::add_router(Tensor ids, Tensor weight, Tensor norm) {
  const auto path = [&](Tensor t) { return (*this)[t.id()].path; };
  routers_.push_back({path(ids), path(weight), path(norm)});
}

const Router* Graph::router(NodeId ids) const {
  if (ids == kNoNode) return nullptr;
  const auto found = std::ranges::find(routers_, (*this)[ids].path, &Router::ids);
  return found == routers_.end() ? nullptr : &*found;
}

ChosenMatrices chosen_matrices(const Node& node) {
  if (!node.op) return {};
  for (std::size_t i = 0; i < node.op->inputs.size(); ++i) {
    const OpInput& input = node.op->inputs[i];
    if (input.use == InputUse::matrix && input.chosen_by >= 0)
      return {node.inputs[i], node.inputs[static_cast<std::size_t>(input.chosen_by)]};
  }
  return {};
}

NodeId Graph::find(std::string_view path) const {
  const auto it = by_path_.find(std::string(path));
  return it == by_path_.end() ? kNoNode : it->second;
}

std::vector<TensorSpec> Graph::input_specs(const Node& node) const {
  std::vector<TensorSpec> specs;
  specs.reserve(node.inputs.size());
  for (const NodeId id : node.inputs)
    specs.push_back(id == kNoNode ? TensorSpec{} : (*this)[id].spec);
  return specs;
}

NodeUsers Graph::users() const {
  return NodeUsers(*this);
}

Graph::Scope::Scope(Graph& graph, std::string_view prefix)
    : graph_(graph), old_size_(graph.scope_.size()) {
  graph.scope_ += std::string(prefix) + ".";
}

Graph::Scope::~Scope() {
  graph_.scope_.resize(old_size_);
}

}  // namespace weft
