// The inputs that the checks choose.

#include "borders.h"

#include <algorithm>
#include <numeric>

#include <doctest/doctest.h>

#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/q4_0.h"

#include "bordered_model.h"
#include "matrix_sample.h"
#include "seeded.h"
#include "support/tiny_model.h"

namespace weft::test {
namespace {

using namespace checks;
using Numbers = std::vector<std::int64_t>;

bool holds(const Numbers& all, std::int64_t n) {
  return std::ranges::find(all, n) != all.end();
}

bool holds(const std::vector<BorderStep>& steps, std::int64_t at, std::int64_t n) {
  return std::ranges::find(steps, BorderStep{at, n}) != steps.end();
}

}  // namespace

TEST_CASE("borders are those of blocks and width classes") {
  const SessionOptions options{.context = 200, .prefill_width = 100, .backend = "reference"};
  const PlannedModel planned = plan_model(*tiny_model(), options);
  CHECK(borders_of(planned, 200).lengths == Numbers{64, 192});
  CHECK(borders_of(planned, 200).widths == Numbers{8, 32, 100});
  CHECK(borders_of(planned, 2 * kCellsPerBlock + kMargin - 1).lengths == Numbers{64});
  CHECK(borders_of(planned, kCellsPerBlock).lengths.empty());
}

TEST_CASE("borders are those of windows, chunks and checkpoints") {
  const PlannedModel planned = plan_model(*bordered_model(), {.context = 100, .prefill_width = 8});
  CHECK(borders_of(planned, 32).lengths ==
        Numbers{kNearWindow, kChunk, arch::kCheckpointEvery, kFarWindow});
}

TEST_CASE("borders are those of the kernels' tiles") {
  for (const std::int64_t tile : {21, 23}) {
    const Seeded backend("blk.0.attn", [](const KernelArgs&, const Region&) noexcept {}, "seeded",
                         nullptr, {tile});
    const SessionOptions options{
        .context = 100, .prefill_width = 100, .backend_instance = &backend};
    CHECK(borders_of(plan_model(*tiny_model(), options), 100).widths == Numbers{8, tile, 32, 100});
  }
}

TEST_CASE("borders have the tiles of all kernels of the plans") {
  for (const DType matrices : {q4_0, f16}) {
    const SessionOptions options{.context = 100, .prefill_width = 64};
    const PlannedModel planned = plan_model(*tiny_model({.matrices = matrices}), options);
    const Numbers widths = borders_of(planned, 100).widths;
    std::size_t n_of_matrices = 0;
    const Graph& graph = planned.graphs.back();
    for (NodeId id = 0; id < graph.size(); ++id) {
      if (graph[id].kind != NodeKind::op) continue;
      const auto kernel = planned.assignments.back().find(graph, graph[id]);
      for (const std::int64_t tile : kernel ? kernel->token_tiles : Numbers()) {
        CAPTURE(tile);
        CHECK(holds(widths, tile));
        n_of_matrices += reads_matrix(graph, graph[id]);
      }
    }
    CHECK(n_of_matrices > 0);
    CHECK(holds(widths, 64));  // attention's tile: 128 rows of two heads each
  }
}

TEST_CASE("steps end on either side of a length and of a width") {
  const Borders borders{.lengths = {64, 500}, .widths = {8, 128}};
  const auto steps = border_steps(borders, 512, 1000);
  CHECK(steps.front() == BorderStep{0, 66});
  CHECK(holds(steps, 63, 1));
  CHECK(holds(steps, 64, 1));
  CHECK(holds(steps, 498, 4));
  CHECK(holds(steps, 499, 1));
  CHECK(holds(steps, 500, 1));
  CHECK(holds(steps, 60, 8));
  CHECK(holds(steps, 60, 9));
  CHECK(holds(steps, 0, 128));
  CHECK(holds(steps, 0, 129));
  for (const BorderStep& step : border_steps(borders, 16, 1000)) {
    CHECK(step.n <= 16);
    CHECK(step.at + step.n >= 64);
  }
  for (const BorderStep& step : border_steps({.lengths = {64}, .widths = {8, 80}}, 512, 81))
    CHECK(step.at + step.n <= 81);
  CHECK(border_steps({}, 512, 1000).empty());
  CHECK(holds(border_steps({.widths = {8}}, 512, 1000), 0, 9));  // a context of less than a block
}

TEST_CASE("passes have every width and one token more, and all tokens") {
  const Borders borders{.widths = {4, 8, 12, 16, 32, 80}};
  const auto passes = passes_across_widths(borders, 66, 40);
  std::vector<std::size_t> sizes;
  for (const auto& pass : passes) {
    CHECK(std::accumulate(pass.begin(), pass.end(), std::size_t{0}) == 66);
    sizes.insert(sizes.end(), pass.begin(), pass.end());
  }
  for (const std::size_t size : {4u, 5u, 8u, 9u, 12u, 13u, 16u, 17u, 32u, 33u}) {
    CAPTURE(size);
    CHECK(std::ranges::find(sizes, size) != sizes.end());
  }
  CHECK(std::ranges::max(sizes) <= 40);
  CHECK(passes.size() == 3);
  CHECK(passes_across_widths({}, 5, 2) == std::vector<std::vector<std::size_t>>{{2, 2, 1}});
}

TEST_CASE("enough tokens to cross borders, and no more than the context holds") {
  const auto model = tiny_model();
  CHECK(border_inputs(*model, {}).n_tokens == model->facts().context);
  const BorderInputs few = border_inputs(*model, {.context = 100});
  CHECK(few.n_tokens == 100);
  CHECK(few.context == 100);
  CHECK(few.borders.widths.back() <= 100);
  CHECK(border_inputs(*model, {.prefill_width = 8}).n_tokens == kCellsPerBlock + kMargin);
  CHECK(random_ids(*model, 70) == random_ids(*model, 70));
}

TEST_CASE("projections of large models are sampled, those of small ones are not") {
  const auto model = tiny_model();
  const PlannedModel planned = plan_model(*model, {.context = 100});
  const Graph& graph = planned.graphs.front();
  const auto matrices = [&](const Node& node) { return reads_matrix(graph, node); };
  CHECK(sample_every(graph, 1, kMaxInSample, matrices) == 1);
  const std::int64_t total = model->facts().n_params;  // multiplications for one token
  CHECK(sample_every(graph, 1, total / 8, matrices) > 4);
  CHECK(sample_every(graph, 1, total / 8, matrices) <= 8);
  CHECK(sample_every(graph, 1, 0, matrices) == MatrixSample::kAll);
}

TEST_CASE("lengths beyond the tokens need a context that holds them") {
  const SessionOptions options{.prefill_width = 8};
  const BorderInputs inputs = border_inputs(*bordered_model(), options);
  CHECK(inputs.n_tokens == kCellsPerBlock + kMargin);
  CHECK(inputs.borders.lengths.back() == kFarWindow);
  CHECK(inputs.context == kFarWindow + kMargin);
  SessionOptions tight = options;
  tight.context = kFarWindow + kMargin - 1;
  CHECK(border_inputs(*bordered_model(), tight).borders.lengths.back() < kFarWindow);
}

}  // namespace weft::test
