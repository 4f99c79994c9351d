// Sequences that drop some of their tokens.
#include "weft/run/dropped_tokens.h"

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "weft/arch/builder.h"
#include "weft/base/error.h"
#include "weft/ops/attention/cache_cells.h"
#include "weft/ops/formats/f16.h"
#include "weft/ops/formats/format.h"
#include "weft/run/kept_texts.h"

#include "session/session_impl.h"
#include "support/error_text.h"
#include "support/session_steps.h"
#include "support/temp_folder.h"
#include "support/tiny_model.h"

using namespace weft;
using test::all_logits;
using test::same_bits;
using test::some_tokens;
using test::text_of;
using test::tiny_model;

namespace {

constexpr std::int64_t kLength = 250;
const std::vector<TokenRange> kParts{{0, 4}, {20, 31}, {32, 33}, {60, kLength}};

std::vector<std::int32_t> parts_of(std::span<const std::int32_t> ids,
                                   std::span<const TokenRange> kept) {
  std::vector<std::int32_t> all;
  for (const auto& [begin, end] : kept)
    all.insert(all.end(), ids.begin() + begin, ids.begin() + end);
  return all;
}

// All values of the cells that the next token sees, the states of each part behind one another.
std::vector<float> seen_cells(Session& session, std::int32_t sequence) {
  std::vector<float> values;
  const auto& s = SessionAccess::impl(session);
  const std::int64_t end = session.length(sequence);
  std::size_t n_parts = 0;
  for (const auto& part : s.memory.parts()) {
    const std::int64_t window = s.planned.memory_parts[n_parts++].window;
    const auto blocks = part->saved_rows(sequence, end);
    const std::int64_t first = blocks_for(end) - std::ssize(blocks);
    const std::int64_t begin = window > 0 ? std::max<std::int64_t>(0, end - window + 1) : 0;
    for (const auto& state : part->store().states()) {
      const View view = run::bounds_view(state.spec, state.host);
      std::vector<float> head(static_cast<std::size_t>(view.dim(-1)));
      for (std::int64_t i = begin; i < end && !blocks.empty(); ++i) {
        REQUIRE(i / kCellsPerBlock >= first);
        const std::int64_t block = blocks[static_cast<std::size_t>(i / kCellsPerBlock - first)];
        for (std::int64_t group = 0; group < view.dim(1); ++group) {
          const std::int64_t place = block * kCellsPerBlock + i % kCellsPerBlock;
          find_format(view.dtype)->decode(cell_at(view, place, group), head.data(), view.dim(-1));
          values.insert(values.end(), head.begin(), head.end());
        }
      }
    }
  }
  return values;
}

// Angles of a position have an error of at most 16 roundings of themselves, and so does their
// difference; products and sums have 4 more. All that again for each time that cells move.
double bound(double largest, double farthest, int n_times = 1) {
  return largest * std::ldexp(1, -24) * (3 * 16 * (1 + farthest) + 4) * n_times;
}

void check_near(const std::vector<float>& got, const std::vector<float>& wanted, int n_times = 1) {
  REQUIRE(got.size() == wanted.size());
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::fabs(double{wanted[i]}));
    error = std::max(error, std::fabs(double{wanted[i]} - got[i]));
  }
  CHECK((largest > 0 || wanted.empty()));  // some have no cells in their only layer
  CHECK(error <= bound(largest, kLength, n_times));
}

const SessionOptions kF32{
    .context = 256, .sequences = 2, .prefill_width = 64, .cache_k = f32, .cache_v = f32};

// A model with one layer, which has a window of 100 tokens.
std::shared_ptr<const Model> windowed() {
  const test::TempFolder folder;
  const std::string path = (folder / "window.gguf").string();
  arch::MadeSource source("gemma3", {.L = 1});
  source.set("attention.sliding_window", 100);
  source.learn();
  write_made_model(source, path);
  return Model::load(path);
}

}  // namespace

// Cells of the only layer depend on nothing but the token and its position: those that moved are
// what computing them gives, but for roundings.
TEST_CASE("cells of one layer are those that would have been computed without what was dropped") {
  int n = 0;
  for (const arch::Architecture* architecture : arch::architectures()) {
    CAPTURE(architecture->name);
    const auto session = [&]() -> std::unique_ptr<Session> {
      try {
        return std::make_unique<Session>(
            tiny_model({.arch = std::string(architecture->name), .sizes = {.L = 1}}), kF32);
      } catch (const Error&) {  // it has other sizes, or gives no logits
        return nullptr;
      }
    }();
    if (!session || !why_not_dropped(*session).empty()) continue;
    if (kParts.back().size() < min_newest_tokens(*session)) continue;
    const auto text = some_tokens(kLength);
    session->feed(0, text);
    session->feed(1, parts_of(text, kParts));
    drop_tokens(*session, 0, kParts);
    CHECK(std::ranges::equal(session->tokens(0), session->tokens(1)));
    check_near(seen_cells(*session, 0), seen_cells(*session, 1));
    ++n;
  }
  CHECK(n > 60);
}

TEST_CASE("tokens can be dropped again and again") {
  Session session(tiny_model({.sizes = {.L = 1}}), kF32);
  std::vector<std::int32_t> left;
  for (int i = 0; i < 12; ++i) {
    const auto more = some_tokens(static_cast<std::size_t>(kLength - std::ssize(left)), 7);
    session.feed(0, more);
    left.insert(left.end(), more.begin(), more.end());
    const std::vector<TokenRange> kept{{0, 5}, {70 + i, kLength}};
    drop_tokens(session, 0, kept);
    left = parts_of(left, kept);
  }
  session.feed(1, left);
  check_near(seen_cells(session, 0), seen_cells(session, 1), 12);
}

TEST_CASE("windows keep what the next tokens see") {
  for (const std::int64_t dropped : {1, 63, 64, 65, 200}) {
    CAPTURE(dropped);
    SessionOptions options = kF32;
    options.context = 600;
    Session session(windowed(), options);
    CHECK(min_newest_tokens(session) == 163);
    const auto text = some_tokens(500), after = some_tokens(90, 2);
    const std::vector<TokenRange> kept{{0, 4}, {4 + dropped, 500}};
    session.feed(0, text);
    session.feed(1, parts_of(text, kept));
    drop_tokens(session, 0, kept);
    check_near(seen_cells(session, 0), seen_cells(session, 1), 2);
    const std::int64_t n = session.length(0);
    CHECK(session.resume_point(0, n) == n);
    session.feed(0, after);
    session.feed(1, after);
    check_near(seen_cells(session, 0), seen_cells(session, 1), 2);
    session.truncate(0, n);
    session.truncate(1, n);
    check_near(seen_cells(session, 0), seen_cells(session, 1), 2);
  }
}

TEST_CASE("a range that is all of a sequence, or its beginning, changes no bits") {
  Session session(tiny_model(), kF32);
  const auto text = some_tokens(100), after = some_tokens(5, 2);
  session.feed(0, text);
  session.feed(1, std::span(text).first(80));
  const auto before = seen_cells(session, 0);
  drop_tokens(session, 0, std::vector<TokenRange>{{0, 30}, {30, 100}});
  CHECK(same_bits(seen_cells(session, 0), before));
  drop_tokens(session, 0, std::vector<TokenRange>{{0, 80}});
  CHECK(same_bits(all_logits(session, after, 5, 0), all_logits(session, after, 5, 1)));
}

TEST_CASE("bits do not depend on who shares blocks, and who shares them keeps its own") {
  SessionOptions options{.context = 256, .sequences = 3, .prefill_width = 64};
  options.kept = 2;
  options.kept_tokens = 512;
  Session session(tiny_model(), options), alone(tiny_model(), options);
  const auto text = some_tokens(kLength), after = some_tokens(6, 2);
  for (Session* s : {&session, &alone}) s->feed(0, text);
  session.copy(0, 1, 200);
  session.copy(0, 3, kLength);
  for (Session* s : {&session, &alone}) drop_tokens(*s, 0, kParts);
  CHECK(same_bits(seen_cells(session, 0), seen_cells(alone, 0)));
  CHECK(same_bits(all_logits(session, after, 6, 0), all_logits(alone, after, 6, 0)));
  session.copy(3, 2, kLength);
  CHECK(std::ranges::equal(session.tokens(2), text));
  alone.clear(0);
  alone.feed(0, text);
  CHECK(same_bits(all_logits(session, after, 6, 2), all_logits(alone, after, 6, 0)));
  // What is kept of it afterwards has the ids that are left.
  session.copy(0, 4, session.length(0));
  session.copy(4, 2, session.length(0));
  CHECK(std::ranges::equal(session.tokens(2), session.tokens(0)));
}

TEST_CASE("without room for what is shared, nothing changes") {
  Session session(tiny_model(),
                  {.context = 256, .sequences = 2, .cells = 256, .prefill_width = 64});
  session.feed(0, some_tokens(kLength));
  session.copy(0, 1, kLength);
  const auto before = seen_cells(session, 0);
  CHECK_THROWS_AS(drop_tokens(session, 0, kParts), BudgetError);
  CHECK(session.length(0) == kLength);
  CHECK(same_bits(seen_cells(session, 0), before));
  session.clear(1);
  drop_tokens(session, 0, kParts);
  CHECK(session.length(0) == 206);
}

TEST_CASE("what a sequence cannot drop is refused, and changes nothing") {
  Session session(tiny_model(), kF32);
  session.feed(0, some_tokens(20));
  const auto refused = [&](std::vector<TokenRange> kept) {
    return text_of([&] { drop_tokens(session, 0, kept); });
  };
  CHECK(refused({{0, 4}, {10, 21}}) == "sequence 0 has 20 tokens, cannot keep 10 to 21 behind 4");
  CHECK(refused({{0, 4}, {3, 20}}) != "no error");
  CHECK(refused({{-1, 4}}) != "no error");
  CHECK(refused({{4, 4}}) != "no error");
  CHECK(session.length(0) == 20);
  Session window(windowed(), {.context = 400});
  window.feed(0, some_tokens(300));
  CHECK(text_of([&] {
          drop_tokens(window, 0, std::vector<TokenRange>{{0, 4}, {200, 300}});
        }) == "the last 163 tokens have to stay, as windows of the model see them, not 100");
  Session recurrent(tiny_model({.arch = "mamba"}), {.context = 128});
  recurrent.feed(0, some_tokens(20));
  CHECK(text_of([&] {
          drop_tokens(recurrent, 0, std::vector<TokenRange>{{5, 20}});
        }).ends_with("tokens cannot be dropped: the model has recurrent states"));
}

TEST_CASE("lengths of keys are their norms, wherever they are") {
  Session session(tiny_model(), kF32);
  session.feed(0, some_tokens(kLength));
  const auto lengths = key_lengths(session, 0);
  REQUIRE(std::ssize(lengths) == kLength);
  CHECK(has_measured_keys(session));
  CHECK_FALSE(has_measured_keys(Session(windowed(), {.context = 64})));
  // Two layers of two heads, whose keys are the first state of each.
  const auto& states = SessionAccess::impl(session).memory.parts()[0]->store().states();
  double sum = 0;
  for (const auto& state : states) {
    if (!state.path.starts_with("cache.k.")) continue;
    const View view = run::bounds_view(state.spec, state.host);
    for (std::int64_t group = 0; group < view.dim(1); ++group) {
      const auto* key = reinterpret_cast<const float*>(cell_at(view, 3, group));
      double squares = 0;
      for (std::int64_t i = 0; i < view.dim(-1); ++i) squares += double{key[i]} * key[i];
      sum += std::sqrt(squares) / 4;
    }
  }
  CHECK(lengths[3] == static_cast<float>(sum));
  drop_tokens(session, 0, kParts);
  const auto after = key_lengths(session, 0);
  std::vector<float> left;
  for (const auto& [begin, end] : kParts)
    left.insert(left.end(), lengths.begin() + begin, lengths.begin() + end);
  check_near(after, left);
}
