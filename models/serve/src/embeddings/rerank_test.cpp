#include "weft/serve/rerank.h"

#include <algorithm>

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "generation/text_model_test_support.h"
#include "support/error_text.h"

namespace weft {
namespace {

using test::kCls;
using test::kSep;
using test::made_text_model;
using test::text_of;
using Ids = std::vector<TokenId>;

std::shared_ptr<const Model> reranker(const std::function<void(GgufWriter&)>& keys = {}) {
  const auto head = [](arch::MadeSource& source) {
    source.add("cls.output.weight", {f32, {1, 64}});
  };
  return made_text_model({.change = head, .tokenizer = true, .keys = keys});
}

EmbedderOptions ranking(std::int64_t context = 0) {
  return {.pooling = Pooling::rank, .session = {.context = context}};
}

// The first letter of a word is 5 + its number, others are 27 + theirs.
TEST_CASE("a query and a document are one text with separators") {
  CHECK(encode_pair(*reranker(), "ab", "c d").types ==
        std::vector<std::int32_t>{0, 0, 0, 0, 1, 1, 1});
  CHECK(encode_pair(*reranker(), "ab", "c d").ids == Ids{kCls, 5, 28, kSep, 7, 8, kSep});
  const auto both = reranker([](GgufWriter& w) {
    w.add_u32("tokenizer.ggml.eos_token_id", kSep);
    w.add_bool("tokenizer.ggml.add_eos_token", true);
  });
  CHECK(encode_pair(*both, "ab", "c").ids == Ids{kCls, 5, 28, kSep, kSep, 7, kSep});
  const auto bare = reranker([](GgufWriter& w) {
    w.add_bool("tokenizer.ggml.add_bos_token", false);
    w.add_bool("tokenizer.ggml.add_sep_token", false);
  });
  CHECK(encode_pair(*bare, "ab", "c").ids == Ids{5, 28, 7});
}

TEST_CASE("a template replaces the separators, query and document stay plain text") {
  const auto with = [](const char* form) {
    return reranker([&](GgufWriter& w) { w.add_string("tokenizer.chat_template.rerank", form); });
  };
  const auto model = with("[CLS]{query}[SEP] d {document}[MASK]");
  CHECK(encode_pair(*model, "ab", "c").ids == Ids{kCls, 5, 28, kSep, 8, 7, test::kMask});
  const Ids foreign = encode_pair(*model, "a", "[SEP] c").ids;
  CHECK(std::ranges::count(foreign, kSep) == 1);
  CHECK(text_of([&] {
          encode_pair(*with("no {query}"), "a", "c");
        }).find("key 'tokenizer.chat_template.rerank' must contain {query} and {document}") !=
        std::string::npos);
}

TEST_CASE("the end of a document that is too long is left out") {
  const auto model = reranker();
  CHECK(encode_pair(*model, "a", "c d e f", 6).ids == Ids{kCls, 5, kSep, 7, 8, kSep});
  CHECK(encode_pair(*model, "a", "c d", 6).ids == Ids{kCls, 5, kSep, 7, 8, kSep});
  CHECK(encode_pair(*model, "a", "c d", 4).ids == Ids{kCls, 5, kSep, kSep});
  CHECK(text_of([&] { encode_pair(*model, "a", "c d", 3); }) ==
        "the query alone has 4 tokens, at most 3 fit");
}

TEST_CASE("documents are sorted by their scores, which do not depend on the others") {
  const auto model = reranker();
  Embedder embedder(model, ranking());
  const std::vector<std::string> documents{"c d", "e", "f g h", "e", "a b c d e f"};
  const auto ranked = rerank(embedder, "ab", documents);
  REQUIRE(ranked.size() == documents.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const auto& d = ranked[i];
    const auto alone = rerank(embedder, "ab", std::span(documents).subspan(d.index, 1));
    CHECK(alone[0].score == d.score);
    CHECK(d.n_tokens == std::ssize(encode_pair(*model, "ab", documents[d.index]).ids));
    if (i > 0) CHECK(ranked[i - 1].score >= d.score);
    if (i > 0 && d.index == 3) CHECK(ranked[i - 1].index == 1);  // equal, in their order
  }
  CHECK(ranked[0].score > ranked[4].score);
  CHECK(rerank(embedder, "ab", documents, 2).size() == 2);
  CHECK(rerank(embedder, "ab", documents, 9).size() == 5);
  CHECK(rerank(embedder, "ab", {}).empty());
}

TEST_CASE("the document has the vector of its type added") {
  // Without the difference of the two types, a pair scores as if all were of type 0.
  const auto with = [](float change) {
    return made_text_model({.change =
                                [](arch::MadeSource& source) {
                                  source.add("cls.output.weight", {f32, {1, 64}});
                                },
                            .weights =
                                [change](const std::string& name, std::vector<float>& values) {
                                  if (name != "token_types.weight") return;
                                  REQUIRE(values.size() == 128);
                                  for (std::size_t i = 0; i < 64; ++i)
                                    values[64 + i] = values[i] + (i % 2 == 0 ? change : 0);
                                },
                            .tokenizer = true});
  };
  const auto score = [](const std::shared_ptr<const Model>& model, bool typed) {
    Embedder embedder(model, ranking());
    TypedTokens pair = encode_pair(*model, "ab", "c d");
    if (!typed) pair.types.clear();
    return embedder.embed(std::vector{pair}).front().values.front();
  };
  const auto same = with(0), other = with(1);
  CHECK(same->facts().token_types == 2);
  CHECK(score(same, true) == score(same, false));
  CHECK(score(other, true) != score(other, false));
  CHECK(score(other, false) == score(same, false));
  Session session(same, {.embeddings = true});
  CHECK(text_of([&] {
          session.step(std::vector<StepToken>{{.token = 5, .logits = true, .type = 2}});
        }) == "a token has type 2, the model has 2 types");
}

TEST_CASE("what cannot be ranked is named") {
  const auto model = reranker();
  Embedder embedder(model, ranking(6)), plain(model, {.pooling = Pooling::mean});
  const std::vector<std::string> documents{"c", "c d e", ""};
  CHECK(text_of([&] { rerank(embedder, "", documents); }) == "the query is empty");
  CHECK(text_of([&] { rerank(embedder, "a", documents); }) == "document 3 of 3 is empty");
  CHECK(text_of([&] { rerank(embedder, "a", std::span(documents).first(2)); }) ==
        "document 2 of 2 has 7 tokens, at most 6 fit");
  CHECK(text_of([&] { rerank(plain, "a", documents); }) == "document 3 of 3 is empty");
  CHECK(text_of([&] { rerank(plain, "a", std::span(documents).first(1)); }) ==
        "ranking needs an embedder with pooling 'rank', not 'mean'");
  EmbedderOptions cut = ranking(6);
  cut.truncate = true;
  Embedder cuts(model, cut);
  for (const RankedDocument& d : rerank(cuts, "a", std::span(documents).first(2)))
    CHECK(d.n_tokens == (d.index == 0 ? 5 : 6));
}

}  // namespace
}  // namespace weft
