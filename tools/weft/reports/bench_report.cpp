#include "reports/bench_report.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/scheduler/budget.h"

#include "reports/percent.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

// Null if nothing was measured.
const MachineLimits* limits_of(const Report& report, int workers) {
  const auto it = std::ranges::find(report.limits, workers, &MachineLimits::threads);
  return it == report.limits.end() ? nullptr : &*it;
}

double read_limit(const Report& report, const Row& row) {
  const MachineLimits* limits = limits_of(report, row.workers);
  return limits ? limits->reads.bytes_per_second : 0;
}

double arithmetic_limit(const Report& report, const Row& row) {
  const MachineLimits* limits = limits_of(report, row.workers);
  if (!limits) return 0;
  return (row.is_quantized() ? limits->int8 : limits->f32).multiply_adds_per_second;
}

std::string line(const Report& report, const Row& row) {
  const Work& work = row.work;
  const double reads = row.per_second(work.bytes());
  const double products = row.per_second(work.multiply_adds);
  return fmt::format(
      "{:<8}{:>6}{:>7}{:>3} "
      "{:<5}{:>11.2f}{:>9.2f}{:>12}{:>8.2f}{:>8}{:>10.1f}{:>8}{:>8.2f}{:>9.0f}{:>11}"
      "\n",
      to_string(row.test.phase), row.test.tokens, row.test.depth, row.workers,
      to_string(row.executor), row.tokens_per_second(), row.series.spread(),
      human_bytes(static_cast<std::int64_t>(row.per_token(work.bytes()))), reads / 1e9,
      percent(reads, read_limit(report, row)), products / 1e9,
      percent(products, arithmetic_limit(report, row)), row.per_token(work.joins),
      row.ns_per_node(), human_bytes(row.peak_rss));
}

Json share(double value, double limit) {
  return limit > 0 ? Json(value / limit) : Json();
}

Json json_of(const Report& report, const Row& row) {
  const Work& work = row.work;
  const double reads = row.per_second(work.bytes());
  const double products = row.per_second(work.multiply_adds);
  return {{"phase", to_string(row.test.phase)},
          {"tokens", row.test.tokens},
          {"depth", row.test.depth},
          {"workers", row.workers},
          {"executor", to_string(row.executor)},
          {"median", row.series.median()},
          {"mad", row.series.spread()},
          {"min", row.series.min()},
          {"max", row.series.max()},
          {"rates", row.series.rates},
          {"bytes_per_token", row.per_token(work.bytes())},
          {"cache_bytes_per_token", row.per_token(work.cache_bytes)},
          {"bytes_per_second", reads},
          {"share_of_reads", share(reads, read_limit(report, row))},
          {"multiply_adds_per_token", row.per_token(work.multiply_adds)},
          {"multiply_adds_per_second", products},
          {"arithmetic", row.is_quantized() ? "int8" : "f32"},
          {"share_of_arithmetic", share(products, arithmetic_limit(report, row))},
          {"joins_per_token", row.per_token(work.joins)},
          {"ns_per_node", row.ns_per_node()},
          {"peak_rss", row.peak_rss}};
}

}  // namespace

std::string to_text(const Report& report) {
  std::string text =
      fmt::format("{}, backend {}, batches of {}\n", report.model, report.backend, report.batch);
  text += fmt::format(
      "{:<8}{:>6}{:>7}{:>3} {:<5}{:>11}{:>9}{:>12}{:>8}{:>8}{:>10}{:>8}{:>8}{:>9}{:>11}\n", "phase",
      "tokens", "depth", "w", "by", "tokens/s", "+-", "bytes/token", "GB/s", "limit", "G mul-add",
      "limit", "joins", "ns/node", "peak RSS");
  for (const Row& row : report.rows) text += line(report, row);
  text += to_text(report.limits);
  if (!report.limits.empty() && report.memory < report.limits.front().reads.cache_bytes)
    text += "cache    The model may fit the cache: it can exceed the memory limit.\n";
  text += fmt::format("memory   {}\nlogits   {:016x}\n", human_bytes(report.memory),
                      report.logits_hash);
  return text;
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
            {"logits_hash", fmt::format("{:016x}", report.logits_hash)}};
  for (const Row& row : report.rows) json["rows"].push_back(json_of(report, row));
  for (const MachineLimits& limits : report.limits)
    json["limits"].push_back(Json::parse(to_json(limits)));
  return json.dump(1) + '\n';
}

}  // namespace weft::tools
