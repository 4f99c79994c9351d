// Tokens that are taken from another position.
#include "weft/run/moved_tokens.h"

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
#include "weft/ops/formats/q8_0.h"
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

// Calls f(session) for each architecture whose cells can be taken, and returns how many these are.
template <class F>
int for_each_session(const arch::MadeSizes& sizes, const SessionOptions& options, F f) {
  int n = 0;
  for (const arch::Architecture* architecture : arch::architectures()) {
    CAPTURE(architecture->name);
    const auto session = [&]() -> std::unique_ptr<Session> {
      try {
        return std::make_unique<Session>(
            tiny_model({.arch = std::string(architecture->name), .sizes = sizes}), options);
      } catch (const Error&) {  // it has other sizes, or gives no logits
        return nullptr;
      }
    }();
    if (!session || !why_not_moved(*session).empty()) continue;
    f(*session);
    ++n;
  }
  return n;
}

std::vector<std::int32_t> joined(std::vector<std::int32_t> a, const std::vector<std::int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// All values of the cells of positions begin .. begin + n - 1. REQUIRES: no windows.
std::vector<float> cells(Session& session, std::int32_t sequence, std::int64_t begin,
                         std::int64_t n) {
  std::vector<float> values;
  for (const auto& part : SessionAccess::impl(session).memory.parts()) {
    const auto blocks = part->saved_rows(sequence, begin + n);
    for (const auto& state : part->store().states()) {
      const View view = run::bounds_view(state.spec, state.host);
      std::vector<float> head(static_cast<std::size_t>(view.dim(-1)));
      for (std::int64_t i = begin; i < begin + n && !blocks.empty(); ++i) {
        const std::int64_t block = blocks[static_cast<std::size_t>(i / kCellsPerBlock)];
        for (std::int64_t group = 0; group < view.dim(1); ++group) {
          find_format(view.dtype)
              ->decode(cell_at(view, block * kCellsPerBlock + i % kCellsPerBlock, group),
                       head.data(), view.dim(-1));
          values.insert(values.end(), head.begin(), head.end());
        }
      }
    }
  }
  return values;
}

}  // namespace

// Cells of the only layer depend on nothing but the token and its position: taking them gives what
// computing them gives, but for roundings. Angles of a position have an error of at most 16
// roundings of themselves, and so does their difference; products and sums have 4 more.
TEST_CASE("cells of one layer are those that would have been computed there") {
  constexpr std::int64_t kFar = 90;  // no position is beyond
  const SessionOptions options{
      .context = 128, .sequences = 3, .prefill_width = 64, .cache_k = f32, .cache_v = f32};
  const int n = for_each_session({.L = 1}, options, [&](Session& session) {
    const auto text = some_tokens(30, 1), before = some_tokens(47, 2);
    session.feed(0, joined(some_tokens(5, 3), text));
    session.feed(1, joined(before, text));
    session.feed(2, before);
    REQUIRE(append_moved(session, 2, {.from = 0, .begin = 5, .n = 30}));
    CHECK(session.tokens(2).size() == 77);
    const auto computed = cells(session, 1, 47, 30), moved = cells(session, 2, 47, 30);
    REQUIRE(computed.size() == moved.size());
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      largest = std::max(largest, std::fabs(double{computed[i]}));
      error = std::max(error, std::fabs(double{computed[i]} - moved[i]));
    }
    CHECK(error <= largest * std::ldexp(1, -24) * (3 * 16 * (1.0 + kFar) + 4));
  });
  CHECK(n > 60);
}

// Both are rounded to codes, the moved ones twice: by half a step of 127 each. A turn and a
// rotation keep the length of the first rounding, which may then be in one element.
TEST_CASE("cells of quantized caches, which are turned, are rotated as they were before") {
  constexpr std::int64_t kE = 32;
  for (const bool turned : {true, false}) {
    CAPTURE(turned);
    SessionOptions options{.context = 128, .sequences = 3, .prefill_width = 64, .cache_k = q8_0};
    options.cache_v = q8_0;
    if (!turned) options.passes_off = {"turn_cache"};
    Session session(tiny_model({.sizes = {.L = 1, .E = kE}}), options);
    const auto& rotations = SessionAccess::impl(session).rotations;
    CHECK(rotations.turn_of_state.size() == (turned ? 1 : 0));
    const auto text = some_tokens(30, 1), before = some_tokens(47, 2);
    session.feed(0, joined(some_tokens(5, 3), text));
    session.feed(1, joined(before, text));
    session.feed(2, before);
    REQUIRE(append_moved(session, 2, {.from = 0, .begin = 5, .n = 30}));
    const auto computed = cells(session, 1, 47, 30), moved = cells(session, 2, 47, 30);
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < computed.size(); ++i) {
      largest = std::max(largest, std::fabs(double{computed[i]}));
      error = std::max(error, std::fabs(double{computed[i]} - moved[i]));
    }
    CHECK(error > 0);
    CHECK(error <= largest / 127 / 2 * (2 + std::sqrt(double{kE})));
  }
}

TEST_CASE("tokens that are all computed again have the bits of computed ones") {
  const auto check = [](Session& session) {
    const auto text = some_tokens(40, 1), before = some_tokens(70, 2), after = some_tokens(5, 4);
    session.feed(0, joined(some_tokens(9, 3), text));
    session.feed(1, before);
    REQUIRE(append_moved(session, 1, {.from = 0, .begin = 9, .n = 40}));
    const bool depends = !SessionAccess::impl(session).rotations.compared.empty();
    CHECK(repeat_most_changed(session, 1, 40, 1) == (depends ? 40 : 0));
    const auto got = all_logits(session, after, 5, 1);
    session.clear(0);
    session.feed(0, joined(before, text));
    CHECK(same_bits(got, all_logits(session, after, 5, 0)));
  };
  const SessionOptions options{.context = 160, .sequences = 2, .prefill_width = 48};
  CHECK(for_each_session({}, options, check) > 80);
  Session quantized(
      tiny_model({.sizes = {.E = 32}}),
      {.context = 160, .sequences = 2, .prefill_width = 48, .cache_k = q8_0, .cache_v = q8_0});
  check(quantized);
}

TEST_CASE("the more is computed again, the closer the logits are") {
  arch::MadeSizes sizes;
  sizes.L = 4;
  Session session(tiny_model({.sizes = sizes}),
                  {.context = 200, .sequences = 3, .prefill_width = 64});
  const auto text = some_tokens(60, 1), before = some_tokens(70, 2), after = some_tokens(4, 4);
  session.feed(0, joined(some_tokens(9, 3), text));
  session.feed(1, joined(before, text));
  const auto exact = all_logits(session, after, 4, 1);
  std::vector<double> errors;
  for (const double share : {0.0, 0.3, 0.7, 1.0}) {
    session.clear(2);
    session.feed(2, before);
    REQUIRE(append_moved(session, 2, {.from = 0, .begin = 9, .n = 60}));
    CHECK(repeat_most_changed(session, 2, 60, share) == std::lround(std::ceil(60 * share)));
    const auto got = all_logits(session, after, 4, 2);
    double sum = 0;
    for (std::size_t i = 0; i < got.size(); ++i) sum += std::pow(got[i] - exact[i], 2);
    errors.push_back(sum);
  }
  CHECK(errors[0] > errors[1]);
  CHECK(errors[1] > errors[2]);
  CHECK(errors[2] > errors[3]);
  CHECK(errors[3] == 0);
}

TEST_CASE("what shares blocks with a moved text keeps its bits") {
  const SessionOptions options{
      .context = 200, .sequences = 3, .kept = 2, .kept_tokens = 200, .prefill_width = 64};
  Session session(tiny_model(), options);
  const auto text = some_tokens(60, 1), before = some_tokens(70, 2), after = some_tokens(4, 4);
  session.feed(0, joined(some_tokens(9, 3), text));
  session.feed(1, before);
  session.copy(0, 3, 69);  // a kept one, from which the tokens are taken
  session.clear(0);
  session.copy(1, 2, 70);  // shares a block that is not full with what grows
  session.copy(1, 4, 70);
  REQUIRE(append_moved(session, 1, {.from = 3, .begin = 9, .n = 60}));
  repeat_most_changed(session, 1, 60, 0.5);
  const auto got = all_logits(session, after, 4, 2);
  Session cold(tiny_model(), options);
  cold.feed(0, before);
  CHECK(same_bits(got, all_logits(cold, after, 4, 0)));
}

// A model with a window of 100 tokens in all layers.
std::shared_ptr<const Model> windowed() {
  const test::TempFolder folder;
  const std::string path = (folder / "window.gguf").string();
  arch::MadeSource source("gemma3");
  source.set("attention.sliding_window", 100);
  source.learn();
  write_made_model(source, path);
  return Model::load(path);
}

TEST_CASE("windows give away what they still have") {
  Session session(windowed(), {.context = 600, .sequences = 2, .prefill_width = 64});
  session.feed(0, some_tokens(500, 1));
  session.feed(1, some_tokens(30, 2));
  CHECK_FALSE(append_moved(session, 1, {.from = 0, .begin = 200, .n = 64}));
  CHECK(session.length(1) == 30);
  CHECK(append_moved(session, 1, {.from = 0, .begin = 420, .n = 64}));
  CHECK(session.length(1) == 94);
}

TEST_CASE("windows still have what tokens that are computed again see") {
  const auto text = some_tokens(200, 1), before = some_tokens(300, 2), after = some_tokens(9, 4);
  for (const bool keeps : {false, true}) {
    CAPTURE(keeps);
    const std::int32_t n_kept = keeps ? 1 : 0;
    Session session(windowed(), {.context = 600,
                                 .sequences = 2,
                                 .kept = n_kept,
                                 .kept_tokens = keeps ? 1200 : 0,
                                 .prefill_width = 256});
    const std::int64_t n = max_moved_tokens(session);
    CHECK(n == (keeps ? 256 : 64));
    const std::int64_t taken = std::min<std::int64_t>(n, 200);
    session.feed(1, some_tokens(400, 5));  // leaves other blocks in the tables
    session.clear(1);
    session.feed(0, text);
    session.feed(1, before);
    REQUIRE(append_moved(session, 1, {.from = 0, .begin = 200 - taken, .n = taken}));
    CHECK(repeat_most_changed(session, 1, taken, 1) == taken);
    const auto got = all_logits(session, after, 9, 1);
    session.clear(0);
    session.feed(0, joined(before, {text.end() - taken, text.end()}));
    CHECK(same_bits(got, all_logits(session, after, 9, 0)));
  }
}

TEST_CASE("bad requests are refused and change nothing") {
  Session session(tiny_model(), {.context = 128, .sequences = 2, .prefill_width = 32});
  session.feed(0, some_tokens(20, 1));
  const auto refused = [&](const MovedTokens& tokens) {
    return text_of([&] { append_moved(session, 1, tokens); });
  };
  CHECK(refused({.from = 0, .begin = 10, .n = 11}) ==
        "sequence 0 has 20 tokens, cannot take 11 from 10 on; at most 32 at once");
  CHECK(refused({.from = 0, .begin = -1, .n = 2}) != "no error");
  CHECK(refused({.from = 0, .begin = 0, .n = 0}) != "no error");
  CHECK(refused({.from = 7, .begin = 0, .n = 1}) != "no error");
  CHECK(session.length(1) == 0);
  Session recurrent(tiny_model({.arch = "mamba"}), {.context = 128, .sequences = 2});
  recurrent.feed(0, some_tokens(20, 1));
  CHECK(text_of([&] { append_moved(recurrent, 1, {.from = 0, .begin = 0, .n = 5}); })
            .ends_with("tokens cannot be taken from another position: the model has recurrent "
                       "states"));
}
