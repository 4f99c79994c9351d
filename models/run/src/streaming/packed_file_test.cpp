// Weights that are streamed in the layout of kernels, from a file that is made once.

#include "streaming/packed_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/backends/tunables.h"
#include "weft/base/error.h"
#include "weft/ops/formats/f16.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/session.h"

#include "plan/session_plan.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;

namespace {

// A model in a folder, and another folder for its packed file. Every instruction set packs F16.
struct Packable {
  explicit Packable(bool mixture, DType matrices = f16) {
    test::TinyModel about{.matrices = matrices, .sizes = {.L = 5}};
    if (mixture) about = {.arch = "qwen3moe", .matrices = matrices, .sizes = {.L = 5, .X = 16}};
    test::write_tiny_model(about, path());
    model = Model::load(path());
  }
  std::string path() const { return (folder / "model.gguf").string(); }
  std::string cache() const { return (folder / "cache").string(); }
  SessionOptions options(WeightMode mode) const {
    return {.context = 128, .prefill_width = 32, .workers = 2, .weights = mode};
  }
  // With `share` of the bytes that are streamed in memory.
  SessionOptions streamed(double share) const {
    SessionOptions o = options(WeightMode::streamed);
    o.weight_cache = cache();
    const PlannedModel least = run::plan_all(*model, run::resolve(*model, o), o.weights);
    o.mem_budget =
        least.memory.total() +
        static_cast<std::int64_t>(share * static_cast<double>(model->file().file_bytes()));
    return o;
  }
  std::vector<std::filesystem::path> packed() const {
    std::vector<std::filesystem::path> files;
    if (!std::filesystem::exists(cache())) return files;
    for (const auto& entry : std::filesystem::directory_iterator(cache()))
      files.push_back(entry.path());
    return files;
  }

  test::TempFolder folder;
  std::shared_ptr<const Model> model;
};

// Mixtures or not, and the type of their matrices. SSE2 does not pack blocks.
std::vector<std::pair<bool, DType>> kinds_of_models() {
  if (cpu_backend_isa() == "sse2") return {{false, f16}, {true, f16}};
  return {{false, f16}, {true, f16}, {false, q8_0}, {true, q8_0}};
}

const std::vector<std::int32_t> kIds = test::some_tokens(40);

}  // namespace

TEST_CASE("packed weights give the bits of weights in memory for every budget") {
  for (const auto& [mixture, matrices] : kinds_of_models()) {
    const Packable made(mixture, matrices);
    Session mapped(made.model, made.options(WeightMode::mapped));
    const std::vector<float> want = all_logits(mapped, kIds, 7);
    for (const double share : {0.0, 0.2, 0.4, 2.0}) {
      CAPTURE(share);
      Session session(made.model, made.streamed(share));
      REQUIRE(run::streams_packed(session.options()));
      CHECK(session.allocated_bytes() == session.memory().total());
      CHECK(same_bits(all_logits(session, kIds, 7), want));
    }
    SessionOptions resident = made.options(WeightMode::resident);
    resident.weight_cache = made.cache();
    Session session(made.model, resident);
    CHECK(same_bits(all_logits(session, kIds, 7), want));
    REQUIRE(made.packed().size() == 1);  // all of them use one file
    CHECK(made.packed().front().extension() == ".weights");
  }
}

TEST_CASE("experts are guessed with packed routers, too") {
  const Packable made(true, f32);
  Session session(made.model, made.streamed(0.2));
  for (std::int32_t token = 0; token < 40; ++token) session.feed(0, std::vector{token});
  CHECK(session.stream_stats().all_groups().guesses > 0);
  // Copies of routers are counted, but not of those that are in the ring.
  for (const double share : {0.0, 0.1, 0.2, 0.6}) {
    CAPTURE(share);
    const Session other(made.model, made.streamed(share));
    CHECK(other.allocated_bytes() == other.memory().total());
  }
}

TEST_CASE("a model that is replaced between the plan and the session is refused") {
  const Packable made(true);
  SessionOptions options = made.streamed(0.2);
  options.weight_cache.clear();
  PlannedModel planned = plan_model(*made.model, options);
  test::write_tiny_model({.matrices = q8_0, .sizes = {.L = 2}}, made.path() + ".new");
  std::filesystem::rename(made.path() + ".new", made.path());
  CHECK_THROWS_WITH_AS(Session(std::move(planned), made.model), doctest::Contains("model.gguf: "),
                       IoError);
}

TEST_CASE("sessions that open at the same time use one packed file") {
  const Packable made(true);
  const SessionOptions options = made.streamed(0.4);
  std::vector<float> mine, others;
  std::jthread other([&] {
    Session session(made.model, options);
    others = all_logits(session, kIds, 7);
  });
  Session session(made.model, options);
  mine = all_logits(session, kIds, 7);
  other.join();
  CHECK(same_bits(mine, others));
  CHECK(made.packed().size() == 1);
}

TEST_CASE("a packed file is made once, and again if it is not that of the model") {
  const Packable made(false);
  const SessionOptions options = made.streamed(0.2);
  Session mapped(made.model, made.options(WeightMode::mapped));
  const std::vector<float> want = all_logits(mapped, kIds, 7);
  const auto logits = [&](const std::shared_ptr<const Model>& model, int& warnings) {
    SessionOptions o = options;
    o.warn = [&](const std::string& text) {
      warnings += text.find("packing the weights again") != text.npos;
    };
    Session session(model, o);
    return all_logits(session, kIds, 7);
  };
  int warnings = 0;
  CHECK(same_bits(logits(made.model, warnings), want));
  const auto written = std::filesystem::last_write_time(made.packed().front());
  CHECK(same_bits(logits(made.model, warnings), want));
  CHECK(std::filesystem::last_write_time(made.packed().front()) == written);
  CHECK(warnings == 0);
  // Damaged bytes: in the header, and in the first row of a weight.
  for (const std::streamoff at : {3, 12, 30, 4096 + 1}) {
    std::fstream file(made.packed().front(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(at);
    file.put('\x55');
    file.close();
    CHECK(same_bits(logits(made.model, warnings), want));
    CHECK(std::exchange(warnings, 0) == 1);
  }
  std::filesystem::resize_file(made.packed().front(), 5000);
  CHECK(same_bits(logits(made.model, warnings), want));
  CHECK(std::exchange(warnings, 0) == 1);
  // Other weights in a file of the same name.
  test::write_tiny_model({.matrices = f16,
                          .sizes = {.L = 5},
                          .change =
                              [](const auto&, auto& values) {
                                for (float& v : values) v = -v;
                              }},
                         made.path());
  const auto changed = Model::load(made.path());
  Session other(changed, made.options(WeightMode::mapped));
  CHECK(same_bits(logits(changed, warnings), all_logits(other, kIds, 7)));
  CHECK(warnings == 1);
}

TEST_CASE("without room for a packed file, weights are streamed in the order of the file") {
  const Packable made(false);
  SessionOptions options = made.streamed(0.2);
  PlannedModel planned = plan_model(*made.model, options);
  CHECK(planned.weights_reason.find("packed in " + made.cache()) != std::string::npos);
  CHECK(made.packed().empty());  // planning writes nothing
  options.weight_cache = "/proc/none";
  planned = plan_model(*made.model, options);
  CHECK(!run::streams_packed(planned.options));
  CHECK(planned.weights_reason.find("in the order of the file: /proc/none has room for 0 B") !=
        std::string::npos);
  Session session(std::move(planned), made.model);
  session.feed(0, kIds);
  options.weight_cache.clear();
  planned = plan_model(*made.model, options);
  CHECK(planned.weights_reason.find("--weight-cache") != std::string::npos);
}

TEST_CASE("packing can be cancelled, and leaves nothing behind") {
  const Packable made(false);
  SessionOptions options = made.streamed(0.2);
  int calls = 0;
  options.progress = [&](double) { return ++calls < 8; };
  CHECK_THROWS_AS(Session(made.model, options), CancelledError);
  CHECK(made.packed().empty());
}
