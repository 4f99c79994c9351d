// Several sequences in one session: filled, cut, copied, and fed together.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/ops/formats/q8_0.h"
#include "weft/run/kept_texts.h"
#include "weft/run/session.h"

#include "support/session_steps.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

TEST_CASE("sequences in a batch give the same results as alone") {
  const auto model = tiny_model({.matrices = q8_0});
  const std::vector<std::vector<std::int32_t>> texts{some_tokens(20, 1), some_tokens(13, 2),
                                                     some_tokens(30, 3)};
  Session batched(model, {.context = 40, .sequences = 3, .prefill_width = 32});
  std::vector<std::vector<float>> got(3);
  std::vector<std::size_t> fed(3);
  // Uneven shares of each step, in changing order.
  for (std::size_t round = 0; fed != std::vector<std::size_t>{20, 13, 30}; ++round) {
    std::vector<StepToken> step;
    std::vector<std::size_t> owner;
    for (std::size_t k = 0; k < 9; ++k) {
      const std::size_t s = (k * (round + 1) + round) % 3;
      if (fed[s] == texts[s].size()) continue;
      step.push_back(
          {.token = texts[s][fed[s]++], .sequence = static_cast<std::int32_t>(s), .logits = true});
      owner.push_back(s);
    }
    if (step.empty()) continue;
    const auto rows = batched.step(step);
    for (std::size_t i = 0; i < owner.size(); ++i) {
      const auto row = rows.subspan(i * 50, 50);
      got[owner[i]].insert(got[owner[i]].end(), row.begin(), row.end());
    }
  }
  for (std::size_t s = 0; s < 3; ++s) {
    Session alone(model, {.context = 40, .prefill_width = 32});
    CHECK(same_bits(got[s], all_logits(alone, texts[s], 16)));
    CHECK(batched.length(static_cast<std::int32_t>(s)) == std::ssize(texts[s]));
  }
}

TEST_CASE("a sequence filled with noise continues after it") {
  const auto model = tiny_model();
  Session session(model, {.context = 40, .sequences = 2});
  session.feed(0, some_tokens(5));
  const auto after = [&](std::int64_t length) {
    session.fill_with_noise(1, length);
    session.feed(1, some_tokens(3));
    CHECK(session.length(1) == length + 3);
    return std::vector<float>(session.logits().begin(), session.logits().end());
  };
  CHECK(same_bits(after(37), after(37)));
  CHECK(!same_bits(after(37), after(0)));
  CHECK(session.length(0) == 5);
  CHECK_THROWS_AS(session.fill_with_noise(1, 41), ValueError);
  CHECK_THROWS_AS(session.fill_with_noise(1, -1), ValueError);
  CHECK_THROWS_AS(session.fill_with_noise(2, 1), ValueError);
}

TEST_CASE("a cut and refilled sequence equals a fresh one") {
  const auto model = tiny_model();
  const auto ids = some_tokens(30);
  Session session(model, {});
  session.feed(0, some_tokens(50, 9));
  session.truncate(0, 50);
  session.truncate(0, 0);
  session.feed(0, {ids.data(), 20});
  session.feed(0, some_tokens(7, 5));
  session.truncate(0, 20);
  CHECK(session.length(0) == 20);
  session.feed(0, std::span(ids).subspan(20));
  Session fresh(model, {});
  fresh.feed(0, ids);
  const std::vector<float> a(session.logits().begin(), session.logits().end());
  const std::vector<float> b(fresh.logits().begin(), fresh.logits().end());
  CHECK(same_bits(a, b));
}

TEST_CASE("a copied sequence and its original continue like two fresh ones") {
  const auto ids = some_tokens(150);
  for (const DType cache : {f16, q8_0}) {
    const auto model = tiny_model({.sizes = {.H = 2}});
    const SessionOptions options{
        .context = 200, .sequences = 3, .cache_k = cache, .cache_v = cache};
    for (const std::size_t kept : {150, 128, 70, 64, 63, 1}) {
      CAPTURE(kept);
      Session session(model, options), fresh(model, options);
      session.feed(1, some_tokens(90, 9));  // tokens to be overwritten
      session.feed(0, ids);
      session.copy(0, 1, std::ssize(ids));
      session.copy(0, 2, static_cast<std::int64_t>(kept));
      CHECK(session.length(1) == 150);
      CHECK(session.length(2) == static_cast<std::int64_t>(kept));
      for (const std::int32_t sequence : {0, 1}) fresh.feed(sequence, ids);
      fresh.feed(2, {ids.data(), kept});
      // All together, and each with other tokens.
      for (std::uint32_t round = 0; round < 20; ++round) {
        std::vector<StepToken> step;
        for (const std::int32_t sequence : {0, 1, 2})
          step.push_back({.token = static_cast<std::int32_t>(round * 7 + 3) % 50 + sequence % 2,
                          .sequence = sequence,
                          .logits = true});
        const auto rows = session.step(step);
        const std::vector<float> got(rows.begin(), rows.end());
        const auto expected = fresh.step(step);
        CHECK(same_bits(got, {expected.begin(), expected.end()}));
      }
    }
  }
}

TEST_CASE("copies share blocks until they are written, and sequences the cells of all") {
  const auto model = tiny_model();
  const auto ids = some_tokens(100);
  // Two blocks for the prompt, and one for each sequence that continues within the second.
  Session session(model, {.context = 200, .sequences = 4, .cells = 5 * 64});
  Session fresh(model, {.context = 200});
  CHECK(session.memory().state * 16 ==
        Session(model, {.context = 200, .sequences = 4}).memory().state * 5);
  session.feed(0, ids);
  for (const std::int32_t sequence : {1, 2, 3}) session.copy(0, sequence, 100);
  for (const std::int32_t sequence : {0, 1, 2, 3}) {
    session.feed(sequence, std::vector{sequence, 7});
    fresh.truncate(0, 0);
    fresh.feed(0, ids);
    fresh.feed(0, std::vector{sequence, 7});
    const std::vector<float> a(session.logits().begin(), session.logits().end());
    const std::vector<float> b(fresh.logits().begin(), fresh.logits().end());
    CHECK(same_bits(a, b));
  }
  // Now all five are taken.
  session.feed(1, some_tokens(26));
  CHECK(text_of([&] { session.feed(1, std::vector{1}); }) ==
        "no room for 129 tokens in sequence 1: 0 of the 5 shared blocks of 64 positions are free");
  CHECK(session.length(1) == 128);
  CHECK_THROWS_AS(session.step(std::vector<StepToken>{{.token = 1, .sequence = 2},
                                                      {.token = 1, .sequence = 1}}),
                  BudgetError);
  CHECK(session.length(2) == 102);
  session.truncate(3, 64);
  session.feed(1, std::vector{1});
  CHECK(session.length(1) == 129);
}

TEST_CASE("copies from missing positions are rejected, and nothing changes") {
  Session session(tiny_model(), {.context = 100, .sequences = 2});
  session.feed(0, some_tokens(10));
  session.feed(1, some_tokens(4, 2));
  const auto copy = [&](std::int32_t from, std::int32_t to, std::int64_t n) {
    return text_of([&] { session.copy(from, to, n); });
  };
  CHECK(copy(0, 2, 1) == "no sequence 2: the session has 2");
  CHECK(copy(-1, 1, 1) == "no sequence -1: the session has 2");
  CHECK(copy(0, 1, 11) == "sequence 0 has 10 tokens, cannot copy 11");
  CHECK(copy(0, 1, -1) == "sequence 0 has 10 tokens, cannot copy -1");
  CHECK(session.length(1) == 4);
  CHECK(copy(0, 0, 7) == "no error");  // no more than cutting it
  CHECK(session.length(0) == 7);
  CHECK(copy(1, 0, 0) == "no error");
  CHECK(session.length(0) == 0);
}

TEST_CASE("a session knows the ids of its sequences") {
  const auto model = tiny_model();
  Session session(model, {.context = 40, .sequences = 3, .cells = 128});
  const auto ids = some_tokens(20, 1);
  const auto held = [&](std::int32_t s) {
    return std::vector<std::int32_t>(session.tokens(s).begin(), session.tokens(s).end());
  };
  const auto first = [&](std::size_t n) {
    return std::vector<std::int32_t>(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(n));
  };
  CHECK(session.tokens(0).empty());
  session.feed(0, ids);
  CHECK(held(0) == ids);
  CHECK(session.common_prefix(0, ids) == 20);
  CHECK(session.common_prefix(0, first(7)) == 7);
  auto other = ids;
  other[5] += other[5] == 0 ? 1 : -1;
  CHECK(session.common_prefix(0, other) == 5);
  CHECK(session.common_prefix(1, ids) == 0);
  session.copy(0, 1, 8);
  CHECK(held(1) == first(8));
  session.truncate(0, 3);
  CHECK(held(0) == first(3));
  CHECK(held(1) == first(8));
  session.step(std::vector<StepToken>{{.token = 4, .sequence = 0}, {.token = 5, .sequence = 1}});
  CHECK(held(0).back() == 4);
  CHECK(held(1).back() == 5);
  session.clear(1);
  CHECK(session.tokens(1).empty());
  session.fill_with_noise(2, 30);
  CHECK(held(2) == std::vector<std::int32_t>(30, -1));
  CHECK(text_of([&] { session.tokens(3); }) == "no sequence 3: the session has 3");
}

TEST_CASE("a step that fails leaves the ids of its sequences as they were") {
  Session session(tiny_model(), {.context = 40});
  const auto ids = some_tokens(5, 1);
  session.feed(0, ids);
  const std::atomic<bool> cancelled = true;
  CHECK_THROWS_AS(session.feed(0, ids, &cancelled), CancelledError);
  CHECK(session.common_prefix(0, ids) == 5);
  CHECK(session.tokens(0).size() == 5);
}

TEST_CASE("what a session keeps of its sequences is counted before it is allocated") {
  for (const std::int32_t sequences : {1, 3}) {
    Session session(tiny_model(), {.context = 40, .sequences = sequences});
    CHECK(session.memory().total() == session.allocated_bytes() + session.memory().weights_mapped);
    CHECK(session.memory().other == 4 * 40 * sequences);
  }
}

TEST_CASE("memory that nobody needs goes back to the system, and texts go on with the same bits") {
  for (const char* arch : {"llama", "gemma3", "deepseek2", "mamba", "qwen3next"}) {
    CAPTURE(arch);
    const auto model = tiny_model({.arch = arch});
    const SessionOptions options{.context = 600, .sequences = 2, .prefill_width = 64};
    Session session(model, options), other(model, options);
    const auto ids = some_tokens(300, 1);
    for (Session* s : {&session, &other}) {
      s->feed(1, ids);  // what it leaves is not zero
      s->truncate(1, 0);
    }
    for (std::size_t at = 0; at < ids.size(); at += 75) {
      for (Session* s : {&session, &other}) s->feed(0, std::span(ids).subspan(at, 75));
      CHECK(std::ranges::equal(session.logits(), other.logits()));
      release_unused(session, at % 2 == 0);
    }
  }
}
