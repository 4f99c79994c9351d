// Exchanges other than sums, over ranks that are threads.

#include "weft/ops/ranks/collectives.h"

#include <array>
#include <thread>

#include <doctest/doctest.h>

#include "weft/backends/memory.h"
#include "weft/scheduler/executor.h"
#include "weft/scheduler/planner.h"
#include "weft/scheduler/rank_link.h"

#include "support/region_backend.h"

namespace weft {
namespace {

constexpr int kRanks = 3;
constexpr std::int64_t kCols = 6;  // 1 of rank 0, 2 of rank 1, 3 of rank 2

// All ranks gather `x`, and have `z` of rank 0. That goes to rank 2, which sends it back as a
// result.
Graph graph_of_rank(int rank, std::int64_t max_rows) {
  Graph g;
  const Dim t = g.variable("T", max_rows);
  const Tensor x = g.input("x", {f32, {t, rank + 1}}), z = g.input("z", {f32, {t, kCols}});
  const Tensor all = g.add(kAllGather, std::array{x, Tensor()}, GroupAttrs{0, 3, 0, kCols}, {});
  const Tensor cast = g.add(kBroadcast, std::array{z, all}, GroupAttrs{0, 3, 1, kCols}, {});
  g.output("all", all);
  g.output("cast", cast);
  if (rank == 0) {
    const Tensor sent = g.add(kSend, std::array{cast, cast}, PeerAttrs{2, 0, kCols}, {});
    g.output("result", g.add(kRecv, std::array{x, sent}, PeerAttrs{2, 1, kCols, true}, {}));
  } else if (rank == 2) {
    const Tensor got = g.add(kRecv, std::array{x, cast}, PeerAttrs{0, 0, kCols}, {});
    g.output("got", got);
    g.output("sent", g.add(kSend, std::array{got, got}, PeerAttrs{0, 1, kCols, true}, {}));
  }
  return g;
}

float value(int rank, std::int64_t row, std::int64_t col) {
  return static_cast<float>(1000 * rank + 10 * row + col);
}

struct TrialRank {
  TrialRank(int r, std::int64_t max_rows, RankLink& link)
      : rank(r),
        graph(graph_of_rank(r, max_rows)),
        plan(make_plan(graph, backend, {.lanes = 1})),
        arena(plan.arena_bytes),
        scratch(plan.scratch_bytes),
        executor(graph, plan, backend,
                 {.weight = {},
                  .state = {},
                  .arena = arena.bytes(),
                  .scratch = scratch.bytes(),
                  .link = &link},
                 workers) {}

  void run(std::int64_t rows, bool results) {
    for (const char* name : {"x", "z"}) {
      const std::int64_t cols = name[0] == 'x' ? rank + 1 : kCols;
      auto* at = reinterpret_cast<float*>(executor.input(name).data());
      for (std::int64_t i = 0; i < rows * cols; ++i) *at++ = value(rank, i / cols, i % cols);
    }
    executor.run({rows}, {.results = results});
  }

  void check_rows(std::string_view output, std::int64_t rows) const {
    const View view = executor.output(output);
    CHECK(view.rows() == rows);
    const bool gathered = output == "all";
    constexpr std::array owner{0, 1, 1, 2, 2, 2}, col{0, 0, 1, 0, 1, 2};
    int wrong = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < kCols; ++c) {
        const auto own_col = static_cast<std::int64_t>(c);
        const float want = gathered ? value(owner[c], r, col[c]) : value(0, r, own_col);
        wrong += view.row<float>(r)[c] != want;
      }
    }
    CHECK(wrong == 0);
  }

  const int rank;
  test::RegionBackend backend;
  Graph graph;
  Plan plan;
  Buffer arena, scratch;
  Workers workers{1};
  Executor executor;
};

// 6000 rows of 6 columns go in three messages.
TEST_CASE("ranks gather, broadcast and send, whether results are wanted or not") {
  const auto ends = in_process_communicators(kRanks);
  std::vector<std::jthread> threads;
  for (int r = 0; r < kRanks; ++r) {
    threads.emplace_back([&, r] {
      RankLink link(*ends[static_cast<std::size_t>(r)]);
      TrialRank rank(r, 6000, link);
      bool results = true;
      for (const std::int64_t rows : {6000, 1, 40, 6000, 3000}) {
        rank.run(rows, results);
        rank.check_rows("all", rows);
        rank.check_rows("cast", rows);
        if (r == 0 && results) rank.check_rows("result", rows);
        if (r == 2) rank.check_rows("got", rows);
        results = !results;
      }
      CHECK(link.runs() == 5);
    });
  }
}

}  // namespace
}  // namespace weft
