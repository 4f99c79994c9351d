// A model whose layers remember in different ways: its bits do not depend on how it is fed, forked,
// cut, saved and restored.
#include <vector>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/saved_sequence.h"
#include "weft/run/session.h"

#include "support/mixed_model.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"

namespace weft {
namespace {

using test::mixed_model;
using test::same_bits;
using test::some_tokens;

using Floats = std::vector<float>;

SessionOptions options(int workers = 2, const std::string& backend = "cpu") {
  return {.context = 400,
          .sequences = 3,
          .prefill_width = 100,
          .logits_rows = 100,
          .workers = workers,
          .backend = backend};
}

// Logits of all tokens, in steps of `chunk`.
Floats logits(Session& session, std::int32_t sequence, std::span<const std::int32_t> ids,
              std::size_t chunk) {
  Floats out;
  for (std::size_t i = 0; i < ids.size(); i += chunk) {
    std::vector<StepToken> step;
    for (const std::int32_t id : ids.subspan(i, std::min(chunk, ids.size() - i)))
      step.push_back({.token = id, .sequence = sequence, .logits = true});
    const auto rows = session.step(step);
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

Floats tail(const Floats& all, std::int64_t from) {
  return {all.begin() + static_cast<std::ptrdiff_t>(from * 50), all.end()};
}

}  // namespace

TEST_CASE("mixed memory: the same bits for any workers and chunks") {
  const auto ids = some_tokens(300);
  for (const char* backend : {"reference", "cpu"}) {
    Floats expected;
    for (const int workers : {1, 2}) {
      for (const std::size_t chunk : {100, 64, 37, 1}) {
        CAPTURE(backend);
        CAPTURE(workers);
        CAPTURE(chunk);
        Session session(mixed_model(), options(workers, backend));
        const Floats got = logits(session, 0, ids, chunk);
        if (expected.empty()) expected = got;
        CHECK(same_bits(got, expected));
        CHECK(session.allocated_bytes() ==
              session.memory().total() - session.memory().weights_mapped);
      }
    }
  }
}

TEST_CASE("mixed memory: tokens see what a layer remembers, and nothing that left its window") {
  const auto with_first = [](std::int32_t first, std::size_t n) {
    auto ids = some_tokens(n);
    ids[0] = first;
    Session session(mixed_model(), options());
    session.feed(0, ids);
    return Floats(session.logits().begin(), session.logits().end());
  };
  CHECK(!same_bits(with_first(1, 20), with_first(2, 20)));
  // Beyond the window the first token speaks by way of the others.
  CHECK(!same_bits(with_first(1, 200), with_first(2, 200)));
}

TEST_CASE("mixed memory: sequences in a batch give the same results as alone") {
  const auto model = mixed_model();
  const std::vector<std::vector<std::int32_t>> texts{some_tokens(170, 1), some_tokens(113, 2),
                                                     some_tokens(240, 3)};
  Session batched(model, options());
  std::vector<Floats> got(3);
  std::vector<std::size_t> fed(3);
  for (std::size_t round = 0; fed != std::vector<std::size_t>{170, 113, 240}; ++round) {
    std::vector<StepToken> step;
    for (std::size_t k = 0; k < 9; ++k) {
      const std::size_t s = (k * (round + 1) + round) % 3;
      if (fed[s] == texts[s].size()) continue;
      step.push_back(
          {.token = texts[s][fed[s]++], .sequence = static_cast<std::int32_t>(s), .logits = true});
    }
    if (step.empty()) continue;
    const auto rows = batched.step(step);
    for (std::size_t i = 0; i < step.size(); ++i) {
      const auto row = rows.subspan(i * 50, 50);
      Floats& own = got[static_cast<std::size_t>(step[i].sequence)];
      own.insert(own.end(), row.begin(), row.end());
    }
  }
  for (std::size_t s = 0; s < 3; ++s) {
    Session alone(model, options());
    CHECK(same_bits(got[s], logits(alone, 0, texts[s], 100)));
  }
}

TEST_CASE("mixed memory: forks and cuts continue with the same bits, if the state allows it") {
  const auto model = mixed_model();
  const auto ids = some_tokens(300);
  Session session(model, options());
  const Floats expected = logits(session, 0, ids, 100);
  session.feed(1, some_tokens(90, 9));  // tokens to be forgotten
  session.copy(0, 1, 300);
  // Cut both; the state of the recurrent layer is kept after every 64 tokens.
  CHECK(session.resume_point(0, 300) == 300);
  CHECK(session.resume_point(0, 299) == 256);
  CHECK_THROWS_WITH_AS(session.truncate(0, 299),
                       "sequence 0 cannot continue from 299 of its 300 tokens, only from 256",
                       UnsupportedError);
  CHECK_THROWS_AS(session.copy(0, 2, 280), UnsupportedError);
  CHECK(session.length(0) == 300);
  session.truncate(0, 256);
  session.copy(1, 2, 256);
  // The window has forgotten the tokens that 192 would need. 0 needs none.
  CHECK(session.resume_point(1, 255) == 0);
  for (const std::int32_t sequence : {2, 0}) {
    session.feed(sequence, some_tokens(3, 7));
    session.truncate(sequence, 256);
    CHECK(
        same_bits(logits(session, sequence, std::span(ids).subspan(256), 17), tail(expected, 256)));
  }
  session.feed(1, some_tokens(30, 8));
  session.truncate(1, 0);
  CHECK(same_bits(logits(session, 1, ids, 61), expected));
}

TEST_CASE("mixed memory: a cancelled step has no effect") {
  const auto ids = some_tokens(250);
  Session session(mixed_model(), options());
  const Floats expected = logits(session, 1, ids, 100);
  Floats got = logits(session, 0, std::span(ids).first(150), 50);
  std::vector<StepToken> step(30, {.token = 3});
  const std::atomic<bool> cancel{true};
  CHECK_THROWS_AS(session.step(step, &cancel), CancelledError);
  const Floats rest = logits(session, 0, std::span(ids).subspan(150), 50);
  got.insert(got.end(), rest.begin(), rest.end());
  CHECK(same_bits(got, expected));
}

TEST_CASE("mixed memory: a restored sequence continues with the same bits") {
  const test::TempFolder folder;
  const std::string path = folder / "s";
  const auto ids = some_tokens(200), more = some_tokens(50, 2);
  Session first(mixed_model(), options());
  first.feed(0, ids);
  save_sequence(first, 0, "", path);
  const SavedSequence saved = SavedSequence::open(path);
  for (const std::int64_t n : {199, 191, 150, 100, 0})
    CHECK(saved.resume_point(first, n) == first.resume_point(0, n));
  const Floats expected = logits(first, 0, more, 7);
  Session second(mixed_model(), options());
  second.feed(2, some_tokens(120, 3));
  CHECK(saved.resume_point(second, 200) == 200);
  CHECK_THROWS_AS(saved.restore(second, 2, 199), UnsupportedError);
  CHECK(second.length(2) == 120);
  saved.restore(second, 2, 200);
  CHECK(same_bits(logits(second, 2, more, 50), expected));
  saved.restore(second, 2, 0);
  CHECK(second.length(2) == 0);
}

TEST_CASE(
    "mixed memory: windows and recurrent states need memory for their size, not for the context") {
  const auto state = [](std::int64_t context) {
    SessionOptions o = options();
    o.context = context;
    return plan_model(*mixed_model(), o).memory.state;
  };
  // Twice the context: one more block of all keys and values, and of latent vectors, per 64. One of
  // the layers with these has one kv head instead of two.
  const std::int64_t blocks = 3 * 4096 / 64, per_block = 64 * 2 * 16 * 2;
  CHECK(state(8192) - state(4096) == blocks * per_block * 7 / 2);
}

}  // namespace weft
