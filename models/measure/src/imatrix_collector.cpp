#include "weft/measure/imatrix_collector.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <unordered_map>

#include "weft/base/error.h"
#include "weft/ops/quantize.h"

namespace weft {
namespace {

// Sums of doubles depend on their order, which differs with the workers. Sums of multiples of one
// number do not, as long as they are exact. A square is divided into multiples of 1, of 2^-40 and
// of 2^-80 (what is smaller is rounded), and each kind is summed separately. The sums are exact
// while that of the whole parts is below 2^53 and there are at most kMaxTokens = 2^13 squares.
constexpr double kWhole = 0x1.8p52, kMiddle = 0x1.8p12, kSmall = 0x1.8p-28;

// The parts of every column's sum; each kind is separate so that loops over columns vectorize.
struct Parts {
  explicit Parts(std::size_t n) : whole(n), middle(n), small(n) {}
  std::vector<double> whole, middle, small;

  void add_squares(const float* x, std::size_t begin, std::size_t end) {
    double *w = whole.data(), *m = middle.data(), *s = small.data();
    for (std::size_t c = begin; c < end; ++c) {
      const auto value = static_cast<double>(x[c]);
      const double square = value * value;
      const double top = (square + kWhole) - kWhole;
      const double rest = square - top;
      const double mid = (rest + kMiddle) - kMiddle;
      w[c] += top;
      m[c] += mid;
      s[c] += ((rest - mid) + kSmall) - kSmall;
    }
  }
  void clear() {
    for (std::vector<double>* part : {&whole, &middle, &small}) part->assign(part->size(), 0);
  }
};

// The sums of one activation, which is the input of one or several projections.
struct Activation {
  std::int64_t n_cols = 0;
  std::vector<Parts> lanes;  // of steps that are not kept yet
  std::vector<std::int64_t> lane_rows;
  std::vector<double> sums;  // of kept steps
  std::int64_t rows = 0;
  std::vector<std::string> weights;

  double pending(std::size_t c) const;
  void clear();
};

double Activation::pending(std::size_t c) const {
  double whole = 0, middle = 0, small = 0;
  for (const Parts& lane : lanes) {
    whole += lane.whole[c];
    middle += lane.middle[c];
    small += lane.small[c];
  }
  return whole + (middle + small);
}

void Activation::clear() {
  for (Parts& lane : lanes) lane.clear();
  lane_rows.assign(lane_rows.size(), 0);
}

// Where an activation is observed: at the input of one node.
struct Watch {
  Activation* activation = nullptr;
  // If every lane computes its own copy of the node, only one copy is used: the first one observed.
  std::atomic<const std::byte*> copy{nullptr};

  bool is_watched(const std::byte* out) {
    const std::byte* none = nullptr;
    return copy.compare_exchange_strong(none, out) || none == out;
  }
};

// Weights of LoRAs ("blk.0.attn_q.weight.lora.0.u") are not in the file.
bool is_collected(const std::string& name, const CollectorOptions& options) {
  if (name.find(".lora.") != std::string::npos) return false;
  return name.starts_with("blk.") || (options.output && name == "output.weight");
}

// The matrices that a node multiplies its first input by: inputs that are weight matrices with as
// many columns as the activation.
std::vector<std::string> matrices_of(const Graph& graph, const Node& node,
                                     const CollectorOptions& options) {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == kNoNode || node.inputs[0] == kNoNode) continue;
    const Node& weight = graph[node.inputs[i]];
    if (weight.kind == NodeKind::weight && weight.spec.shape.rank() == 2 &&
        weight.spec.shape.cols() == graph[node.inputs[0]].spec.shape.cols() &&
        is_collected(weight.path, options)) {
      names.push_back(weight.path);
    }
  }
  return names;
}

}  // namespace

struct ImatrixCollector::Impl {
  std::deque<Activation> activations;
  std::unordered_map<std::string, Activation*> by_path;
  std::deque<Watch> watches;
  std::unordered_map<const PlanStep*, Watch*> by_step;

  void watch(const Graph& graph, const Plan& plan, const CollectorOptions& options);
  Activation& activation(const Node& x, const std::vector<std::string>& names, int lanes);
};

Activation& ImatrixCollector::Impl::activation(const Node& x, const std::vector<std::string>& names,
                                               int lanes) {
  Activation*& a = by_path[x.path];
  if (!a) {
    a = &activations.emplace_back();
    a->n_cols = x.spec.shape.cols();
    a->sums.resize(static_cast<std::size_t>(a->n_cols));
  }
  const auto n_lanes = std::max(a->lanes.size(), static_cast<std::size_t>(lanes));
  a->lanes.resize(n_lanes, Parts(a->sums.size()));
  a->lane_rows.resize(n_lanes);
  for (const std::string& name : names) {
    if (name.size() > Imatrix::kMaxName) {
      fail<ValueError>(
          "weight '{}': names in an importance matrix must be at most {} bytes, got {}", name,
          Imatrix::kMaxName, name.size());
    }
    if (std::ranges::find(a->weights, name) == a->weights.end()) a->weights.push_back(name);
  }
  return *a;
}

// Finds the first step that uses each activation: a projection, or the quantization before one.
void ImatrixCollector::Impl::watch(const Graph& graph, const Plan& plan,
                                   const CollectorOptions& options) {
  const auto steps = plan.steps_by_node();
  PerNode<bool> seen(graph);  // activations
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const PlanStep* at = steps[id];
    if (node.kind != NodeKind::op || !at) continue;
    const std::vector<std::string> names = matrices_of(graph, node, options);
    if (names.empty()) continue;
    NodeId x = node.inputs[0];
    if (graph[x].op == &kQuantize) {
      at = steps[x];
      x = graph[x].inputs[0];
    }
    Activation& a = activation(graph[x], names, plan.lanes);
    if (seen[x]) continue;
    seen[x] = true;
    watches.emplace_back().activation = &a;
    by_step.emplace(at, &watches.back());
  }
}

ImatrixCollector::ImatrixCollector(const Session& session, const CollectorOptions& options)
    : impl_(std::make_unique<Impl>()) {
  for (std::size_t i = 0; i < session.n_plans(); ++i)
    impl_->watch(session.graph(i), session.plan(i), options);
}

ImatrixCollector::~ImatrixCollector() = default;

void ImatrixCollector::before(const PlanStep& step, int lane, const KernelArgs& args,
                              const Region& region) noexcept {
  const auto found = impl_->by_step.find(&step);
  if (found == impl_->by_step.end()) return;
  Watch& watch = *found->second;
  if (step.split == Split::copies && !watch.is_watched(args.out.data)) return;
  // The regions of a node cover its output once. The region of a projection is mapped to a part of
  // its input's columns of the same relative size, so that the lanes share this work, too.
  Activation& a = *watch.activation;
  const std::int64_t n_out = args.out.cols();
  const auto begin = static_cast<std::size_t>(region.col0 * a.n_cols / n_out);
  const auto end = static_cast<std::size_t>(region.col1 * a.n_cols / n_out);
  const auto at = static_cast<std::size_t>(lane);
  for (std::int64_t r = region.row0; r < region.row1; ++r)
    a.lanes[at].add_squares(args.in[0].row<const float>(r), begin, end);
  if (region.col0 == 0) a.lane_rows[at] += region.row1 - region.row0;
}

void ImatrixCollector::keep() {
  for (const Activation& a : impl_->activations) {
    for (std::size_t c = 0; c < a.sums.size(); ++c) {
      if (std::isfinite(a.pending(c))) continue;
      drop();
      fail<Error>("the input of '{}' is not finite in column {}", a.weights.front(), c);
    }
  }
  for (Activation& a : impl_->activations) {
    for (std::size_t c = 0; c < a.sums.size(); ++c) a.sums[c] += a.pending(c);
    for (const std::int64_t rows : a.lane_rows) a.rows += rows;
  }
  drop();
}

void ImatrixCollector::drop() {
  for (Activation& a : impl_->activations) a.clear();
}

Imatrix ImatrixCollector::collected() const {
  Imatrix m;
  std::unordered_map<std::string, std::vector<double>> sums;
  for (const Activation& a : impl_->activations) {
    if (a.rows == 0) continue;
    for (const std::string& name : a.weights) {
      // A weight that multiplies several activations gets the sums of all.
      std::vector<double>& all = sums[name];
      all.resize(a.sums.size());
      for (std::size_t c = 0; c < all.size(); ++c) all[c] += a.sums[c];
      Imatrix::Entry& entry = m.entries[name];
      entry.counts.resize(1);
      entry.counts[0] += a.rows;
    }
  }
  for (auto& [name, entry] : m.entries) {
    const std::vector<double>& all = sums[name];
    entry.sums.reserve(all.size());
    for (const double sum : all) entry.sums.push_back(static_cast<float>(sum));
  }
  return m;
}

}  // namespace weft
