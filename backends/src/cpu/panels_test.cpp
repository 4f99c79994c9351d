#include "cpu/panels.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/backend.h"
#include "weft/graph/graph.h"
#include "weft/ops/formats/f32.h"
#include "weft/ops/formats/format.h"
#include "weft/ops/projections/expert_linear.h"

#include "cpu/isa.h"
#include "cpu/passes/pack_weights.h"

namespace weft::cpu {
namespace {

using Bytes = std::vector<std::byte>;

Bytes numbered(std::int64_t n) {
  Bytes bytes(static_cast<std::size_t>(n));
  std::uint32_t x = 1;
  for (std::byte& b : bytes) b = static_cast<std::byte>((x = x * 1664525u + 1013904223u) >> 24);
  return bytes;
}

View view_of(DType panels, Bytes& bytes, std::int64_t n, std::int64_t k) {
  View v{.data = bytes.data(), .dtype = panels, .n_dims = 2, .row_stride = panels.bytes(k)};
  v.dims[0] = n;
  v.dims[1] = k;
  return v;
}

TEST_CASE("panels: the same bytes in another order, every row can be read back") {
  CHECK(std::ranges::equal(cpu_backend().layouts(), panel_types()));
  for (const DType panels : panel_types()) {
    const DType plain = panels.plain();
    CAPTURE(panels.name());
    CHECK(in_panels(panels));
    CHECK_FALSE(in_panels(plain));
    CHECK(panels_of(plain) == panels);
    CHECK(panels.bytes(512) == plain.bytes(512));
    for (const std::int64_t n : {1, 15, 16, 17, 31, 32, 70}) {
      for (const std::int64_t n_blocks : {1, 2, 3, 6}) {
        const std::int64_t k = n_blocks * plain.block_elems(), row_bytes = plain.bytes(k);
        const Bytes from = numbered(n * row_bytes);
        Bytes to(from.size());
        const std::int64_t cut = n / 2 / kPanelRows * kPanelRows;
        kPanels.pack(panels, from.data(), to.data(), n, row_bytes, cut, n);
        kPanels.pack(panels, from.data(), to.data(), n, row_bytes, 0, cut);
        const View view = view_of(panels, to, n, k);
        Bytes row(static_cast<std::size_t>(row_bytes));
        for (std::int64_t r = 0; r < n; ++r) {
          kPanels.read_row(view, r, row.data());
          CHECK(std::memcmp(row.data(), from.data() + r * row_bytes, row.size()) == 0);
        }
      }
    }
  }
  CHECK(panel_types().size() == 21);
}

TEST_CASE("panels: a tensor of matrices is stored like one of all their rows") {
  const DType panels = panel_types().front();
  const std::int64_t n_matrices = 3, n = 32, k = 5, row_bytes = panels.bytes(k);
  const Bytes from = numbered(n_matrices * n * row_bytes);
  Bytes to(from.size());
  kPanels.pack(panels, from.data(), to.data(), n_matrices * n, row_bytes, 0, n_matrices * n);
  const View view{.data = to.data(),
                  .dtype = panels,
                  .n_dims = 3,
                  .dims = {n_matrices, n, k},
                  .row_stride = n * row_bytes};
  Bytes matrix(static_cast<std::size_t>(n * row_bytes));
  for (std::int64_t m = 0; m < n_matrices; ++m) {
    kPanels.read_row(view, m, matrix.data());
    CHECK(std::memcmp(matrix.data(), from.data() + m * n * row_bytes, matrix.size()) == 0);
  }
}

TEST_CASE("pack_weights: matrices of experts whose rows fill panels") {
  for (const std::int64_t n : {40, 48}) {
    Graph g;
    const Tensor x = g.input("x", {f32, {2, 8}}), ids = g.input("ids", {i32, {2, 2}});
    g.output("y", expert_linear(x, g.weight("w", {f32, {3, n, 8}}), ids));
    const Graph packed = pack_weights(best_instruction_set(machine_features())).apply(g);
    CHECK(in_panels(packed[packed.find("w")].spec.dtype) == (n == 48));
  }
}

TEST_CASE("panels: units of 16 rows side by side, halves before two blocks, odd rows last") {
  const DType q8_0 = find_format_by_name("Q8_0")->dtype;  // half at 0, units at 2, 6, ...
  const std::int64_t row_bytes = 3 * 34, n = 18;
  const Bytes from = numbered(n * row_bytes);
  Bytes to(from.size());
  kPanels.pack(panels_of(q8_0), from.data(), to.data(), n, row_bytes, 0, n);
  const auto unit = [&](std::int64_t r, std::int64_t at) {
    return &from[static_cast<std::size_t>(r * row_bytes + at)];
  };
  const auto same = [&](std::int64_t at, const std::byte* bytes, std::size_t size) {
    return std::memcmp(&to[static_cast<std::size_t>(at)], bytes, size) == 0;
  };
  CHECK(same(2 * 15, unit(15, 0), 2));      // halves of the first block
  CHECK(same(32 + 2 * 9, unit(9, 34), 2));  // and of the second
  CHECK(same(64, unit(0, 2), 4));           // first block
  CHECK(same(64 + 4 * 5, unit(5, 2), 4));
  CHECK(same(64 + 64 * 7 + 4 * 3, unit(3, 2 + 28), 4));
  CHECK(same(64 + 512, unit(0, 34 + 2), 4));  // second
  CHECK(same(1088 + 2 * 3, unit(3, 68), 2));  // third, with its halves
  CHECK(same(1088 + 32 + 64, unit(0, 68 + 2 + 4), 4));
  CHECK(same(16 * row_bytes, unit(16, 0), 2 * 102));  // rows that fill no panel
}

TEST_CASE("panels: halves of one byte precede four blocks") {
  const DType mxfp4 = find_format_by_name("MXFP4")->dtype;  // half at 0, units at 1, 5, ...
  const std::int64_t row_bytes = 6 * 17, n = 16;
  const Bytes from = numbered(n * row_bytes);
  Bytes to(from.size());
  kPanels.pack(panels_of(mxfp4), from.data(), to.data(), n, row_bytes, 0, n);
  const auto same = [&](std::int64_t at, std::int64_t r, std::int64_t byte, std::size_t size) {
    return std::memcmp(&to[static_cast<std::size_t>(at)],
                       &from[static_cast<std::size_t>(r * row_bytes + byte)], size) == 0;
  };
  CHECK(same(7, 7, 0, 1));
  CHECK(same(3 * 16 + 5, 5, 3 * 17, 1));
  CHECK(same(64 + 4 * 9, 9, 1, 4));
  CHECK(same(64 + 3 * 256 + 64 * 3 + 4 * 2, 2, 3 * 17 + 13, 4));
  CHECK(same(4 * 272 + 16 + 15, 15, 5 * 17, 1));  // two blocks are left
  CHECK(same(4 * 272 + 32 + 256 + 4 * 8, 8, 5 * 17 + 1, 4));
}

TEST_CASE("panels: four neighbours move to the same bits of four bytes") {
  struct Case {
    std::string_view name;
    std::int64_t bits;
  };
  for (const Case& c : {Case{"Q1_0", 1}, Case{"Q2_0", 2}}) {
    CAPTURE(c.name);
    const DType type = find_format_by_name(c.name)->dtype;
    for (std::int64_t i = 0; i < 32 / c.bits; ++i) {
      Bytes from(static_cast<std::size_t>(16 * 18)), to(from.size());
      from[static_cast<std::size_t>(2 + i * c.bits / 8)] = std::byte{1} << (i * c.bits % 8);
      kPanels.pack(panels_of(type), from.data(), to.data(), 16, 18, 0, 16);
      const std::int64_t four = i / 4, place = c.bits == 1 ? 4 * (four % 2) + four / 2 : 2 * four;
      CHECK(to[static_cast<std::size_t>(32 + i % 4)] == std::byte{1} << place);
    }
  }
}

}  // namespace
}  // namespace weft::cpu
