#pragma once
// Which backend runs which node. Rules say what is wanted, by path; what a backend cannot run goes
// to cpu, and what that cannot either to reference. Where memories differ, copies are put between,
// as nodes of the graph: plans, pictures, profiles and verify show and count them.

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "weft/backends/backend.h"

namespace weft {

struct RouteRule {
  std::string pattern;  // of paths: * stands for any text, ? for one character
  const Backend* backend = nullptr;
};

class Routing final : public Backend {
 public:
  // `rules`: "blk.3.ffn_*=reference,*=cpu", the first that matches counts; none that matches:
  // `name`. Throws ValueError for rules that cannot be read and backends that nobody knows.
  Routing(std::string_view name, std::string_view rules);

  std::string_view name() const override { return name_; }
  std::string description() const override;
  std::optional<Kernel> find(const Graph& graph, const Node& node) const override;
  // Those of the backend that most nodes go to; of cpu, where that is a plug-in. Where a plug-in
  // takes part they touch only what that backend runs: they give weights and activations types
  // that only its own kernels know.
  std::span<const Pass> lowering() const override;
  std::span<const Pass> resident_lowering() const override;
  std::optional<Graph> place_copies(const Graph& graph) const override;

  // What such a pass made of `before`, where a plug-in takes part: `after` only in what the backend
  // runs whose rewrite it is, `before` in all else.
  Graph only_own(const Graph& before, Graph after, std::string_view pass_name) const;

  // Throws ValueError naming the first rule that matches no op, and the nearest paths.
  void check_patterns(const Graph& graph) const;

  // A state lives in one memory, for all plans of a session: where nodes that touch it would not,
  // they all go to the host's. Likewise a weight has one type: that of the file, where it cannot be
  // another in every plan. Known only when plans were made: they are made again where this number
  // grew meanwhile. One thread at a time makes plans with one routing.
  std::size_t changes_of_mind() const { return at_home_.size() + taken_back_; }

 private:
  const Backend& lowers() const;
  bool may_rewrite(const Graph& graph, NodeId id) const;
  const Backend& wanted(const Node& node) const;
  bool touches_state_at_home(const Graph& graph, const Node& node) const;
  std::optional<Kernel> find_on(const Backend& backend, const Graph& graph, const Node& node) const;
  std::optional<Kernel> find_copy(const Graph& graph, const Node& node) const;
  std::int32_t memory_of(const Kernel& kernel) const;
  std::vector<std::int32_t> memories(const Graph& graph) const;
  void settle_states(const Graph& graph) const;

  std::string name_;
  const Backend* otherwise_ = nullptr;
  std::vector<RouteRule> rules_;
  std::vector<const Backend*> devices_;                // memory i + 1 is that of devices_[i]
  bool built_in_ = true;                               // all backends are
  mutable std::map<std::string, std::int32_t> homes_;  // by path of a state: its memory
  mutable std::set<std::string> at_home_;              // states that stay in the host's memory
  mutable std::map<std::string, bool> repacked_;       // by path of a weight: may have another type
  mutable std::size_t taken_back_ = 0;                 // weights that might, and then might not
};

// What runs a session's graphs: the backend of that name where it is built in and there are no
// rules, otherwise a Routing.
std::shared_ptr<const Backend> choose_backend(std::string_view name, std::string_view rules);

}  // namespace weft
