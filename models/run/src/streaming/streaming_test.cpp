// Sessions whose weights are read from disk while steps run.

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "plan/session_plan.h"
#include "support/error_text.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;
using test::some_tokens;

namespace {

SessionOptions with_mode(WeightMode mode) {
  return {.context = 128, .prefill_width = 32, .workers = 2, .weights = mode};
}

// A model whose file stays where it is.
struct Kept {
  explicit Kept(const test::TinyModel& about) {
    test::write_tiny_model(about, path());
    model = Model::load(path());
  }
  std::string path() const { return (folder / "model.gguf").string(); }

  test::TempFolder folder;
  std::shared_ptr<const Model> model;
};

const test::TinyModel kDense{.sizes = {.L = 6}};
const test::TinyModel kExperts{.arch = "qwen3moe", .sizes = {.L = 6, .X = 16}};

// The smallest budget of streamed weights, and one with room for all of them.
std::pair<std::int64_t, std::int64_t> budgets(const Model& model) {
  const PlannedModel smallest = run::plan_all(
      model, run::resolve(model, with_mode(WeightMode::streamed)), WeightMode::streamed);
  const std::int64_t least = smallest.memory.total();
  return {least, least + model.file().file_bytes()};
}

// Reads that fail, wait or are counted, as a test says.
struct Reads {
  std::atomic<bool> fails{false}, waits{false};
  std::atomic<int> n{0};

  void go_on() {
    waits = false;
    waits.notify_all();
  }

  OpenFileReads open() {
    return [this](std::span<const std::string> paths, const FileReads::Done& done,
                  const FileReadOptions& options) {
      return std::make_unique<Wrapped>(*this, open_file_reads(paths, done, options), done);
    };
  }

 private:
  struct Wrapped final : FileReads {
    Wrapped(Reads& about, std::unique_ptr<FileReads> file, Done end)
        : reads(about), inner(std::move(file)), done(std::move(end)) {}
    ~Wrapped() override {
      later.clear();
      inner.reset();
    }
    std::string describe() const override { return "a test"; }
    void submit(const FileRead& read) noexcept override {
      ++reads.n;
      reads.n.notify_all();
      if (reads.fails) {
        const std::lock_guard lock(mutex);
        later.emplace_back([this, read] {
          const ReadFailure failure{read.file, read.offset, read.needed, EIO};
          done(read, &failure);
        });
        return;
      }
      if (!reads.waits) return inner->submit(read);
      const std::lock_guard lock(mutex);
      later.emplace_back([this, read] {
        reads.waits.wait(true);
        inner->submit(read);
      });
    }
    Reads& reads;
    std::unique_ptr<FileReads> inner;
    Done done;
    std::mutex mutex;
    std::vector<std::jthread> later;
  };
};

// Returns when a session that reads ahead has read what it wants to.
void wait_for_reading_ahead(const Reads& reads) {
  int before = 0;
  while (reads.n == 0 || reads.n != before) {
    before = reads.n;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace

TEST_CASE("streamed weights give the bits of weights in memory for every budget") {
  for (const test::TinyModel& about : {kDense, kExperts}) {
    const Kept kept(about);
    CAPTURE(about.arch);
    const std::vector<std::int32_t> ids = some_tokens(90);
    Session mapped(kept.model, with_mode(WeightMode::mapped));
    const std::vector<float> want = all_logits(mapped, ids, 16);
    const auto [least, most] = budgets(*kept.model);
    std::set<std::int64_t> in_memory;
    for (int share = 0; share <= 10; ++share) {
      SessionOptions options = with_mode(WeightMode::streamed);
      options.mem_budget = least + (most - least) * share / 10;
      for (const std::size_t chunk : {1, 3, 5, 16}) {
        Session session(kept.model, options);
        CAPTURE(share);
        CAPTURE(chunk);
        CHECK(same_bits(all_logits(session, ids, chunk), want));
        CHECK(session.memory().total() <= options.mem_budget);
        CHECK(session.allocated_bytes() + session.memory().weights_mapped ==
              session.memory().total());
        in_memory.insert(session.memory().total());
      }
    }
    CHECK(in_memory.size() > 3);
  }
}

TEST_CASE("a budget below the smallest plan is refused with the numbers") {
  const Kept kept(kExperts);
  SessionOptions options = with_mode(WeightMode::streamed);
  options.mem_budget = budgets(*kept.model).first / 2;
  const std::string text = test::text_of([&] { Session(kept.model, options); });
  CAPTURE(text);
  CHECK(text.find("needs") != std::string::npos);
}

TEST_CASE("a model that does not fit its budget is streamed") {
  const Kept kept(kExperts);
  SessionOptions options = with_mode(WeightMode::automatic);
  const auto [least, most] = budgets(*kept.model);
  options.mem_budget = least;
  const PlannedModel planned = plan_model(*kept.model, options);
  CHECK(planned.options.weights == WeightMode::streamed);
  CHECK(planned.residency.groups.size() == 6);
  CHECK(!planned.residency.streamed.empty());
  options.mem_budget = 2 * most;
  CHECK(plan_model(*kept.model, options).options.weights != WeightMode::streamed);
}

TEST_CASE("a read error fails the step by the name of the file, and the session lives") {
  for (const test::TinyModel& about : {kDense, kExperts}) {
    const Kept kept(about);
    CAPTURE(about.arch);
    const std::vector<std::int32_t> ids = some_tokens(12);
    Session mapped(kept.model, with_mode(WeightMode::mapped));
    const std::vector<float> want = all_logits(mapped, ids, 12);
    Reads reads;
    SessionOptions options = with_mode(WeightMode::streamed);
    options.mem_budget = budgets(*kept.model).first;
    options.open_reads = reads.open();
    Session session(kept.model, options);
    for (int round = 0; round < 3; ++round) {
      reads.fails = true;
      const std::string text = test::text_of([&] {
        for (int i = 0; i < 3; ++i) session.feed(0, ids);  // some of it was read before
      });
      CHECK(text.find("model.gguf: cannot read ") != std::string::npos);
      CHECK(text.find("Input/output error") != std::string::npos);
      reads.fails = false;
      session.truncate(0, 0);
      CHECK(same_bits(all_logits(session, ids, 12), want));
      session.truncate(0, 0);
    }
  }
}

TEST_CASE("a step that waits for the disk can be cancelled") {
  for (const test::TinyModel& about : {kDense, kExperts}) {
    const Kept kept(about);
    const std::vector<std::int32_t> ids = some_tokens(12);
    Reads reads;
    reads.waits = true;
    SessionOptions options = with_mode(WeightMode::streamed);
    options.mem_budget = budgets(*kept.model).first;
    options.open_reads = reads.open();
    Session session(kept.model, options);
    std::atomic<bool> cancel{false};
    std::jthread other([&] {
      reads.n.wait(0);
      cancel = true;
    });
    CHECK_THROWS_AS(session.feed(0, ids, &cancel), CancelledError);
    reads.go_on();
    other.join();
    CHECK(session.length(0) == 0);
    Session mapped(kept.model, with_mode(WeightMode::mapped));
    CHECK(same_bits(all_logits(session, ids, 12), all_logits(mapped, ids, 12)));
  }
}

TEST_CASE("a step that waits for the disk polls, and ends although its reads do not") {
  for (const test::TinyModel& about : {kDense, kExperts}) {
    const Kept kept(about);
    CAPTURE(about.arch);
    const std::vector<std::int32_t> ids = some_tokens(12);
    Reads reads;
    std::function<bool()> poll = [] { return true; };
    SessionOptions options = with_mode(WeightMode::streamed);
    options.mem_budget = budgets(*kept.model).first;
    options.open_reads = reads.open();
    options.poll = [&, thread = std::this_thread::get_id()] {
      CHECK(std::this_thread::get_id() == thread);
      return poll();
    };
    reads.waits = true;
    Session session(kept.model, options);
    // Nodes that need no streamed weight run before the first wait, so the first calls may be
    // between nodes.
    int calls = 0;
    poll = [&] { return ++calls < 4; };
    CHECK_THROWS_AS(session.feed(0, ids), CancelledError);
    CHECK(calls >= 4);
    // The reads of the last step are still in progress: the next one waits for them.
    calls = 0;
    poll = [&] { return ++calls < 4 ? true : throw std::logic_error("poll"); };
    CHECK_THROWS_WITH_AS(session.feed(0, ids), "poll", std::logic_error);
    CHECK(calls >= 4);
    const std::atomic<bool> cancel{true};
    CHECK_THROWS_AS(session.feed(0, ids, &cancel), CancelledError);
    reads.go_on();
    poll = [] { return true; };
    CHECK(session.length(0) == 0);
    Session mapped(kept.model, with_mode(WeightMode::mapped));
    CHECK(same_bits(all_logits(session, ids, 12), all_logits(mapped, ids, 12)));
  }
}

TEST_CASE("ranks stream the experts that they have") {
  test::TinyModel about = kExperts;
  about.matrices = q8_0;  // a block has all columns of an expert
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  test::write_tiny_model(about, path);
  const auto model = Model::load(path, {.sharding = {.tp = 2, .min_elems = 0}});
  REQUIRE(model->weights().find_tensor("blk.0.ffn_down_exps.weight[0:8]"));
  const std::vector<std::int32_t> ids = some_tokens(40);
  Session mapped(model, with_mode(WeightMode::mapped));
  Session streamed(model, with_mode(WeightMode::streamed));
  REQUIRE(!streamed.stream_stats().groups.empty());
  CHECK(same_bits(all_logits(streamed, ids, 5), all_logits(mapped, ids, 5)));
}

TEST_CASE("without a budget, or with one above the machine, all experts stay in memory") {
  const Kept kept(kExperts);
  const std::vector<std::int32_t> ids = some_tokens(20);
  Session mapped(kept.model, with_mode(WeightMode::mapped));
  const std::vector<float> want = all_logits(mapped, ids, 8);
  for (const std::int64_t budget : {std::int64_t{0}, std::int64_t{1} << 60, INT64_MAX}) {
    CAPTURE(budget);
    SessionOptions options = with_mode(WeightMode::streamed);
    options.mem_budget = budget;
    const PlannedModel planned = plan_model(*kept.model, options);
    CHECK(planned.residency.streamed.empty());
    CHECK(planned.residency.cached_share() == 1);
    CHECK(planned.memory.total() < budgets(*kept.model).second * 2);
    Session session(kept.model, options);
    CHECK(same_bits(all_logits(session, ids, 8), want));
  }
  SessionOptions options = with_mode(WeightMode::streamed);
  options.mem_budget = -1;
  CHECK_THROWS_WITH_AS(Session(kept.model, options), doctest::Contains("mem_budget must be"),
                       ValueError);
}

TEST_CASE("a file that is truncated or replaced fails by its name") {
  const Kept kept(kDense);
  SessionOptions options = with_mode(WeightMode::streamed);
  options.mem_budget = budgets(*kept.model).first;
  {
    Session session(kept.model, options);
    session.feed(0, some_tokens(3));
    std::filesystem::resize_file(kept.path(), std::filesystem::file_size(kept.path()) / 2);
    CHECK_THROWS_WITH_AS(
        [&] {
          for (int i = 0; i < 3; ++i) session.feed(0, some_tokens(3));
        }(),
        doctest::Contains("model.gguf: "), IoError);
  }
  // The weights of a file without its name cannot be read again: they stay mapped.
  const auto unnamed = test::tiny_model(kDense);
  CHECK(run::plan_all(*unnamed, run::resolve(*unnamed, with_mode(WeightMode::streamed)),
                      WeightMode::streamed)
            .residency.empty());
}

TEST_CASE("the experts of the last session are read at the start of the next one") {
  const Kept kept(kExperts);
  const auto [least, most] = budgets(*kept.model);
  const std::vector<std::int32_t> ids(30, 7);  // the same experts again and again
  SessionOptions options = with_mode(WeightMode::streamed);
  options.mem_budget = (least + most) / 2;
  options.expert_usage = "auto";
  std::vector<std::string> warnings;
  options.warn = [&](const std::string& text) { warnings.push_back(text); };
  const auto misses_of_first_step = [&](bool reads_ahead = false) {
    Reads reads;
    SessionOptions counted = options;
    counted.open_reads = reads.open();
    Session session(kept.model, counted);
    if (reads_ahead) wait_for_reading_ahead(reads);
    session.feed(0, std::span(ids).first(1));
    const std::int64_t misses = session.stream_stats().all_groups().misses;
    for (const std::int32_t id : ids) session.feed(0, {&id, 1});
    return misses;
  };
  CHECK(misses_of_first_step() > 0);
  const std::string path = kept.path() + ".experts";
  REQUIRE(std::filesystem::exists(path));
  CHECK(misses_of_first_step(true) == 0);
  // It is only a hint.
  for (const std::string damage : {"", "x", "weftexp1 of another model"}) {
    std::ofstream(path, std::ios::binary) << damage;
    CHECK(misses_of_first_step() > 0);
    if (damage != "x") continue;
    CHECK(std::filesystem::file_size(path) == 1);  // not ours, so it is not replaced
  }
  CHECK(misses_of_first_step(true) == 0);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  options.expert_usage = path;
  CHECK(misses_of_first_step() > 0);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("starting without experts in memory") != std::string::npos);
  options.expert_usage = "/nowhere/usage";
  CHECK(misses_of_first_step() > 0);
  REQUIRE(warnings.size() == 2);
  CHECK(warnings[1].find("/nowhere/usage") != std::string::npos);
}
