// Adapter files that are refused, each with one message.
#include "weft/adapters/adapters.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/adapters/merge.h"
#include "weft/base/error.h"
#include "weft/ops/projections/head_linear.h"
#include "weft/ops/projections/linear.h"

#include "support/error_text.h"
#include "support/made_adapter.h"
#include "support/temp_folder.h"

using namespace weft;
using test::MadeControlVector;
using test::MadeLora;
using test::text_of;

namespace {

const std::string kQ = "blk.0.attn_q.weight";

// A model of few tensors, and a graph that uses some of them.
struct Fixture {
  Fixture() {
    GgufWriter writer;
    writer.add_string("general.architecture", "llama");
    writer.add_string("general.type", "model");
    test::add_random(writer, "token_embd.weight", {10, 64}, 1, 1);
    test::add_random(writer, kQ, {32, 64}, 2, 1);
    test::add_random(writer, "blk.0.attn_norm.weight", {64}, 3, 1);
    test::add_random(writer, "blk.0.ffn_up_exps.weight", {3, 16, 64}, 4, 1);
    test::add_random(writer, "blk.0.conv.weight", {64, 4}, 5, 1);
    writer.write(path("model.gguf"));
    const Dim t = graph.variable("T", 4), o = graph.variable("O", 2);
    const Tensor tokens = graph.input("tokens", {i32, {t}});
    graph.input("out_rows", {i32, {o}});
    graph.output("x", tokens);
  }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  Checkpoint model() const { return Checkpoint::open(path("model.gguf")); }
  // The message for a LoRA, without its path.
  std::string refusal(const MadeLora& about, float scale = 1) {
    test::write_lora(about, path("lora.gguf"));
    return refusal({.loras = {{path("lora.gguf"), scale}}});
  }
  std::string refusal(const MadeControlVector& about, std::optional<ControlLayers> layers = {}) {
    test::write_control_vector(about, path("vector.gguf"));
    return refusal({.control_vectors = {{path("vector.gguf"), 1}}, .control_layers = layers});
  }
  std::string refusal(const AdapterFiles& files) {
    const Graph* const graphs[] = {&graph};
    const Checkpoint file = model();
    std::string text = text_of([&] {
      Adapters::open(files, {.file = file, .n_layers = 2, .n_embd = 64, .graphs = graphs});
    });
    for (std::size_t at; (at = text.find(folder.path().string() + "/")) != std::string::npos;)
      text.erase(at, folder.path().string().size() + 1);
    return text;
  }

  test::TempFolder folder;
  Graph graph;
};

}  // namespace

TEST_CASE("files that are not LoRAs of the model") {
  Fixture f;
  const AdapterFiles model{.loras = {{f.path("model.gguf"), 1}}};
  CHECK(f.refusal(model) ==
        "model.gguf: not an adapter: key 'general.type' must be 'adapter', got 'model'");
  CHECK(f.refusal(AdapterFiles{.loras = {{f.path("none.gguf"), 1}}}) ==
        "none.gguf: cannot open: No such file or directory");
  CHECK(f.refusal({.arch = "qwen2", .weights = {{kQ, {32, 64}}}}) ==
        "lora.gguf: not an adapter of this model: key 'general.architecture' must be 'llama', got "
        "'qwen2'");
  GgufWriter no_type;
  no_type.write(f.path("empty.gguf"));
  CHECK(f.refusal(AdapterFiles{.loras = {{f.path("empty.gguf"), 1}}}) ==
        "empty.gguf: not an adapter: key 'general.type' must be 'adapter', it is missing");
  CHECK(f.refusal(MadeLora{}) == "lora.gguf: the adapter has no tensors");
  const auto activated = [](GgufWriter& w) {
    w.add_i32s("adapter.alora.invocation_tokens", std::vector<std::int32_t>{1, 2});
  };
  CHECK(f.refusal({.weights = {{kQ, {32, 64}}}, .more = activated}) ==
        "lora.gguf: key 'adapter.alora.invocation_tokens': activated LoRAs are not supported");
}

TEST_CASE("tensors of LoRAs that do not fit the model") {
  Fixture f;
  const auto add = [](const std::string& name, const Shape& shape) {
    return [=](GgufWriter& w) { test::add_random(w, name, shape, 1, 1); };
  };
  CHECK(f.refusal({.weights = {{"blk.9.attn_q.weight", {32, 64}}}}) ==
        "lora.gguf: tensor 'blk.9.attn_q.weight.lora_a' adapts 'blk.9.attn_q.weight', which the "
        "model model.gguf does not have");
  CHECK(
      f.refusal({.weights = {{kQ, {32, 128}}}}) ==
      "lora.gguf: tensor 'blk.0.attn_q.weight.lora_a' must be [4, 64], because the model's tensor "
      "is [32, 64], got [4, 128]");
  CHECK(
      f.refusal({.weights = {{kQ, {48, 64}}}}) ==
      "lora.gguf: tensor 'blk.0.attn_q.weight.lora_b' must be [32, 4], because the model's tensor "
      "is [32, 64], got [48, 4]");
  CHECK(f.refusal({.weights = {{"token_embd.weight", {64, 10}}}}) ==
        "lora.gguf: tensor 'token_embd.weight.lora_a' must be [10, 4], because the model's tensor "
        "is [10, 64], got [64, 4]");
  CHECK(f.refusal({.weights = {{"blk.0.ffn_up_exps.weight", {2, 16, 64}}}}) ==
        "lora.gguf: tensor 'blk.0.ffn_up_exps.weight.lora_a' must be [3, 4, 64], because the "
        "model's tensor is [3, 16, 64], got [2, 4, 64]");
  CHECK(f.refusal({.more = add(kQ + ".lora_a", {4, 64})}) ==
        "lora.gguf: tensor 'blk.0.attn_q.weight.lora_b' is missing, "
        "'blk.0.attn_q.weight.lora_a' exists");
  CHECK(f.refusal({.more = add(kQ + ".lora_b", {32, 4})}) ==
        "lora.gguf: tensor 'blk.0.attn_q.weight.lora_a' is missing, "
        "'blk.0.attn_q.weight.lora_b' exists");
  CHECK(f.refusal({.more = add("blk.0.attn_norm.weight", {64})}) ==
        "lora.gguf: tensor 'blk.0.attn_norm.weight' replaces a norm of the model, which is not "
        "supported");
  CHECK(f.refusal({.more = add(kQ, {4})}) ==
        "lora.gguf: tensor 'blk.0.attn_q.weight' must end with .lora_a or .lora_b");
  CHECK(f.refusal({.weights = {{kQ, {32, 64}}},
                   .more =
                       [&](GgufWriter& w) {
                         add("blk.0.attn_norm.weight.lora_a", {4, 64})(w);
                         add("blk.0.attn_norm.weight.lora_b", {1, 4})(w);
                       }}) ==
        "lora.gguf: tensor 'blk.0.attn_norm.weight.lora_a' adapts a tensor of 1 dimensions, only 2 "
        "or 3 are supported");
}

TEST_CASE("numbers of LoRAs that are not finite") {
  Fixture f;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  const MadeLora good{.weights = {{kQ, {32, 64}}}};
  CHECK(f.refusal(good, nan) == "lora.gguf: the scale must be a finite number, got nan");
  CHECK(f.refusal(good, -inf) == "lora.gguf: the scale must be a finite number, got -inf");
  MadeLora bad = good;
  bad.alpha = inf;
  CHECK(f.refusal(bad) == "lora.gguf: key 'adapter.lora.alpha' must be -1e+30 .. 1e+30, got inf");
  GgufWriter large;
  large.add_string("general.type", "adapter");
  large.add_string("adapter.type", "lora");
  large.add_string("general.architecture", "llama");
  large.add("adapter.lora.alpha", {MetaType::float64, 1e300});
  large.write(f.path("large.gguf"));
  CHECK(f.refusal(AdapterFiles{.loras = {{f.path("large.gguf"), 1}}}) ==
        "large.gguf: key 'adapter.lora.alpha' must be -1e+30 .. 1e+30, got 1e+300");
  bad = good;
  bad.size = inf;
  CHECK(f.refusal(bad).starts_with("lora.gguf: tensor 'blk.0.attn_q.weight.lora_a' holds "));
  CHECK(f.refusal(good) == "no error");
}

TEST_CASE("weights that only merging can adapt") {
  Fixture f;
  Graph& g = f.graph;
  const Tensor conv = g.weight("blk.0.conv.weight", {f32, {64, 4}});
  g.output("y", linear(conv, g.weight("other", {f32, {2, 4}})).named("blk.0.mix"));
  CHECK(f.refusal({.weights = {{"blk.0.conv.weight", {64, 4}}}}) ==
        "lora.gguf: adapts 'blk.0.conv.weight', which the model uses in 'blk.0.mix' (linear); only "
        "weights of linear, expert_linear, head_linear with a matrix per head, and get_rows of one "
        "row per token can be adapted");
  const Tensor stacked = g.weight(kQ, {f32, {2, 16, 64}});
  const Tensor heads = g.input("heads", {f32, {4, 2, 64}});
  g.output("z", head_linear(heads, stacked).named("blk.0.heads"));
  CHECK(f.refusal({.weights = {{kQ, {32, 64}}}}).find("in 'blk.0.heads' (head_linear); only ") !=
        std::string::npos);
  CHECK(f.refusal({.weights = {{"blk.0.conv.weight", {64, 4}}}}) != "no error");
  write_merged(f.model(), std::vector<LoraFile>{{f.path("lora.gguf"), 2}}, f.path("merged.gguf"));
  const Checkpoint merged = Checkpoint::open(f.path("merged.gguf")), model = f.model();
  CHECK(merged.tensors().size() == model.tensors().size());
  CHECK(merged.find_string("general.type") == "model");
  const auto values = [](const Checkpoint& file, const char* name) {
    return reinterpret_cast<const float*>(file.find_tensor(name)->data);
  };
  const Checkpoint lora = Checkpoint::open(f.path("lora.gguf"));
  double sum = values(model, "blk.0.conv.weight")[4 * 7 + 2];
  for (int r = 0; r < 4; ++r)  // alpha / rank * scale = 8 / 4 * 2
    sum += 4.0 * values(lora, "blk.0.conv.weight.lora_b")[7 * 4 + r] *
           values(lora, "blk.0.conv.weight.lora_a")[r * 4 + 2];
  CHECK(values(merged, "blk.0.conv.weight")[4 * 7 + 2] == static_cast<float>(sum));
  CHECK(values(merged, kQ.c_str())[5] == values(model, kQ.c_str())[5]);
  CHECK(text_of([&] {
          write_merged(model, std::vector<LoraFile>{{f.path("lora.gguf"), 3e38F}},
                       f.path("big.gguf"));
        }).find("tensor 'blk.0.conv.weight' would hold") != std::string::npos);
  CHECK_THROWS_AS(
      write_merged(model, std::vector<LoraFile>{{f.path("lora.gguf"), 1}}, f.path("model.gguf")),
      ValueError);
  CHECK(text_of([&] {
          write_merged(model, std::vector<LoraFile>{{f.path("lora.gguf"), 1}}, f.path("lora.gguf"));
        }) == f.path("lora.gguf") + ": the output must not be a file of the input");
}

TEST_CASE("control vectors that are refused") {
  Fixture f;
  CHECK(f.refusal({.model_hint = "qwen2"}) ==
        "vector.gguf: not a control vector of this model: key 'controlvector.model_hint' must be "
        "'llama', got 'qwen2'");
  const std::string without_hint = f.refusal(MadeControlVector{.model_hint = ""});
  CHECK(without_hint == f.refusal(MadeControlVector{}));
  CHECK(f.refusal({.layers = {1}, .width = 128}) ==
        "vector.gguf: tensor 'direction.1' must be [64], as wide as the model, got [128]");
  CHECK(f.refusal({.layers = {1}, .width = 32}) ==
        "vector.gguf: tensor 'direction.1' must be [64], as wide as the model, got [32]");
  CHECK(f.refusal({.layers = {2}}) ==
        "vector.gguf: tensor 'direction.2': the layer must be 1..1, as the model has 2 layers");
  CHECK(f.refusal({.layers = {0}}) ==
        "vector.gguf: tensor 'direction.0': the layer must be 1..1, as the model has 2 layers");
  CHECK(f.refusal({}, ControlLayers{2, 1}) ==
        "layers of control vectors must be 0 <= first <= last <= 2, got first 2, last 1");
  CHECK(f.refusal({}, ControlLayers{1, 3}) ==
        "layers of control vectors must be 0 <= first <= last <= 2, got first 1, last 3");
  CHECK(f.refusal(MadeControlVector{.layers = {}}) ==
        "vector.gguf: the control vector has no tensors");
  CHECK(f.refusal(AdapterFiles{.control_vectors = {{f.path("model.gguf"), 1}}}) ==
        "model.gguf: not a control vector: key 'general.architecture' must be 'controlvector', got "
        "'llama'");
  CHECK(f.refusal(AdapterFiles{.control_layers = ControlLayers{1, 1}}) ==
        "layers for control vectors were given, but no control vector");
  CHECK(f.refusal(MadeControlVector{}) ==
        "vector.gguf: control vectors need layers that return one residual stream; layer 1 of this "
        "model returns 0");
}
