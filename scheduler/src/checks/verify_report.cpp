#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/scheduler/verify.h"

namespace weft {
namespace {

// JSON has no infinity: values that are not finite become text.
nlohmann::ordered_json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

}  // namespace

const NodeCheck* VerifyReport::first_bad() const {
  const auto bad =
      std::find_if(nodes.begin(), nodes.end(), [](const NodeCheck& n) { return !n.passed(); });
  return bad == nodes.end() ? nullptr : &*bad;
}

const NodeCheck* VerifyReport::first_not_finite() const {
  const auto bad =
      std::ranges::find_if(nodes, [](const NodeCheck& n) { return n.not_numbers > 0; });
  return bad == nodes.end() ? nullptr : &*bad;
}

namespace {

std::string distance(double d) {
  return d < 0 ? "-" : fmt::format("{:.2g}", d);
}

// The worst element of a bad node, and its neighbours.
std::string describe(const NodeCheck& n) {
  std::string text = fmt::format(
      "{} '{}', kernel '{}', element {}: got {:.9g}, want {:.9g}, {:.3g} times the bound ({})\n",
      n.op, n.path, n.kernel, n.worst_index, n.got, n.want, n.worst_ratio, n.where);
  if (n.worst_index < 0 || n.cols == 0) return text;
  text += fmt::format("  row {}, column {}; bound {:.3g}; near it\n  {:>8} {:>16} {:>16} {:>12}\n",
                      n.worst_index / n.cols, n.worst_index % n.cols, n.bound, "column", "got",
                      "want", "difference");
  for (std::size_t i = 0; i < n.around_got.size(); ++i) {
    const std::int64_t column = n.around_first + static_cast<std::int64_t>(i);
    const double got = n.around_got[i], want = n.around_want[i];
    text += fmt::format("  {:>8} {:>16.9g} {:>16.9g} {:>12.3g}{}\n", column, got, want, got - want,
                        column == n.worst_index % n.cols ? "  <-" : "");
  }
  return text;
}

}  // namespace

std::string VerifyReport::to_text() const {
  const auto has = [&](double NodeCheck::*column) {
    return std::ranges::any_of(nodes, [&](const NodeCheck& n) { return n.*column >= 0; });
  };
  const bool plain = has(&NodeCheck::from_plain), dump = has(&NodeCheck::from_dump);
  const auto line = [&](std::string_view path, std::string_view error, std::string_view ratio,
                        std::string_view ulps, std::string_view relative, std::string_view bad,
                        const std::string& from_plain, const std::string& from_dump) {
    std::string text = fmt::format("{:<28} {:>11} {:>9} {:>9} {:>9} {:>10}", path, error, ratio,
                                   ulps, relative, bad);
    if (plain) text += fmt::format(" {:>9}", from_plain);
    if (dump) text += fmt::format(" {:>9}", from_dump);
    return text + "  ";
  };
  std::string text =
      line("node", "worst error", "of bound", "ulp", "relative", "non-finite", "plain", "dump") +
      "kernel\n";
  for (const NodeCheck& n : nodes) {
    text += line(n.path, fmt::format("{:.3g}", n.worst_error), fmt::format("{:.2g}", n.worst_ratio),
                 fmt::format("{:.2g}", n.worst_ulps), fmt::format("{:.2g}", n.worst_relative),
                 fmt::format("{}", n.not_numbers), distance(n.from_plain), distance(n.from_dump));
    text += n.kernel + (n.passed() ? "\n" : "  <- BAD\n");
  }
  const auto n_bad = std::ranges::count_if(nodes, [](const NodeCheck& n) { return !n.passed(); });
  if (const NodeCheck* nan = first_not_finite()) {
    text += fmt::format("the first NaN or Inf: {} '{}', {} elements ({})\n", nan->op, nan->path,
                        nan->not_numbers, nan->where);
  }
  const NodeCheck* bad = first_bad();
  if (!bad) return text + fmt::format("{} nodes, all within their bounds\n", nodes.size());
  return text + fmt::format("{} nodes, {} past their bounds; the first: {}", nodes.size(), n_bad,
                            describe(*bad));
}

std::string VerifyReport::to_json() const {
  const NodeCheck* bad = first_bad();
  nlohmann::ordered_json json{{"passed", bad == nullptr}};
  json["first_bad"] = bad ? nlohmann::ordered_json(bad->path) : nlohmann::ordered_json();
  auto& all = json["nodes"] = nlohmann::ordered_json::array();
  const auto distance_of = [](double d) { return d < 0 ? nlohmann::ordered_json() : number(d); };
  for (const NodeCheck& n : nodes) {
    all.push_back({{"path", n.path},
                   {"op", n.op},
                   {"kernel", n.kernel},
                   {"where", n.where},
                   {"passed", n.passed()},
                   {"worst_error", number(n.worst_error)},
                   {"worst_ratio", number(n.worst_ratio)},
                   {"worst_ulps", number(n.worst_ulps)},
                   {"worst_relative", number(n.worst_relative)},
                   {"worst_index", n.worst_index},
                   {"got", number(n.got)},
                   {"want", number(n.want)},
                   {"bound", number(n.bound)},
                   {"non_finite", n.non_finite},
                   {"not_numbers", n.not_numbers},
                   {"from_plain", distance_of(n.from_plain)},
                   {"from_dump", distance_of(n.from_dump)}});
  }
  return json.dump();
}

}  // namespace weft
