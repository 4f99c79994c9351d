#include "weft/scheduler/routing.h"

#include <algorithm>

#include "weft/backends/device.h"
#include "weft/base/error.h"
#include "weft/graph/pass.h"
#include "weft/ops/copy.h"

#include "lanes.h"

namespace weft {
namespace {

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool is_built_in(const Backend& backend) {
  return backend.name() == "cpu" || backend.name() == "reference";
}

bool does_work(const Node& node) {
  return node.op && node.op->storage != Storage::view;
}

// Letters to change, add or leave out to make the beginning of `b` of `a`; where that is equal,
// more for the rest of it.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return *std::min_element(row.begin(), row.end()) * 1024 + row.back();
}

std::string nearest(std::string_view name, std::vector<std::string> known) {
  while (name.ends_with('*')) name.remove_suffix(1);
  std::stable_sort(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance(name, a) < distance(name, b);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, known.size()); ++i)
    text += (text.empty() ? "" : ", ") + known[i];
  return text;
}

// The states that a node reads or writes.
std::vector<NodeId> states_of(const Graph& graph, const Node& node) {
  std::vector<NodeId> states;
  for (const NodeId id : node.inputs) {
    const NodeId state = id == kNoNode ? kNoNode : lanes::state_of(graph, id);
    if (state != kNoNode) states.push_back(state);
  }
  return states;
}

// Whether a pass gave a weight another type, or replaced an op or its inputs.
bool is_changed(const Graph& before, const Node& a, const Graph& after, const Node& b) {
  if (a.kind == NodeKind::weight) return !(a.spec.dtype == b.spec.dtype);
  const auto same = [&](NodeId x, NodeId y) {
    return x == kNoNode || y == kNoNode ? x == y : before[x].path == after[y].path;
  };
  return a.op && (a.op != b.op || !std::ranges::equal(a.inputs, b.inputs, same));
}

std::vector<RouteRule> read_rules(std::string_view text) {
  std::vector<RouteRule> rules;
  while (!text.empty()) {
    const std::string_view rule = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), rule.size() + 1));
    const std::size_t equals = rule.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == rule.size())
      fail<ValueError>("a rule of a route must be PATTERN=BACKEND, got '{}'", rule);
    rules.push_back({std::string(rule.substr(0, equals)), &find_backend(rule.substr(equals + 1))});
  }
  return rules;
}

}  // namespace

Routing::Routing(std::string_view name, std::string_view rules)
    : otherwise_(&find_backend(name)), rules_(read_rules(rules)) {
  const auto all = std::ranges::find(rules_, "*", &RouteRule::pattern);
  if (all != rules_.end()) otherwise_ = all->backend;
  name_ = otherwise_->name();
  const auto add = [&](const Backend* backend) {
    built_in_ &= is_built_in(*backend);
    if (backend->device() && std::ranges::find(devices_, backend) == devices_.end())
      devices_.push_back(backend);
  };
  for (const RouteRule& rule : rules_) add(rule.backend);
  add(otherwise_);
}

std::string Routing::description() const {
  std::string text = otherwise_->description();
  for (const RouteRule& rule : rules_)
    text += fmt::format(", {} on {}", rule.pattern, rule.backend->name());
  return text;
}

const Backend& Routing::wanted(const Node& node) const {
  for (const RouteRule& rule : rules_) {
    if (matches(rule.pattern, node.path)) return *rule.backend;
  }
  return *otherwise_;
}

bool Routing::touches_state_at_home(const Graph& graph, const Node& node) const {
  if (at_home_.empty()) return false;
  return std::ranges::any_of(states_of(graph, node),
                             [&](NodeId id) { return at_home_.contains(graph[id].path); });
}

std::optional<Kernel> Routing::find_on(const Backend& backend, const Graph& graph,
                                       const Node& node) const {
  auto kernel = backend.find(graph, node);
  if (kernel) kernel->backend = &backend;
  return kernel;
}

std::optional<Kernel> Routing::find_copy(const Graph& graph, const Node& node) const {
  const auto& a = node.attrs.as<CopyAttrs>();
  const auto i = static_cast<std::size_t>(std::max(a.from, a.to) - 1);
  if (i >= devices_.size()) return std::nullopt;
  return find_on(*devices_[i], graph, node);
}

std::optional<Kernel> Routing::find(const Graph& graph, const Node& node) const {
  if (node.op == &kCopy) return find_copy(graph, node);
  const Backend* backend = &wanted(node);
  const bool home = backend->device() && touches_state_at_home(graph, node);
  if (!home) {
    if (auto kernel = find_on(*backend, graph, node)) return kernel;
  }
  if (auto kernel = find_on(cpu_backend(), graph, node)) return kernel;
  return find_on(reference_backend(), graph, node);
}

// Whose rewrites are applied.
const Backend& Routing::lowers() const {
  return is_built_in(*otherwise_) ? *otherwise_ : cpu_backend();
}

std::span<const Pass> Routing::lowering() const {
  return lowers().lowering();
}
std::span<const Pass> Routing::resident_lowering() const {
  return lowers().resident_lowering();
}

// An op, or a weight, whose type is the same for all who use it.
bool Routing::may_rewrite(const Graph& graph, NodeId id) const {
  const auto is_own = [&](const Node& node) {
    const auto kernel = find(graph, node);
    return kernel && kernel->backend == &lowers();
  };
  if (graph[id].op) return does_work(graph[id]) && is_own(graph[id]);
  bool may = true;
  for (NodeId user = 0; user < graph.size() && may; ++user) {
    if (std::ranges::count(graph[user].inputs, id) != 0) may = is_own(graph[user]);
  }
  bool& so_far = repacked_.emplace(graph[id].path, may).first->second;
  if (so_far && !may) ++taken_back_;
  return so_far = so_far && may;
}

Graph Routing::only_own(const Graph& before, Graph after, std::string_view pass_name) const {
  if (built_in_) return after;
  Rewriter rewriter(before, pass_name);
  std::map<NodeId, Tensor> added;  // by node of `after`
  const auto inputs_of = [&](const auto& self, const Node& node) -> std::vector<Tensor> {
    std::vector<Tensor> inputs;
    for (const NodeId id : node.inputs) {
      const NodeId old = id == kNoNode ? kNoNode : before.find(after[id].path);
      if (id == kNoNode || old != kNoNode) {
        inputs.push_back(id == kNoNode ? Tensor() : rewriter(old));
        continue;
      }
      const Node& n = after[id];
      const auto [at, is_new] = added.emplace(id, Tensor());
      if (is_new) {
        at->second = rewriter.insert(*n.op, self(self, n), n.attrs, n.path, n.where);
      }
      inputs.push_back(at->second);
    }
    return inputs;
  };
  for (NodeId id = 0; id < before.size(); ++id) {
    const NodeId now = after.find(before[id].path);
    const bool changed = now != kNoNode && is_changed(before, before[id], after, after[now]);
    if (!changed || !may_rewrite(before, id)) {
      rewriter.copy(id);
    } else if (before[id].op) {
      const Node& node = after[now];
      rewriter.replace(id, *node.op, inputs_of(inputs_of, node), node.attrs);
    } else {
      rewriter.copy_as(id, after[now].spec.dtype);
    }
  }
  return rewriter.finish();
}

std::int32_t Routing::memory_of(const Kernel& kernel) const {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (devices_[i]->device() == kernel.device) return static_cast<std::int32_t>(i) + 1;
  }
  return 0;
}

// By NodeId: where the node computes, or where its memory is. Weights are wherever they are needed.
std::vector<std::int32_t> Routing::memories(const Graph& graph) const {
  std::vector<std::int32_t> all(static_cast<std::size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (does_work(node)) {
      const auto kernel = find(graph, node);
      all[static_cast<std::size_t>(id)] = kernel ? memory_of(*kernel) : 0;
    } else if (node.op) {
      all[static_cast<std::size_t>(id)] =
          all[static_cast<std::size_t>(lanes::source_of(graph, id).node)];
    }
  }
  return all;
}

// Sends states home until all who touch one are in one memory, in this graph and those before it.
void Routing::settle_states(const Graph& graph) const {
  for (bool again = true; again;) {
    again = false;
    const std::vector<std::int32_t> memory = memories(graph);
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (!does_work(graph[id])) continue;
      for (const NodeId state : states_of(graph, graph[id])) {
        const std::string& path = graph[state].path;
        const auto [at, is_new] = homes_.emplace(path, memory[static_cast<std::size_t>(id)]);
        if (at->second == memory[static_cast<std::size_t>(id)]) continue;
        at->second = 0;
        again |= at_home_.insert(path).second;
      }
    }
  }
}

std::optional<Graph> Routing::place_copies(const Graph& graph) const {
  if (devices_.empty()) return std::nullopt;
  settle_states(graph);
  const std::vector<std::int32_t> memory = memories(graph);
  Rewriter rewriter(graph, "place_copies");
  std::map<std::pair<NodeId, std::int32_t>, Tensor> copies;
  const auto name_of = [&](std::int32_t m) {
    return m == 0 ? std::string_view("host") : devices_[static_cast<std::size_t>(m) - 1]->name();
  };
  const auto copy_to = [&](NodeId id, std::int32_t to) {
    const auto [at, is_new] = copies.emplace(std::pair(id, to), Tensor());
    if (!is_new) return Tensor(at->second);
    Tensor from = rewriter(id);
    std::int32_t here = memory[static_cast<std::size_t>(id)];
    for (const std::int32_t next : {here > 0 && to > 0 ? 0 : to, to}) {
      if (next == here) continue;
      const Tensor in[] = {from};
      from =
          rewriter.insert(kCopy, in, CopyAttrs{here, next},
                          fmt::format("{}.to_{}", graph[id].path, name_of(next)), graph[id].where);
      here = next;
    }
    copies.insert_or_assign(std::pair(id, to), from);
    return from;
  };
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (!does_work(node)) {
      rewriter.copy(id);
      continue;
    }
    std::vector<Tensor> inputs;
    bool moved = false;
    for (const NodeId input : node.inputs) {
      if (input == kNoNode) {
        inputs.emplace_back();
        continue;
      }
      const NodeKind kind = graph[lanes::memory_of(graph, input)].kind;
      const bool moves =
          (kind == NodeKind::op || kind == NodeKind::input) &&
          memory[static_cast<std::size_t>(input)] != memory[static_cast<std::size_t>(id)];
      inputs.push_back(moves ? copy_to(input, memory[static_cast<std::size_t>(id)])
                             : rewriter(input));
      moved |= moves;
    }
    moved ? rewriter.replace(id, *node.op, inputs, node.attrs) : rewriter.copy(id);
  }
  for (const Graph::Output& output : graph.outputs()) {
    if (memory[static_cast<std::size_t>(output.node)] != 0)
      rewriter.stand_for(output.node, copy_to(output.node, 0));
  }
  return rewriter.finish();
}

void Routing::check_patterns(const Graph& graph) const {
  for (const RouteRule& rule : rules_) {
    std::vector<std::string> paths;
    bool found = false;
    for (NodeId id = 0; id < graph.size() && !found; ++id) {
      if (!does_work(graph[id]) || graph[id].op == &kCopy) continue;
      found = matches(rule.pattern, graph[id].path);
      paths.push_back(graph[id].path);
    }
    if (!found) {
      fail<ValueError>("no node of the graph matches '{}' of the route; the nearest are {}",
                       rule.pattern, nearest(rule.pattern, std::move(paths)));
    }
  }
}

std::shared_ptr<const Backend> choose_backend(std::string_view name, std::string_view rules) {
  if (rules.empty() && (name == "cpu" || name == "reference"))
    return {std::shared_ptr<const Backend>(), &find_backend(name)};
  return std::make_shared<const Routing>(name, rules);
}

}  // namespace weft
