// Chains of snapshots: sequences continue from them with the same bits, whatever the memory of the
// model, however a text was cut and wherever another one branches off.
#include "weft/run/snapshot.h"

#include <algorithm>
#include <deque>
#include <random>

#include <doctest/doctest.h>

#include "weft/base/error.h"
#include "weft/run/kept_texts.h"

#include "support/tiny_model.h"

namespace weft {
namespace {

using Ids = std::vector<std::int32_t>;

const SessionOptions kOptions{.context = 700, .sequences = 2, .checkpoint_every = 64};

// A text that grows in a session, and its snapshots.
struct Text {
  std::deque<std::vector<std::byte>> bytes;
  std::deque<Snapshot> snapshots;
  std::vector<const Snapshot*> chain;

  void take(const Session& session, std::int32_t sequence, std::int64_t begin, SnapshotKind kind) {
    bytes.emplace_back();
    snapshots.push_back(
        take_snapshot(session, sequence, begin, session.length(sequence), kind, bytes.back()));
    chain.push_back(&snapshots.back());
  }
};

struct Random {
  std::mt19937 engine;
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(engine() % static_cast<std::uint32_t>(n));
  }
  Ids ids(std::int64_t n) {
    Ids all(static_cast<std::size_t>(n));
    for (std::int32_t& id : all) id = static_cast<std::int32_t>(below(50));
    return all;
  }
};

// What a fresh sequence of this text gives for its last token.
std::vector<float> expected(Session& session, const Ids& text) {
  session.truncate(0, 0);
  session.feed(0, text);
  return {session.logits().begin(), session.logits().end()};
}

std::vector<float> continued(Session& session, SnapshotChain chain, const Ids& text,
                             std::int64_t n) {
  session.truncate(0, 0);
  restore(session, 0, chain, n);
  REQUIRE(session.length(0) == n);
  CHECK(held_tokens(session, 0, 0, n) == Ids(text.begin(), text.begin() + n));
  session.feed(0, std::span(text).subspan(static_cast<std::size_t>(n)));
  return {session.logits().begin(), session.logits().end()};
}

// All resume points of the chain, with one more token at least, are those of a computation.
void check_chain(Session& session, SnapshotChain chain, const Ids& text, Random& random) {
  for (int i = 0; i < 4; ++i) {
    Ids cut(text.begin(), text.begin() + 1 + random.below(std::ssize(text)));
    if (i == 0) cut = text;
    const std::int64_t n = resume_point(session, chain, std::ssize(cut) - 1);
    CAPTURE(n);
    CAPTURE(cut.size());
    CHECK(continued(session, chain, cut, n) == expected(session, cut));
  }
}

void check_growing(const std::shared_ptr<const Model>& model, DType cache, std::uint32_t seed) {
  SessionOptions options = kOptions;
  options.cache_k = options.cache_v = cache;
  Session session(model, options), other(model, options);
  Random random{std::mt19937(seed)};
  const Ids text = random.ids(500 + random.below(150));
  Text taken;
  for (std::int64_t begin = 0; begin < std::ssize(text);) {
    const std::int64_t n = std::min(1 + random.below(200), std::ssize(text) - begin);
    session.feed(
        0, std::span(text).subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(n)));
    taken.take(session, 0, begin, SnapshotKind::own_tokens);
    begin += n;
    CHECK(resume_point(other, taken.chain, begin) == begin);
  }
  check_chain(other, taken.chain, text, random);

  // Another text branches off, and goes on.
  const std::int64_t at = session.resume_point(0, random.below(std::ssize(text)));
  session.truncate(0, at);
  const Ids rest = random.ids(1 + random.below(40));
  session.feed(0, rest);
  while (!taken.chain.empty() && taken.chain.back()->begin > at) taken.chain.pop_back();
  if (!taken.chain.empty() && at == 0) taken.chain.clear();
  taken.take(session, 0, at, SnapshotKind::whole_windows);
  Ids branch(text.begin(), text.begin() + at);
  branch.insert(branch.end(), rest.begin(), rest.end());
  CHECK(resume_point(other, taken.chain, std::ssize(branch)) == std::ssize(branch));
  check_chain(other, taken.chain, branch, random);
}

}  // namespace

TEST_CASE("a sequence continues from a chain of snapshots with the bits of a computed one") {
  for (const char* arch : {"llama", "gemma3", "deepseek2", "mamba", "qwen3next", "rwkv7"}) {
    CAPTURE(arch);
    const auto model = test::tiny_model({.arch = arch});
    for (std::uint32_t seed = 1; seed <= 3; ++seed) {
      CAPTURE(seed);
      check_growing(model, seed == 2 ? f32 : f16, seed);
    }
  }
}

TEST_CASE("snapshots of other texts, with gaps, or of other layouts are refused") {
  const auto model = test::tiny_model({});
  Session session(model, kOptions), other(model, kOptions);
  Random random{std::mt19937(1)};
  session.feed(0, random.ids(150));
  Text taken;
  taken.take(session, 0, 0, SnapshotKind::own_tokens);
  session.feed(0, random.ids(90));
  taken.take(session, 0, 150, SnapshotKind::own_tokens);
  const Snapshot first = taken.snapshots[0], second = taken.snapshots[1];
  const auto refuses = [&](const Snapshot& a, const Snapshot& b) {
    other.feed(1, random.ids(3));
    const std::vector<const Snapshot*> chain{&a, &b};
    CHECK_THROWS_AS(restore(other, 1, chain, 240), FormatError);
    CHECK(other.length(1) == 3);
    other.truncate(1, 0);
  };
  Snapshot changed = second;
  changed.begin = 151;
  refuses(first, changed);
  refuses(second, first);
  changed = second;
  changed.states.pop_back();
  refuses(first, changed);
  changed = second;
  changed.states[0].shape.row_bytes = 0;
  refuses(first, changed);
  changed = second;
  changed.states[0].bytes = changed.states[0].bytes.subspan(1);
  refuses(first, changed);
  changed = second;
  changed.states[0].shape.first_row = -1;
  refuses(first, changed);
  changed = second;
  changed.states[0].bytes = {};
  refuses(first, changed);
  changed = first;
  changed.tokens[3] = 1 << 30;
  refuses(changed, second);
  CHECK_THROWS_AS(restore(other, 0, {}, 0), FormatError);
  const std::vector<const Snapshot*> chain{&first, &second};
  restore(other, 1, chain, 240);
  CHECK(other.length(1) == 240);
}

}  // namespace weft
