#include "streaming/residency.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <typeinfo>

#include "weft/ops/projections/expert_linear.h"

#include "streaming/read_queue.h"

namespace weft {

namespace run {
namespace {

// Weights smaller than a block of the disk stay in memory.
constexpr std::int64_t kMinStreamed = 4096;

// The stages in which a plan reads a weight.
struct Use {
  std::int32_t first = INT32_MAX, last = -1;
  bool as_whole = true;  // every node reads all of it
  bool by_ids = false;   // every node reads the rows that `ids` choose
  NodeId ids = kNoNode;
  ExpertLinearAttrs part = {};  // which experts the weight has
};

// How a plan reads its weights, by path.
using Uses = std::map<std::string, Use>;

void add(const Node& node, std::int32_t stage, std::size_t input, bool pages, Use& use) {
  const bool is_new = use.last < 0;
  const OpInput& read = node.op->input(input);
  const bool by_ids = read.use == InputUse::matrix && read.chosen_by >= 0;
  const NodeId ids = by_ids ? node.inputs[static_cast<std::size_t>(read.chosen_by)] : kNoNode;
  const bool is_part = by_ids && node.attrs.holds(typeid(ExpertLinearAttrs));
  const auto part = is_part ? node.attrs.as<ExpertLinearAttrs>() : ExpertLinearAttrs{};
  const bool is_same = use.ids == ids && use.part.first == part.first && use.part.all == part.all;
  use.first = std::min(use.first, stage);
  use.last = std::max(use.last, stage);
  use.as_whole = use.as_whole && read.chosen_by < 0;
  use.by_ids = by_ids && pages && (is_new || (use.by_ids && is_same));
  use.ids = ids;
  use.part = part;
}

// With one lane, each step counts as a stage of its own, because they run one after the other.
Uses uses_of(const Graph& graph, const Plan& plan, const Assignment& assignment) {
  Uses uses;
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const std::int32_t stage = plan.lanes == 1 ? static_cast<std::int32_t>(s) : plan.steps[s].stage;
    const Node& node = graph[plan.steps[s].node];
    const auto kernel = assignment.find(graph, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const NodeId id = node.inputs[i];
      if (id == kNoNode || graph[id].kind != NodeKind::weight) continue;
      Use& use = uses[graph[id].path];
      add(node, stage, i, kernel && kernel->pages_rows, use);
      if (plan.placements[id].weight_in.any_device()) use.as_whole = use.by_ids = false;
    }
  }
  return uses;
}

// In the order of the first plan's stages. Weights that another plan reads in another order are
// left out.
std::vector<Streamable::Whole> find_whole(const WeightFiles& files, const Graph& graph,
                                          std::span<const Uses> plans, std::size_t n_steps) {
  std::vector<Streamable::Whole> all;
  for (const auto& [path, first] : plans.front()) {
    const Node& weight = graph[graph.find(path)];
    const auto found = files.find(weight);
    if (!found || weight.spec.shape.n_dims() < 2 || found->bytes < kMinStreamed) continue;
    Streamable::Whole whole{.path = path,
                            .bytes = found->bytes,
                            .place = FilePiece::place_bytes(found->offset, found->bytes)};
    bool fits = true;
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto use = plans[i].find(path);
      if (i >= n_steps) {
        fits = fits && use == plans[i].end();
      } else {
        fits = fits && use != plans[i].end() && use->second.as_whole &&
               use->second.first == use->second.last;
        if (fits) whole.stages.push_back(use->second.first);
      }
    }
    if (fits) all.push_back(std::move(whole));
  }
  std::ranges::stable_sort(all, {}, &Streamable::Whole::stages);
  std::vector<std::int32_t> last(n_steps, 0);
  std::erase_if(all, [&](const Streamable::Whole& whole) {
    for (std::size_t i = 0; i < n_steps; ++i)
      if (whole.stages[i] < last[i]) return true;
    last = whole.stages;
    return false;
  });
  return all;
}

// The first and the last stage that needs the experts of a group. Empty if a plan lacks the group.
struct Span {
  std::int32_t first = 0, last = -1;
  bool contains(std::int32_t stage) const { return first <= stage && stage <= last; }
};

struct FoundGroup {
  ExpertGroup group;
  std::vector<Span> spans;  // by plan
  bool is_regular = true;   // all plans read the same weights by the same ids
};

FoundGroup new_group(const WeightFiles& files, const Graph& graph,
                     const std::vector<std::string>& paths, std::int64_t n_chosen,
                     std::size_t n_plans) {
  FoundGroup found{.group = {.paths = paths, .n_chosen = n_chosen},
                   .spans = std::vector<Span>(n_plans)};
  const auto n_experts = [&](const std::string& path) {
    return graph[graph.find(path)].spec.shape[0].bound;
  };
  found.group.n_experts = n_experts(paths.front());
  for (const std::string& path : paths) {
    found.is_regular = found.is_regular && n_experts(path) == found.group.n_experts;
    found.group.expert_bytes += files.at(path).bytes / found.group.n_experts;
  }
  return found;
}

// What a copy of a router needs, if guesses cannot read it as it is.
std::int64_t copied_router_bytes(const Graph& graph, const std::string& path) {
  if (path.empty()) return 0;
  const TensorSpec& spec = graph[graph.find(path)].spec;
  const bool is_copied = spec.dtype.layout() && spec.dtype.plain() == f32;
  return is_copied ? f32.bytes(spec.shape.elems()) : 0;
}

// Empty unless the builder named the router of these experts, and the graph still has its weights.
Router router_of(const Graph& graph, NodeId ids, std::int64_t n_experts) {
  const Router* router = graph.router(ids);
  if (!router || graph.find(router->norm) == kNoNode) return {};
  const NodeId weight = graph.find(router->weight);
  const bool fits = weight != kNoNode && graph[weight].spec.shape[0].bound == n_experts;
  return fits ? *router : Router{};
}

// Adds the groups that plan `i` has and no earlier plan had, and the spans of all its groups.
void add_groups(const WeightFiles& files, const Graph& graph, std::span<const Uses> plans,
                std::size_t i, std::vector<FoundGroup>& found) {
  std::map<NodeId, std::vector<std::string>> by_ids;
  for (const auto& [path, use] : plans[i])
    if (use.by_ids && files.find(graph[graph.find(path)])) by_ids[use.ids].push_back(path);
  for (const auto& [ids, paths] : by_ids) {
    auto it = std::ranges::find_if(found, [&](const FoundGroup& f) {
      return std::ranges::find_first_of(f.group.paths, paths) != f.group.paths.end();
    });
    const ExpertLinearAttrs& part = plans[i].at(paths.front()).part;
    if (it == found.end()) {
      it = found.insert(it,
                        new_group(files, graph, paths, graph[ids].spec.shape.last(), plans.size()));
      it->group.first = part.first;
    }
    // Guesses are of all experts, so there are none for a part of them.
    if (it->group.router.empty() && part.all == 0) {
      const Router router = router_of(graph, ids, it->group.n_experts);
      it->group.router = router.weight;
      it->group.router_norm = router.norm;
      it->group.router_bytes = copied_router_bytes(graph, router.weight);
    }
    it->is_regular = it->is_regular && it->group.paths == paths &&
                     std::ranges::all_of(paths, [&](const std::string& path) {
                       return plans[i].at(path).part.first == it->group.first;
                     });
    it->group.max_tokens = std::max(it->group.max_tokens, graph[ids].spec.shape[0].bound);
    Span& span = it->spans[i];
    span.first = INT32_MAX;
    for (const std::string& path : paths) {
      span.first = std::min(span.first, plans[i].at(path).first);
      span.last = std::max(span.last, plans[i].at(path).last);
    }
  }
}

std::vector<FoundGroup> find_groups(const WeightFiles& files, std::span<const Graph> graphs,
                                    std::span<const Uses> plans) {
  std::vector<FoundGroup> found;
  for (std::size_t i = 0; i < plans.size(); ++i) add_groups(files, graphs[i], plans, i, found);
  const auto is_read_otherwise = [&](const std::string& path) {
    return std::ranges::any_of(plans, [&](const Uses& uses) {
      const auto use = uses.find(path);
      return use != uses.end() && !use->second.by_ids;
    });
  };
  std::erase_if(found, [&](const FoundGroup& f) {
    return !f.is_regular || std::ranges::any_of(f.group.paths, is_read_otherwise);
  });
  std::ranges::stable_sort(found, {}, [](const FoundGroup& f) { return f.spans.front().first; });
  return found;
}

std::int64_t slot_bytes(const WeightFiles& files, const ExpertGroup& group) {
  std::int64_t sum = 0;
  for (const std::string& path : group.paths)
    sum += FilePiece::max_place_bytes(files.at(path).bytes / group.n_experts);
  return sum;
}

// How many experts need slots of the group's class in the stage that first needs the group: the
// maximum of all plans.
std::int64_t needed_together(std::span<const FoundGroup> found, const FoundGroup& group) {
  std::int64_t most = 0;
  for (std::size_t plan = 0; plan < group.spans.size(); ++plan) {
    std::int64_t sum = 0;
    for (const FoundGroup& other : found) {
      if (other.group.slots == group.group.slots &&
          other.spans[plan].contains(group.spans[plan].first))
        sum += other.group.n_experts;
    }
    most = std::max(most, sum);
  }
  return most;
}

Residency experts_of(const WeightFiles& files, std::vector<FoundGroup> found) {
  Residency r;
  for (FoundGroup& f : found) {
    const std::int64_t bytes = slot_bytes(files, f.group);
    auto it = std::ranges::find(r.slots, bytes, &SlotClass::slot_bytes);
    if (it == r.slots.end()) it = r.slots.insert(it, {.slot_bytes = bytes});
    f.group.slots = static_cast<std::int32_t>(it - r.slots.begin());
    it->n_experts += f.group.n_experts;
  }
  for (FoundGroup& f : found) {
    SlotClass& slots = r.slots[static_cast<std::size_t>(f.group.slots)];
    slots.min_slots = std::max(slots.min_slots, needed_together(found, f));
    slots.n_slots = slots.min_slots;
    // Draft layers run outside of steps, so their experts are not guessed.
    if (f.spans.front().last < 0) f.group.router.clear();
    r.groups.push_back(f.group);
  }
  return r;
}

// Adds slots as long as they fit. Each class gets slots for the same share of its experts.
void grow_cache(std::int64_t bytes, Residency& r) {
  const auto with_share = [&](double share) {
    Residency grown = r;
    for (SlotClass& c : grown.slots)
      c.n_slots = std::max(c.min_slots,
                           static_cast<std::int64_t>(share * static_cast<double>(c.n_experts)));
    return grown;
  };
  double low = 0, high = 1;
  if (with_share(high).cache_bytes() <= bytes) low = high;
  for (int i = 0; i < 40 && low < high; ++i) {
    const double middle = (low + high) / 2;
    (with_share(middle).cache_bytes() <= bytes ? low : high) = middle;
  }
  r = with_share(low);
}

using Wholes = std::vector<Streamable::Whole>;

std::int64_t sum_of_bytes(const Wholes& weights) {
  std::int64_t sum = 0;
  for (const Streamable::Whole& w : weights) sum += w.bytes;
  return sum;
}

// Twice the largest stage: one stage is read while another is computed.
std::int64_t ring_bytes(const Wholes& weights) {
  std::int64_t most = 0;
  for (std::size_t plan = 0; !weights.empty() && plan < weights.front().stages.size(); ++plan) {
    std::map<std::int32_t, std::int64_t> places;
    for (const Streamable::Whole& w : weights) {
      std::int64_t& sum = places[w.stages[plan]];
      sum += w.place;
      most = std::max(most, sum);
    }
  }
  return 2 * most;
}

// Places weights one behind the other, and begins again at 0 at the end of the ring. The weights of
// a stage do not overlap, because a stage needs at most half of the ring.
void place_in_ring(const Wholes& weights, Residency& r) {
  r.ring_bytes = ring_bytes(weights);
  std::int64_t at = 0;
  for (const Streamable::Whole& w : weights) {
    if (at + w.place > r.ring_bytes) at = 0;
    r.streamed.push_back({.path = w.path, .bytes = w.bytes, .offset = at, .place = w.place});
    at += w.place;
  }
}

// Guesses need routers that are in memory all the time.
void forget_streamed_routers(Residency& r) {
  const std::set<std::string_view> streamed = streamed_paths(r);
  for (ExpertGroup& group : r.groups)
    if (streamed.contains(group.router)) group.router.clear();
}

// Splits the weights by the stages of the first plan.
std::vector<Wholes> by_stage(const Wholes& weights) {
  std::vector<Wholes> stages;
  for (const Streamable::Whole& w : weights) {
    const bool same = !stages.empty() && stages.back().front().stages[0] == w.stages[0];
    if (!same) stages.emplace_back();
    stages.back().push_back(w);
  }
  return stages;
}

// Chooses the stages to stream, so that the ring and the weights of all other stages take at most
// `bytes`. A ring for stages of `largest` bytes is used, so larger stages stay in memory. nullopt
// if these do not fit.
std::optional<Wholes> streamed_within(const std::vector<Wholes>& stages, std::int64_t bytes,
                                      std::int64_t largest) {
  std::vector<bool> kept(stages.size());
  std::int64_t left = bytes - 2 * largest, rest = 0;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const std::int64_t size = sum_of_bytes(stages[i]);
    kept[i] = ring_bytes(stages[i]) > 2 * largest;
    (kept[i] ? left : rest) += kept[i] ? -size : size;
  }
  if (left < 0) return std::nullopt;
  // Evenly distributed, so that the disk has time for each while the others are computed.
  const double share = rest == 0 ? 0 : static_cast<double>(left) / static_cast<double>(rest);
  for (const bool fill_up : {false, true}) {
    double due = 0;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const std::int64_t size = sum_of_bytes(stages[i]);
      if (kept[i]) continue;
      due += share * static_cast<double>(size);
      if (size > left || (!fill_up && due < static_cast<double>(size))) continue;
      kept[i] = true;
      due -= static_cast<double>(size);
      left -= size;
    }
  }
  Wholes streamed;
  for (std::size_t i = 0; i < stages.size(); ++i)
    if (!kept[i]) streamed.insert(streamed.end(), stages[i].begin(), stages[i].end());
  return streamed;
}

}  // namespace

Streamable find_streamable(const WeightFiles& files, std::span<const Graph> graphs,
                           std::span<const Plan> plans, std::span<const Assignment> assignments,
                           std::size_t n_steps) {
  std::vector<Uses> uses;
  for (std::size_t i = 0; i < plans.size(); ++i)
    uses.push_back(uses_of(graphs[i], plans[i], assignments[i]));
  return {.whole = find_whole(files, graphs.front(), uses, n_steps),
          .experts = experts_of(files, find_groups(files, graphs, uses))};
}

std::optional<Residency> residency_within(const Streamable& weights, std::int64_t bytes) {
  Residency r = weights.experts;
  const std::int64_t left = bytes - r.cache_bytes();
  if (const std::int64_t all = sum_of_bytes(weights.whole); all <= left) {
    grow_cache(bytes - all, r);
    return r;
  }
  const std::vector<Wholes> stages = by_stage(weights.whole);
  std::set<std::int64_t> sizes;
  for (const Wholes& stage : stages) sizes.insert(ring_bytes(stage) / 2);
  for (const std::int64_t largest : sizes) {
    const auto streamed = streamed_within(stages, left, largest);
    if (!streamed) continue;
    place_in_ring(*streamed, r);
    forget_streamed_routers(r);
    return r;
  }
  return std::nullopt;
}

std::set<std::string_view> streamed_paths(const Residency& residency) {
  std::set<std::string_view> paths;
  for (const StreamedWeight& w : residency.streamed) paths.insert(w.path);
  for (const ExpertGroup& group : residency.groups)
    paths.insert(group.paths.begin(), group.paths.end());
  return paths;
}

Residency smallest_residency(const Streamable& weights) {
  Residency r = weights.experts;
  place_in_ring(weights.whole, r);
  forget_streamed_routers(r);
  return r;
}

}  // namespace run
}  // namespace weft
