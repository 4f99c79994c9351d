#include "weft/measure/bench.h"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/resource.h>

#include "weft/base/clock.h"
#include "weft/scheduler/workers.h"

namespace weft::bench {
namespace {

using Json = nlohmann::ordered_json;

std::int64_t peak_rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

constexpr std::int64_t kMinTokens = 32;  // per repetition of narrow steps

// Runs one repetition and returns its tokens per second. Only feeding tokens is timed.
double repeat(Session& session, const Test& test, std::span<const std::int32_t> tokens,
              const std::atomic<bool>* cancel, Fnv1a64* hash) {
  const std::int64_t piece = test.phase == Phase::decode ? 1 : test.tokens;
  const std::int64_t again =
      test.phase == Phase::step ? std::max<std::int64_t>(1, kMinTokens / test.tokens) : 1;
  double seconds = 0;
  for (std::int64_t i = 0; i < again; ++i) {
    return_to_depth(session, test.depth);
    for (std::int64_t done = 0; done < test.tokens; done += piece) {
      const auto next =
          tokens.subspan(static_cast<std::size_t>(done), static_cast<std::size_t>(piece));
      const auto start = Clock::now();
      session.feed(0, next, cancel);
      seconds += seconds_since(start);
      if (hash) hash->add(std::as_bytes(session.logits()));
    }
  }
  return static_cast<double>(again * test.tokens) / seconds;
}

Json share_json(double value, double limit) {
  return limit > 0 ? Json(value / limit) : Json();
}

Json row_json(const Report& report, const Row& row) {
  const Work& work = row.work;
  const double reads = row.per_second(work.bytes());
  const double products = row.per_second(work.multiply_adds);
  return {{"phase", to_string(row.test.phase)},
          {"tokens", row.test.tokens},
          {"depth", row.test.depth},
          {"workers", row.workers},
          {"workers_reason", choose_workers(row.workers).reason},
          {"executor", to_string(row.executor)},
          {"median", row.series.median()},
          {"mad", row.series.spread()},
          {"min", row.series.min()},
          {"max", row.series.max()},
          {"rates", row.series.rates},
          {"bytes_per_token", row.per_token(work.bytes())},
          {"cache_bytes_per_token", row.per_token(work.cache_bytes)},
          {"bytes_per_second", reads},
          {"share_of_reads", share_json(reads, report.read_limit(row))},
          {"multiply_adds_per_token", row.per_token(work.multiply_adds)},
          {"multiply_adds_per_second", products},
          {"arithmetic", row.is_quantized() ? "int8" : "f32"},
          {"share_of_arithmetic", share_json(products, report.arithmetic_limit(row))},
          {"joins_per_token", row.per_token(work.joins)},
          {"ns_per_node", row.ns_per_node()},
          {"peak_rss", row.peak_rss},
          {"disk_bytes_per_token", row.disk_bytes_per_token()},
          {"share_of_hits", row.share_of_hits()},
          {"hit_rates", row.hit_rates},
          {"share_of_waits", row.share_of_waits()},
          {"guesses", row.stream.all_groups().guesses},
          {"right_guesses", row.stream.all_groups().right_guesses}};
}

// Null if nothing was measured.
const MachineLimits* limits_of(const Report& report, int workers) {
  const auto it = std::ranges::find(report.limits, workers, &MachineLimits::threads);
  return it == report.limits.end() ? nullptr : &*it;
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
  return bench::median(rates);
}
double Series::spread() const {
  std::vector<double> distances;
  for (const double rate : rates) distances.push_back(std::abs(rate - median()));
  return bench::median(std::move(distances));
}
double Series::min() const {
  return std::ranges::min(rates);
}
double Series::max() const {
  return std::ranges::max(rates);
}

std::vector<std::int32_t> some_tokens(std::int64_t first, std::int64_t n, std::int64_t n_vocab) {
  std::vector<std::int32_t> tokens;
  for (std::int64_t i = first; i < first + n; ++i)
    tokens.push_back(static_cast<std::int32_t>((i * 7919 + 17) % n_vocab));
  return tokens;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

void return_to_depth(Session& session, std::int64_t depth) {
  if (session.resume_point(0, depth) == depth) return session.truncate(0, depth);
  session.fill_with_noise(0, depth);
}

std::vector<Row> measure(Session& session, const std::vector<Test>& tests, std::int64_t repeats,
                         Fnv1a64& hash, const std::atomic<bool>* cancel) {
  std::vector<Row> rows;
  for (const Test& test : tests) {
    const bool streams = !session.residency().empty();
    const auto tokens = [&](std::int64_t repetition) {
      return some_tokens(streams ? repetition * test.tokens : 0, test.tokens,
                         session.model().facts().n_vocab);
    };
    const std::int64_t width =
        test.phase == Phase::decode ? 1 : std::min(test.tokens, session.options().prefill_width);
    Row row{.test = test,
            .workers = session.options().workers,
            .executor = session.plan(session.plan_for(width)).replay,
            .work = work_of(session, test.depth, test.tokens, width)};
    session.fill_with_noise(0, test.depth);
    repeat(session, test, tokens(0), cancel, &hash);
    const StreamStats before = session.stream_stats();
    for (std::int64_t r = 1; r <= repeats; ++r) {
      const StreamStats before_this = session.stream_stats();
      row.series.rates.push_back(repeat(session, test, tokens(r), cancel, nullptr));
      row.hit_rates.push_back(session.stream_stats().since(before_this).all_groups().hit_rate());
    }
    row.stream = session.stream_stats().since(before);
    row.peak_rss = peak_rss();
    rows.push_back(std::move(row));
  }
  return rows;
}

namespace {

Json links_json(const std::vector<MeasuredLink>& links) {
  Json json = Json::array();
  for (const MeasuredLink& link : links)
    json.push_back({{"rank", link.rank},
                    {"latency_seconds", link.speed.latency},
                    {"bytes_per_second", link.speed.bytes_per_second},
                    {"carrier", link.carrier}});
  return json;
}

}  // namespace

double Row::share_of_waits() const {
  double seconds = 0;
  for (const double rate : series.rates) seconds += static_cast<double>(test.tokens) / rate;
  return static_cast<double>(stream.total_wait_ns()) / 1e9 / (seconds * workers);
}

double Report::read_limit(const Row& row) const {
  const MachineLimits* found = limits_of(*this, row.workers);
  return found ? found->reads.bytes_per_second : 0;
}
double Report::arithmetic_limit(const Row& row) const {
  const MachineLimits* found = limits_of(*this, row.workers);
  if (!found) return 0;
  return (row.is_quantized() ? found->int8 : found->f32).multiply_adds_per_second;
}

std::string to_json(const Report& report) {
  Json json{{"model", report.model},
            {"architecture", report.architecture},
            {"backend", report.backend},
            {"batch", report.batch},
            {"unit", "tokens/s"},
            {"rows", Json::array()},
            {"limits", Json::array()},
            {"memory", report.memory},
            {"logits_hash", fmt::format("{:016x}", report.logits_hash)},
            {"links", links_json(report.links)}};
  for (const Row& row : report.rows) json["rows"].push_back(row_json(report, row));
  for (const MachineLimits& limits : report.limits)
    json["limits"].push_back(Json::parse(to_json(limits)));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace weft::bench
