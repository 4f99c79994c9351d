// The same model in files of other forms, which other programs write: the logits are the same.

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/file_variant.h"

using namespace weft;
using test::About;
using test::Data;
using test::Files;
using test::Floats;
using test::Variant;

namespace {

std::string in_layer(std::int64_t i, const std::string& name) {
  return fmt::format("blk.{}.{}", i, name);
}

constexpr std::int64_t kMaxLayers = 32;

// Calls change(layer) for every layer and returns how many it changed.
template <class Change>
int in_layers(Change change) {
  int n = 0;
  for (std::int64_t i = 0; i < kMaxLayers; ++i) n += change(i) ? 1 : 0;
  return n;
}

// Replaces these matrices, and their biases, of a layer by one.
bool fuse(Variant& file, std::int64_t layer, const std::vector<std::string>& names,
          const std::string& into) {
  for (const char* kind : {".weight", ".bias"}) {
    std::vector<Data> parts;
    for (const std::string& name : names) {
      if (!file.has(in_layer(layer, name + kind))) continue;
      parts.push_back(file.take(in_layer(layer, name + kind)));
    }
    if (parts.size() == names.size())
      file.tensors[in_layer(layer, into + kind)] = stacked(parts);
    else if (kind == std::string(".weight"))
      return false;
  }
  return true;
}

const std::map<std::string, arch::MadeSource::Value> kExperts{
    {"expert_count", std::int64_t{4}},
    {"expert_used_count", std::int64_t{2}},
    {"expert_feed_forward_length", std::int64_t{32}}};

// A delta net and a layer with attention.
About kimi() {
  About about{"kimi-linear", kExperts};
  about.keys["attention.head_count_kv"] = std::vector<std::int64_t>{0, 1};
  return about;
}

}  // namespace

TEST_CASE("q, k and v in three matrices or in one") {
  for (const About& about :
       {About{"llama"}, About{"qwen2", {}, {"_q.bias", "_k.bias", "_v.bias"}}, About{"gemma3n"},
        About{"qwen35", {}, {}, {4}}, kimi(), About{"gemma2"}}) {
    CAPTURE(about.arch);
    Files files;
    Variant file = files.made(about);
    const Floats expected = files.logits(file);
    CHECK(in_layers([&](std::int64_t i) {
            return file.has(in_layer(i, "attn_q.weight")) &&
                   file.has(in_layer(i, "attn_v.weight")) &&
                   fuse(file, i, {"attn_q", "attn_k", "attn_v"}, "attn_qkv");
          }) > 0);
    CHECK(test::same_bits(files.logits(file), expected));
  }
}

TEST_CASE("gate and up in two matrices or in one") {
  for (const About& about : {About{"llama"}, About{"llama", {}, {".bias"}}, About{"gemma3n"},
                             About{"minimax-m3",
                                   {{"attention.indexer.head_count", std::int64_t{2}},
                                    {"leading_dense_block_count", std::int64_t{1}}}}}) {
    CAPTURE(about.arch);
    Files files;
    Variant file = files.made(about);
    const Floats expected = files.logits(file);
    CHECK(in_layers([&](std::int64_t i) {
            return file.has(in_layer(i, "ffn_gate.weight")) &&
                   fuse(file, i, {"ffn_gate", "ffn_up"}, "ffn_up");
          }) > 0);
    CHECK(test::same_bits(files.logits(file), expected));
  }
}

TEST_CASE("experts in one tensor, two tensors, or a tensor each") {
  for (const std::string arch : {"llama", "qwen3moe", "llama4"}) {
    CAPTURE(arch);
    Files files;
    const Variant file = files.made({arch, kExperts});
    const Floats expected = files.logits(file);
    Variant fused = file, single = file;
    CHECK(in_layers([&](std::int64_t i) {
            if (!fused.has(in_layer(i, "ffn_gate_exps.weight"))) return false;
            const Data gate = fused.take(in_layer(i, "ffn_gate_exps.weight")),
                       up = fused.take(in_layer(i, "ffn_up_exps.weight"));
            std::vector<Data> each;
            for (std::int64_t e = 0; e < gate.rows(); ++e) {
              each.push_back(gate.part(e, e + 1));
              each.push_back(up.part(e, e + 1));
            }
            Data both = stacked(each);
            both.shape = {gate.rows(), 2 * gate.shape[1].bound, gate.shape[2].bound};
            fused.tensors[in_layer(i, "ffn_gate_up_exps.weight")] = both;
            for (const char* name : {"gate", "up", "down"}) {
              const Data all = single.take(in_layer(i, fmt::format("ffn_{}_exps.weight", name)));
              for (std::int64_t e = 0; e < all.rows(); ++e) {
                Data one = all.part(e, e + 1);
                one.shape = {all.shape[1].bound, all.shape[2].bound};
                single.tensors[in_layer(i, fmt::format("ffn_{}.{}.weight", name, e))] = one;
              }
            }
            return true;
          }) > 0);
    CHECK(test::same_bits(files.logits(fused), expected));
    CHECK(test::same_bits(files.logits(single), expected));
  }
}

// The scales are powers of two: they do not change the rounding.
TEST_CASE("scales of matrices, and of the inputs of programs that quantize them") {
  for (const About& about :
       {About{"llama", {}, {".bias"}}, About{"qwen3moe", kExperts}, About{"qwen35", {}, {}, {4}},
        About{"phi3", {}, {"attn_qkv.weight"}}, About{"gemma3n"}}) {
    CAPTURE(about.arch);
    Files files;
    Variant file = files.made(about);
    const Floats expected = files.logits(file);
    int n = 0;
    for (const std::string& name : file.names()) {
      constexpr std::string_view kEnd = ".weight";
      const bool one = name.find(".attn_q") != name.npos || name.find(".attn_k.") != name.npos ||
                       name.find(".attn_output") != name.npos || name.find("ffn_") != name.npos ||
                       name.find("ssm_out") != name.npos || name.find("ssm_beta") != name.npos;
      Data& data = file.tensors.at(name);
      if (!one || !name.ends_with(kEnd) || data.shape.n_dims() < 2) continue;
      const std::string base = name.substr(0, name.size() - kEnd.size());
      const bool experts = data.shape.n_dims() == 3;
      Data factors{{experts ? data.rows() : 1}, {}};
      for (std::int64_t e = 0; e < factors.rows(); ++e)
        factors.values.push_back(++n % 2 == 0 ? 0.25f : 8.0f);
      const std::size_t each = data.values.size() / factors.values.size();
      for (std::size_t i = 0; i < data.values.size(); ++i)
        data.values[i] /= factors.values[i / each];
      file.tensors[base + ".scale"] = file.tensors[base + ".input_scale"] = factors;
    }
    CHECK(n > 4);
    CHECK(test::same_bits(files.logits(file), expected));
  }
}

TEST_CASE("an output matrix that repeats the embeddings, or none") {
  Files files;
  Variant file = files.made({"llama"});
  CHECK_FALSE(file.has("output.weight"));
  const Floats expected = files.logits(file);
  file.tensors["output.weight"] = file.tensors.at("token_embd.weight");
  CHECK(test::same_bits(files.logits(file), expected));
  file.tensors.at("output.weight").values[0] += 1;
  CHECK_FALSE(test::same_bits(files.logits(file), expected));
}

TEST_CASE("layers for multi-token prediction are not part of the graph") {
  for (const About& about : {About{"llama"}, About{"gemma3n"}, About{"kimi-linear", kExperts}}) {
    CAPTURE(about.arch);
    Files files;
    Variant file = files.made(about);
    const Floats expected = files.logits(file);
    const std::uint64_t L = file.number(about.arch + ".block_count");
    const std::string last = fmt::format("blk.{}.", L - 1), next = fmt::format("blk.{}.", L);
    for (const std::string& name : file.names()) {
      if (name.starts_with(last))
        file.tensors[next + name.substr(last.size())] = file.tensors.at(name);
    }
    file.tensors[next + "nextn.eh_proj.weight"] = {{64, 128}, Floats(64 * 128)};
    file.set(about.arch + ".block_count", {MetaType::uint32, L + 1});
    file.set(about.arch + ".nextn_predict_layers", {MetaType::uint32, std::uint64_t{1}});
    CHECK(test::same_bits(files.logits(file), expected));
    file.set(about.arch + ".nextn_predict_layers", {MetaType::uint32, std::uint64_t{0}});
    CHECK(files.error(file).starts_with(": "));  // part of the graph, or surplus tensors
    file.set(about.arch + ".nextn_predict_layers", {MetaType::uint32, L + 1});
    CHECK(files.error(file) == fmt::format(": key '{}.nextn_predict_layers' is {}, must be 0..{}",
                                           about.arch, L + 1, L));
  }
}

TEST_CASE("encoders of images in the file of a text model are not part of the graph") {
  Files files;
  Variant file = files.made({"gemma3"});
  const Floats expected = files.logits(file);
  for (const char* name : {"v.patch_embd.weight", "v.blk.0.attn_q.weight", "mm.0.weight"})
    file.tensors[name] = {{8, 8}, Floats(64)};
  file.set("gemma3.vision.block_count", {MetaType::uint32, std::uint64_t{1}});
  CHECK(test::same_bits(files.logits(file), expected));
  file.tensors["vision.weight"] = {{8}, Floats(8)};
  CHECK(files.error(file) == ": architecture 'gemma3' does not use tensor 'vision.weight'");
  file.set("general.type", {MetaType::string, std::string_view("mmproj")});
  CHECK(files.error(file) == ": not a model: key 'general.type' is 'mmproj'");
}

TEST_CASE("keys of older files") {
  Files files;
  Variant file =
      files.made({"llama", {{"rope.scaling.type", "linear"}, {"rope.scaling.factor", 4.0}}});
  const Floats expected = files.logits(file);
  std::erase_if(file.keys,
                [](const auto& entry) { return entry.first.starts_with("llama.rope.scaling."); });
  CHECK_FALSE(test::same_bits(files.logits(file), expected));
  file.set("llama.rope.scale_linear", {MetaType::float32, 4.0});
  CHECK(test::same_bits(files.logits(file), expected));
}

TEST_CASE("the biases of a router, by both of their names") {
  const About about{"glm4moe",
                    {{"expert_count", std::int64_t{4}},
                     {"expert_used_count", std::int64_t{2}},
                     {"expert_feed_forward_length", std::int64_t{32}}},
                    {"exp_probs_b.bias"}};
  Files files;
  Variant file = files.made(about);
  const Floats expected = files.logits(file);
  CHECK(in_layers([&](std::int64_t i) {
          if (!file.has(in_layer(i, "exp_probs_b.bias"))) return false;
          file.tensors[in_layer(i, "exp_probs_b")] = file.take(in_layer(i, "exp_probs_b.bias"));
          return true;
        }) > 0);
  CHECK(test::same_bits(files.logits(file), expected));
}

TEST_CASE("split models, and parts that do not belong together") {
  Files files;
  const Variant file = files.made({"llama"});
  Variant other = files.made({"llama", {{"feed_forward_length", std::int64_t{128}}}});
  const std::string a = (files.folder() / "a").string(), b = (files.folder() / "b").string();
  const auto part = [](const std::string& prefix, int i) {
    return fmt::format("{}-{:05d}-of-00003.gguf", prefix, i);
  };
  const auto error = [&] { return test::text_of([&] { Model::load(part(a, 1)); }); };
  file.write_parts(a, 3);
  CHECK(test::same_bits(Files::logits(part(a, 1)), files.logits(file)));
  other.write_parts(b, 3);
  std::filesystem::copy_file(part(b, 2), part(a, 2),
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(error().starts_with(part(a, 2) + ": tensor 'blk."));
  CHECK(error().find("must be [96, 64], got [128, 64]") != std::string::npos);
  // A part with other tensors, then one of a model with another number of them.
  other = file;
  other.tensors["a.first"] = other.take("token_embd.weight");
  other.write_parts(b, 3);
  std::filesystem::copy_file(part(b, 2), part(a, 2),
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(error().find(part(a, 1) + ": these are not parts of one model") != std::string::npos);
  other.tensors["b.more"] = {{1}, {0}};
  other.write_parts(b, 3);
  std::filesystem::copy_file(part(b, 2), part(a, 2),
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(error() == fmt::format("{}: key 'split.tensors.count' must be {} in part 2 of 3, got {}",
                               part(a, 2), file.tensors.size(), other.tensors.size()));
  std::filesystem::remove(part(a, 2));
  CHECK(error() == part(a, 2) + ": cannot open: No such file or directory");
  std::filesystem::copy_file(part(a, 3), part(a, 2));
  CHECK(error() == part(a, 2) + ": key 'split.no' must be 1 in part 2 of 3, got 2");
  CHECK(test::text_of([&] { Model::load(part(a, 3)); }) ==
        part(a, 3) + ": part 3 of 3; give the first part, " + part(a, 1));
}
