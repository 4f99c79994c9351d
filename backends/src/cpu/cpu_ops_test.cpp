#include "cpu/cpu_ops.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "weft/ops/all_ops.h"
#include "weft/ops/formats/iq3_s.h"
#include "weft/ops/formats/nf4.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/formats/q8_k.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/projections/gated_linear.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/linear_concat.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/rows/copy.h"

#include "cpu/cpu_backend.h"
#include "cpu/isa.h"
#include "cpu/panels.h"
#include "cpu/weight_formats.h"

namespace weft::cpu {
namespace {

// The rows of other sets are code that this machine cannot run.
std::vector<InstructionSet> sets_of_machine() {
  std::vector<InstructionSet> sets;
  std::ranges::copy_if(instruction_sets(), std::back_inserter(sets), [](const InstructionSet& set) {
    return machine_features().contains(set.needs);
  });
  return sets;
}

TEST_CASE("every op has kernels") {
  for (const OpDef* op : all_ops()) {
    if (op->storage == Storage::view || op->collective) continue;
    if (op == &kCopy) continue;  // copies are the devices' own
    CAPTURE(op->name);
    CHECK(std::ranges::count(cpu_ops(), op, [](const CpuOp* entry) { return entry->op; }) == 1);
  }
}

TEST_CASE("types without a kernel are left to another backend") {
  Graph g;
  const Tensor x = quantize(g.input("x", {f32, {1, 32}}));
  const Tensor y = linear(x, g.weight("w", {f32, {4, 32}}));
  const CpuBackend backend(instruction_sets().back().needs);
  CHECK_FALSE(backend.find(g, g[y.id()]));
  CHECK_FALSE(backend.find(g, g[0]));  // an input
}

TEST_CASE("linear asks for whole tiles and bounded scratch") {
  Graph g;
  const Dim t = g.variable("T", 512);
  const Tensor y = linear(g.input("x", {f32, {t, 8192}}), g.weight("w", {q4_k, {4096, 8192}}));
  for (const InstructionSet& set : sets_of_machine()) {
    CAPTURE(set.name);
    const auto kernel = CpuBackend(set.needs).find(g, g[y.id()]);
    REQUIRE(kernel);
    CHECK(kernel->row.starts_with("linear f32 x q4_k "));
    if (set.name != "sse2") CHECK(kernel->granule == 16);
    CHECK(kernel->scratch_bytes <= 64 * 1024);
    CHECK(kernel->splits);
  }
}

using Numbers = std::set<std::int64_t>;

// The tiles of the kernel of `linear` for n columns.
Numbers tiles_of(const InstructionSet& set, DType x_type, DType w_type, std::int64_t n) {
  Graph g;
  Tensor x = g.input("x", {f32, {g.variable("T", 512), 512}});
  if (x_type == q8a) x = quantize(x);
  const Tensor y = linear(x, g.weight("w", {w_type, {n, 512}}));
  const auto kernel = CpuBackend(set.needs).find(g, g[y.id()]);
  REQUIRE(kernel);
  return {kernel->token_tiles.begin(), kernel->token_tiles.end()};
}

Numbers numbers(const TokenTiles& tiles) {
  Numbers all = {tiles.tile, tiles.few, tiles.few_tile, tiles.block};
  all.erase(1);
  return all;
}

Numbers both(Numbers a, const Numbers& b) {
  a.insert(b.begin(), b.end());
  return a;
}

TEST_CASE("tiles of a projection are those of the kernels that it calls") {
  for (const InstructionSet& set : sets_of_machine()) {
    for (const DType w : {f32, f16, nf4, q4_k, q8_0, iq3_s, q8_k}) {
      CAPTURE(set.name);
      CAPTURE(w.name());
      const WeightKernels kernels = find_weight_row(w, set.needs).kernels;
      const Numbers rows = numbers(kernels.from_f32.tiles);
      CHECK(tiles_of(set, f32, w, 48) == rows);
      if (kernels.from_q8a) CHECK(tiles_of(set, q8a, w, 48) == numbers(kernels.from_q8a.tiles));
      const DType packed = panels_of(w);
      if (kernels.panels_from_f32) {
        const Numbers panels = numbers(kernels.panels_from_f32.tiles);
        CHECK(tiles_of(set, f32, packed, 48) == panels);
        CHECK(tiles_of(set, f32, packed, 47) == both(panels, rows));
        CHECK(tiles_of(set, f32, packed, 15) == rows);
      }
      if (kernels.panels_from_q8a) {
        const Numbers panels = numbers(kernels.panels_from_q8a.tiles);
        CHECK(tiles_of(set, q8a, packed, 48) == panels);
        CHECK(tiles_of(set, q8a, packed, 49) == both(panels, numbers(kernels.from_q8a.tiles)));
      }
    }
  }
}

TEST_CASE("several matrices: tiles of all of them, and the least preferred instruction set") {
  Graph g;
  const Tensor x = quantize(g.input("x", {f32, {g.variable("T", 512), 512}}));
  const Tensor w[] = {g.weight("q", {q4_k, {32, 512}}), g.weight("k", {iq3_s, {32, 512}})};
  const Tensor in[] = {x, w[0], w[1]};
  const Tensor y =
      g.add(kLinearConcat, in, LinearConcatAttrs{.count = 2}, std::source_location::current());
  for (const InstructionSet& set : sets_of_machine()) {
    CAPTURE(set.name);
    const auto kernel = CpuBackend(set.needs).find(g, g[y.id()]);
    REQUIRE(kernel);
    CHECK(Numbers(kernel->token_tiles.begin(), kernel->token_tiles.end()) ==
          both(tiles_of(set, q8a, q4_k, 32), tiles_of(set, q8a, iq3_s, 32)));
    // Sets with fewer features come later in the list, and q4_k has no row for the best ones.
    const WeightRow rows[] = {find_weight_row(q4_k, set.needs), find_weight_row(iq3_s, set.needs)};
    const auto& last = std::max(rows[0].isa, rows[1].isa);
    CHECK(kernel->row.ends_with(fmt::format(" {}", last->name)));
  }
}

TEST_CASE("gated_linear takes tokens in blocks, independently of the kernels of its matrices") {
  Graph g;
  const Tensor x = g.input("x", {f32, {g.variable("T", 512), 512}});
  const Tensor in[] = {x, g.weight("gate", {nf4, {32, 512}}), g.weight("up", {nf4, {32, 512}})};
  const Tensor y =
      g.add(kGatedLinear, in, GatedLinearAttrs{Activation::silu}, std::source_location::current());
  const auto kernel = CpuBackend(instruction_sets().back().needs).find(g, g[y.id()]);
  REQUIRE(kernel);
  CHECK(std::ranges::count(kernel->token_tiles, kPanelTokens) == 1);
}

}  // namespace
}  // namespace weft::cpu
