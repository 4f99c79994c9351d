#include "weft/measure/imatrix_collector.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8a.h"

#include "kept_rows.h"
#include "square_sums.h"

namespace weft {
namespace {

using namespace measure;

// The sums of one activation, which is the input of one or several projections. There are several
// for an activation that is multiplied by matrices chosen in several ways.
struct Collected {
  struct Weight {
    std::string name;
    bool is_flat;  // the file has the matrices as one
  };
  Collected(std::int64_t n_matrices, std::int64_t n_cols) : sums(n_matrices, n_cols) {}
  SquareSums sums;
  std::vector<Weight> weights;
};

// The action before a step: rows of its input 0 are added to sums, or kept for another step.
struct Watch {
  SquareSums* sums = nullptr;  // null: they are kept
  KeptRows* kept = nullptr;    // the rows are there instead of in input 0
  int chooser = -1;            // the input whose ids choose among the matrices; -1: none
  // If every lane computes its own copy of the node, only one copy is used: the first one observed.
  std::atomic<const std::byte*> copy{nullptr};

  bool is_watched(const std::byte* out) {
    const std::byte* none = nullptr;
    return copy.compare_exchange_strong(none, out) || none == out;
  }
  void observe(const PlanStep& step, int lane, const KernelArgs& args,
               const Region& region) noexcept;
  void add(int lane, const KernelArgs& args, const Region& region) noexcept;
};

void Watch::observe(const PlanStep& step, int lane, const KernelArgs& args,
                    const Region& region) noexcept {
  if (!sums) return kept->keep(args.in[0], args.out.data, region);
  if (step.split == Split::copies && !is_watched(args.out.data)) return;
  add(lane, args, region);
}

// The regions of a node cover its output once. The part of a matrix's results in a region is mapped
// to a part of the input's columns of the same relative size, so that the lanes share this work,
// too.
void Watch::add(int lane, const KernelArgs& args, const Region& region) noexcept {
  const View& x = args.in[0];
  const bool stacked = args.out.n_dims == 3;  // results [T, choices or heads, N]
  const std::int64_t n_cols = sums->n_cols();
  const std::int64_t n_out = stacked ? args.out.dim(2) : args.out.cols();
  const std::int64_t x_step = stacked && x.n_dims == 3 ? n_cols : 0;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    const float* row = kept ? kept->row(x.data, r) : x.row<const float>(r);
    if (!row) continue;
    for (std::int64_t i = region.col0 / n_out; i * n_out < region.col1; ++i) {
      const std::int64_t matrix =
          chooser >= 0 ? args.in[static_cast<std::size_t>(chooser)].row<const std::int32_t>(r)[i]
                       : (stacked ? i : 0);
      if (matrix < 0 || matrix >= sums->n_matrices()) continue;
      const std::int64_t begin = std::max<std::int64_t>(region.col0 - i * n_out, 0);
      const std::int64_t end = std::min(region.col1 - i * n_out, n_out);
      const ColRange cols{begin * n_cols / n_out, end * n_cols / n_out};
      sums->add(lane, matrix, row + i * x_step, cols, begin == 0);
    }
  }
}

// The node on another device whose value `id` copies.
NodeId copied_from(const Graph& graph, NodeId id) {
  while (graph[id].op && graph[id].op->transfers) id = graph[id].inputs[0];
  return id;
}

// The matrices that rows of input 0 are multiplied by.
std::vector<NodeId> matrices_of(const Graph& graph, const Node& node) {
  std::vector<NodeId> matrices;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const NodeId id = node.inputs[i];
    const bool is_matrix = id != kNoNode && node.op->input(i).use == InputUse::matrix;
    // The biases of linear_concat follow its matrices.
    if (is_matrix && graph[id].spec.shape.n_dims() > 1) matrices.push_back(id);
  }
  return matrices;
}

// Results [T, choices or heads, N] of several matrices.
bool is_stacked(const Node& node) {
  return node.spec.shape.n_dims() == 3;
}

bool is_shared_head(std::string_view weight) {
  return weight == "output.weight" || weight == "token_embd.weight";
}

// The rows of the head are those that request logits.
bool is_of_head(const Graph& graph, const Node& x, std::string_view weight) {
  const Dim rows = x.spec.shape.rows();
  return weight == "output.weight" ||
         (rows.varies() && graph.variables()[static_cast<std::size_t>(rows.variable)].name == "O");
}

}  // namespace

struct ImatrixCollector::Impl {
  Impl(const Session& session, const CollectorOptions& wanted)
      : file(session.model().file()), options(wanted) {
    for (std::size_t i = 0; i < session.n_plans(); ++i) {
      is_draft = session.options().draft_layer && i >= session.n_step_plans();
      watch(session.graph(i), session.plan(i));
    }
    memory.allocate();
  }

  void watch(const Graph& graph, const Plan& plan);
  bool is_wanted(const Graph& graph, const Node& x, std::string_view weight) const;
  std::vector<Collected::Weight> weights_of(const Graph& graph, const Node& node,
                                            const Node& x) const;
  Collected& add(const std::string& key, std::int64_t n_matrices, std::int64_t n_cols,
                 const std::vector<Collected::Weight>& weights);
  Watch& add_watch(const PlanStep* step) {
    return *by_step[step].emplace_back(&watches.emplace_back());
  }
  // Keeps rows of x from the step that quantizes them on.
  KeptRows& keep_rows(const Node& x, const PlanStep& step, int lanes);

  const Checkpoint& file;
  const CollectorOptions options;
  bool is_draft = false;  // the plan that is being watched is of the draft layer
  std::deque<Collected> all;
  std::unordered_map<std::string, Collected*> by_key;
  std::deque<KeptRows> kept;
  KeptRowsMemory memory;
  std::deque<Watch> watches;
  std::unordered_map<const PlanStep*, std::vector<Watch*>> by_step;
};

// A draft layer's own head is collected in any case: no file can be quantized without it. Its rows
// are the last ones of each run. The head that it shares with the model gets what steps give it.
bool ImatrixCollector::Impl::is_wanted(const Graph& graph, const Node& x,
                                       std::string_view weight) const {
  if (is_draft) return !is_shared_head(weight);
  return options.output || !is_of_head(graph, x, weight);
}

// The weights that a node multiplies x by and whose sums are wanted. Those of adapters are not in
// the file.
std::vector<Collected::Weight> ImatrixCollector::Impl::weights_of(const Graph& graph,
                                                                  const Node& node,
                                                                  const Node& x) const {
  std::vector<Collected::Weight> weights;
  for (const NodeId id : matrices_of(graph, node)) {
    const std::string& name = graph[id].path;
    const CheckpointTensor* tensor =
        graph[id].kind == NodeKind::weight ? file.find_tensor(name) : nullptr;
    if (!tensor || !is_wanted(graph, x, name)) continue;
    if (name.size() > Imatrix::kMaxName) {
      fail<ValueError>(
          "weight '{}': names in an importance matrix must be at most {} bytes, got {}", name,
          Imatrix::kMaxName, name.size());
    }
    weights.push_back({name, is_stacked(node) && tensor->spec.shape.n_dims() == 2});
  }
  return weights;
}

Collected& ImatrixCollector::Impl::add(const std::string& key, std::int64_t n_matrices,
                                       std::int64_t n_cols,
                                       const std::vector<Collected::Weight>& weights) {
  Collected*& c = by_key[key];
  if (!c) c = &all.emplace_back(n_matrices, n_cols);
  for (const Collected::Weight& weight : weights) {
    if (!std::ranges::count(c->weights, weight.name, &Collected::Weight::name))
      c->weights.push_back(weight);
  }
  return *c;
}

KeptRows& ImatrixCollector::Impl::keep_rows(const Node& x, const PlanStep& step, int lanes) {
  const int n_copies = step.split == Split::copies ? lanes : 1;
  KeptRows& rows = kept.emplace_back(x.spec.shape.rows().bound, x.spec.shape.cols(), n_copies);
  rows.first_stage = step.stage;
  add_watch(&step).kept = &rows;
  return rows;
}

// Finds the first step that uses each activation: a projection, or the quantization before one.
void ImatrixCollector::Impl::watch(const Graph& graph, const Plan& plan) {
  const auto steps = plan.steps_by_node();
  std::set<std::string> seen;                       // keys
  std::unordered_map<NodeId, KeptRows*> kept_here;  // by the node that quantizes
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::op || !steps[id]) continue;
    const std::vector<NodeId> matrices = matrices_of(graph, node);
    if (matrices.empty()) continue;
    const NodeId from = copied_from(graph, node.inputs[0]);
    const bool quantized = graph[from].spec.dtype == q8a;
    const Node& x = graph[quantized ? copied_from(graph, graph[from].inputs[0]) : from];
    const auto weights = weights_of(graph, node, x);
    if (weights.empty()) continue;
    if (x.spec.dtype != f32)
      fail<DTypeError>("'{}' must be F32 before it is quantized, got {}", x.path,
                       x.spec.dtype.name());
    const bool stacked = is_stacked(node);
    const NodeId ids = chosen_matrices(node).ids;
    const std::string choice = ids != kNoNode ? graph[ids].path : "";
    const std::string key =
        fmt::format("{}{}{}", is_draft ? "draft\n" : "", x.path, stacked ? '\n' + choice : "");
    const TensorSpec& w = graph[matrices[0]].spec;
    Collected& c = add(key, stacked ? w.shape[0].bound : 1, w.shape.last(), weights);
    c.sums.add_lanes(plan.lanes);
    if (!seen.insert(key).second) continue;
    Watch& watch = add_watch(quantized && !stacked ? steps[from] : steps[id]);
    watch.sums = &c.sums;
    if (ids != kNoNode)
      watch.chooser = static_cast<int>(std::ranges::find(node.inputs, ids) - node.inputs.begin());
    if (!quantized || !stacked) continue;
    KeptRows*& rows = kept_here[from];
    if (!rows) rows = &keep_rows(x, *steps[from], plan.lanes);
    rows->last_stage = std::max(rows->last_stage, steps[id]->stage);
    watch.kept = rows;
  }
  std::vector<KeptRows*> of_plan;
  for (const auto& [node, rows] : kept_here) of_plan.push_back(rows);
  memory.add(of_plan);
}

ImatrixCollector::ImatrixCollector(const Session& session, const CollectorOptions& options)
    : impl_(std::make_unique<Impl>(session, options)) {}

ImatrixCollector::~ImatrixCollector() = default;

std::int64_t ImatrixCollector::bytes_of_stacked(const Model& model) {
  constexpr std::int64_t kBytes = 4 * sizeof(double);
  std::int64_t bytes = 0;
  for (const CheckpointTensor& tensor : model.file().tensors()) {
    const Shape& shape = tensor.spec.shape;
    if (shape.n_dims() == 3) bytes += kBytes * shape[0].bound * shape.last();
  }
  return bytes;
}

void ImatrixCollector::before(const PlanStep& step, int lane, const KernelArgs& args,
                              const Region& region) noexcept {
  const auto found = impl_->by_step.find(&step);
  if (found == impl_->by_step.end()) return;
  for (Watch* watch : found->second) watch->observe(step, lane, args, region);
}

void ImatrixCollector::keep() {
  for (const Collected& c : impl_->all) {
    const auto col = c.sums.find_nonfinite();
    if (!col) continue;
    drop();
    fail<Error>("the input of '{}' is not finite in column {}", c.weights.front().name, *col);
  }
  for (Collected& c : impl_->all) c.sums.keep();
}

void ImatrixCollector::drop() {
  for (Collected& c : impl_->all) c.sums.drop();
}

Imatrix ImatrixCollector::collected() const {
  Imatrix m;
  std::unordered_map<std::string, std::vector<double>> sums;
  for (const Collected& c : impl_->all) {
    if (std::ranges::all_of(c.sums.rows(), [](std::int64_t n) { return n == 0; })) continue;
    for (const auto& [name, is_flat] : c.weights) {
      const auto n_matrices = is_flat ? 1 : static_cast<std::size_t>(c.sums.n_matrices());
      const auto n_cols = static_cast<std::size_t>(c.sums.n_cols());
      // A weight that multiplies several activations gets the sums of all.
      std::vector<double>& total = sums[name];
      total.resize(n_matrices * n_cols);
      for (std::size_t i = 0; i < c.sums.sums().size(); ++i)
        total[i % total.size()] += c.sums.sums()[i];
      Imatrix::Entry& entry = m.entries[name];
      entry.counts.resize(n_matrices);
      for (std::size_t i = 0; i < c.sums.rows().size(); ++i)
        entry.counts[i % n_matrices] += c.sums.rows()[i];
    }
  }
  for (auto& [name, entry] : m.entries) {
    for (const double sum : sums[name]) entry.sums.push_back(static_cast<float>(sum));
  }
  return m;
}

}  // namespace weft
