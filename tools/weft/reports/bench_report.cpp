#include "reports/bench_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/workers.h"

#include "reports/kept_limits.h"
#include "reports/percent.h"

namespace weft::tools {
namespace {

std::string line(const bench::Report& report, const bench::Row& row) {
  const bench::Work& work = row.work;
  const double reads = row.per_second(work.bytes());
  const double products = row.per_second(work.multiply_adds);
  return fmt::format(
      "{:<8}{:>6}{:>7}{:>3} "
      "{:<5}{:>11.2f}{:>9.2f}{:>12}{:>8.2f}{:>8}{:>10.1f}{:>8}{:>8.2f}{:>9.0f}{:>11}"
      "\n",
      to_string(row.test.phase), row.test.tokens, row.test.depth, row.workers,
      to_string(row.executor), row.tokens_per_second(), row.series.spread(),
      human_bytes(static_cast<std::int64_t>(row.per_token(work.bytes()))), reads / 1e9,
      percent(reads, report.read_limit(row)), products / 1e9,
      percent(products, report.arithmetic_limit(row)), row.per_token(work.joins), row.ns_per_node(),
      human_bytes(row.peak_rss));
}

// What was read while tokens were computed; empty if nothing was.
std::string disk_line(const bench::Row& row) {
  if (row.stream.reader.empty()) return "";
  const double bytes = row.disk_bytes_per_token();
  std::string text = fmt::format(
      "disk     {} {}: {} per token, {:.2f} GB/s ({}), {} of the time waiting",
      to_string(row.test.phase), row.test.tokens, human_bytes(static_cast<std::int64_t>(bytes)),
      row.per_second(bytes * static_cast<double>(row.test.tokens)) / 1e9, row.stream.reader,
      percent(row.share_of_waits(), 1));
  if (!row.stream.groups.empty())
    text += fmt::format(", {} of the experts were in memory", percent(row.share_of_hits(), 1));
  if (const StreamStats::Group all = row.stream.all_groups(); all.guesses > 0)
    text += fmt::format(
        ", {} of {} guesses were right",
        percent(static_cast<double>(all.right_guesses), static_cast<double>(all.guesses)),
        all.guesses);
  return text + '\n';
}

// Those of all rows, each once, in the order of the rows.
std::vector<int> numbers_of_workers(const bench::Report& report) {
  std::vector<int> numbers;
  for (const bench::Row& row : report.rows) {
    if (std::ranges::find(numbers, row.workers) == numbers.end()) numbers.push_back(row.workers);
  }
  return numbers;
}

}  // namespace

std::string to_text(const bench::Report& report) {
  std::string text =
      fmt::format("{}, backend {}, batches of {}\n", report.model, report.backend, report.batch);
  for (const int n : numbers_of_workers(report)) text += choose_workers(n).reason + '\n';
  text += fmt::format(
      "{:<8}{:>6}{:>7}{:>3} {:<5}{:>11}{:>9}{:>12}{:>8}{:>8}{:>10}{:>8}{:>8}{:>9}{:>11}\n", "phase",
      "tokens", "depth", "w", "by", "tokens/s", "+-", "bytes/token", "GB/s", "limit", "G mul-add",
      "limit", "joins", "ns/node", "peak RSS");
  for (const bench::Row& row : report.rows) text += line(report, row);
  for (const bench::Row& row : report.rows) text += disk_line(row);
  text += to_text(report.limits);
  if (!report.limits.empty() && report.memory < report.limits.front().reads.cache_bytes)
    text += "cache    The model may fit the cache: it can exceed the memory limit.\n";
  for (const MeasuredLink& link : report.links)
    text += fmt::format("link     rank 0 to {}: {} ({})\n", link.rank, to_string(link.speed),
                        link.carrier);
  text += fmt::format("memory   {}\nlogits   {:016x}\n", human_bytes(report.memory),
                      report.logits_hash);
  return text;
}

}  // namespace weft::tools
