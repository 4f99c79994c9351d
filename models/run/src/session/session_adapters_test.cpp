// Models with LoRAs and control vectors: the same as merged models, switched per sequence, and
// without effect on others.
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/adapters/adapters.h"
#include "weft/adapters/merge.h"
#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/saved_sequence.h"
#include "weft/run/session.h"

#include "support/compare.h"
#include "support/made_adapter.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::MadeControlVector;
using test::MadeLora;
using test::nmse;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::TinyModel;

namespace {

// A tiny model in a file, and adapters for it.
struct LoraFiles {
  explicit LoraFiles(const TinyModel& about = {}) : model((folder / "model.gguf").string()) {
    test::write_tiny_model(about, model);
  }
  std::string lora(const MadeLora& about) {
    const std::string path = (folder / fmt::format("lora{}.gguf", n_files++)).string();
    test::write_lora(about, path);
    return path;
  }
  std::string control(const MadeControlVector& about) {
    const std::string path = (folder / fmt::format("control{}.gguf", n_files++)).string();
    test::write_control_vector(about, path);
    return path;
  }
  std::shared_ptr<const Model> load(const AdapterFiles& adapters = {}) const {
    ModelOptions options;
    options.adapters = adapters;
    return Model::load(model, options);
  }
  std::shared_ptr<const Model> merged(const std::vector<LoraFile>& loras) const {
    const test::TempFolder other;
    const std::string path = (other / "merged.gguf").string();
    write_merged(load()->file(), loras, path);
    return Model::load(path);
  }

  test::TempFolder folder;
  std::string model;
  int n_files = 0;
};

// Every projection of a tiny llama, whose head is tied to its embeddings.
MadeLora everywhere(const LoraFiles& files) {
  MadeLora lora;
  const auto model = files.load();
  for (const CheckpointTensor& tensor : model->file().tensors())
    if (tensor.spec.shape.n_dims() >= 2)
      lora.weights.emplace_back(std::string(tensor.name), tensor.spec.shape);
  return lora;
}

MadeLora queries(std::uint32_t seed = 1) {
  return {.weights = {{"blk.0.attn_q.weight", {64, 64}}, {"blk.1.ffn_down.weight", {64, 96}}},
          .seed = seed};
}

const std::vector<std::int32_t> kFedIds = some_tokens(20);

std::vector<float> logits(const std::shared_ptr<const Model>& model,
                          const std::string& backend = "cpu") {
  Session session(model, {.context = 64, .backend = backend, .cache_k = f32, .cache_v = f32});
  return all_logits(session, kFedIds, 16);
}

// Normalized squared error.
std::vector<float> copy_of(std::span<const float> values) {
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a model with LoRAs computes what the merged model computes") {
  for (const std::string backend : {"reference", "cpu"}) {
    CAPTURE(backend);
    LoraFiles files;
    const std::string all = files.lora(everywhere(files)), some = files.lora(queries(2));
    const std::vector<LoraFile> loras{{all, 0.75F}, {some, -0.5F}};
    const auto got = logits(files.load({.loras = loras}), backend);
    CHECK(nmse(got, logits(files.merged(loras), backend)) < 1e-10);
    CHECK(nmse(got, logits(files.load(), backend)) > 1e-3);
    CHECK(nmse(got, logits(files.merged({loras[0]}), backend)) > 1e-6);
  }
}

TEST_CASE("LoRAs of experts, and an alpha of 0") {
  for (const std::string arch : {"qwen3moe", "llama"}) {
    CAPTURE(arch);
    LoraFiles files({.arch = arch});
    MadeLora about = everywhere(files);
    about.arch = arch;
    about.alpha = arch == "llama" ? 0 : 5;
    about.rank = 3;
    const std::vector<LoraFile> loras{{files.lora(about), 0.5F}};
    const auto got = logits(files.load({.loras = loras}));
    CHECK(nmse(got, logits(files.merged(loras))) < 1e-9);
    CHECK(nmse(got, logits(files.load())) > 1e-3);
  }
}

// A matrix per head is absorbed; attn_kv_b, which files may have instead, is expanded.
TEST_CASE("LoRAs of latent attention") {
  LoraFiles files({.arch = "deepseek2"});
  MadeLora about{.arch = "deepseek2"};
  for (const auto& [name, shape] : everywhere(files).weights)
    if (name.ends_with("_b.weight")) about.weights.emplace_back(name, shape);
  REQUIRE(about.weights.size() >= 2);
  const std::vector<LoraFile> loras{{files.lora(about), 0.5F}};
  const auto got = logits(files.load({.loras = loras}));
  CHECK(nmse(got, logits(files.merged(loras))) < 1e-9);
  CHECK(nmse(got, logits(files.load())) > 1e-4);
}

TEST_CASE("LoRAs of quantized weights") {
  LoraFiles files({.matrices = q8_0});
  const std::string lora = files.lora(queries());
  for (const WeightMode mode : {WeightMode::mapped, WeightMode::resident}) {
    Session on(files.load({.loras = {{lora, 1}}}), {.context = 64, .weights = mode});
    Session off(files.load({.loras = {{lora, 0}}}), {.context = 64, .weights = mode});
    Session base(files.load(), {.context = 64, .weights = mode});
    CHECK(on.allocated_bytes() == on.memory().total() - on.memory().weights_mapped);
    const auto with = all_logits(on, kFedIds, 16), without = all_logits(base, kFedIds, 16);
    CHECK(nmse(with, without) > 1e-3);
    CHECK(same_bits(all_logits(off, kFedIds, 16), without));
  }
}

TEST_CASE("a scale of 0 gives the bits of the model without adapters") {
  LoraFiles files;
  const std::string lora = files.lora(everywhere(files));
  const auto base = logits(files.load());
  CHECK(same_bits(logits(files.load({.loras = {{lora, 0}}})), base));
  CHECK(!same_bits(logits(files.load({.loras = {{lora, 1}}})), base));
}

TEST_CASE("each sequence of a step has its own scales") {
  LoraFiles files;
  const std::string a = files.lora(queries(1)), b = files.lora(queries(2));
  const auto model = files.load({.loras = {{a, 1}, {b, 0.5F}}});
  const std::vector<std::vector<float>> scales{{0, 0}, {1, 0.5F}, {-2, 0}};
  Session together(model, {.context = 64, .sequences = 3});
  CHECK(copy_of(together.lora_scales(1)) == scales[1]);
  for (std::int32_t s = 0; s < 3; ++s)
    together.set_lora_scales(s, scales[static_cast<std::size_t>(s)]);
  std::vector<std::vector<float>> got(3);
  for (const std::int32_t id : kFedIds) {
    std::vector<StepToken> step;
    for (std::int32_t s = 0; s < 3; ++s)
      step.push_back({.token = id, .sequence = s, .logits = true});
    const auto rows = together.step(step);
    for (std::size_t s = 0; s < 3; ++s)
      got[s].insert(got[s].end(), rows.begin() + static_cast<std::ptrdiff_t>(s * 50),
                    rows.begin() + static_cast<std::ptrdiff_t>(s * 50 + 50));
  }
  Session alone(model, {.context = 64});
  for (std::size_t s = 0; s < 3; ++s) {
    alone.truncate(0, 0);
    alone.set_lora_scales(0, scales[s]);
    CHECK(same_bits(got[s], all_logits(alone, kFedIds, 7)));
  }
  Session base(files.load(), {.context = 64});
  CHECK(same_bits(got[0], all_logits(base, kFedIds, 16)));
  CHECK(!same_bits(got[1], got[2]));
}

TEST_CASE("scales are copied with a sequence, and part of saved ones") {
  LoraFiles files;
  const auto model = files.load({.loras = {{files.lora(queries()), 1}}});
  Session session(model, {.context = 64, .sequences = 2});
  const std::vector<float> half{0.5F};
  session.set_lora_scales(0, half);
  session.feed(0, kFedIds);
  session.copy(0, 1, 20);
  CHECK(copy_of(session.lora_scales(1)) == half);
  const std::string path = (files.folder / "saved").string();
  save_sequence(session, 0, "", path);
  const SavedSequence saved = SavedSequence::open(path);
  CHECK(saved.why_not(session, 0).empty());
  session.set_lora_scales(0, std::vector<float>{1});
  CHECK(saved.why_not(session, 0).starts_with("was saved with other adapters or scales"));
  Session without(files.load(), {.context = 64});
  CHECK(!saved.why_not(without, 0).empty());
}

TEST_CASE("sequences that mix scales are not saved") {
  LoraFiles files;
  const auto model = files.load({.loras = {{files.lora(queries()), 0.5F}}});
  Session session(model, {.context = 64, .sequences = 2});
  const std::vector<float> half{0.5F}, one{1};
  const std::string path = (files.folder / "saved").string();
  const auto save = [&](std::int32_t sequence) {
    return text_of([&] { save_sequence(session, sequence, "", path); });
  };
  session.feed(0, kFedIds);
  session.set_lora_scales(0, half);  // the same: nothing is mixed
  CHECK(!session.mixes_lora_scales(0));
  CHECK(save(0) == "no error");
  const SavedSequence saved = SavedSequence::open(path);

  session.set_lora_scales(0, one);
  CHECK(session.mixes_lora_scales(0));
  CHECK(save(0) == files.model +
                       ": sequence 0 cannot be saved: the scales of its LoRAs were changed while "
                       "it had tokens; truncate it to 0 and feed them again");
  session.set_lora_scales(0, half);  // tokens may have been fed in between
  CHECK(session.mixes_lora_scales(0));
  session.truncate(0, 5);
  CHECK(session.mixes_lora_scales(0));
  session.copy(0, 1, 5);
  CHECK(session.mixes_lora_scales(1));
  CHECK(save(1).find("sequence 1 cannot be saved") != std::string::npos);
  session.copy(0, 1, 0);
  CHECK(!session.mixes_lora_scales(1));

  saved.restore(session, 0, 20);
  CHECK(!session.mixes_lora_scales(0));
  session.set_lora_scales(0, one);
  session.truncate(0, 0);
  CHECK(!session.mixes_lora_scales(0));
  session.feed(0, kFedIds);
  CHECK(save(0) == "no error");
  CHECK(saved.why_not(session, 0).starts_with("was saved with other adapters or scales"));
}

TEST_CASE("scales that a session refuses") {
  LoraFiles files;
  const std::string lora = files.lora(queries());
  Session session(files.load({.loras = {{lora, 1}}}), {.context = 64});
  CHECK(text_of([&] { session.set_lora_scales(0, {}); }) == "the model has 1 LoRAs, got 0 scales");
  CHECK(text_of([&] { session.set_lora_scales(0, std::vector<float>{NAN}); }) ==
        lora + ": the scale must be a finite number, got nan");
  CHECK_THROWS_AS(session.set_lora_scales(1, std::vector<float>{1}), ValueError);
}

TEST_CASE("graphs without adapters have no nodes for them") {
  LoraFiles files;
  const auto size_of = [&](const AdapterFiles& adapters) {
    return plan_model(*files.load(adapters), {.context = 64}).graphs[0].size();
  };
  const std::string lora = files.lora(queries());
  const PlannedModel with = plan_model(*files.load({.loras = {{lora, 1}}}), {.context = 64});
  CHECK(with.graphs[0].size() > size_of({}));
  CHECK(with.graphs[0].find("blk.0.attn_q.lora.0.sum") != kNoNode);
  const PlannedModel base = plan_model(*files.load(), {.context = 64});
  const auto weights = [](const PlannedModel& p) {
    return p.memory.weights_mapped + p.memory.weights_resident;
  };
  CHECK(weights(with) >= weights(base) + (4 * 64 + 4 * 64 + 4 * 96 + 4 * 64) * 4);
}

TEST_CASE("control vectors are added after their layers, scaled and summed") {
  LoraFiles files({.sizes = {.L = 4}});
  const std::string a = files.control({.layers = {1, 3}, .seed = 1});
  const std::string b = files.control({.layers = {2, 3}, .seed = 2});
  const auto base = logits(files.load());
  const auto with = [&](const std::vector<ControlVectorFile>& vectors,
                        std::optional<ControlLayers> layers = {}) {
    return logits(files.load({.control_vectors = vectors, .control_layers = layers}));
  };
  const auto both = with({{a, 1}, {b, -0.5F}});
  CHECK(nmse(both, base) > 1e-3);
  CHECK(same_bits(with({{a, 0}}), base));
  CHECK(
      same_bits(with({{a, 1}, {b, 1}}, ControlLayers{2, 2}), with({{b, 1}}, ControlLayers{0, 2})));
  CHECK(same_bits(with({{a, 0.5F}, {a, 0.5F}}), with({{a, 1}})));
  CHECK(!same_bits(with({{a, 1}}), with({{b, 1}})));

  const auto model = files.load({.control_vectors = {{a, 1}}});
  const Graph graph =
      std::move(plan_model(*model, {.context = 64, .passes_off = {"all"}}).graphs.front());
  const NodeId sum = graph.find("blk.3.controlled");
  REQUIRE(sum != kNoNode);
  CHECK(graph[graph[sum].inputs[0]].path == "blk.3.ffn_residual");
  CHECK(graph[graph[sum].inputs[1]].path == "blk.3.control_vector");
  CHECK(graph.users()[graph[sum].inputs[0]].size() == 1);
  CHECK(graph.find("blk.2.controlled") == kNoNode);
}

TEST_CASE("a warning about control vectors without a direction of the layers to change") {
  LoraFiles files({.sizes = {.L = 4}});
  const std::string a = files.control({.layers = {1}}), b = files.control({.layers = {2, 3}});
  const auto model =
      files.load({.control_vectors = {{a, 1}, {b, 1}}, .control_layers = ControlLayers{3, 4}});
  CHECK(model->adapters().warnings() ==
        std::vector<std::string>{a + ": has no direction of layers 3 to 4: no effect"});
  const auto none =
      files.load({.control_vectors = {{a, 1}}, .control_layers = ControlLayers{2, 3}});
  CHECK(none->adapters().warnings().size() == 1);
  CHECK(same_bits(logits(none), logits(files.load())));
}

TEST_CASE("LoRAs and control vectors together") {
  LoraFiles files;
  const AdapterFiles adapters{.loras = {{files.lora(queries()), 1}},
                              .control_vectors = {{files.control({}), 1}},
                              .control_layers = {}};
  const auto both = logits(files.load(adapters));
  CHECK(nmse(both, logits(files.load({.loras = adapters.loras}))) > 1e-4);
  CHECK(nmse(both, logits(files.load({.control_vectors = adapters.control_vectors}))) > 1e-4);
  CHECK(files.load(adapters)->adapters().passes().size() == 2);
}
