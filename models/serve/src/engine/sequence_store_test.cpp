// What a store of sequences keeps and evicts, without an engine around it.
#include "engine/sequence_store.h"

#include <memory>

#include <doctest/doctest.h>

#include "engine/engine_inbox.h"
#include "engine/engine_request.h"
#include "engine/engine_test_support.h"
#include "engine/slot_files.h"

namespace weft {
namespace {

using serve::EngineInbox;
using serve::EngineRequest;
using serve::EngineText;
using serve::SequenceStore;
using serve::SlotFiles;
using test::made_prompt;

constexpr std::int32_t kStoreSlots = 2;

// A store of two slots and two sequences beside them.
struct StoreOfFour {
  // Sequence `slot` then holds the prompt, as if a text had left it.
  void fill(std::int32_t slot, const std::vector<TokenId>& prompt) {
    EngineText text = text_of(prompt);
    store.prepare(slot, text, store.find_reuse(text));
    run(text, slot);
    store.attach(slot, text);
    store.detach(slot);
  }
  // A text in the slot, whose prompt is computed.
  void run(EngineText& text, std::int32_t slot) {
    GenerationOptions options;
    options.max_tokens = 0;
    options.feed_prompt = true;
    text.generation.emplace(session, slot, options);
    text.generation->begin(text.request->wanted.prompt);
    while (!text.generation->ended()) text.generation->next();
  }
  static EngineText text_of(const std::vector<TokenId>& prompt) {
    EngineText text;
    text.request = std::make_shared<EngineRequest>();
    text.request->wanted.prompt = prompt;
    text.request->wanted.generation.lora_scales.emplace();
    return text;
  }
  std::int64_t n_held(std::int32_t sequence) const { return session.length(sequence); }

  Session session{test::tiny_model(),
                  {.context = 200, .sequences = kStoreSlots, .kept = 2, .kept_tokens = 512}};
  EngineInbox inbox{kStoreSlots, 1};
  SequenceStore store{session, inbox};
};

TEST_CASE("a store evicts the idle sequence that was used longest ago") {
  StoreOfFour s;
  CHECK_FALSE(s.store.evict());
  s.fill(1, made_prompt(1, 40));
  s.fill(0, made_prompt(2, 50));
  CHECK(s.n_held(1) == 40);
  CHECK(s.inbox.state().slots[0].n_held == 50);
  SUBCASE("all idle") {
    CHECK(s.store.evict());
    CHECK(s.n_held(1) == 0);
    CHECK(s.session.length(1) == 0);
    CHECK(s.inbox.state().slots[1].n_held == 0);
    CHECK(s.n_held(0) == 50);
    CHECK(s.store.evict());
    CHECK_FALSE(s.store.evict());
  }
  SUBCASE("never one with a text") {
    EngineText text = s.text_of(made_prompt(1, 40));
    s.store.prepare(1, text, s.store.find_reuse(text));
    s.run(text, 1);
    s.store.attach(1, text);
    CHECK(s.store.evict());
    CHECK(s.n_held(0) == 0);
    CHECK_FALSE(s.store.evict());
    CHECK(s.n_held(1) == 40);
    s.store.detach(1);
    CHECK(s.store.evict());
  }
}

TEST_CASE("a store keeps long sequences beside the slots") {
  StoreOfFour s;
  s.fill(0, made_prompt(1, 40));
  s.fill(0, made_prompt(2, 20));
  CHECK(s.n_held(0) == 20);
  CHECK(s.n_held(2) + s.n_held(3) == 40);
  s.fill(0, made_prompt(3, 60));  // 20 tokens are too few to keep
  CHECK(s.n_held(2) + s.n_held(3) == 40);
  s.fill(0, made_prompt(4, 60));
  CHECK(s.n_held(2) + s.n_held(3) == 40 + 60);
  CHECK(s.store.find_reuse(s.text_of({49, 49})).why_not ==
        "nothing that the request may reuse starts with the same token");
  SUBCASE("and replaces the one that was used longest ago") {
    s.fill(0, made_prompt(5, 70));
    CHECK(s.n_held(2) + s.n_held(3) == 60 + 60);
  }
  SUBCASE("and copies it back for a text that begins like it") {
    s.fill(0, made_prompt(1, 70));
    CHECK(s.n_held(0) == 70);
    const EngineText text = s.text_of(made_prompt(1, 80));
    const SequenceStore::Reuse reuse = s.store.find_reuse(text);
    CHECK(reuse.sequence == 0);
    CHECK(reuse.n == 70);
    CHECK(s.store.idle_slot_for(text, reuse) == 0);
    CHECK(s.store.idle_slot_for(s.text_of(made_prompt(6, 10)), {}) == 1);  // the empty one
  }
}

TEST_CASE("slots that are busy or unknown have no files") {
  StoreOfFour s;
  EngineText text = s.text_of(made_prompt(1, 10));
  s.run(text, 0);
  s.store.attach(0, text);
  SlotFiles files(s.session, s.store);
  CHECK_THROWS_WITH_AS(files.erase(0, ""), "slot 0 is busy", ValueError);
  CHECK_THROWS_WITH_AS(files.erase(2, ""), "no slot 2: the engine has 2", ValueError);
  s.store.detach(0);
  CHECK(files.erase(0, "") == 10);
  CHECK(files.erase(0, "") == 0);
}

}  // namespace
}  // namespace weft
