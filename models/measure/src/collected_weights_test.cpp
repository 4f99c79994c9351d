// Every weight that a product reads is collected, in all architectures.
#include <algorithm>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/measure/imatrix_collector.h"
#include "weft/quantize/quantize.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

// Null if the architecture has no mixtures of experts of the usual sizes.
std::shared_ptr<const Model> made(const arch::Architecture& architecture, bool mixture) {
  arch::MadeSource source(std::string(architecture.name), {.X = mixture ? 4 : 0});
  try {
    source.learn(architecture);
  } catch (const Error&) {
    if (mixture) return nullptr;
    throw;
  }
  const auto path = std::filesystem::temp_directory_path() /
                    fmt::format("weft-collected-{}-{}.gguf", getpid(), architecture.name);
  struct Removed {
    std::filesystem::path path;
    ~Removed() { std::filesystem::remove(path); }
  } removed{path};
  write_made_model(source, path.string());
  return Model::load(path.string());
}

Imatrix collect_all(const std::shared_ptr<const Model>& model) {
  constexpr std::int64_t kTokens = 24;
  Session session(model, {.context = 64,
                          .prefill_width = kTokens,
                          .logits_rows = kTokens,
                          .workers = 1,
                          .embeddings = !model->facts().has_output});
  ImatrixCollector collector(session, {.output = true});
  std::vector<std::int32_t> text;
  std::vector<StepToken> step;
  for (std::int32_t i = 0; i < kTokens; ++i) {
    text.push_back(i * 7 % 50);
    step.push_back({.token = text.back(), .logits = true});
  }
  if (model->facts().encodes) session.encode(0, text, nullptr, &collector);
  session.step(step, nullptr, &collector);
  collector.keep();
  return collector.collected();
}

TEST_CASE("every weight that a product reads and that quantizing converts is collected") {
  std::int64_t n_stacked = 0;
  for (const arch::Architecture* architecture : arch::architectures()) {
    for (const bool mixture : {false, true}) {
      CAPTURE(architecture->name);
      CAPTURE(mixture);
      const auto model = made(*architecture, mixture);
      if (!model) continue;
      const Imatrix m = collect_all(model);
      n_stacked += std::ranges::count_if(
          m.entries, [](const auto& entry) { return entry.second.counts.size() > 1; });
      const QuantizePlan plan = plan_quantize(model->file(), {.type = "F16"});
      for (const QuantizedTensor& t : plan.tensors) {
        if (!t.converts() || !is_multiplied(t.tensor->name)) continue;
        const std::string name(t.tensor->name);
        CAPTURE(name);
        REQUIRE(m.entries.contains(name));
        const Shape& shape = t.tensor->spec.shape;
        const std::int64_t n_matrices = shape.n_dims() == 3 ? shape[0].bound : 1;
        CHECK_FALSE(m.importances(name, shape.last(), n_matrices).empty());
        CHECK(std::ssize(m.entries.at(name).counts) == n_matrices);
      }
      CHECK((m.entries.contains("token_embd.weight") || m.entries.contains("output.weight")) ==
            model->facts().has_output);
    }
  }
  CHECK(n_stacked > 300);
}

}  // namespace
}  // namespace weft
