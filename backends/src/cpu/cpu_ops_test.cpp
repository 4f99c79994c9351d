#include "cpu/cpu_ops.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/ops/all_ops.h"
#include "weft/ops/copy.h"
#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8a.h"
#include "weft/ops/linear.h"
#include "weft/ops/quantize.h"

#include "cpu/cpu_backend.h"

namespace weft::cpu {
namespace {

TEST_CASE("every op has kernels") {
  for (const OpDef* op : all_ops()) {
    if (op->storage == Storage::view || op == &kCopy) continue;  // copies are the devices' own
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
  for (const InstructionSet& set : instruction_sets()) {
    CAPTURE(set.name);
    const auto kernel = CpuBackend(set.needs).find(g, g[y.id()]);
    REQUIRE(kernel);
    CHECK(kernel->row.starts_with("linear f32 x q4_k "));
    if (set.name != "sse2") CHECK(kernel->granule == 16);
    CHECK(kernel->scratch_bytes <= 64 * 1024);
    CHECK(kernel->splits);
  }
}

}  // namespace
}  // namespace weft::cpu
