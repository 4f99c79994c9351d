#include "weft/serve/embeddings.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/nan_error.h"

#include "embeddings/embeddings_test_support.h"
#include "generation/text_model_test_support.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::Ids;
using test::kCls;
using test::kSep;
using test::made_text_model;
using test::plain;
using test::pooled;
using test::rows_of;
using test::text;
using test::text_of;
using test::Texts;
using test::texts_of;
using test::tiny_model;

TEST_CASE("texts embedded together have the bits of each text alone, for every pooling") {
  const Texts texts = texts_of({5, 70, 1, 33, 8, 64, 2, 19});
  for (const char* arch : {"bert", "modern-bert", "qwen3", "gemma3", "lfm2"}) {
    CAPTURE(arch);
    const auto model = tiny_model({.arch = arch});
    std::vector<std::vector<float>> alone;
    for (const TypedTokens& text : texts) alone.push_back(rows_of(model, text.ids));
    for (const char* name : {"none", "mean", "cls", "last", "max", "mean_sqrt_len", "weighted_mean",
                             "cls+last", "last+max+cls+mean"}) {
      CAPTURE(name);
      const Poolings pooling = *find_poolings(name);
      for (const int per_step : {1, 3, 32}) {
        EmbedderOptions options = plain(pooling);
        options.texts_per_step = per_step;
        options.max_tokens = 70;
        options.session.prefill_width = 48;  // steps of causal models end within texts
        Embedder embedder(model, options);
        const auto all = embedder.embed(texts);
        REQUIRE(all.size() == texts.size());
        for (std::size_t i = 0; i < texts.size(); ++i) {
          CHECK(all[i].n_tokens == std::ssize(texts[i].ids));
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
  const auto own = [](const char* text) {
    return made_text_model({.arch = "bert", .keys = [text](GgufWriter& w) {
                              w.add_string("weft.embedding.pooling", text);
                            }});
  };
  CHECK(to_string(file_pooling(*own("cls+weighted_mean"))) == "cls+weighted_mean");
  for (const char* text : {"cls+none", "cls+rank", "cls+", "", "median"}) {
    const auto model = own(text);
    CHECK(text_of([&] {
            file_pooling(*model);
          }).find("key 'weft.embedding.pooling': unknown pooling '") != std::string::npos);
  }
  const auto odd = with("bert", 5);
  CHECK(text_of([&] {
          file_pooling(*odd);
        }).find("key 'bert.pooling_type' is 5 (known: 0 (none)") != std::string::npos);
}

TEST_CASE("a file may say that vectors are not normalized, and how long texts are") {
  CHECK(file_norm(*tiny_model({.arch = "bert"})) == kEuclidean);
  for (const char* arch : {"bert", "qwen3"}) {
    const auto model = made_text_model({.arch = arch, .keys = [](GgufWriter& w) {
                                          w.add_bool("weft.embedding.normalize", false);
                                          w.add_u32("weft.embedding.max_tokens", 7);
                                        }});
    CHECK(file_norm(*model) == kNotNormalized);
    Embedder embedder(model, {.max_tokens = 30});
    CHECK(embedder.max_tokens() == 7);
    CHECK(text_of([&] {
            embedder.embed(texts_of({7, 8}));
          }) == "text 2 of 2 has 8 tokens, at most 7 fit");
  }
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
  CHECK(text_of([&] { embedder.embed(Texts{Ids{1}, Ids{}}); }) == "text 2 of 2 is empty");
  CHECK(text_of([&] {
          embedder.embed(texts_of({3, 4, 17}));
        }) == "text 3 of 3 has 17 tokens, at most 16 fit");
  CHECK(text_of([&] {
          embedder.embed(Texts{Ids{1}, Ids{50}});
        }) == "token 50 is outside the vocabulary of 50");
  for (const std::size_t n_types : {1, 4}) {
    Texts typed = texts_of({3, 3});
    typed[1].types.resize(n_types);
    CHECK(
        text_of([&] { embedder.embed(typed); }) ==
        fmt::format("text 2 of 2 has 3 tokens, but {} types (expected as many, or none)", n_types));
  }
  std::atomic<bool> cancelled = true;
  CHECK_THROWS_AS(embedder.embed(texts_of({3}), &cancelled), CancelledError);
  const Texts texts = texts_of({3, 16});
  CHECK(embedder.embed(texts)[1].values == pooled(rows_of(model, texts[1].ids), Pooling::mean));

  options.session.context = 12;  // shorter than a step
  Embedder narrow(model, options);
  CHECK(narrow.max_tokens() == 12);
  options.truncate = true;
  Embedder cuts(model, options);
  const Embedding cut = cuts.embed(texts)[1];
  CHECK(cut.n_tokens == 12);
  CHECK(cut.values == pooled(rows_of(model, Ids(texts[1].ids.begin(), texts[1].ids.begin() + 12)),
                             Pooling::mean));
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
        {.arch = arch, .change = [&](arch::MadeSource& s) { s.keys[key] = std::int64_t{16384}; }});
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
            fmt::format("prefill_width must be a whole number from 1 to 8192, got {}", width));
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
                                         [](arch::MadeSource& s) {
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

}  // namespace
}  // namespace weft
