// Draft layers in files of their own: the same as in the model's file, and what is refused.
#include "weft/run/draft_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/session.h"

#include "support/file_variant.h"

using namespace weft;
using test::Files;
using test::text_of;
using test::Variant;

namespace {

MetaValue number(std::uint64_t value) {
  return {MetaType::uint32, value};
}

// A model with a draft layer, blk.2, and its two parts.
struct Parts {
  explicit Parts(Files& files, const std::string& architecture = "glm4moe") : arch(architecture) {
    whole = files.made({.arch = arch, .sizes = {.draft_layers = 1}});
    model = layer = whole;
    for (const std::string& name : whole.names()) {
      if (name.starts_with("blk.2."))
        model.take(name);
      else if (name.starts_with("blk."))
        layer.take(name);
    }
    model.set(arch + ".block_count", number(2));
    model.set(arch + ".nextn_predict_layers", number(0));
  }

  std::string arch;
  Variant whole, model, layer;
};

std::string written(Files& files, const Variant& variant) {
  std::string path = files.path();
  variant.write(path);
  return path;
}

std::shared_ptr<const Model> load_with(const std::string& path, const std::string& draft = {}) {
  ModelOptions options;
  options.draft_file = draft;
  return Model::load(path, options);
}

test::Floats row_of(std::span<const float> row) {
  return {row.begin(), row.end()};
}

// Logits of a step, and of the drafts after it.
std::vector<test::Floats> results(std::shared_ptr<const Model> model, WeightMode weights) {
  Session session(std::move(model), {.context = 64, .weights = weights, .draft_layer = true});
  session.feed(0, test::some_tokens(40));
  std::vector<test::Floats> rows{row_of(session.logits())};
  rows.push_back(row_of(session.draft(0, 7, false)));
  rows.push_back(row_of(session.draft(0, 9, true)));
  CHECK(session.allocated_bytes() == session.memory().total() - session.memory().weights_mapped);
  return rows;
}

// Without the path in front.
std::string refusal(Files& files, const Variant& model, const Variant& draft) {
  const std::string path = written(files, draft), of = written(files, model);
  std::string text = text_of([&] { load_with(of, path); });
  REQUIRE(text.starts_with(path + ": "));
  text.erase(0, path.size() + 2);
  for (std::size_t at; (at = text.find(of)) != text.npos;) text.replace(at, of.size(), "MODEL");
  return text;
}

}  // namespace

TEST_CASE("a draft layer in a file of its own is that of the model") {
  for (const char* arch : {"glm4moe", "qwen35", "step35"}) {
    CAPTURE(arch);
    Files files;
    Parts parts(files, arch);
    const std::string whole = written(files, parts.whole), layer = written(files, parts.layer);
    CHECK(draft_file_kind(Checkpoint::open(layer)) == DraftFileKind::layer);
    CHECK(draft_file_kind(Checkpoint::open(whole)) == DraftFileKind::model);
    for (const WeightMode weights : {WeightMode::mapped, WeightMode::resident}) {
      const auto want = results(load_with(whole), weights);
      REQUIRE(!want[1].empty());
      const auto joined = load_with(written(files, parts.model), layer);
      CHECK(joined->facts().drafts);
      CHECK(joined->facts().n_layers == 2);
      CHECK(results(joined, weights) == want);
    }
    // Its keys may also count the layer that it lacks.
    Variant counting = parts.whole;
    for (const std::string& name : parts.layer.names())
      if (name.starts_with("blk.")) counting.take(name);
    const std::string path = written(files, counting);
    CHECK_FALSE(load_with(path)->facts().drafts);
    CHECK(results(load_with(path, layer), WeightMode::mapped) ==
          results(load_with(whole), WeightMode::mapped));
  }
}

TEST_CASE("a draft layer shares the matrices at the ends, or brings what the model lacks") {
  Files files;
  Parts parts(files);
  const auto want = results(load_with(written(files, parts.whole)), WeightMode::mapped);
  const std::string model = written(files, parts.model);
  const auto drafts = [&] {
    return results(load_with(model, written(files, parts.layer)), WeightMode::mapped);
  };
  for (const std::string name : {"token_embd.weight", "output.weight", "output_norm.weight"}) {
    if (!parts.layer.has(name)) continue;
    const test::Data data = parts.layer.tensors.at(name);
    for (float& value : parts.layer.tensors.at(name).values) value = 3;
    CHECK(drafts() == want);
    parts.layer.tensors[name] = data;
  }
  for (const std::string name : {"token_embd.weight", "output.weight", "output_norm.weight"})
    parts.layer.tensors.erase(name);
  CHECK(drafts() == want);

  test::Data output = parts.model.tensors.at("token_embd.weight");
  std::ranges::reverse(output.values);
  parts.layer.tensors["output.weight"] = std::move(output);
  const auto by_output = drafts();
  CHECK(by_output[0] == want[0]);
  CHECK(by_output[1] != want[1]);
}

TEST_CASE("draft files that do not fit are refused") {
  Files files;
  const Parts parts(files);
  CHECK(refusal(files, parts.model, parts.model) ==
        "a model of its own, expected a draft layer of MODEL: only tensors blk.2.*, and the key "
        "'glm4moe.nextn_predict_layers'; or a head of architecture 'eagle3'");
  CHECK(refusal(files, files.made({.arch = "llama"}), parts.layer) ==
        "a draft layer for architecture 'glm4moe', but MODEL has 'llama'");
  CHECK(
      refusal(files, parts.whole, parts.layer)
          .starts_with("tensor 'blk.2.attn_k.weight' is also in MODEL, which has a draft layer of "
                       "its own"));

  Variant changed = parts.layer;
  changed.set("glm4moe.block_count", number(4));
  CHECK(refusal(files, parts.model, changed) ==
        "a draft layer for a model with number of layers 3, but MODEL has 2");
  changed.set("glm4moe.block_count", number(3));
  changed.set("glm4moe.vocab_size", number(49));
  CHECK(refusal(files, parts.model, changed) ==
        "a draft layer for a model with number of tokens 49, but MODEL has 50");
  changed = parts.layer;
  changed.set("glm4moe.embedding_length", number(32));
  CHECK(refusal(files, parts.model, changed) ==
        "a draft layer for a model with embedding length 32, but MODEL has 64");

  changed = parts.layer;
  changed.take("blk.2.nextn.hnorm.weight");
  CHECK(refusal(files, parts.model, changed)
            .starts_with("tensor 'blk.2.nextn.hnorm.weight' is missing"));
  changed = parts.layer;
  changed.take("blk.2.nextn.eh_proj.weight");
  CHECK(refusal(files, parts.model, changed)
            .starts_with("no draft layer that architecture 'glm4moe' can use"));
  changed = parts.layer;
  changed.tensors["blk.2.nextn.eh_proj.weight"] = changed.tensors["token_embd.weight"];
  CHECK(refusal(files, parts.model, changed)
            .starts_with("tensor 'blk.2.nextn.eh_proj.weight' must be [64, 128], got [50, 64]"));
  changed = parts.layer;
  changed.tensors["blk.1.attn_k.weight"] = changed.tensors["token_embd.weight"];
  CHECK(refusal(files, parts.model, changed) ==
        "tensor 'blk.1.attn_k.weight' is not of the draft layer, blk.2");
  changed = parts.layer;
  changed.tensors["blk.2.surplus.weight"] = changed.tensors["token_embd.weight"];
  CHECK(refusal(files, parts.model, changed).find("does not use tensor 'blk.2.surplus.weight'") !=
        std::string::npos);
  changed = parts.layer;
  changed.tensors.at("blk.2.attn_norm.weight").values[3] = NAN;
  CHECK(refusal(files, parts.model, changed).find("'blk.2.attn_norm.weight'") != std::string::npos);

  const std::string cut = written(files, parts.layer), model = written(files, parts.model);
  std::filesystem::resize_file(cut, std::filesystem::file_size(cut) / 2);
  CHECK_THROWS_AS(load_with(model, cut), FormatError);
  CHECK_THROWS_AS(load_with(model, cut + ".none"), IoError);
}
