// Sums of the terms of projections over ranks that are threads: whole, in chunks that are sent
// while others are computed, and scattered.

#include <array>
#include <barrier>
#include <functional>
#include <memory>
#include <thread>

#include <doctest/doctest.h>

#include "weft/ops/formats/q4_k.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/ops/projections/linear.h"
#include "weft/ops/projections/quantize.h"
#include "weft/ops/ranks/collectives.h"
#include "weft/scheduler/rank_link.h"

#include "exchange/sum_chunks.h"
#include "support/allocations.h"
#include "support/region_backend.h"
#include "support/session.h"

namespace weft {
namespace {

using scheduler::sum_chunks;
using scheduler::SumChunks;
using test::Memory;
using test::RegionBackend;

struct SumShape {
  int ranks;
  std::int64_t rows, cols;
  DType weights = f32;  // quantized ones on the cpu backend
};

// The width of the projection.
std::int64_t width_of_input(const SumShape& shape) {
  return shape.weights.is_quantized() ? 256 : 5;
}

// A term of rank r, and the sums of two exchanges: of the term, and of that sum's projection.
Graph graph_of_sums(const SumShape& shape, int rank, bool adds) {
  Graph g;
  const Dim t = g.variable("T", shape.rows);
  const std::int64_t width = width_of_input(shape);
  Tensor x = g.input("x", {f32, {t, width}});
  if (shape.weights.is_quantized()) x = quantize(x);
  const std::string name = "w" + std::to_string(rank);
  Tensor y = linear(x, g.weight(name, {shape.weights, {shape.cols, width}})).named("term");
  if (adds) {
    const GroupAttrs first{0, shape.ranks, 0, shape.cols};
    y = g.add(kAllReduce, std::array{y, Tensor()}, first, {});
    Tensor z = linear(y, g.weight(name + ".more", {f32, {5, shape.cols}}));
    const GroupAttrs second{0, shape.ranks, 1, 5};
    z = g.add(kAllReduce, std::array{z, y}, second, {});
    g.output("z", z);
  }
  g.output("y", y);
  return g;
}

// A rank with everything that its plan needs.
struct RankOfSums {
  RankOfSums(const SumShape& shape, int lanes, int rank, RankLink* link)
      : width(width_of_input(shape)),
        backend(shape.weights.is_quantized() ? find_backend("cpu") : regions),
        graph(graph_of_sums(shape, rank, link)),
        plan(make_plan(graph, backend, {.lanes = lanes})),
        arena(std::max<std::int64_t>(plan.arena_bytes, 1)),
        scratch(std::max<std::int64_t>(plan.scratch_bytes, 1)),
        workers(lanes),
        executor(graph, plan, backend,
                 {.weight = [this](const Node& n) { return memory.weight(n); },
                  .state = {},
                  .arena = arena.bytes(),
                  .scratch = scratch.bytes(),
                  .link = link},
                 workers) {}

  std::vector<float> run(std::int64_t rows, NodeObserver* observer = nullptr,
                         const std::function<void()>& check = {}) {
    auto* const x = reinterpret_cast<float*>(executor.input("x").data());
    for (std::int64_t i = 0; i < rows * width; ++i) x[i] = static_cast<float>(i % 7) - 3;
    executor.run({rows}, {.observer = observer, .check = check});
    const View y = executor.output("y");
    std::vector<float> values;
    for (std::int64_t r = 0; r < rows; ++r)
      values.insert(values.end(), y.row<float>(r), y.row<float>(r) + y.cols());
    return values;
  }

  const std::int64_t width;
  RegionBackend regions;
  const Backend& backend;
  Memory memory;
  Graph graph;
  Plan plan;
  Buffer arena, scratch;
  Workers workers;
  Executor executor;
};

std::vector<float> expected_sums(const SumShape& shape, std::int64_t rows) {
  std::vector<float> sum;
  for (int r = 0; r < shape.ranks; ++r) {
    const std::vector<float> term = RankOfSums(shape, 1, r, nullptr).run(rows);
    if (sum.empty()) {
      sum = term;
    } else {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += term[i];
    }
  }
  return sum;
}

// The sums of every rank, by rank, after some runs with other numbers of rows.
std::vector<std::vector<float>> sums_of_ranks(const SumShape& shape, int lanes, std::int64_t rows) {
  const auto ends = in_process_communicators(shape.ranks);
  std::vector<std::vector<float>> sums(ends.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    threads.emplace_back([&, i] {
      RankLink link(*ends[i]);
      RankOfSums rank(shape, lanes, static_cast<int>(i), &link);
      for (const std::int64_t n : {rows, std::int64_t{1}, rows}) sums[i] = rank.run(n);
    });
  }
  threads.clear();
  return sums;
}

TEST_CASE("sums are cut into chunks if they have many bytes, scattered if that saves bytes") {
  const auto n_chunks = [](int ranks, std::int64_t rows, std::int64_t cols) {
    const SumChunks chunks = sum_chunks(ranks, rows, cols);
    CHECK(chunks.ends.back() == cols);
    for (std::size_t c = 0; c < chunks.ends.size(); ++c) CHECK(chunks.width(c) > 0);
    const int n = static_cast<int>(chunks.ends.size());
    return chunks.scattered ? -n : n;
  };
  CHECK(n_chunks(2, 1, 4096) == 1);
  CHECK(n_chunks(2, 64, 1024) == 2);
  CHECK(n_chunks(2, 512, 8192) == 8);
  CHECK(n_chunks(2, 512, 1) == 1);
  CHECK(n_chunks(4, 1, 4096) == 1);
  CHECK(n_chunks(8, 1, 8192) == -8);
  CHECK(n_chunks(3, 128, 2048) == -6);
  CHECK(n_chunks(4, 512, 100) == -4);
  CHECK(n_chunks(16, 512, 8) == 1);
}

TEST_CASE("every rank gets the sum in the order of ranks, whatever is sent early") {
  const std::array shapes{SumShape{2, 2, 40},          SumShape{2, 80, 1000},
                          SumShape{2, 300, 1030},      SumShape{3, 60, 400},
                          SumShape{4, 130, 500},       SumShape{5, 2, 9},
                          SumShape{2, 70, 1184, q8_0}, SumShape{3, 40, 1184, q4_k}};
  for (const SumShape& shape : shapes) {
    for (const int lanes : {1, 2}) {
      for (const std::int64_t rows : {shape.rows, (shape.rows + 1) / 2}) {
        CAPTURE(shape.ranks);
        CAPTURE(shape.cols);
        CAPTURE(lanes);
        CAPTURE(rows);
        const std::vector<float> want = expected_sums(shape, rows);
        for (const auto& got : sums_of_ranks(shape, lanes, rows)) CHECK(got == want);
      }
    }
  }
}

TEST_CASE("lanes compute each range that is sent together") {
  const SumShape shape{2, 512, 2048};
  const Graph graph = graph_of_sums(shape, 0, true);
  const Plan plan = make_plan(graph, RegionBackend(), {.lanes = 2});
  const auto term = std::ranges::find(plan.steps, "term", &PlanStep::path);
  REQUIRE(term != plan.steps.end());
  REQUIRE(term->cols.size() == 2);
  for (const auto& lane : term->cols) {
    REQUIRE(lane.size() == 8);
    for (const ColRange& range : lane) CHECK(range.end - range.begin == 128);
  }
}

// The messages that a rank has sent.
class CountedRank final : public Communicator {
 public:
  explicit CountedRank(Communicator& inner) : inner_(inner) {}
  int sent = 0;

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  std::string_view description() const override { return inner_.description(); }
  void send(int to, Channel channel, std::span<const std::byte> bytes) override {
    ++sent;
    inner_.send(to, channel, bytes);
  }
  std::int64_t arrived(int from, Channel channel) override { return inner_.arrived(from, channel); }
  void take(int from, Channel channel, std::span<std::byte> bytes) override {
    inner_.take(from, channel, bytes);
  }
  void abandon(const std::string& why) noexcept override { inner_.abandon(why); }

 private:
  Communicator& inner_;
};

// Notes how many messages were sent when a rank has computed its terms.
struct SentAtTerm final : NodeObserver {
  explicit SentAtTerm(const CountedRank& counted) : rank(counted) {}
  bool reads_values() const override { return false; }
  void before(const PlanStep&, int, const KernelArgs&, const Region&) noexcept override {}
  void after(const PlanStep& step, int, const KernelArgs&, const Region&) noexcept override {
    if (step.path == "term") sent = rank.sent;
  }
  const CountedRank& rank;
  int sent = -1;
};

// The queue of two ranks may still grow, if they have never been that far apart; each run of a rank
// that allocates would do so 32 times.
TEST_CASE("terms are sent while others are computed, and runs do not allocate") {
  constexpr int kRuns = 32;
  for (const SumShape& shape : {SumShape{2, 80, 1024, q8_0}, SumShape{3, 60, 416, q8_0}}) {
    const auto ends = in_process_communicators(shape.ranks);
    const int n_chunks =
        static_cast<int>(sum_chunks(shape.ranks, shape.rows, shape.cols).ends.size());
    std::vector<std::int64_t> allocated(ends.size(), -1);
    std::barrier together(shape.ranks);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      threads.emplace_back([&, i] {
        CountedRank counted(*ends[i]);
        SentAtTerm observer(counted);
        RankLink link(counted);
        RankOfSums rank(shape, 1, static_cast<int>(i), &link);
        rank.run(shape.rows, &observer);
        CHECK(observer.sent >= n_chunks * 2 / 3);
        for (int run = 0; run < kRuns; ++run) rank.executor.run({shape.rows});
        together.arrive_and_wait();
        const std::int64_t before = test::allocations();
        together.arrive_and_wait();
        for (int run = 0; run < kRuns; ++run) rank.executor.run({shape.rows});
        together.arrive_and_wait();
        allocated[i] = test::allocations() - before;
        together.arrive_and_wait();
      });
    }
    threads.clear();
    for (const std::int64_t n : allocated) CHECK(n < kRuns);
  }
}

TEST_CASE("a rank whose results cannot be used ends the run on all ranks") {
  for (const SumShape& shape : {SumShape{2, 80, 1000}, SumShape{3, 60, 400}}) {
    const auto ends = in_process_communicators(shape.ranks);
    std::vector<std::string> errors(ends.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < ends.size(); ++i) {
      threads.emplace_back([&, i] {
        RankLink link(*ends[i]);
        int calls_left = 1;  // until the check fails
        std::function<void()> check;
        if (i == 1) {
          check = [&] {
            if (calls_left-- == 0) fail<IoError>("a file is shorter");
          };
        }
        RankOfSums rank(shape, 1, static_cast<int>(i), &link);
        try {
          rank.run(shape.rows, nullptr, check);
        } catch (const Error& error) {
          errors[i] = error.what();
        }
        calls_left = 0;  // the check of the next run is another one
        CHECK(rank.run(shape.rows).size() == static_cast<std::size_t>(shape.rows * shape.cols));
        CHECK(calls_left == 0);
      });
    }
    threads.clear();
    for (const std::string& error : errors) CHECK(error.starts_with("a file is shorter"));
  }
}

}  // namespace
}  // namespace weft
