#include "weft/serve/embeddings.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"

#include "made_text_model.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::kCls;
using test::kSep;
using test::made_text_model;
using test::text_of;
using test::tiny_model;
using Ids = std::vector<TokenId>;
using Texts = std::vector<Ids>;

Ids text(int i, int n) {
  Ids ids;
  for (int t = 0; t < n; ++t) ids.push_back((7 * i + t * t + 3 * t) % 50);
  return ids;
}

Texts texts_of(std::initializer_list<int> lengths) {
  Texts texts;
  for (const int n : lengths) texts.push_back(text(static_cast<int>(texts.size()), n));
  return texts;
}

// The last hidden states of a text alone, row by row.
std::vector<float> rows_of(const std::shared_ptr<const Model>& model, const Ids& ids) {
  Session session(model, {.context = 256,
                          .logits_rows = std::ssize(ids),
                          .cache_k = f32,
                          .cache_v = f32,
                          .embeddings = true});
  std::vector<StepToken> step;
  for (const TokenId id : ids) step.push_back({.token = id, .logits = true});
  const auto rows = session.step(step);
  return {rows.begin(), rows.end()};
}

std::vector<float> pooled(const std::vector<float>& rows, Pooling pooling) {
  constexpr std::size_t kWidth = 64;
  const auto width = std::ptrdiff_t(kWidth);
  if (pooling == Pooling::none) return rows;
  if (pooling == Pooling::cls) return {rows.begin(), rows.begin() + width};
  if (pooling == Pooling::last) return {rows.end() - width, rows.end()};
  std::vector<float> mean;
  for (std::size_t j = 0; j < kWidth; ++j) {
    double sum = 0;
    for (std::size_t i = j; i < rows.size(); i += kWidth) sum += rows[i];
    mean.push_back(static_cast<float>(sum / (static_cast<double>(rows.size()) / kWidth)));
  }
  return mean;
}

EmbedderOptions plain(Pooling pooling) {
  return {.pooling = pooling, .norm = kNotNormalized, .session = {.context = 256}};
}

TEST_CASE("texts embedded together have the bits of each text alone, for every pooling") {
  const Texts texts = texts_of({5, 70, 1, 33, 8, 64, 2, 19});
  for (const char* arch : {"bert", "modern-bert", "qwen3", "gemma3", "lfm2"}) {
    CAPTURE(arch);
    const auto model = tiny_model({.arch = arch});
    std::vector<std::vector<float>> alone;
    for (const Ids& ids : texts) alone.push_back(rows_of(model, ids));
    for (const Pooling pooling : {Pooling::none, Pooling::mean, Pooling::cls, Pooling::last}) {
      CAPTURE(to_string(pooling));
      for (const int per_step : {1, 3, 32}) {
        EmbedderOptions options = plain(pooling);
        options.texts_per_step = per_step;
        options.max_tokens = 70;
        options.session.prefill_width = 48;  // steps of causal models end within texts
        Embedder embedder(model, options);
        const auto all = embedder.embed(texts);
        REQUIRE(all.size() == texts.size());
        for (std::size_t i = 0; i < texts.size(); ++i) {
          CHECK(all[i].n_tokens == std::ssize(texts[i]));
          CHECK(all[i].values == pooled(alone[i], pooling));
        }
      }
    }
  }
}

TEST_CASE("a step holds as many texts as fit") {
  const Texts texts(20, text(1, 8));
  for (const auto& [arch, n_steps] : {std::pair{"bert", 4}, std::pair{"llama", 4}}) {
    EmbedderOptions options = plain(Pooling::mean);
    options.session.prefill_width = 40;
    Embedder embedder(tiny_model({.arch = arch}), options);
    embedder.embed(texts);
    CHECK(embedder.n_steps() == n_steps);
  }
  EmbedderOptions options = plain(Pooling::last);
  options.session.prefill_width = 50;  // 6.25 texts
  Embedder causal(tiny_model(), options), whole(tiny_model({.arch = "bert"}), options);
  causal.embed(texts);
  CHECK(causal.n_steps() == 4);  // 160 tokens
  whole.embed(texts);
  CHECK(whole.n_steps() == 4);  // 6 texts each
}

TEST_CASE("the pooling is that of the file, or the mean") {
  const auto with = [](const char* arch, std::int64_t type) {
    return made_text_model({.arch = arch, .keys = [&](GgufWriter& w) {
                              w.add_u32(std::string(arch) + ".pooling_type",
                                        static_cast<std::uint32_t>(type));
                            }});
  };
  CHECK(file_pooling(*tiny_model()) == Pooling::mean);
  CHECK(file_pooling(*with("bert", 0)) == Pooling::none);
  CHECK(file_pooling(*with("bert", 2)) == Pooling::cls);
  CHECK(file_pooling(*with("qwen3", 3)) == Pooling::last);
  const auto odd = with("bert", 5);
  CHECK(text_of([&] {
          file_pooling(*odd);
        }).find("key 'bert.pooling_type' is 5 (known: 0 (none)") != std::string::npos);
}

TEST_CASE("norms") {
  const auto normalized = [](std::vector<float> v, int norm) {
    normalize(v, norm);
    return v;
  };
  const std::vector<float> v{3, -4, 0};
  CHECK(normalized(v, kNotNormalized) == v);
  CHECK(normalized(v, kEuclidean) == std::vector<float>{0.6F, -0.8F, 0});
  CHECK(normalized(v, 1) == std::vector<float>{3 / 7.0F, -4 / 7.0F, 0});
  CHECK(normalized(v, kMaxInt16) == std::vector<float>{24570, -32760, 0});
  CHECK(normalized(v, 1 << 20) == std::vector<float>{0.75F, -1, 0});
  CHECK(normalized({0, 0}, kEuclidean) == std::vector<float>{0, 0});
  CHECK(normalized({}, kEuclidean).empty());
  const auto big = normalized({3e38F, 3e38F}, kEuclidean);  // no overflow
  CHECK(big[0] == doctest::Approx(std::sqrt(0.5)));
  CHECK(text_of([&] { normalized(v, -2); }) ==
        "the norm must be -1 (none), 0 (max) or 1, 2, .. (p-norm), got -2");

  Embedder embedder(tiny_model({.arch = "bert"}), {.pooling = Pooling::none});
  const Embedding rows = embedder.embed(texts_of({3})).front();
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 64; ++j) sum += std::pow(rows.values[64 * i + j], 2);
    CHECK(sum == doctest::Approx(1));
  }
}

TEST_CASE("texts that cannot be embedded are named, and the embedder stays usable") {
  const auto model = tiny_model({.arch = "bert"});
  EmbedderOptions options = plain(Pooling::mean);
  options.session.prefill_width = 16;
  Embedder embedder(model, options);
  CHECK(embedder.embed(Texts{}).empty());
  CHECK(text_of([&] { embedder.embed(Texts{{1}, {}}); }) == "text 2 of 2 is empty");
  CHECK(text_of([&] {
          embedder.embed(texts_of({3, 4, 17}));
        }) == "text 3 of 3 has 17 tokens, at most 16 fit");
  CHECK(text_of([&] {
          embedder.embed(Texts{{1}, {50}});
        }) == "token 50 is outside the vocabulary of 50");
  std::atomic<bool> cancelled = true;
  CHECK_THROWS_AS(embedder.embed(texts_of({3}), &cancelled), CancelledError);
  const Texts texts = texts_of({3, 16});
  CHECK(embedder.embed(texts)[1].values == pooled(rows_of(model, texts[1]), Pooling::mean));

  options.session.context = 12;  // shorter than a step
  Embedder narrow(model, options);
  CHECK(narrow.max_tokens() == 12);
  options.truncate = true;
  Embedder cuts(model, options);
  const Embedding cut = cuts.embed(texts)[1];
  CHECK(cut.n_tokens == 12);
  CHECK(cut.values ==
        pooled(rows_of(model, Ids(texts[1].begin(), texts[1].begin() + 12)), Pooling::mean));
}

TEST_CASE("a small memory budget lowers the tokens of a text, and with them what is refused") {
  const auto model = tiny_model({.arch = "bert"});
  EmbedderOptions options = plain(Pooling::mean);
  options.session.prefill_width = 256;
  options.session.weights = WeightMode::mapped;
  Embedder whole(model, options);
  REQUIRE(whole.max_tokens() == 256);
  const MemoryUse& use = whole.session().memory();
  options.session.mem_budget = use.total() - use.arena / 4;
  Embedder narrow(model, options);
  const std::int64_t max = narrow.max_tokens();
  CHECK(max == narrow.session().options().prefill_width);
  REQUIRE(max < 256);
  const Texts texts{text(1, static_cast<int>(max)), text(2, static_cast<int>(max) + 1)};
  CHECK(text_of([&] { narrow.embed(texts); }) ==
        fmt::format("text 2 of 2 has {} tokens, at most {} fit", max + 1, max));
  const Texts fits{texts[0]};
  CHECK(narrow.embed(fits)[0].values == whole.embed(fits)[0].values);
  options.truncate = true;
  CHECK(Embedder(model, options).embed(texts)[1].n_tokens == max);
}

TEST_CASE("the tokens of a text without a limit of their own") {
  const auto limit = [](const char* arch, std::int64_t max_tokens, std::int64_t context) {
    const std::string key = std::string(arch) + ".context_length";
    const auto model = made_text_model(
        {.arch = arch, .change = [&](MadeSource& s) { s.keys[key] = std::int64_t{16384}; }});
    return Embedder(model, {.max_tokens = max_tokens,
                            .texts_per_step = 1,
                            .session = {.context = context, .prefill_width = 64}})
        .max_tokens();
  };
  CHECK(limit("llama", 0, 0) == 4096);
  CHECK(limit("llama", 0, 5000) == 5000);
  CHECK(limit("llama", 0, 1 << 20) == 16384);
  CHECK(limit("llama", 100, 5000) == 100);
  CHECK(limit("llama", 5000, 0) == 5000);
  CHECK(limit("llama", 20000, 0) == 16384);
  CHECK(limit("eurobert", 0, 5000) == 64);
  CHECK(limit("eurobert", 100, 0) == 100);
  CHECK(limit("eurobert", 100, 50) == 50);
}

TEST_CASE("widths and limits that no session has are refused") {
  for (const char* arch : {"llama", "bert"}) {
    for (const std::int64_t width : {INT64_MIN, std::int64_t{0}, INT64_MAX}) {
      EmbedderOptions options = plain(Pooling::mean);
      options.session.prefill_width = width;
      CHECK(text_of([&] { Embedder(tiny_model({.arch = arch}), options); }) ==
            fmt::format("prefill width must be 1..8192, got {}", width));
    }
  }
}

TEST_CASE("texts as they are written") {
  const auto model = made_text_model({.tokenizer = true});
  Embedder embedder(model, plain(Pooling::none));
  const std::vector<std::string> texts{"abc", "w a"};
  const auto all = embedder.embed(texts);
  CHECK(all[0].n_tokens == 5);  // [CLS] a b c [SEP]
  CHECK(all[0].values == rows_of(model, {kCls, 5, 28, 29, kSep}));
  CHECK(text_of([&] { embedder.embed(std::vector<std::string>{""}); }) == "text 1 of 1 is empty");

  EmbedderOptions options = plain(Pooling::none);
  options.truncate = true;
  options.session.context = 4;
  Embedder cuts(model, options);  // keeps the closing token
  CHECK(cuts.embed(texts)[0].values == rows_of(model, {kCls, 5, 28, kSep}));
}

TEST_CASE("numbers that are not finite are an error") {
  const auto infinite = [](const std::string& name, std::vector<float>& values) {
    if (name == "blk.1.layer_output_norm.bias") values[3] = std::numeric_limits<float>::max();
    if (name == "blk.1.layer_output_norm.weight") values[3] = std::numeric_limits<float>::max();
  };
  Embedder embedder(made_text_model({.change =
                                         [](MadeSource& s) {
                                           s.add("blk.1.layer_output_norm.bias", {f32, {64}});
                                         },
                                     .weights = infinite}),
                    plain(Pooling::none));
  CHECK_THROWS_AS(embedder.embed(texts_of({30})), NanError);
}

TEST_CASE("an encoder with a decoder has no embeddings") {
  const auto model = tiny_model({.arch = "t5"});
  CHECK(text_of([&] {
          Embedder(model, plain(Pooling::mean));
        }).find("convert the encoder alone (architecture t5encoder)") != std::string::npos);
}

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
  WithTensors(const char* arch, std::vector<std::pair<std::string, Shape>> tensors)
      : model(made_text_model({.arch = arch,
                               .change =
                                   [&](MadeSource& source) {
                                     for (const auto& [name, shape] : tensors)
                                       source.add(name, {f32, shape});
                                   },
                               .weights = [&](const std::string& name,
                                              std::vector<float>& v) { values[name] = v; }})) {}
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
  {
    WithTensors modern(
        "modern-bert",
        {{"cls.weight", {64, 64}}, {"cls.norm.weight", {64}}, {"cls.output.weight", {1, 64}}});
    const std::vector<float> x =
        product(modern.values["cls.weight"], pooled(rows_of(modern.model, ids), Pooling::mean));
    std::vector<double> h;
    double mean = 0, squares = 0, y = 0;
    for (const float v : x)
      h.push_back(v / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))));
    for (const double v : h) mean += v / 64;
    for (const double v : h) squares += (v - mean) * (v - mean) / 64;
    for (std::size_t i = 0; i < 64; ++i)
      y += (h[i] - mean) / std::sqrt(squares + 1e-5) * modern.values["cls.norm.weight"][i] *
           modern.values["cls.output.weight"][i];
    CHECK(scores(modern)[0] == doctest::Approx(y).epsilon(1e-4));
  }
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
