// A tree of sequences against a plain search through all of them.
#include "prefixes/sequence_tree.h"

#include <algorithm>
#include <random>

#include <doctest/doctest.h>

#include "engine/engine_test_support.h"
#include "support/mixed_model.h"

namespace weft {
namespace {

using serve::Scope;
using serve::SequenceTree;

constexpr std::int32_t kGrowing = 3, kKept = 6;
constexpr std::int64_t kLongest = 60;

// Random texts of few different tokens in two scopes, so that they branch everywhere.
class Forest {
 public:
  Forest(std::shared_ptr<const Model> model, std::uint32_t seed)
      : session_(std::move(model),
                 {.context = kLongest, .sequences = kGrowing, .kept = kKept, .kept_tokens = 512}),
        tree_(session_),
        scopes_(kGrowing + kKept),
        random_(seed) {}

  void live(int n_rounds) {
    for (int i = 0; i < n_rounds; ++i) {
      switch (below(5)) {
        case 0:
          keep();
          break;
        case 1:
          shorten();
          break;
        case 2:
          remove();
          break;
        default:
          grow();
      }
      compare();
    }
    for (std::int32_t s = 0; s < kGrowing + kKept; ++s)
      if (tree_.has(s)) tree_.remove(s);
    CHECK(tree_.size().nodes == 0);
  }

 private:
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(n));
  }
  std::vector<std::int32_t> some_text() {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(1 + below(kLongest)));
    for (std::int32_t& id : ids) id = below(8) == 0 ? 4 : 3;
    return ids;
  }
  static Scope scope(std::int64_t i) { return {.owner = i == 0 ? "a" : "b"}; }

  // A text that continues from the best start, as those of an engine do, or goes on in its
  // sequence.
  void grow() {
    const auto s = static_cast<std::int32_t>(below(kGrowing));
    std::vector<std::int32_t> ids = some_text();
    if (!tree_.has(s)) {
      scopes_[static_cast<std::size_t>(s)] = below(2);
      const Scope in = scope(scopes_[static_cast<std::size_t>(s)]);
      const auto start = tree_.start(tree_.match(in, ids), ids);
      session_.clear(s);
      if (start.sequence >= 0) session_.copy(start.sequence, s, start.n);
      tree_.add(in, s);
      ids.erase(ids.begin(), ids.begin() + start.n);
    }
    const std::int64_t room = kLongest - session_.length(s);
    ids.resize(static_cast<std::size_t>(std::min(room, std::ssize(ids))));
    if (!ids.empty()) session_.feed(s, ids);
  }
  void keep() {
    const auto s = static_cast<std::int32_t>(below(kGrowing));
    const auto to = static_cast<std::int32_t>(kGrowing + below(kKept));
    if (!tree_.has(s) || tree_.has(to)) return;
    session_.copy(s, to, session_.length(s));
    tree_.rename(s, to);
    scopes_[static_cast<std::size_t>(to)] = scopes_[static_cast<std::size_t>(s)];
  }
  void shorten() {
    const auto s = static_cast<std::int32_t>(below(kGrowing + kKept));
    if (!tree_.has(s)) return;
    const std::int64_t n = session_.resume_point(s, below(session_.length(s) + 1));
    if (!tree_.shorten(s, n) && s >= kGrowing) return session_.truncate(s, 0);
    session_.truncate(s, n);
  }
  void remove() {
    const auto s = static_cast<std::int32_t>(below(kGrowing + kKept));
    if (!tree_.has(s)) return;
    tree_.remove(s);
    session_.truncate(s, 0);
  }
  void compare() {
    const std::int64_t in = below(2);
    const std::vector<std::int32_t> ids = some_text();
    std::int64_t n = 0, resumes = 0;
    for (std::int32_t s = 0; s < kGrowing + kKept; ++s) {
      if (!tree_.has(s) || scopes_[static_cast<std::size_t>(s)] != in) continue;
      const std::int64_t common = session_.common_prefix(s, ids);
      n = std::max(n, common);
      resumes = std::max(resumes, session_.resume_point(s, common));
    }
    const SequenceTree::Match match = tree_.match(scope(in), ids);
    REQUIRE(match.n == n);
    const SequenceTree::Start start = tree_.start(match, ids);
    REQUIRE(start.n == resumes);
    if (start.n > 0) REQUIRE(session_.common_prefix(start.sequence, ids) >= start.n);
  }

  Session session_;
  SequenceTree tree_;
  std::vector<std::int64_t> scopes_;
  std::mt19937 random_;
};

TEST_CASE("a tree finds the longest beginning that any sequence of the scope holds") {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    Forest(test::tiny_model(), seed).live(300);
  }
}

TEST_CASE("a tree finds the best start of a memory that cannot go back everywhere") {
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    Forest(test::mixed_model(), seed).live(200);
  }
}

}  // namespace
}  // namespace weft
