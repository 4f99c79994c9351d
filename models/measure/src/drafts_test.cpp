#include "weft/measure/drafts.h"

#include <doctest/doctest.h>

#include "weft/base/error.h"

#include "support/tiny_model.h"

namespace weft::bench {

TEST_CASE("drafts are measured beside the same texts without them") {
  const auto model = test::tiny_model({.arch = "glm4moe", .sizes = {.draft_layers = 1}});
  Session plain(model, {.context = 128}), session(model, {.context = 128, .draft_layer = true});
  DraftTest test{.prompt = {3, 1, 4}, .tokens = 60, .repeats = 2, .acceptance = 1.0};
  SpeculationOptions options{.kinds = {DraftKind::mtp}, .max_guesses = 3, .adaptive = false};
  const DraftReport all = measure_drafts(plain, session, Speculation(session, options), test);
  CHECK(all.gain.rates.size() == 2);
  CHECK(all.drafted.n_drafted > 60);
  CHECK(all.drafted.n_right == all.drafted.n_drafted);
  CHECK(all.n_steps <= 2 * 17);
  CHECK(to_text(all, test).find("100 % of them right") != std::string::npos);
  CHECK(to_json(all, test).find("\"acceptance\":1.0") != std::string::npos);
  test.acceptance = 0.0;
  CHECK(measure_drafts(plain, session, Speculation(session, options), test).drafted.n_right == 0);
  options.kinds.clear();
  CHECK_THROWS_AS(measure_drafts(plain, session, Speculation(session, options), test), ValueError);
  const std::atomic<bool> cancel{true};
  options.kinds = {DraftKind::ngram_simple};
  CHECK_THROWS_AS(measure_drafts(plain, session, Speculation(session, options), test, &cancel),
                  CancelledError);
}

}  // namespace weft::bench
