// Options of texts and of their drafts as people set them.
#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/serve/generation_knobs.h"
#include "weft/serve/speculation_knobs.h"

#include "support/described.h"
#include "support/error_text.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using namespace test;

TEST_CASE("options of texts and drafts: every member is described, once") {
  check_described<GenerationOptions>();
  check_described<ContextEndOptions>();
  check_described<SpeculationOptions>();
}

TEST_CASE("docs/options.md has the tables of the options of texts and drafts") {
  check_page(WEFT_OPTIONS_PAGE, "texts",
             table_of<GenerationOptions>("Texts") +
                 table_of<ContextEndOptions>("The end of the context") +
                 table_of<SpeculationOptions>("Drafts"));
}

TEST_CASE("options of drafts: numbers out of range are refused by their name") {
  const auto model = tiny_model();
  const auto refusal = [&](const SpeculationOptions& options) {
    return text_of([&] { draft_demand(*model, options); });
  };
  CHECK(refusal({.max_guesses = 0}) == "n_max must be a whole number from 1 to 1024, got 0");
  CHECK(refusal({.p_min = 2}) == "p_min must be a number from 0 to 1, got 2");
  CHECK(refusal({.ngram_size = 1025}) ==
        "ngram_size_n must be a whole number from 1 to 1024, got 1025");
  CHECK(refusal({.n_sequences = -1}) ==
        "n_sequences must be a whole number from 0 to 65536, got -1");
}

TEST_CASE("drafts by default: the draft model, else the model's own layer or head") {
  ModelFacts facts;
  CHECK(default_draft(true, true, facts) == DraftKind::model);
  CHECK(default_draft(false, true, facts) == DraftKind::mtp);
  CHECK(default_draft(false, false, facts) == std::nullopt);
  facts.draft_head = true;
  CHECK(default_draft(false, true, facts) == DraftKind::eagle3);
}

TEST_CASE("the session of a draft model is like that of the texts, but for its own tensors") {
  const SessionOptions texts{.context = 64,
                             .workers = 1,
                             .route = "blk.0.*=reference",
                             .cache_k = f16,
                             .expert_usage = "usage.bin",
                             .draft_layer = true};
  const SessionOptions like = draft_session_like(texts);
  CHECK(like.context == 64);
  CHECK(like.workers == 1);
  CHECK(like.route.empty());
  CHECK_FALSE(like.cache_k.valid());
  CHECK(like.expert_usage.empty());
  CHECK_FALSE(like.draft_layer);
  CHECK(draft_session_like({.expert_usage = "auto"}).expert_usage == "auto");
}

}  // namespace
}  // namespace weft
