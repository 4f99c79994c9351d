#include "weft/serve/draft_model.h"

#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/memory_plan.h"
#include "weft/serve/engine.h"
#include "weft/serve/generation.h"
#include "weft/serve/speculation.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

using Ids = std::vector<TokenId>;

Ids some_ids(std::size_t n) {
  Ids ids(n);
  for (std::size_t i = 0; i < n; ++i) ids[i] = static_cast<TokenId>(i * 7 % 50);
  return ids;
}

DraftModel draft_of(const Session& session, const std::shared_ptr<const Model>& model,
                    std::int32_t n_texts = 0) {
  DraftOffer offer = plan_drafts(session.model(), session.options(), session.memory(),
                                 {.max_guesses = 16, .texts = n_texts, .model = model});
  return {session, model, std::move(*offer.session)};
}

}  // namespace

TEST_CASE("a draft model reads a long prompt in parts") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 600, .sequences = 3});
  DraftModel draft = draft_of(session, model, 2);
  CHECK(draft.session().options().sequences == 2);
  const Ids ids = some_ids(400);
  const DraftRequest request{.tokens = ids, .sequence = 1, .max = 2};
  std::int64_t before = 0;
  int n_parts = 0;
  for (; !draft.prepare(request); ++n_parts) {
    const std::int64_t n_read = draft.session().length(1) - before;
    CHECK(n_read > 0);
    CHECK(n_read <= 128);
    before += n_read;
  }
  CHECK(n_parts > 1);
  Ids guesses;
  draft.propose(request, guesses);
  CHECK(guesses.size() == 2);
  CHECK(draft.prepare(request));
  CHECK(draft.session().length(1) == 399);  // without the guesses
  CHECK_THROWS_AS(draft.propose({.tokens = ids, .sequence = 2, .max = 2}, guesses), ValueError);
}

TEST_CASE("a draft model keeps nothing of a text for another owner") {
  const auto model = test::tiny_model();
  Session session(model, {.context = 600, .sequences = 1});
  DraftModel draft = draft_of(session, model, 1);
  const Ids ids = some_ids(300);
  const auto n_kept_for = [&](std::string_view owner) {
    const bool is_ready = draft.prepare({.tokens = ids, .sequence = 0, .max = 1, .owner = owner});
    return is_ready ? draft.session().length(0) : 0;
  };
  while (n_kept_for("alice") == 0) {
  }
  CHECK(n_kept_for("alice") > 200);
  CHECK(n_kept_for("bob") == 0);
  CHECK(n_kept_for("alice") == 0);
}

TEST_CASE("texts concede nothing to their drafts") {
  const auto model = test::tiny_model();
  SessionOptions session{.context = 256, .weights = WeightMode::mapped};
  const SpeculationOptions drafts{.kinds = {DraftKind::model}, .draft_model = model};
  const std::int64_t most = 3 * plan_model(*model, session).memory.total();
  int n_refused = 0, n_with = 0;
  for (std::int64_t budget = most; budget > most / 8; budget -= most / 60) {
    CAPTURE(budget);
    session.mem_budget = budget;
    if (!fits_budget(*model, session)) break;
    MemoryOffer offer =
        plan_memory(*model, {.session = session, .drafts = draft_demand(*model, drafts)});
    ++(offer.drafts.reserved > 0 ? n_with : n_refused);
    const PlannedModel alone = plan_model(*model, session);
    CHECK(alone.concessions == offer.planned.concessions);
    CHECK(alone.options.cache_k == offer.planned.options.cache_k);
    const MemoryUse all = offer.memory();
    CHECK(all.total() <= budget);
    const bool reserved = offer.drafts.reserved > 0;
    const std::int64_t of_texts = offer.planned.memory.total() - offer.drafts.reserved;
    Session texts(std::move(offer.planned), model);
    const Speculation speculation(texts, drafts, std::move(offer.drafts));
    CHECK(all.total() == of_texts + speculation.memory().total());
    CHECK((speculation.draft() != nullptr) >= reserved);
  }
  CHECK(n_with > 0);
  CHECK(n_refused > 0);
}

TEST_CASE("drafts do not take what the caller reserved") {
  const auto model = test::tiny_model();
  SpeculationOptions drafts{.kinds = {DraftKind::model}, .draft_model = model};
  SessionOptions options{.context = 64, .weights = WeightMode::mapped};
  const std::int64_t alone = plan_model(*model, options).memory.total();
  options.mem_budget = 4 * alone;
  const auto has_room = [&](std::int64_t reserved) {
    options.reserved = reserved;
    drafts.draft_session = options;  // the draft model's session does not count it again
    Session texts(model, options);
    return Speculation(texts, drafts).draft() != nullptr;
  };
  CHECK(has_room(0));
  CHECK(has_room(3 * alone / 2));
  CHECK_FALSE(has_room(3 * alone));
}

TEST_CASE("what a recurrent draft model forgets with guesses is a cost of guesses") {
  const auto model = test::tiny_model({.arch = "mamba"});
  Session session(model, {.context = 200});
  DraftModel draft = draft_of(session, model);
  Ids ids = some_ids(60);
  while (!draft.prepare({.tokens = ids, .max = 3})) {
  }
  Ids guesses;
  draft.propose({.tokens = ids, .max = 3}, guesses);
  REQUIRE(guesses.size() == 3);
  ids.push_back(guesses[0] == 3 ? 4 : 3);  // they were wrong
  const std::int64_t n = draft.session().length(0);
  CHECK(draft.prepare({.tokens = ids, .max = 3}));
  CHECK(draft.session().length(0) < n - 20);  // nothing was read
  guesses.clear();
  draft.propose({.tokens = ids, .max = 3}, guesses);
  CHECK(guesses.size() == 3);
}

TEST_CASE("an engine has room for its draft model") {
  const auto model = test::tiny_model();
  EngineOptions options{.slots = 2, .session = {.context = 256}};
  options.kept_prompts_bytes = 100000;
  options.speculation = {.kinds = {DraftKind::model}, .draft_model = model};
  std::string warned;
  options.speculation.warn = [&](const std::string& line) { warned += line; };
  options.session.mem_budget = std::int64_t{16} << 20;
  const Engine plain(
      model,
      {.slots = 2, .session = options.session, .kept_prompts_bytes = options.kept_prompts_bytes});
  const Engine with(model, options);
  CHECK(warned.empty());
  // A draft for two slots, not for kept prompts.
  const std::int64_t of_draft = plan_model(*model, {.context = 256,
                                                    .sequences = 2,
                                                    .prefill_width = 512,
                                                    .logits_rows = 1,
                                                    .mem_budget = options.session.mem_budget})
                                    .memory.total();
  CHECK(with.memory().total() <= options.session.mem_budget);
  const std::int64_t of_rows = 2 * 17 * model->facts().n_vocab * std::int64_t{sizeof(float)};
  CHECK(with.memory().total() - plain.memory().total() > of_draft / 2);
  CHECK(with.memory().total() - plain.memory().total() <= of_draft + of_rows);

  // The smallest budget without a draft.
  EngineOptions smallest{.slots = 2, .session = {.context = 256}};
  smallest.session.mem_budget = plain.memory().total();
  while (plan_if_fits(*model, engine_demand(*model, smallest)))
    smallest.session.mem_budget -= 1 << 14;
  options.session.mem_budget = smallest.session.mem_budget + (1 << 14);
  options.kept_prompts_bytes = 0;
  const Engine without(model, options);
  CHECK(warned.find("no drafts by this model") != std::string::npos);
  CHECK(without.memory().total() <= options.session.mem_budget);
}

}  // namespace weft
