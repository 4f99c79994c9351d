#include "profiles/profile_report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/human_numbers.h"
#include "weft/scheduler/budget.h"

#include "reports/percent.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

double arithmetic_limit(const ProfileRow& row, const MachineLimits& limits) {
  const bool quantized = row.work.of_quantized > row.work.of_float;
  return (quantized ? limits.int8 : limits.f32).multiply_adds_per_second;
}

// "-" if the divisor is 0.
std::string rate(double amount, double ns) {
  return amount > 0 && ns > 0 ? fmt::format("{:.2f}", amount / ns) : "-";
}

std::vector<const ProfileRow*> by_gain(const PhaseProfile& p, const MachineLimits& limits) {
  std::vector<const ProfileRow*> rows;
  for (const ProfileRow& row : p.rows) rows.push_back(&row);
  const auto gain = [&](const ProfileRow* r) { return p.time_ns(*r) - min_ns(*r, limits); };
  std::ranges::stable_sort(rows, std::greater<>(), gain);
  return rows;
}

std::string line(const PhaseProfile& p, const ProfileRow& row, const MachineLimits& limits) {
  const double ns = p.time_ns(row), bytes = row.work.bytes(), products = row.work.multiply_adds;
  const auto steps = static_cast<double>(p.steps);
  const double reads = limits.reads.bytes_per_second / 1e9;
  const double arithmetic = arithmetic_limit(row, limits) / 1e9;
  return fmt::format("{:<28}{:>4}{:>10}{:>8}{:>12}{:>8}{:>8}{:>10}{:>8}{:>10}  {}\n", row.path,
                     row.nodes, human_ns(ns / steps), percent(ns, p.wall_ns),
                     bytes > 0 ? human_bytes(static_cast<std::int64_t>(bytes / steps)) : "-",
                     rate(bytes, ns), bytes > 0 ? percent(bytes / ns, reads) : "-",
                     rate(products, ns), products > 0 ? percent(products / ns, arithmetic) : "-",
                     human_ns(std::max(0.0, ns - min_ns(row, limits)) / steps), row.kernel);
}

// Small models feel it: a node of theirs takes a microsecond.
std::string cost_text(const PhaseProfile& p) {
  const auto nodes = static_cast<double>(std::max<std::int64_t>(p.step_nodes, 1));
  const double overhead = std::max(p.overhead, 0.0);  // steps differ by more than it
  return fmt::format("watching costs {:.1f} %: {:.0f} ns for each of {} nodes", 100 * overhead,
                     overhead * p.plain_median_ns / nodes, p.step_nodes);
}

Json json_of(const PhaseProfile& p, const MachineLimits& limits) {
  Json json{{"phase", to_string(p.test.phase)},
            {"tokens", p.test.tokens},
            {"depth", p.test.depth},
            {"workers", p.workers},
            {"steps", p.steps},
            {"wall_ns", p.wall_ns},
            {"unwatched_ns", p.plain_ns},
            {"unwatched_step_ns", p.plain_median_ns},
            {"step_nodes", p.step_nodes},
            {"overhead", p.overhead},
            {"busy_ns", p.busy_ns},
            {"waiting_ns", p.waiting_ns()},
            {"joins", p.joins},
            {"dropped_calls", p.dropped},
            {"nodes", Json::array()}};
  for (const ProfileRow* row : by_gain(p, limits)) {
    json["nodes"].push_back({{"path", row->path},
                             {"op", row->op},
                             {"kernel", row->kernel},
                             {"nodes", row->nodes},
                             {"ns", p.time_ns(*row)},
                             {"min_ns", min_ns(*row, limits)},
                             {"bytes", row->work.bytes()},
                             {"multiply_adds", row->work.multiply_adds}});
  }
  return json;
}

}  // namespace

void ProfileRow::divide(double n) {
  busy_ns /= n;
  for (double* amount : {&work.weight_bytes, &work.cache_bytes, &work.multiply_adds,
                         &work.of_quantized, &work.of_float, &work.joins, &work.nodes})
    *amount /= n;
}

double PhaseProfile::waiting_ns() const {
  const double busy = std::accumulate(busy_ns.begin(), busy_ns.end(), 0.0);
  return std::max(0.0, wall_ns - busy / workers);
}

double min_ns(const ProfileRow& row, const MachineLimits& limits) {
  const auto time = [](double amount, double per_second) {
    return per_second > 0 ? amount / per_second * 1e9 : 0;
  };
  return std::max(time(row.work.bytes(), limits.reads.bytes_per_second),
                  time(row.work.multiply_adds, arithmetic_limit(row, limits)));
}

namespace {

// What lanes waited for the disk: for weights of the ring, and for experts by layer, the longest
// waits first.
std::string stream_text(const PhaseProfile& p, std::size_t top) {
  if (p.stream.reader.empty()) return "";
  const double lanes_ns = p.stream_wall_ns * p.workers;
  const auto share = [&](std::int64_t ns) { return percent(static_cast<double>(ns), lanes_ns); };
  const auto hits = [](const StreamStats::Group& g) {
    return percent(static_cast<double>(g.hits), static_cast<double>(g.hits + g.misses));
  };
  std::string text = fmt::format("\nread from disk: {} GB/s ({}), {} of the time waiting\n",
                                 rate(static_cast<double>(p.stream.bytes_read), p.stream_wall_ns),
                                 p.stream.reader, share(p.stream.total_wait_ns()));
  if (p.stream.wait_ns > 0)
    text += fmt::format("{:<42}{:>10}{:>10}{:>10}\n", "weights in order", "", "",
                        share(p.stream.wait_ns));
  if (p.groups.empty()) return text;
  text += fmt::format("{:<42}{:>10}{:>10}{:>10}{:>14}\n", "experts of", "in memory", "missing",
                      "waiting", "right guesses");
  std::vector<std::size_t> order(p.groups.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater(),
                           [&](std::size_t i) { return p.stream.groups[i].wait_ns; });
  if (top > 0) order.resize(std::min(top, order.size()));
  for (const std::size_t i : order) {
    const StreamStats::Group& g = p.stream.groups[i];
    text += fmt::format("{:<42}{:>10}{:>10}{:>10}{:>14}\n", p.groups[i], hits(g), g.misses,
                        share(g.wait_ns),
                        g.guesses > 0 ? fmt::format("{} of {}", g.right_guesses, g.guesses) : "-");
  }
  return text;
}

Json stream_json(const PhaseProfile& p) {
  Json groups = Json::array();
  for (std::size_t i = 0; i < p.groups.size(); ++i) {
    const StreamStats::Group& g = p.stream.groups[i];
    groups.push_back({{"weights", p.groups[i]},
                      {"in_memory", g.hits},
                      {"missing", g.misses},
                      {"wait_ns", g.wait_ns},
                      {"guesses", g.guesses},
                      {"right_guesses", g.right_guesses}});
  }
  return {{"reader", p.stream.reader},
          {"bytes_read", p.stream.bytes_read},
          {"wall_ns", p.stream_wall_ns},
          {"wait_ns", p.stream.wait_ns},
          {"groups", std::move(groups)}};
}

}  // namespace

std::string to_text(const PhaseProfile& p, const MachineLimits& limits, std::size_t top) {
  const auto steps = static_cast<double>(p.steps);
  std::string text =
      fmt::format("{} of {} after {}: {} a step, {:.1f} tokens/s, {:.0f} joins a step",
                  to_string(p.test.phase), p.test.tokens, p.test.depth, human_ns(p.wall_ns / steps),
                  static_cast<double>(p.test.tokens) / p.plain_ns * 1e9, p.joins / steps);
  text += "\nworkers compute";
  for (const double busy : p.busy_ns) text += fmt::format(" {}", percent(busy, p.wall_ns));
  text += " of the time; " + cost_text(p) + "\n\n";
  text += fmt::format("{:<28}{:>4}{:>10}{:>8}{:>12}{:>8}{:>8}{:>10}{:>8}{:>10}  {}\n", "node", "x",
                      "time/step", "share", "bytes/step", "GB/s", "limit", "G mul-add", "limit",
                      "to win", "kernel");
  const auto rows = by_gain(p, limits);
  const std::size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) text += line(p, *rows[i], limits);
  double rest = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) rest += p.time_ns(*rows[i]);
  if (shown < rows.size())
    text += fmt::format("{:<28}{:>4}{:>10}{:>8}\n", "(others: --top 0)", rows.size() - shown,
                        human_ns(rest / steps), percent(rest, p.wall_ns));
  text += fmt::format("{:<28}{:>4}{:>10}{:>8}\n", "(waiting, between steps)", "",
                      human_ns(p.waiting_ns() / steps), percent(p.waiting_ns(), p.wall_ns));
  if (p.dropped > 0) text += fmt::format("{} calls were not recorded\n", p.dropped);
  return text + stream_text(p, top);
}

std::string to_json(const std::vector<PhaseProfile>& profiles, const MachineLimits& limits,
                    const std::string& about, const std::string& rank) {
  Json json{{"limits", Json::parse(to_json(limits))}, {"phases", Json::array()}};
  if (!rank.empty()) json["rank"] = rank;
  for (const PhaseProfile& p : profiles) {
    json["phases"].push_back(json_of(p, limits));
    if (!p.stream.reader.empty()) json["phases"].back()["stream"] = stream_json(p);
  }
  json["profile"] = Json::parse(about);
  return json.dump(1) + '\n';
}

}  // namespace weft::tools
