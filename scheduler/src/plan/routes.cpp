#include <algorithm>
#include <utility>

#include <fmt/ranges.h>

#include "weft/base/error.h"
#include "weft/base/text.h"
#include "weft/scheduler/routing.h"

#include "plan/lanes.h"

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
  const auto names = built_in_backends();
  return std::ranges::find(names, backend.name()) != names.end();
}

// The edit distance from `a` to the nearest prefix of `b`; ties are broken by the rest of `b`.
std::pair<std::size_t, std::size_t> distance(std::string_view a, std::string_view b) {
  const std::vector<std::size_t> distances = prefix_distances(a, b);
  return {std::ranges::min(distances), distances.back()};
}

// The up to three nearest of them, as the end of a message; empty if none is near.
std::string nearest(std::string_view name, std::vector<std::string> known) {
  while (name.ends_with('*')) name.remove_suffix(1);
  std::erase_if(
      known, [&](const auto& other) { return distance(name, other).first > near_distance(name); });
  if (known.empty()) return "";
  std::ranges::stable_sort(known, {}, [&](const auto& other) { return distance(name, other); });
  known.resize(std::min<std::size_t>(3, known.size()));
  return fmt::format(" (similar paths: {})", fmt::join(known, ", "));
}

std::vector<RouteRule> read_rules(std::string_view text) {
  std::vector<RouteRule> rules;
  for (bool more = !text.empty(); more;) {
    const std::size_t comma = text.find(',');
    const std::string_view rule = text.substr(0, comma);
    more = comma != std::string_view::npos;
    text.remove_prefix(more ? comma + 1 : text.size());
    const std::size_t equals = rule.rfind('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == rule.size())
      fail<ValueError>("a rule of a route must be PATTERN=BACKEND, got '{}'", rule);
    rules.push_back({std::string(rule.substr(0, equals)), &find_backend(rule.substr(equals + 1))});
  }
  return rules;
}

std::optional<Kernel> find_on(const Backend& backend, const Graph& graph, const Node& node) {
  auto kernel = backend.find(graph, node);
  if (kernel && !kernel->backend) kernel->backend = &backend;
  return kernel;
}

}  // namespace

Routes::Routes(std::string_view name, std::string_view rules)
    : Routes(find_backend(name), read_rules(rules)) {}

Routes::Routes(const Backend& otherwise, std::vector<RouteRule> rules)
    : otherwise_(&otherwise), rules_(std::move(rules)), falls_back_(true) {
  const auto all = std::ranges::find(rules_, "*", &RouteRule::pattern);
  if (all != rules_.end()) otherwise_ = all->backend;
  const auto add = [&](const Backend* backend) {
    has_plugins_ |= !is_built_in(*backend);
    if (backend->device() && std::ranges::find(devices_, backend) == devices_.end())
      devices_.push_back(backend);
  };
  for (const RouteRule& rule : rules_) add(rule.backend);
  add(otherwise_);
}

Routes::Routes(const Backend& backend) : otherwise_(&backend) {
  if (backend.device()) devices_.push_back(&backend);
}

std::string_view Routes::name() const {
  return otherwise_->name();
}

std::string Routes::description() const {
  std::string text = otherwise_->description();
  for (const RouteRule& rule : rules_)
    text += fmt::format(", {} on {}", rule.pattern, rule.backend->name());
  return text;
}

const Backend& Routes::wanted(const Node& node) const {
  for (const RouteRule& rule : rules_) {
    if (matches(rule.pattern, node.path)) return *rule.backend;
  }
  return *otherwise_;
}

std::optional<Kernel> Routes::find(const Graph& graph, const Node& node, bool on_host) const {
  const Backend& first = wanted(node);
  if (!on_host || !first.device()) {
    if (auto kernel = find_on(first, graph, node)) return kernel;
  }
  if (!falls_back_) return std::nullopt;
  if (!is_built_in(first)) {
    if (auto kernel = find_on(cpu_backend(), graph, node)) return kernel;
  }
  return find_on(reference_backend(), graph, node);
}

const Backend& Routes::lowering_backend() const {
  return has_plugins_ && !is_built_in(*otherwise_) ? cpu_backend() : *otherwise_;
}

void Routes::check_patterns(const Graph& graph) const {
  for (const RouteRule& rule : rules_) {
    std::vector<std::string> paths;
    bool found = false;
    for (NodeId id = 0; id < graph.size() && !found; ++id) {
      if (!lanes::does_work(graph[id]) || graph[id].op->transfers) continue;
      found = matches(rule.pattern, graph[id].path);
      paths.push_back(graph[id].path);
    }
    if (!found) {
      fail<ValueError>("no node matches the pattern '{}' of the route{}", rule.pattern,
                       nearest(rule.pattern, std::move(paths)));
    }
  }
}

}  // namespace weft
