// Texts that go on at the end of their context.
#include "weft/serve/context_end.h"

#include "weft/base/error.h"
#include "weft/run/dropped_tokens.h"
#include "weft/serve/draft.h"

#include "generation/generation_test_support.h"
#include "support/error_text.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

namespace weft {
namespace {

using test::some_tokens;
using test::text_of;
using test::tiny_model;
using test::write;
using test::Written;
using Ids = std::vector<TokenId>;

constexpr std::int64_t kContext = 200;
const SessionOptions kSession{.context = kContext, .sequences = 2, .prefill_width = 64};

GenerationOptions going_on(ContextEndOptions end, std::int64_t max_tokens = 700) {
  return {.max_tokens = max_tokens, .ignore_eos = true, .context_end = end};
}

TEST_CASE("texts go on at the end of the context, in any step and beside others") {
  Session session(tiny_model(), kSession);
  const Ids prompt = some_tokens(30), other = some_tokens(90, 2);
  for (const ContextEndOptions& end :
       {ContextEndOptions{ContextEnd::shift}, ContextEndOptions{ContextEnd::shift, -1},
        ContextEndOptions{ContextEnd::shift, 0, 1}, ContextEndOptions{ContextEnd::window, 2},
        ContextEndOptions{ContextEnd::evict, 4, 0, 120}}) {
    CAPTURE(name_of_value(end.end));
    Generation text(session, 0, going_on(end));
    text.begin(prompt);
    const Written alone = write(text);
    CHECK(alone.stop == StopReason::max_tokens);
    CHECK(alone.tokens.size() == 700);
    CHECK(text.n_new() == 700);
    CHECK(n_dropped(text) + std::ssize(text.tokens()) == 730);
    CHECK(std::ssize(text.held()) <= kContext);
    CHECK(std::ranges::equal(text.held(), session.tokens(0)));
    const std::int64_t keep = end.keep < 0 ? 30 : end.keep;
    CHECK(std::ranges::equal(text.tokens().first(static_cast<std::size_t>(keep)),
                             std::span(prompt).first(static_cast<std::size_t>(keep))));
    Generation again(session, 0, going_on(end)), beside(session, 1, going_on(end, 400));
    again.begin(prompt);
    beside.begin(other);
    std::vector<Generation*> both{&again, &beside};
    Batch batch(session);
    Written together;
    while (!again.ended())
      for (const auto& event : batch.step(both))
        if (event.generation == &again) test::add(event.event, together);
    CHECK(together.tokens == alone.tokens);
  }
}

TEST_CASE("texts that begin after one that dropped tokens have their own bits") {
  Session session(tiny_model(), kSession);
  const Ids prompt = some_tokens(150);
  const GenerationOptions stop{.ignore_eos = true};
  const Written wanted = write(session, stop, prompt, 1);
  CHECK(wanted.stop == StopReason::context_full);
  Generation text(session, 0, going_on({ContextEnd::shift}));
  for (int i = 0; i < 2; ++i) {
    text.begin(prompt);
    const Written got = write(text);
    CHECK(Ids(got.tokens.begin(), got.tokens.begin() + 50) ==
          Ids(wanted.tokens.begin(), wanted.tokens.begin() + 50));
    // Its tokens are those that are left: computing them gives something else.
    const Ids left(text.held().begin(), text.held().end());
    text.begin(left);
    CHECK(text.n_reused() == 4);
    CHECK(n_dropped(text) == 0);
  }
}

// Guesses what a text will be, and every fifth time something else.
struct KnowingDraft : Draft {
  void begin() override { ++n_begun; }
  void propose(const DraftRequest& request, std::vector<TokenId>& guesses) override {
    for (std::int64_t i = text->n_new(); i < std::ssize(known) && guesses.size() < request.max; ++i)
      guesses.push_back(i % 5 == 0 ? 1 : known[static_cast<std::size_t>(i)]);
  }
  const Generation* text = nullptr;
  Ids known;
  int n_begun = 0;
};

TEST_CASE("drafts do not change texts that go on") {
  SessionOptions options = kSession;
  options.rewind = 8;
  options.logits_rows = 9;
  Session session(tiny_model(), options);
  const Ids prompt = some_tokens(30);
  GenerationOptions how = going_on({ContextEnd::window});
  const Written wanted = write(session, how, prompt);
  const auto draft = std::make_shared<KnowingDraft>();
  draft->known = wanted.tokens;
  how.draft = draft;
  Generation text(session, 0, how);
  draft->text = &text;
  text.begin(prompt);
  CHECK(write(text).tokens == wanted.tokens);
  CHECK(draft->n_right > 200);
  CHECK(draft->n_right < draft->n_checked);
  CHECK(draft->n_begun > 2);  // it follows what is left
}

TEST_CASE("evicting keeps the first tokens, the newest quarter, and those with the shortest keys") {
  Session session(tiny_model(), kSession);
  session.feed(0, some_tokens(kContext));
  const auto lengths = key_lengths(session, 0);
  const auto kept = kept_tokens(session, 0, {ContextEnd::evict, 4, 0, 120}, 30);
  std::vector<bool> is_kept(kContext);
  std::int64_t n = 0;
  for (const TokenRange& range : kept) {
    for (std::int64_t i = range.begin; i < range.end; ++i)
      is_kept[static_cast<std::size_t>(i)] = true;
    n += range.size();
  }
  CHECK(n == 120);
  float longest_kept = 0, shortest_dropped = 1e30F;
  for (std::size_t i = 0; i < kContext; ++i) {
    if (i < 4 || i >= 150) CHECK(is_kept[i]);
    if (i < 4 || i >= 150) continue;
    if (is_kept[i])
      longest_kept = std::max(longest_kept, lengths[i]);
    else
      shortest_dropped = std::min(shortest_dropped, lengths[i]);
  }
  CHECK(longest_kept <= shortest_dropped);
}

TEST_CASE("what cannot go on is refused before anything starts") {
  const auto refusal = [](Session& session, const ContextEndOptions& end) {
    return text_of([&] { Generation(session, 0, going_on(end)); });
  };
  Session recurrent(tiny_model({.arch = "mamba"}), {.context = 128});
  CHECK(refusal(recurrent, {ContextEnd::shift})
            .ends_with("texts cannot go on at the end of the context (shift): the model has "
                       "recurrent states"));
  CHECK(refusal(recurrent, {}) == "no error");
  Session session(tiny_model(), kSession);
  CHECK(refusal(session, {ContextEnd::evict, 160}) ==
        "the context holds 200 tokens: too few to keep 160 and the 50 newest (evict)");
  const test::TempFolder folder;
  Generation text(session, 0, going_on({ContextEnd::shift}));
  text.begin(some_tokens(30));
  write(text);
  CHECK(text_of([&] {
          text.save((folder / "text").string());
        }).starts_with("the text has dropped tokens"));
  // A prompt that fills the context, of which nothing may go.
  Generation full(session, 0, going_on({ContextEnd::shift, -1}));
  full.begin(some_tokens(kContext));
  CHECK(write(full).stop == StopReason::context_full);
}

}  // namespace
}  // namespace weft
