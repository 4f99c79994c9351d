// Texts of an engine that go on at the end of their context.
#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"

#include "engine/engine_test_support.h"
#include "support/error_text.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::Collector;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

TextRequest text_going_on(std::vector<TokenId> prompt, ContextEnd end, std::int64_t max_tokens) {
  TextRequest request{.prompt = std::move(prompt)};
  request.generation.sampler.seed = 7;
  request.generation.max_tokens = max_tokens;
  request.generation.ignore_eos = true;
  request.generation.context_end.end = end;
  return request;
}

std::shared_ptr<Collector> ended(Engine& engine, const TextRequest& request) {
  auto listener = std::make_shared<Collector>(request.texts);
  engine.submit(request, listener);
  listener->wait();
  CHECK_FALSE(listener->error());
  return listener;
}

const EngineOptions kShortContext{.slots = 2, .session = {.context = 200, .prefill_width = 64}};

TEST_CASE("an engine's texts go on, and leave nothing that exact ones continue from") {
  const auto model = tiny_model();
  Engine engine(model, kShortContext), cold(model, kShortContext);
  const auto prompt = some_tokens(100);
  for (const ContextEnd end : {ContextEnd::shift, ContextEnd::window, ContextEnd::evict}) {
    CAPTURE(name_of_value(end));
    const auto before = engine.state().counters.tokens_dropped;
    const auto got = ended(engine, text_going_on(prompt, end, 500));
    CHECK(got->text(0).tokens.size() == 500);
    CHECK(got->end(0).reason == StopReason::max_tokens);
    CHECK(got->end(0).n_dropped > 0);
    CHECK(engine.state().counters.tokens_dropped - before ==
          static_cast<std::uint64_t>(got->end(0).n_dropped));
    // The same tokens as a generation alone.
    Session session(model, kShortContext.session);
    const TextRequest request = text_going_on(prompt, end, 500);
    CHECK(test::write(session, request.generation, prompt).tokens == got->text(0).tokens);
    // An exact text with the same beginning has the bits of one on another engine.
    const auto exact = ended(engine, text_going_on(prompt, ContextEnd::stop, -1));
    CHECK(exact->end(0).reason == StopReason::context_full);
    CHECK(exact->end(0).n_dropped == 0);
    const auto wanted = ended(cold, text_going_on(prompt, ContextEnd::stop, -1));
    CHECK(exact->text(0).tokens == wanted->text(0).tokens);
  }
}

TEST_CASE("what an engine's text holds that dropped tokens is not saved") {
  Engine engine(tiny_model(), kShortContext);
  TextRequest request = text_going_on(some_tokens(100), ContextEnd::shift, 300);
  request.slot = 1;
  ended(engine, request);
  const test::TempFolder folder;
  const auto save = [&] {
    return text_of([&] { engine.save_slot(1, (folder / "slot").string()).get(); });
  };
  CHECK(save() ==
        "slot 1 holds a text that dropped tokens when the context was full (context_end): it is "
        "not what computing its tokens gives, and is not saved");
  // The next text in that slot is exact again.
  request.generation.context_end = {};
  ended(engine, request);
  CHECK(save() == "no error");
}

TEST_CASE("several texts go on in one engine, in little memory") {
  EngineOptions options = kShortContext;
  options.slots = 3;
  options.session.cells = 512;
  Engine engine(tiny_model(), options);
  std::vector<std::shared_ptr<Collector>> all;
  for (std::uint32_t i = 0; i < 6; ++i) {
    TextRequest request = text_going_on(some_tokens(60, i), ContextEnd::window, 400);
    request.texts = 2;
    all.push_back(std::make_shared<Collector>(2));
    engine.submit(request, all.back());
  }
  for (const auto& listener : all) {
    listener->wait();
    CHECK_FALSE(listener->error());
    for (int i = 0; i < 2; ++i) CHECK(listener->text(i).tokens.size() == 400);
  }
}

// Texts share two blocks of cells, and take all others but one: to drop tokens, one needs copies of
// the shared ones, for which there is no room. A round that gave nothing up would be repeated for
// ever. Without a limit of tokens, nothing idle is given up before the text begins.
TEST_CASE("texts that find no room to drop tokens take it from others") {
  EngineOptions options = kShortContext;
  options.session.cells = 7 * kCellsPerBlock;
  options.kept_prompts_bytes = 0;
  Engine engine(tiny_model(), options);
  TextRequest request = text_going_on(some_tokens(130), ContextEnd::window, -1);
  SUBCASE("one that ended is given up") {
    ended(engine, text_going_on(some_tokens(180), ContextEnd::stop, -1));
    CHECK(engine.state().counters.evicted_tokens == 0);
  }
  SUBCASE("one that runs waits") {
    request.texts = 2;
    request.generation.max_tokens = 300;
  }
  const auto got = std::make_shared<Collector>(request.texts);
  const RequestId id = engine.submit(request, got);
  for (int i = 0; i < request.texts; ++i) got->wait_for_tokens(300, i);
  CHECK((request.texts > 1 || engine.state().counters.evicted_tokens > 0));
  engine.cancel(id);
  got->wait();
  CHECK_FALSE(got->error());
  for (int i = 0; i < request.texts; ++i) CHECK(got->end(i).n_dropped > 0);
}

TEST_CASE("an engine refuses texts that cannot go on before they wait") {
  Engine engine(tiny_model({.arch = "mamba"}), kShortContext);
  CHECK(text_of([&] {
          engine.submit(text_going_on(some_tokens(10), ContextEnd::shift, 5),
                        std::make_shared<Collector>());
        }).ends_with("the model has recurrent states"));
}

}  // namespace
}  // namespace weft
