// Where weights lie: layouts, the region that sessions share, the choice between the modes.

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/mman.h>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/files/identity.h"
#include "weft/files/mapping_guard.h"
#include "weft/graph/row_layout.h"
#include "weft/ops/formats/q4_0.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/quantize/quantize.h"
#include "weft/run/session.h"

#include "model/model_impl.h"
#include "plan/session_plan.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using namespace weft::run;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

namespace {

const SessionOptions kResident{.workers = 2, .weights = WeightMode::resident};

std::vector<float> logits_of(Session& session) {
  std::vector<std::int32_t> ids(40);
  std::iota(ids.begin(), ids.end(), 3);
  session.feed(0, ids);
  return {session.logits().begin(), session.logits().end()};
}

bool has_panels(const Model& model) {
  const PlannedModel planned = plan_model(model, kResident);
  return layout_weights(model, planned).changes_types;
}

}  // namespace

TEST_CASE("steps of a session whose file is truncated or overwritten fail by its name") {
  install_mapping_guard();
  const test::TempFolder folder;
  const std::string path = (folder / "model.gguf").string();
  for (const bool truncates : {true, false}) {
    CAPTURE(truncates);
    test::write_tiny_model({}, path);
    const auto model = Model::load(path);
    Session session(model, {.workers = 2, .weights = WeightMode::mapped});
    const std::vector<std::int32_t> ids{1, 2, 3};
    session.feed(0, ids);
    if (truncates) {
      std::filesystem::resize_file(path, std::filesystem::file_size(path) / 4);
      CHECK_THROWS_WITH_AS(session.feed(0, ids), doctest::Contains("model.gguf: was truncated"),
                           IoError);
      CHECK_THROWS_WITH_AS(Session(model, kResident), doctest::Contains("model.gguf: "), IoError);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // asked about once a second
      std::ofstream(path, std::ios::in | std::ios::out | std::ios::binary) << "other";
      CHECK_THROWS_WITH_AS(session.feed(0, ids), doctest::Contains("was written while"), IoError);
    }
    CHECK(session.length(0) == 3);
  }
}

TEST_CASE("the region holds every weight that steps read whole, in the graph's type") {
  const auto model = tiny_model({.matrices = q8_0});
  for (const char* backend : {"cpu", "reference"}) {
    CAPTURE(backend);
    SessionOptions options = kResident;
    options.backend = backend;
    options.embeddings = true;  // the table of the tied embeddings is not multiplied with
    const WeightLayout layout = layout_weights(*model, plan_model(*model, options));
    const ResidentWeights weights(model->file(), model->identity(), layout, {.threads = 2});
    CHECK(weights.bytes() == layout.region_bytes);
    CHECK(std::ssize(layout.weights) == std::ssize(model->file().tensors()));
    for (const PlacedWeight& w : layout.weights) {
      CAPTURE(std::string(w.tensor->name));
      const std::byte* data = weights.find(w.tensor->name, w.dtype);
      REQUIRE((data != nullptr) == w.whole);
      CHECK(w.whole == (w.tensor->name != "token_embd.weight"));
      if (!data) continue;
      const std::int64_t row_bytes = w.tensor->spec.row_bytes();
      const std::int64_t n_rows = w.tensor->n_bytes / row_bytes;
      const View view{.data = const_cast<std::byte*>(data),
                      .dtype = w.dtype,
                      .n_dims = 2,
                      .dims = {n_rows, w.tensor->spec.shape.last()},
                      .row_stride = row_bytes};
      std::vector<std::byte> row(static_cast<std::size_t>(row_bytes));
      bool equal = true;
      for (std::int64_t r = 0; r < n_rows; ++r) {
        const std::byte* in_file = w.tensor->data + r * row_bytes;
        if (const RowLayout* order = w.dtype.layout()) {
          order->read_row(view, r, row.data());
        } else {
          std::copy_n(data + r * row_bytes, row_bytes, row.data());
        }
        equal = equal && std::memcmp(row.data(), in_file, row.size()) == 0;
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("resident weights give the same bits for any number of workers") {
  for (const DType dtype : {f32, q8_0}) {
    const auto model = tiny_model({.matrices = dtype});
    std::vector<float> expected;
    for (const int workers : {1, 2, 3}) {
      SessionOptions options = kResident;
      options.workers = workers;
      Session session(model, options);
      CHECK(session.options().weights == WeightMode::resident);
      const auto got = logits_of(session);
      if (expected.empty()) expected = got;
      CHECK(same_bits(got, expected));
    }
  }
}

TEST_CASE("the reference backend computes the same from both modes") {
  const auto model = tiny_model({.matrices = q8_0});
  Session resident(model, {.backend = "reference", .weights = WeightMode::resident});
  Session mapped(model, {.backend = "reference", .weights = WeightMode::mapped});
  CHECK(same_bits(logits_of(resident), logits_of(mapped)));
}

TEST_CASE("sessions of a model share one region, which lives as long as they do") {
  const auto model = tiny_model({.matrices = q8_0});
  const Model::Impl& impl = run::impl_of(*model);
  CHECK(impl.resident_bytes() == 0);
  {
    const Session first(model, kResident);
    const std::int64_t bytes = first.memory().weights_resident;
    CHECK(impl.resident_bytes() == bytes);
    {
      Session second(model, {.context = 100,
                             .weights = WeightMode::resident,
                             .progress = [](double) -> bool { throw std::logic_error("loaded"); }});
      CHECK(impl.resident_bytes() == bytes);
      Session alone(tiny_model({.matrices = q8_0}), kResident);
      CHECK(same_bits(logits_of(second), logits_of(alone)));
    }
    CHECK(impl.resident_bytes() == bytes);
    if (has_panels(*model)) {  // the reference backend wants them as they are
      const Session other(model, {.backend = "reference", .weights = WeightMode::resident});
      CHECK(impl.resident_bytes() == 2 * bytes);
    }
  }
  CHECK(impl.resident_bytes() == 0);
}

TEST_CASE("a session that needs fewer weights shares the region of one that has them all") {
  const auto model = tiny_model({.matrices = q8_0});  // with tied embeddings
  SessionOptions options = kResident;
  const Session text(model, options);
  const std::int64_t bytes = run::impl_of(*model).resident_bytes();
  options.embeddings = true;
  Session embeddings(model, options);
  CHECK(run::impl_of(*model).resident_bytes() == bytes);
  const auto alone_model = tiny_model({.matrices = q8_0});
  Session alone(alone_model, options);
  CHECK(same_bits(logits_of(embeddings), logits_of(alone)));
  // The other way round, the weights of the output are missing.
  const Session more(alone_model, kResident);
  CHECK(run::impl_of(*alone_model).resident_bytes() > bytes);
}

TEST_CASE("a detected budget counts only the shared region") {
  const auto model = tiny_model({.matrices = q8_0});
  if (!has_panels(*model)) return;
  const PlannedModel planned = plan_model(*model, kResident);
  const WeightLayout layout = layout_weights(*model, planned);
  const Session other(model, {.backend = "reference", .weights = WeightMode::resident});
  CHECK(run::impl_of(*model).region_bytes(layout) == 0);
  const Session same(model, kResident);
  CHECK(run::impl_of(*model).region_bytes(layout) == planned.memory.weights_resident);
}

TEST_CASE("a gain in speed alone does not change the types of a cache") {
  const auto model = tiny_model({.matrices = q8_0});
  SessionOptions options{.context = 4096, .prefill_width = 128};
  const PlannedModel mapped =
      plan_model(*model, {.context = 4096, .prefill_width = 128, .weights = WeightMode::mapped});
  options.mem_budget = mapped.memory.total();  // with nothing to spare
  const PlannedModel planned = plan_model(*model, options);
  CHECK(planned.options.weights == WeightMode::mapped);
  CHECK(planned.options.cache_k == f16);
}

TEST_CASE("loading reports progress, can be stopped, and then frees everything") {
  const auto model = tiny_model({.matrices = q8_0});
  for (const WeightMode mode : {WeightMode::mapped, WeightMode::resident}) {
    SessionOptions options{.workers = 2, .weights = mode};
    std::vector<double> shares;
    options.progress = [&](double share) {
      shares.push_back(share);
      return true;
    };
    { const Session session(model, options); }
    CHECK(shares.front() == 0);
    CHECK(shares.back() == 1);
    CHECK(std::ranges::is_sorted(shares));

    options.progress = [](double share) { return share == 0; };
    CHECK(text_of([&] { const Session stopped(model, options); }) == "loading was cancelled");
    CHECK(run::impl_of(*model).resident_bytes() == 0);
    options.progress = [](double) -> bool { throw std::runtime_error("mine"); };
    CHECK_THROWS_WITH_AS(Session(model, options), "mine", std::runtime_error);
    CHECK(run::impl_of(*model).resident_bytes() == 0);
    options.progress = nullptr;
    Session again(model, options);
    CHECK(logits_of(again).size() == 50);
  }
}

TEST_CASE("weights that have become unreadable are rejected while loading") {
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ
  alignas(4096) static std::byte page[4096];
  if (madvise(page, sizeof(page), kPopulateRead) != 0) {
    MESSAGE("skipped: this system cannot ask whether pages can be read");
    return;
  }
  const test::TempFolder folder;
  const std::string path = folder / "short.gguf";
  test::write_tiny_model({.matrices = q8_0}, path);
  const auto model = Model::load(path);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 3 * 4096);
  for (const WeightMode mode : {WeightMode::mapped, WeightMode::resident}) {
    for (const int workers : {1, 2}) {
      const std::string text =
          text_of([&] { const Session session(model, {.workers = workers, .weights = mode}); });
      CAPTURE(text);
      CHECK(text.find(path + ": cannot read bytes ") == 0);
      CHECK(run::impl_of(*model).resident_bytes() == 0);
    }
  }
}

TEST_CASE("a file that is cut under an open session is told by its first step") {
  install_mapping_guard();
  const test::TempFolder folder;
  const std::string path = folder / "cut.gguf";
  test::write_tiny_model({.matrices = q8_0}, path);
  Session session(Model::load(path), {.weights = WeightMode::mapped});
  std::filesystem::resize_file(path, 0);  // also the names of tensors
  CHECK(text_of([&] { session.feed(0, some_tokens(3)); }) ==
        path + ": was truncated, or could not be read, while it was in use");
}

TEST_CASE("auto chooses resident weights if they are faster and fit with a margin") {
  const auto model = tiny_model({.matrices = q8_0});
  const PlannedModel reference = plan_model(*model, {.backend = "reference"});
  CHECK(reference.options.weights == WeightMode::mapped);
  CHECK(reference.weights_reason == "backend reference computes from the file's layout");
  CHECK(reference.memory.weights_resident == 0);
  const PlannedModel asked = plan_model(*model, {.weights = WeightMode::mapped});
  CHECK(asked.options.weights == WeightMode::mapped);
  CHECK(asked.weights_reason == "requested");
  if (!has_panels(*model)) return;

  SessionOptions options{.prefill_width = 8};  // nothing to narrow
  const PlannedModel free = plan_model(*model, options);
  CHECK(free.options.weights == WeightMode::resident);
  CHECK(free.weights_reason == "backend cpu is faster from another layout");
  options.mem_budget = free.memory.total() + free.memory.weights_resident / 16;
  CHECK(plan_model(*model, options).options.weights == WeightMode::resident);
  options.mem_budget -= 1;
  const PlannedModel tight = plan_model(*model, options);
  CHECK(tight.options.weights == WeightMode::mapped);
  CHECK(tight.weights_reason.find("resident weights would leave less than ") == 0);

  options.weights = WeightMode::resident;
  options.mem_budget = free.memory.total();
  CHECK(plan_model(*model, options).options.weights == WeightMode::resident);
  options.mem_budget -= 1;
  const std::string text = text_of([&] { plan_model(*model, options); });
  CHECK(text.find("needs " + human_bytes(free.memory.total())) != std::string::npos);
  CHECK(text.find("may use " + human_bytes(options.mem_budget)) != std::string::npos);
  CHECK(text.find("weights, resident") != std::string::npos);
}

TEST_CASE("a layout names a weight that the file does not have in the graph's type") {
  const auto model = tiny_model({.matrices = q8_0});
  const PlannedModel planned = plan_model(*model, kResident);
  const auto other = tiny_model({.matrices = q4_0});
  CHECK(text_of([&] {
          layout_weights(other->file(), std::array{&std::as_const(planned.graphs[0])}, true);
        }).find("is Q4_0 in the file, the graph needs ") != std::string::npos);
}

TEST_CASE("weights that are quantized while loading are those of a quantized file") {
  for (const DType dtype : {f32, f16, bf16}) {
    for (const char* mix : {"Q8_0", "Q4_0", "F16"}) {
      CAPTURE(dtype.name());
      CAPTURE(mix);
      const auto plain = tiny_model({.matrices = dtype});
      const test::TempFolder folder;
      const QuantizeOptions how{.type = mix};
      quantize_file(plain->file(), plan_quantize(plain->file(), how), how, {}, folder / "q.gguf");
      const auto file = Model::load(folder / "q.gguf");
      const auto loaded = tiny_model({.matrices = dtype}, {.quantize = mix});
      CHECK(loaded->facts().weight_bytes == file->facts().weight_bytes);
      for (const char* backend : {"cpu", "reference"}) {
        SessionOptions options = kResident;
        options.backend = backend;
        Session expected(file, options);
        for (const int workers : {1, 2}) {
          options.workers = workers;
          options.weights = WeightMode::automatic;
          Session session(loaded, options);
          CHECK(session.options().weights == WeightMode::resident);
          CHECK(session.allocated_bytes() == session.memory().total());
          expected.truncate(0, 0);
          CHECK(same_bits(logits_of(session), logits_of(expected)));
        }
      }
    }
  }
}

TEST_CASE("quantizing while loading skips quantized weights and rejects what it cannot convert") {
  CHECK(tiny_model({.matrices = q8_0}, {.quantize = "Q4_0"})->facts().weight_bytes ==
        tiny_model({.matrices = q8_0})->facts().weight_bytes);
  CHECK_THROWS_WITH_AS(tiny_model({}, {.quantize = "Q4"}), doctest::Contains("unknown type 'Q4'"),
                       ValueError);
  const auto model = tiny_model({}, {.quantize = "Q8_0"});
  CHECK_THROWS_WITH_AS(plan_model(*model, {.weights = WeightMode::mapped}),
                       "weights that are converted to Q8_0 cannot stay mapped", ValueError);
  CHECK(plan_model(*model, {}).weights_reason == "those in F32, F16 and BF16 become Q8_0");
  const auto bad = [](const std::string& name, std::vector<float>& values) {
    if (name == "blk.1.ffn_up.weight") values[70] = std::nanf("");
  };
  for (const int workers : {1, 3}) {
    const auto damaged = tiny_model({.change = bad}, {.quantize = "Q8_0"});
    SessionOptions options = kResident;
    options.workers = workers;
    const std::string text = text_of([&] { Session session(damaged, options); });
    CHECK(text.find("tensor 'blk.1.ffn_up.weight' holds nan at element 70 (row 1, column 6)") !=
          std::string::npos);
  }
}
