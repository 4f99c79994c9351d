#include "reports/bench_rows.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <sys/resource.h>

#include "common/program.h"

namespace weft::tools {
namespace {

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

// Ids spread over the vocabulary, the same in every run. Speed does not depend on the ids, but real
// texts do not repeat a single token either.
std::vector<std::int32_t> some_tokens(std::int64_t n, std::int64_t n_vocab) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = 0; i < n; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * 7919 + 17) % n_vocab));
  return tokens;
}

std::int64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

constexpr std::int64_t kMinTokens = 32;  // per repetition of narrow steps

// Runs one repetition and returns its tokens per second. Only feeding tokens is timed.
double repeat(Session& session, const Test& test, std::span<const std::int32_t> tokens,
              Fnv1a64* hash) {
  const std::int64_t piece = test.phase == Phase::decode ? 1 : test.tokens;
  const std::int64_t again =
      test.phase == Phase::step ? std::max<std::int64_t>(1, kMinTokens / test.tokens) : 1;
  double seconds = 0;
  for (std::int64_t i = 0; i < again; ++i) {
    session.truncate(0, test.depth);
    for (std::int64_t done = 0; done < test.tokens; done += piece) {
      const auto next =
          tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(piece));
      const auto start = cli::Clock::now();
      session.feed(0, next, &cli::interrupted());
      seconds += cli::seconds_since(start);
      if (hash) hash->add(std::as_bytes(session.logits()));
    }
  }
  return static_cast<double>(again * test.tokens) / seconds;
}

}  // namespace

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::prefill:
      return "prefill";
    case Phase::decode:
      return "decode";
    case Phase::step:
      return "step";
  }
  return "";
}

double Series::median() const {
  return middle(rates);
}
double Series::spread() const {
  std::vector<double> distances;
  for (const double rate : rates) distances.push_back(std::abs(rate - median()));
  return middle(std::move(distances));
}
double Series::min() const {
  return std::ranges::min(rates);
}
double Series::max() const {
  return std::ranges::max(rates);
}

std::vector<Row> measure(Session& session, const std::vector<Test>& tests, std::int64_t repeats,
                         Fnv1a64& hash) {
  std::vector<Row> rows;
  for (const Test& test : tests) {
    const auto tokens = some_tokens(test.tokens, session.model().facts().n_vocab);
    const std::int64_t width =
        test.phase == Phase::decode ? 1 : std::min(test.tokens, session.options().prefill_width);
    Row row{.test = test,
            .workers = session.options().workers,
            .executor = session.plan(session.plan_for(width)).replay,
            .work = work_of(session, test.depth, test.tokens, width)};
    session.fill_with_noise(0, test.depth);
    repeat(session, test, tokens, &hash);
    for (std::int64_t r = 0; r < repeats; ++r)
      row.series.rates.push_back(repeat(session, test, tokens, nullptr));
    row.peak_rss = peak_rss();
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace weft::tools
