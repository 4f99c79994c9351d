// What engines reuse, keep, evict and preempt. Nothing of it changes a text.
#include <atomic>
#include <mutex>

#include "weft/base/error.h"
#include "weft/serve/engine.h"

#include "engine/engine_test_support.h"
#include "support/error_text.h"
#include "support/mixed_model.h"
#include "support/temp_folder.h"
#include "support/waiting.h"

namespace weft {
namespace {

using test::Collector;
using test::collectors;
using test::made_prompt;
using test::made_request;
using test::run;
using test::tiny_model;
using test::written_alone;

std::vector<TokenId> joined(std::vector<TokenId> a, std::span<const TokenId> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST_CASE("a prompt reuses what slots and kept prompts hold") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  const TextRequest first = made_request(1, 100, 10);
  const auto reuse = [&](const TextRequest& request) {
    const auto listener = run(engine, request);
    CHECK(listener->text(0).tokens == written_alone(model, request).tokens);
    return listener->prompts().at(0);
  };
  CHECK(reuse(first).why_not_reused == "nothing is held");
  SUBCASE("the same again: all but the last token") {
    const PromptDone again = reuse(first);
    CHECK(again.n_reused == 99);
    CHECK(again.why_not_reused.empty());
  }
  SUBCASE("the next turn of a chat") {
    TextRequest next = first;
    next.prompt =
        joined(joined(first.prompt, written_alone(model, first).tokens), made_prompt(5, 20));
    const PromptDone again = reuse(next);
    CHECK(again.n_reused == 109);  // the last new token was never fed
    CHECK(again.why_not_reused == "what is held ends after token 109");
  }
  SUBCASE("a prefix, while the slot keeps its own text") {
    TextRequest other = first;
    other.prompt.resize(60);
    other.prompt = joined(other.prompt, made_prompt(9, 40));
    CHECK(reuse(other).n_reused >= 60);
    CHECK(reuse(first).n_reused == 99);
  }
  SUBCASE("after many others, from a kept prompt") {
    for (int i = 2; i < 8; ++i) {
      const PromptDone other = reuse(made_request(i, 100, 10));
      CHECK(other.n_reused < 30);
    }
    CHECK(reuse(first).n_reused == 99);
  }
  SUBCASE("unless the request does not want it") {
    TextRequest again = first;
    again.reuse = false;
    CHECK(reuse(again).n_reused == 0);
    CHECK(reuse(again).why_not_reused == "the request does not reuse anything");
  }
}

TEST_CASE("a prompt reuses nothing of other owners, and learns nothing of them") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  const auto of = [](const std::string& owner, int i = 1) {
    TextRequest request = made_request(i, 100, 10);
    request.owner = owner;
    return request;
  };
  const auto reuse = [&](const TextRequest& request) {
    const auto listener = run(engine, request);
    CHECK(listener->text(0).tokens == written_alone(model, request).tokens);
    return listener->prompts().at(0);
  };
  CHECK(reuse(of("a")).n_reused == 0);
  const PromptDone other = reuse(of("b"));
  CHECK(other.n_reused == 0);
  CHECK(other.why_not_reused == "nothing is held");
  CHECK(reuse(of("a")).n_reused == 99);
  CHECK(reuse(of("b")).n_reused == 99);
  SUBCASE("nor of what is kept beside the slots") {
    for (int i = 2; i < 6; ++i) reuse(of("c", i));
    CHECK(reuse(of("d")).n_reused == 0);
    CHECK(reuse(of("a")).n_reused == 99);
    CHECK(reuse(of("b")).n_reused == 99);
  }
  SUBCASE("nor of a slot that it names") {
    TextRequest named = of("d");
    for (named.slot = 0; named.slot < 2; ++named.slot) CHECK(reuse(named).n_reused == 0);
  }
  SUBCASE("slots show others how much they hold") {
    const EngineState state = engine.state();
    const SlotState& slot = state.slots[0].owner == "a" ? state.slots[0] : state.slots[1];
    REQUIRE(slot.owner == "a");
    CHECK(slot.seen_by("a").request == slot.request);
    CHECK(slot.seen_by("b").request == 0);
    CHECK(slot.seen_by("b").owner.empty());
    CHECK(slot.seen_by("b").n_held == slot.n_held);
  }
  SUBCASE("slots are saved and erased for their owner alone") {
    const EngineState state = engine.state();
    const std::int32_t slot = state.slots[0].owner == "a" ? 0 : 1;
    CHECK_THROWS_AS(engine.erase_slot(slot, "b").get(), SlotOwnerError);
    CHECK_THROWS_AS(engine.save_slot(slot, "/nowhere/x", "b").get(), SlotOwnerError);
    CHECK(engine.erase_slot(slot, "a").get() > 0);
    CHECK(engine.erase_slot(slot, "b").get() == 0);
  }
  SUBCASE("who restores a slot learns nothing of the text before") {
    const test::TempFolder folder;
    const std::string path = (folder / "slot").string();
    const auto slot_of = [&](const std::string& owner) {
      const EngineState state = engine.state();
      return state.slots[0].owner == owner ? 0 : 1;
    };
    engine.save_slot(slot_of("b"), path, "b").get();
    const std::int32_t slot = slot_of("a");
    engine.restore_slot(slot, path, "b").get();
    const SlotState seen = engine.state().slots[static_cast<std::size_t>(slot)].seen_by("b");
    CHECK(seen.owner == "b");
    CHECK(seen.n_held > 0);
    CHECK(seen.request == 0);
    CHECK(seen.n_prompt == 0);
    CHECK(seen.n_new == 0);
    CHECK(seen.why_not_reused.empty());
  }
}

TEST_CASE("nobody continues from a request that does not share") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2, .session = {.context = 400}});
  TextRequest alone = made_request(1, 100, 10);
  alone.reuse = false;
  run(engine, alone);
  CHECK(run(engine, made_request(1, 100, 10))->prompts()[0].n_reused == 0);
  CHECK(run(engine, made_request(1, 100, 10))->prompts()[0].n_reused == 99);
}

TEST_CASE("without kept prompts, slots are all there is") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 1, .session = {.context = 400}, .kept_prompts_bytes = 0});
  run(engine, made_request(1, 100, 10));
  run(engine, made_request(2, 100, 10));
  CHECK(run(engine, made_request(1, 100, 10))->prompts()[0].n_reused < 30);
}

TEST_CASE("requests with a common prefix compute it once") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 4, .session = {.context = 2000, .prefill_width = 32}});
  const auto listeners = collectors(4);
  std::vector<TextRequest> requests;
  for (int i = 0; i < 4; ++i) {
    requests.push_back(made_request(1, 1500, 5));
    requests.back().prompt = joined(requests.back().prompt, made_prompt(10 + i, 10));
    engine.submit(requests.back(), listeners[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    listeners[i]->wait();
    CHECK(listeners[i]->text(0).tokens == written_alone(model, requests[i]).tokens);
  }
  CHECK(engine.state().counters.prompt_tokens < 1500 + 4 * 20);
}

TEST_CASE("memory that cannot go back reuses checkpoints") {
  const auto model = test::mixed_model();
  Engine engine(model, {.slots = 2, .session = {.context = 1000, .prefill_width = 64}});
  const auto check = [&](const TextRequest& request) {
    const auto listener = run(engine, request);
    CHECK(listener->text(0).tokens == written_alone(model, request).tokens);
    return listener->prompts().at(0);
  };
  const TextRequest first = made_request(1, 150, 300);
  check(first);
  // The end of the prompt was kept, although the text is long.
  TextRequest next = first;
  next.prompt = joined(first.prompt, made_prompt(3, 20));
  CHECK(check(next).n_reused == 149);
  CHECK(check(first).n_reused == 149);
  // Somewhere else it goes back to a checkpoint.
  const TextRequest longer = made_request(9, 400, 200);
  check(longer);
  TextRequest other = longer;
  other.prompt[300] = (other.prompt[300] + 1) % test::kTinyVocabulary;
  const PromptDone branch = check(other);
  CHECK(branch.n_reused == 256);
  CHECK(branch.why_not_reused == "the memory of the model continues from token 256, not from 300");
  TextRequest texts = made_request(4, 150, 20);
  texts.texts = 5;
  const auto listener = run(engine, texts);
  for (int i = 0; i < 5; ++i)
    CHECK(listener->text(i).tokens == written_alone(model, texts, i).tokens);
}

TEST_CASE("what an engine leaves, another one of the same model goes on from") {
  for (const bool mixed : {false, true}) {
    CAPTURE(mixed);
    const auto model = mixed ? test::mixed_model() : tiny_model();
    const EngineOptions options{.slots = 2, .session = {.context = 400, .prefill_width = 64}};
    const auto of = [](int i) {
      TextRequest request = made_request(i, 100, 10);
      request.owner = i < 3 ? "a" : "b";
      return request;
    };
    LeftTexts left;
    {
      Engine engine(model, options);
      for (int i = 1; i < 6; ++i) run(engine, of(i));
      left = engine.leave_texts().get();
    }
    CHECK(left.texts.size() == 5);
    Engine engine(model, options);
    engine.take_texts(left).get();
    for (int i = 1; i < 6; ++i) {
      TextRequest stranger = of(i);
      stranger.owner = "c";
      CHECK(run(engine, stranger)->prompts().at(0).n_reused == 0);
      const auto listener = run(engine, of(i));
      CHECK(listener->prompts().at(0).n_reused == 99);
      CHECK(listener->text(0).tokens == written_alone(model, of(i)).tokens);
    }
    Engine other(tiny_model({.sizes = {.L = 3}}), options);
    other.take_texts(left).get();
    CHECK(run(other, of(1))->prompts().at(0).n_reused == 0);
    Engine small(model, {.slots = 1, .session = {.context = 200}, .kept_prompts_bytes = 0});
    small.take_texts(left).get();
    CHECK(run(small, of(1))->text(0).tokens == written_alone(model, of(1)).tokens);
    CHECK(small.leave_texts().get().texts.empty());
  }
}

TEST_CASE("a prompt that may come is prepared while nobody waits") {
  const auto model = tiny_model();
  Engine engine(model, {.slots = 1, .session = {.context = 2000}, .prepare_share = 1e6});
  const TextRequest first = made_request(1, 100, 10);
  run(engine, first);
  TextRequest next = first;
  next.prompt = joined(first.prompt, made_prompt(7, 300));
  SUBCASE("and is there when it comes") {
    engine.prepare(next);
    test::eventually([&] { return engine.state().counters.prepared_tokens == 300; });
    const auto listener = run(engine, next);
    CHECK(listener->prompts().at(0).n_reused == 399);
    CHECK(listener->text(0).tokens == written_alone(model, next).tokens);
    const EngineCounters counters = engine.state().counters;
    CHECK(counters.requests == 2);
    CHECK(counters.prompt_tokens == 100 + 1);
  }
  SUBCASE("and makes way for another one") {
    next.prompt = joined(first.prompt, made_prompt(7, 1800));
    engine.prepare(next);
    const TextRequest other = made_request(3, 50, 10);
    CHECK(run(engine, other)->text(0).tokens == written_alone(model, other).tokens);
    CHECK(engine.state().counters.cancelled == 0);
    CHECK(run(engine, next)->text(0).tokens == written_alone(model, next).tokens);
  }
  SUBCASE("but not beside a text, nor for another owner") {
    TextRequest mine = made_request(4, 20, 400);
    const auto listener = std::make_shared<Collector>();
    engine.submit(mine, listener);
    engine.prepare(next);
    listener->wait();
    CHECK(engine.state().counters.prepared_tokens == 0);
    next.owner = "somebody";
    engine.prepare(next);
    test::eventually([&] { return engine.state().counters.prepared_tokens == 400; });
  }
}

TEST_CASE("what is prepared has its share of the time") {
  Engine engine(tiny_model(), {.slots = 1, .session = {.context = 2000}, .prepare_share = 1e-9});
  run(engine, made_request(1, 100, 10));
  engine.prepare(made_request(2, 1900, 1));
  run(engine, made_request(1, 100, 10));
  CHECK(engine.state().counters.prepared_tokens <= 1024);  // the step that spends it
  Engine never(tiny_model(), {.slots = 1, .session = {.context = 400}});
  run(never, made_request(1, 100, 10));
  never.prepare(made_request(2, 300, 1));
  run(never, made_request(1, 100, 10));
  CHECK(never.state().counters.prepared_tokens == 0);
}

TEST_CASE("texts that do not fit together are computed by turns") {
  const auto model = tiny_model();
  // Room for 512 cells; each text needs up to 300.
  Engine engine(model, {.slots = 4,
                        .session = {.context = 320, .cells = 512, .prefill_width = 64},
                        .kept_prompts_bytes = 0});
  const auto listeners = collectors(8);
  std::vector<TextRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(made_request(i, 20 + 10 * i, 200 + 10 * (i % 3)));
    engine.submit(requests.back(), listeners[static_cast<std::size_t>(i)]);
  }
  for (std::size_t i = 0; i < requests.size(); ++i) {
    CAPTURE(i);
    listeners[i]->wait();
    REQUIRE_FALSE(listeners[i]->error());
    CHECK(listeners[i]->text(0).tokens == written_alone(model, requests[i]).tokens);
    CHECK(listeners[i]->prompts().size() == 1);
  }
  // More than the prompts alone: some texts were computed again.
  CHECK(engine.state().counters.prompt_tokens > 8 * 55);
}

TEST_CASE("a text may use all cells, also those of idle slots") {
  const auto model = tiny_model();
  Engine engine(model,
                {.slots = 3, .session = {.context = 256, .cells = 256}, .kept_prompts_bytes = 0});
  for (int i = 0; i < 3; ++i) run(engine, made_request(i, 60, 10));
  const auto listener = run(engine, made_request(7, 100, 156));
  REQUIRE_FALSE(listener->error());
  CHECK(listener->text(0).tokens.size() == 156);
}

}  // namespace
TEST_CASE(
    "while memory is short, an engine gives up texts, wide steps and new requests, in order") {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  std::atomic<std::int64_t> left = 1000 * kMiB;
  const auto room = [&] { return MemoryRoom{left, 1024 * kMiB, "a made group"}; };
  std::mutex mutex;
  std::vector<std::string> said;
  const auto warn = [&](const std::string& what) {
    const std::lock_guard lock(mutex);
    said.push_back(what);
  };
  const auto model = tiny_model();
  Engine engine(model, {.slots = 2,
                        .session = {.context = 400, .prefill_width = 128},
                        .memory_guard = {.on = true, .room = room, .warn = warn}});
  for (int i = 0; i < 5; ++i) run(engine, made_request(i, 100, 10));
  const auto level_is = [&](MemoryLevel level) {
    return test::eventually([&] { return engine.state().memory_level == level; });
  };
  CHECK(engine.state().memory_level == MemoryLevel::enough);
  CHECK(engine.state().held_tokens > 400);

  const auto listener = std::make_shared<test::Collector>();  // it goes on, whatever happens
  const TextRequest running = made_request(7, 300, 90);
  engine.submit(running, listener);
  left = 20 * kMiB;  // less than a 16th of the limit
  CHECK(level_is(MemoryLevel::refusing));
  const std::string why = test::text_of([&] { run(engine, made_request(1, 100, 10)); });
  CHECK(why ==
        "no new requests while memory is short: 20.0 MiB are left of 1.0 GiB (a made group), at "
        "least 64.0 MiB are needed, and nothing else can be given up");
  listener->wait();
  CHECK(listener->text(0).tokens == written_alone(model, running).tokens);
  test::eventually([&] { return engine.state().held_tokens == 0; });
  CHECK(engine.state().held_tokens == 0);

  left = 80 * kMiB;  // no longer short, but not enough
  CHECK(level_is(MemoryLevel::narrow));
  CHECK(run(engine, made_request(1, 100, 10))->text(0).tokens ==
        written_alone(model, made_request(1, 100, 10)).tokens);
  CHECK(engine.state().memory_level == MemoryLevel::narrow);
  left = 200 * kMiB;
  CHECK(level_is(MemoryLevel::enough));
  const std::lock_guard lock(mutex);
  REQUIRE(said.size() == 5);
  CHECK(said[0] == "memory: 20.0 MiB left of 1.0 GiB (a made group): evicts texts that ended");
  CHECK(said[1].ends_with("computes prompts in narrow steps"));
  CHECK(said[2].ends_with("refuses new requests"));
  CHECK(said[3].ends_with("computes prompts in narrow steps"));
  CHECK(said[4] == "memory: 200.0 MiB left of 1.0 GiB (a made group): enough");
}

}  // namespace weft
