#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/embeddings.h"

#include "embeddings/embeddings_test_support.h"
#include "generation/text_model_test_support.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::Ids;
using test::made_text_model;
using test::plain;
using test::pooled;
using test::rows_of;
using test::text;
using test::text_of;
using test::Texts;
using test::tiny_model;

std::vector<float> product(const std::vector<float>& w, const std::vector<float>& x) {
  std::vector<float> y;
  for (std::size_t i = 0; i < w.size() / x.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < x.size(); ++j) sum += double{w[i * x.size() + j]} * x[j];
    y.push_back(static_cast<float>(sum));
  }
  return y;
}

// A model with these tensors beyond the usual ones, and the values of all of its tensors.
struct WithTensors {
  WithTensors(const char* arch, std::vector<std::pair<std::string, Shape>> tensors,
              std::function<void(GgufWriter&)> keys = {})
      : model(made_text_model(
            {.arch = arch,
             .change =
                 [&](arch::MadeSource& source) {
                   for (const auto& [name, shape] : tensors) source.add(name, {f32, shape});
                 },
             .weights = [&](const std::string& name, std::vector<float>& v) { values[name] = v; },
             .keys = std::move(keys)})) {}
  std::map<std::string, std::vector<float>> values;
  std::shared_ptr<const Model> model;
};

TEST_CASE("the layers after pooling count in the memory budget") {
  const auto other_bytes = [](const WithTensors& with, Pooling pooling) {
    return Embedder(with.model, plain(pooling)).session().memory().other;
  };
  const WithTensors bert("bert", {}),
      ranks("bert",
            {{"cls.weight", {64, 64}}, {"cls.norm.weight", {64}}, {"cls.output.weight", {2, 64}}});
  const std::int64_t classifier = 64 * 64 + 64 + 64 + 2 * 64 + 2;
  CHECK(other_bytes(ranks, Pooling::rank) - other_bytes(bert, Pooling::mean) == 4 * classifier);
  const WithTensors gemma("gemma-embedding", {}),
      dense("gemma-embedding", {{"dense_2.weight", {32, 64}}});
  CHECK(other_bytes(dense, Pooling::mean) - other_bytes(gemma, Pooling::mean) ==
        4 * (32 * 64 + 32));
  EmbedderOptions options = plain(Pooling::rank);
  options.session.prefill_width = 8;  // nothing can be given up
  options.session.weights = WeightMode::mapped;
  options.session.mem_budget = Embedder(ranks.model, options).session().memory().total();
  Embedder{ranks.model, options};
  --options.session.mem_budget;
  CHECK_THROWS_AS(Embedder(ranks.model, options), BudgetError);
}

TEST_CASE("the output that ranks is known by its name") {
  const auto output_of = [](int n, const std::vector<std::string>& labels, const char* reads = "") {
    const WithTensors with("bert", {{"cls.output.weight", {n, 64}}}, [&](GgufWriter& w) {
      if (!labels.empty()) w.add_strings("bert.classifier.output_labels", labels);
      if (*reads) w.add_string("bert.classifier.reads", reads);
    });
    return text_of([&] { fail<Error>("{}", ranking_output(*with.model)); });
  };
  CHECK(output_of(1, {}) == "0");
  CHECK(output_of(1, {"LABEL_0"}) == "0");
  CHECK(output_of(2, {}) == "0");
  CHECK(output_of(2, {"LABEL_0", "LABEL_1"}) == "1");
  CHECK(output_of(2, {"Yes", "no"}) == "0");
  CHECK(output_of(2, {"irrelevant", "highly relevant"}) == "1");
  CHECK(output_of(3, {}).find("none of the classifier's 3 outputs is a relevance") !=
        std::string::npos);
  CHECK(output_of(3, {"LABEL_0", "LABEL_1", "LABEL_2"}).find("is a relevance") !=
        std::string::npos);
  CHECK(output_of(3, {"a", "b"}).find("names 2 outputs, the classifier has 3") !=
        std::string::npos);
  CHECK(output_of(3, {"contradiction", "ENTAILMENT", "neutral"}) == "1");
  CHECK(output_of(3, {"a", "b", "c"}).find("none of the classifier's 3 outputs is a relevance") !=
        std::string::npos);
  CHECK(output_of(1, {}, "max").find("'bert.classifier.reads' is 'max' (known: mean, cls, last)") !=
        std::string::npos);
}

TEST_CASE("rank pooling gives the outputs of the classifier") {
  const Ids ids = text(3, 9);
  const auto scores = [&](const WithTensors& with) {
    Embedder embedder(with.model, plain(Pooling::rank));
    CHECK(embedder.width() == std::ssize(embedder.embed(Texts{ids}).front().values));
    return embedder.embed(Texts{text(1, 4), ids})[1].values;
  };
  {
    WithTensors bert("bert", {{"cls.weight", {64, 64}}, {"cls.output.weight", {2, 64}}});
    std::vector<float> x =
        product(bert.values["cls.weight"], pooled(rows_of(bert.model, ids), Pooling::cls));
    for (float& v : x) v = std::tanh(v);
    CHECK(scores(bert) == product(bert.values["cls.output.weight"], x));
  }
  {
    WithTensors one("bert", {{"cls.output.weight", {64}}, {"cls.output.bias", {1}}});
    const auto y =
        product(one.values["cls.output.weight"], pooled(rows_of(one.model, ids), Pooling::cls));
    CHECK(scores(one)[0] == doctest::Approx(y[0] + one.values["cls.output.bias"][0]));
  }
  {
    WithTensors qwen("qwen3", {{"cls.output.weight", {2, 64}}});
    const auto y =
        product(qwen.values["cls.output.weight"], pooled(rows_of(qwen.model, ids), Pooling::last));
    const std::vector<float> p = scores(qwen);
    CHECK(p[0] == doctest::Approx(1 / (1 + std::exp(y[1] - y[0]))));
    CHECK(p[0] + p[1] == doctest::Approx(1));
  }
}

TEST_CASE("the classifier of ModernBERT has a norm, and a GELU of its own") {
  const Ids ids = text(3, 9);
  // `layers`, `classifier`: activations in the file. `exact`: whether that of the classifier is.
  const auto check = [&](const std::string& layers, const std::string& classifier, bool exact) {
    CAPTURE(layers);
    CAPTURE(classifier);
    WithTensors modern(
        "modern-bert",
        {{"cls.weight", {64, 64}}, {"cls.norm.weight", {64}}, {"cls.output.weight", {1, 64}}},
        [&](GgufWriter& w) {
          if (!layers.empty()) w.add_string("modern-bert.hidden_activation", layers);
          if (!classifier.empty()) w.add_string("modern-bert.classifier.activation", classifier);
        });
    const std::vector<float> x =
        product(modern.values["cls.weight"], pooled(rows_of(modern.model, ids), Pooling::mean));
    std::vector<double> h;
    double mean = 0, squares = 0, y = 0;
    for (const double v : x)
      h.push_back(v / 2 *
                  (1 + (exact ? std::erf(v / std::sqrt(2.0))
                              : std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v)))));
    for (const double v : h) mean += v / 64;
    for (const double v : h) squares += (v - mean) * (v - mean) / 64;
    for (std::size_t i = 0; i < 64; ++i)
      y += (h[i] - mean) / std::sqrt(squares + 1e-5) * modern.values["cls.norm.weight"][i] *
           modern.values["cls.output.weight"][i];
    const float score = Embedder(modern.model, plain(Pooling::rank)).embed(Texts{ids})[0].values[0];
    CHECK(score == doctest::Approx(y).epsilon(1e-6));
  };
  check("", "", false);
  check("gelu", "", true);
  check("silu", "gelu", true);
  check("gelu", "gelu_pytorch_tanh", false);
  CHECK(text_of([&] {
          check("", "relu", false);
        }).find("'modern-bert.classifier.activation' is 'relu' (known: gelu, gelu_pytorch_tanh)") !=
        std::string::npos);
}

TEST_CASE("a model that cannot rank, or whose classifier does not fit, is refused") {
  const auto model = tiny_model({.arch = "bert"});
  CHECK(text_of([&] {
          Embedder(model, plain(Pooling::rank));
        }).find("the model has no classifier (tensor cls.weight or cls.output.weight)") !=
        std::string::npos);
  const WithTensors wide("bert", {{"cls.output.weight", {2, 63}}});
  CHECK(text_of([&] {
          Embedder(wide.model, plain(Pooling::rank));
        }).find("tensor 'cls.output.weight' must have rows of 64 elements, got [2, 63]") !=
        std::string::npos);
  const WithTensors biased("bert", {{"cls.output.weight", {2, 64}}, {"cls.output.bias", {3}}});
  CHECK(text_of([&] {
          Embedder(biased.model, plain(Pooling::rank));
        }).find("tensor 'cls.output.bias' must be [2], got [3]") != std::string::npos);
  const WithTensors normed("modern-bert",
                           {{"cls.norm.weight", {64}}, {"cls.output.weight", {1, 64}}});
  CHECK(text_of([&] {
          Embedder(normed.model, plain(Pooling::rank));
        }).find("tensor 'cls.norm.weight' needs tensor 'cls.weight', which is missing") !=
        std::string::npos);
}

TEST_CASE("without pooling, the dense layer of ColBERT follows every token") {
  WithTensors with("lfm2", {{"dense_2.weight", {16, 64}}});
  const Ids ids = text(2, 5);
  const std::vector<float> rows = rows_of(with.model, ids);
  std::vector<float> want;
  for (std::size_t t = 0; t < ids.size(); ++t) {
    const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(64 * t);
    const auto y = product(with.values["dense_2.weight"], {begin, begin + 64});
    want.insert(want.end(), y.begin(), y.end());
  }
  Embedder embedder(with.model, plain(Pooling::none));
  CHECK(embedder.width() == 16);
  CHECK(embedder.embed(Texts{ids}).front().values == want);
}

TEST_CASE("dense layers have biases and activations, and read all pooled vectors") {
  const auto names = [](std::vector<std::string> activations) {
    return [activations](GgufWriter& w) {
      w.add_string("weft.embedding.pooling", "cls+max");
      w.add_strings("weft.embedding.dense_activations", activations);
    };
  };
  const std::vector<std::pair<std::string, Shape>> tensors = {
      {"dense_2.weight", {8, 128}}, {"dense_2.bias", {8}}, {"dense_3.weight", {4, 8}}};
  WithTensors with("bert", tensors, names({"tanh", "gelu"}));
  const Ids ids = text(2, 11);
  const Poolings poolings = *find_poolings("cls+max");
  const std::vector<float> x = pooled(rows_of(with.model, ids), poolings);
  std::vector<float> hidden;
  const auto product_of = [&](const char* name, const std::vector<float>& in, std::size_t i) {
    double sum = 0;
    const std::vector<float>& w = with.values[name];
    for (std::size_t j = 0; j < in.size(); ++j) sum += double{w[i * in.size() + j]} * in[j];
    return sum;
  };
  for (std::size_t i = 0; i < 8; ++i) {
    const double y = product_of("dense_2.weight", x, i) + with.values["dense_2.bias"][i];
    hidden.push_back(static_cast<float>(std::tanh(y)));
  }
  const auto got = Embedder(with.model, {.norm = kNotNormalized}).embed(Texts{ids}).front().values;
  REQUIRE(got.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    const double y = product_of("dense_3.weight", hidden, i);
    CHECK(got[i] == doctest::Approx(y / 2 * (1 + std::erf(y / std::sqrt(2.0)))));
  }
  const auto refused = [&](std::vector<std::string> activations) {
    const WithTensors wrong("bert", tensors, names(std::move(activations)));
    return text_of([&] { Embedder(wrong.model, {}); });
  };
  CHECK(refused({"tanh"}).find("names 1 activations, but the file has 2 dense layers") !=
        std::string::npos);
  CHECK(refused({"tanh", "swish"}).find("unknown activation 'swish' (known: identity, tanh") !=
        std::string::npos);
}

TEST_CASE("dense layers follow pooling") {
  WithTensors with("gemma-embedding", {{"dense_2.weight", {96, 64}}, {"dense_3.weight", {32, 96}}});
  const Ids ids = text(2, 11);
  const auto x = pooled(rows_of(with.model, ids), Pooling::mean);
  Embedder embedder(with.model, plain(Pooling::mean));
  CHECK(embedder.width() == 32);
  CHECK(embedder.embed(Texts{ids}).front().values ==
        product(with.values["dense_3.weight"], product(with.values["dense_2.weight"], x)));
}

}  // namespace
}  // namespace weft
