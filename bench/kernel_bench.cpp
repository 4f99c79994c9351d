// Kernels of the cpu backend on one thread: the row that the backend chooses for each format and
// width. WEFT_CPU_ISA selects the instruction set. Cold: weights and cache come from memory.

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "weft/backends/backend.h"
#include "weft/backends/memory.h"
#include "weft/base/error.h"
#include "weft/ops/attention/attention.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/elementwise/mul.h"
#include "weft/ops/elementwise/silu.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/norms/rms_norm.h"
#include "weft/ops/positions/rope.h"
#include "weft/ops/positions/rope_angles.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"
#include "weft/scheduler/passes.h"

#include "tune/one_node.h"

namespace weft::bench {
namespace {

constexpr std::int64_t kCold = std::int64_t{256} << 20;  // bytes, more than fits in caches
constexpr std::int64_t kWidths[] = {1, 2, 3, 4, 6, 8, 12, 16, 32, 64, 512};
constexpr std::int64_t kModel = 2048, kHidden = 5632;  // the sizes of TinyLlama 1.1B

// A benchmark: a graph whose output is the measured node.
struct Case {
  std::string name;
  std::function<void(Graph&)> build;
  std::vector<Counting> counts = {};
  bool resident = false;  // weights in the types that a resident session gives them
};

void time(benchmark::State& state, const Case& about, bool cold) {
  try {
    Graph plain;
    about.build(plain);
    const Backend& backend = cpu_backend();
    const Graph graph = optimize(plain, backend, {.resident = about.resident});
    OneNode node(graph, backend, about.counts);
    const Buffer copies(cold ? kCold : 0);
    if (cold) node.make_cold(copies.bytes());
    node.run();
    for (auto _ : state) node.run();
    using benchmark::Counter;
    const auto n = static_cast<double>(state.iterations());
    const auto rate = [&](std::int64_t per_run) {
      return Counter(n * static_cast<double>(per_run), Counter::kIsRate);
    };
    if (node.streamed_bytes() > 0) state.counters["bytes/s"] = rate(node.streamed_bytes());
    if (node.multiply_adds() > 0) state.counters["mul-adds/s"] = rate(node.multiply_adds());
    state.SetLabel(node.row());
  } catch (const Error& error) {
    state.SkipWithError(error.what());
  }
}

void add(const Case& about, bool streams = true) {
  for (const bool cold : {false, true}) {
    if (cold && !streams) continue;
    benchmark::RegisterBenchmark((about.name + (cold ? "/cold" : "/warm")).c_str(),
                                 [=](benchmark::State& state) { time(state, about, cold); })
        ->Unit(benchmark::kMicrosecond);
  }
}

void add_projections(DType weights, bool resident) {
  for (const std::int64_t t : kWidths) {
    const std::string where =
        fmt::format("{}{}/T:{}", weights.name(), resident ? "/resident" : "", t);
    for (const std::int64_t k : {kModel, kHidden}) {
      const auto build = [=](Graph& g) {
        g.output("y", linear(g.input("x", {f32, {t, k}}), g.weight("w", {weights, {kModel, k}})));
      };
      add({.name = fmt::format("linear/{}/K:{}/N:{}", where, k, kModel),
           .build = build,
           .resident = resident});
    }
    const auto gated = [=](Graph& g) {
      const Tensor x = g.input("x", {f32, {t, kModel}});
      const Tensor gate = g.weight("gate", {weights, {kHidden, kModel}});
      const Tensor up = g.weight("up", {weights, {kHidden, kModel}});
      g.output("y", mul(silu(linear(x, gate)), linear(x, up)));
    };
    add({.name = fmt::format("gated_linear/{}/K:{}/N:{}", where, kModel, kHidden),
         .build = gated,
         .resident = resident});
  }
}

struct Heads {
  std::int64_t H, G, E;
};

// `backwards`: the blocks of the cache are in reverse order, so that no two are contiguous.
void add_attention(DType cache, const Heads& heads, std::int64_t t, std::int64_t depth,
                   bool backwards = false) {
  const std::int64_t n_blocks = blocks_for(depth + t);
  const auto build = [=](Graph& g) {
    const Tensor q = g.input("q", {f32, {t, heads.H, heads.E}});
    const Tensor k = g.state("k", {cache, cache_shape(depth + t, heads.G, heads.E)});
    const Tensor v = g.state("v", {cache, cache_shape(depth + t, heads.G, heads.E)});
    const AttentionRuns runs{.table = g.input("table", {i32, {1, n_blocks}}),
                             .table_row = g.input("table_row", {i32, {t}}),
                             .first = g.input("first", {i32, {t}}),
                             .last = g.input("last", {i32, {t}})};
    const Tensor rows = cache.block_elems() > 1 ? quantize(q) : q;
    g.output("y", attention(rows, k, v, runs, {.scale = 0.125f}));
  };
  const Counting table = backwards ? Counting{"table", static_cast<std::int32_t>(n_blocks - 1), -1}
                                   : Counting{"table", 0, 1};
  add({.name = fmt::format("attention/{}/H:{}/G:{}/E:{}/T:{}/depth:{}{}", cache.name(), heads.H,
                           heads.G, heads.E, t, depth, backwards ? "/backwards" : ""),
       .build = build,
       .counts = {table, {"last", static_cast<std::int32_t>(depth), 1}}});
}

void add_rows(std::int64_t t) {
  const auto x = [t](Graph& g) { return g.input("x", {f32, {t, kModel}}); };
  add({fmt::format("quantize/T:{}/D:{}", t, kModel),
       [=](Graph& g) { g.output("y", quantize(x(g))); }},
      false);
  const auto norm = [=](Graph& g) {
    g.output("y", rms_norm(x(g), g.weight("w", {f32, {kModel}}), 1e-5f));
  };
  add({fmt::format("rms_norm/T:{}/D:{}", t, kModel), norm}, false);
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    const auto build = [=](Graph& g) {
      const Tensor angles = rope_angles(g.input("pos", {i32, {t}}), {.n_rot = 64});
      g.output("y", rope(g.input("x", {f32, {t, 32, 64}}), angles, pairs));
    };
    add({fmt::format("rope/{}/T:{}/H:32/E:64", to_string(pairs), t), build, {{"pos", 0, 1}}},
        false);
  }
}

void add_all() {
  for (const Format* format : all_formats()) {
    const DType type = format->dtype;
    if (type.gguf_id() < 0 || format->is_integer) continue;
    if (!format->encode && !format->encode_weighted) continue;
    add_projections(type, false);
    if (std::ranges::count(cpu_backend().layouts(), type, &DType::plain) != 0)
      add_projections(type, true);
  }
  for (const DType cache : cache_types()) {
    for (const std::int64_t t : {1, 64}) {
      for (const std::int64_t depth : {512, 4096, 16384})
        add_attention(cache, {.H = 32, .G = 4, .E = 64}, t, depth);
      if (t == 1) add_attention(cache, {.H = 32, .G = 4, .E = 64}, t, 4096, true);
      if (cache == f16 || cache == f32) add_attention(cache, {.H = 6, .G = 6, .E = 48}, t, 512);
    }
  }
  for (const std::int64_t t : kWidths) add_rows(t);
}

}  // namespace
}  // namespace weft::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  weft::bench::add_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
