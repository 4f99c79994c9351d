#include "conform/case_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "weft/backends/device.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/graph/row_layout.h"
#include "weft/ops/formats/format.h"
#include "weft/scheduler/planner.h"

namespace weft::conform {
namespace {

// The same numbers in every run.
class Contents {
 public:
  explicit Contents(std::uint32_t seed) : random_(seed) {}

  void fill(const TensorSpec& spec, std::span<std::byte> bytes) {
    if (spec.dtype.layout()) return fill_layout(spec, bytes);
    const Format* format = find_format(spec.dtype);
    if (!format) return;
    // Encoding is slow, so blocks repeat, with a period that divides no row.
    constexpr std::int64_t kMadeBlocks = 61;
    const std::int64_t per_block = spec.dtype.block_elems();
    const std::int64_t all = spec.shape.elems() / per_block;
    const std::int64_t n = per_block == 1 ? all : std::min(all, kMadeBlocks);
    if (format->encode) {
      std::vector<float> values(static_cast<std::size_t>(n * per_block));
      for (float& v : values) v = uniform();
      format->encode(values.data(), bytes.data(), n * per_block);
    } else {
      for (std::int64_t i = 0; i < n; ++i) fill_block(*format, bytes, i);
    }
    const std::int64_t size = spec.dtype.block_bytes();
    for (std::int64_t i = n; i < all; ++i)
      std::memcpy(bytes.data() + i * size, bytes.data() + (i - n) * size,
                  static_cast<std::size_t>(size));
  }

  // first <= last, all cells and blocks different, -1 among some_cells, two alternating sequences,
  // chosen numbers that ascend in rows of seven, all else random. Rows of a state: three sequences
  // by turns, the first one without a state, those of the others in rows 0 and 1; the states after
  // the middle token and the last one go to rows 2 and 3.
  void whole(std::string_view name, std::int64_t limit, std::span<std::int32_t> values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto chance = static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(limit));
      const auto step = static_cast<std::int64_t>(i);
      const std::int64_t v = name == "first"   ? step % 2 * kShift
                             : name == "last"  ? (step * 61 + kShift) % (limit - kShift) + kShift
                             : name == "cells" ? cell(step, limit)
                             : name == "some_cells" ? (step % 3 == 1 ? -1 : cell(step, limit))
                             : name == "table"      ? (step * 5 + 2) % std::ssize(values)
                             : name == "table_row"  ? step / 3 % 2
                             : name == "from"       ? (step < 3 ? step - 1 : -1)
                             : name == "before"     ? (step < 3 ? -1 : step - 3)
                             : name == "to"         ? kept_in(step, std::ssize(values))
                             : name == "chosen"     ? step % 7 * 2
                                                    : chance;
      values[i] = static_cast<std::int32_t>(v);
    }
  }

 private:
  static constexpr std::int64_t kShift = 5;

  static std::int64_t cell(std::int64_t step, std::int64_t limit) { return (step * 7 + 3) % limit; }

  static std::int64_t kept_in(std::int64_t token, std::int64_t n_tokens) {
    return token + 1 == n_tokens ? 3 : token == n_tokens / 2 ? 2 : -1;
  }

  void fill_layout(const TensorSpec& spec, std::span<std::byte> bytes) {
    const TensorSpec plain{spec.dtype.plain(), spec.shape};
    std::vector<std::byte> from(static_cast<std::size_t>(plain.bytes()));
    fill(plain, from);
    const std::int64_t n_rows = spec.shape.elems() / spec.shape.last();
    spec.dtype.layout()->pack(spec.dtype, from.data(), bytes.data(), n_rows,
                              plain.dtype.bytes(spec.shape.last()), 0, n_rows);
  }

  float uniform() { return static_cast<float>(random_()) * 0x1p-31f - 1; }

  // Random codes, with scales as in real models.
  void fill_block(const Format& format, std::span<std::byte> bytes, std::int64_t i) {
    const auto size = static_cast<std::size_t>(format.dtype.block_bytes());
    std::byte* const block = bytes.data() + static_cast<std::size_t>(i) * size;
    std::vector<float> values(static_cast<std::size_t>(format.dtype.block_elems()));
    const auto sane = [](float v) { return std::isfinite(v) && std::fabs(v) < 64; };
    for (int attempt = 0; attempt < 200; ++attempt) {
      for (std::size_t n = 0; n < size; ++n) block[n] = static_cast<std::byte>(random_());
      format.decode(block, values.data(), format.dtype.block_elems());
      if (std::ranges::all_of(values, sane)) return;
    }
    std::memset(block, 0, size);
  }

  std::mt19937 random_;
};

struct Memory {
  std::map<std::string, std::vector<std::byte>> host;  // weights and states, by path
  std::vector<std::map<std::string, DeviceBuffer>> tensors;
  std::vector<DeviceBuffer> arenas, scratches;
  Buffer arena, scratch;
  Bindings bindings;

  Memory(const Graph& graph, const Plan& plan, const Case& c) {
    Contents contents(static_cast<std::uint32_t>(c.shape.size() * 31 + c.types.size()));
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      if (node.kind != NodeKind::weight && node.kind != NodeKind::state) continue;
      auto& bytes = host[node.path];
      bytes.resize(static_cast<std::size_t>(align_up(node.spec.bytes())) + 64);
      contents.fill(node.spec, bytes);
    }
    arena = Buffer(plan.arena_bytes);
    scratch = Buffer(plan.scratch_bytes);
    bindings.weight = [this](const Node& node) { return host.at(node.path).data(); };
    bindings.state = [this](const Node& node) { return host.at(node.path).data(); };
    bindings.arena = arena.bytes();
    bindings.scratch = scratch.bytes();
    tensors.resize(plan.devices.size());
    for (std::size_t i = 0; i < plan.devices.size(); ++i) bind(graph, plan, i);
  }

  void bind(const Graph& graph, const Plan& plan, std::size_t i) {
    Device& device = *find_backend(plan.devices[i].backend).device();
    for (NodeId id = 0; id < graph.size(); ++id) {
      const Node& node = graph[id];
      const Placement& p = plan.placements[id];
      const MemoryId memory = device_memory(i);
      const bool weight = node.kind == NodeKind::weight && p.weight_in.contains(memory);
      if (!weight && !(node.kind == NodeKind::state && p.memory == memory)) continue;
      DeviceBuffer buffer(device, align_up(node.spec.bytes()));
      device.upload({.row_bytes = node.spec.bytes(),
                     .device = buffer.data(),
                     .host = host.at(node.path).data()});
      tensors[i].emplace(node.path, std::move(buffer));
    }
    arenas.emplace_back(device, plan.devices[i].arena_bytes);
    scratches.emplace_back(device, plan.devices[i].scratch_bytes);
    bindings.devices.push_back(
        {.at = [this, i](const Node& node) { return tensors[i].at(node.path).data(); },
         .arena = arenas.back().bytes(),
         .scratch = scratches.back().bytes()});
  }
};

void fill_inputs(Executor& executor, const Graph& graph, const Case& c) {
  Contents contents(static_cast<std::uint32_t>(c.op.size() + c.shape.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    if (node.kind != NodeKind::input) continue;
    const auto bytes = executor.input(node.path);
    if (node.spec.dtype == i32) {
      contents.whole(node.path, c.limit,
                     {reinterpret_cast<std::int32_t*>(bytes.data()), bytes.size() / 4});
    } else {
      contents.fill(node.spec, bytes);
    }
  }
}

// The time of one node's calls.
class Stopwatch final : public NodeObserver {
 public:
  bool reads_values() const override { return false; }
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {
    begin_ = std::chrono::steady_clock::now();
  }
  void after(const PlanStep& step, int, const KernelArgs&, const Region&) noexcept override {
    const std::chrono::duration<double, std::nano> taken =
        std::chrono::steady_clock::now() - begin_;
    if (step.path == "node" && (best_ == 0 || taken.count() < best_)) best_ = taken.count();
  }
  double best() const { return best_; }

 private:
  std::chrono::steady_clock::time_point begin_;
  double best_ = 0;
};

const PlanStep& step_of(const Plan& plan) {
  return *std::ranges::find(plan.steps, "node", &PlanStep::path);
}

void run(const Assignment& assignment, const Graph& graph, const Case& c, Outcome& outcome) {
  const Plan plan =
      make_plan(graph, assignment, {.name = "case", .lanes = 1, .separate_tensors = true});
  check(plan, graph);
  outcome.cost = step_of(plan).cost;
  Memory memory(graph, plan, c);
  Workers workers(1);
  Executor executor(graph, plan, assignment, memory.bindings, workers);
  fill_inputs(executor, graph, c);
  Verifier verifier(graph, plan);
  executor.run(graph.bounds(), {.observer = &verifier});
  const VerifyReport report = verifier.report();
  for (const NodeCheck& check : report.nodes) {
    if (check.path == "node" || !check.passed()) outcome.check = check;
    if (!check.passed()) return;
  }
  if (!c.timed) return;
  Stopwatch watch;
  for (int i = 0; i < 5; ++i) executor.run(graph.bounds(), {.observer = &watch});
  outcome.ns = watch.best();
}

}  // namespace

Outcome run_case(const Routes& routes, const Backend& backend, const Case& c) {
  Outcome outcome;
  try {
    Graph graph;
    c.build(graph);
    const auto kernel = backend.find(graph, graph[graph.find("node")]);
    if (!kernel) return outcome;
    outcome.supported = true;
    outcome.kernel = kernel->row;
    const Assignment assignment = assign({&graph, 1}, routes).front();
    if (!routes.devices().empty()) graph = place_copies(graph, assignment);
    run(assignment, graph, c, outcome);
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

}  // namespace weft::conform
