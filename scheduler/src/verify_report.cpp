#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/scheduler/verify.h"

namespace weft {
namespace {

// JSON has no infinity: what is not finite becomes text.
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

std::string VerifyReport::to_text() const {
  std::string text = fmt::format("{:<32} {:>12} {:>10} {:>10}  {}\n", "node", "worst error",
                                 "of bound", "non-finite", "kernel");
  for (const NodeCheck& n : nodes) {
    text += fmt::format("{:<32} {:>12.3g} {:>10.3g} {:>10}  {}{}\n", n.path, n.worst_error,
                        n.worst_ratio, n.non_finite, n.kernel, n.passed() ? "" : "  <- BAD");
  }
  const auto n_bad =
      std::count_if(nodes.begin(), nodes.end(), [](const NodeCheck& n) { return !n.passed(); });
  const NodeCheck* bad = first_bad();
  if (!bad) return text + fmt::format("{} nodes, all within their bounds\n", nodes.size());
  return text + fmt::format(
                    "{} nodes, {} past their bounds; the first: {} '{}', kernel '{}', element {}: "
                    "got {:.9g}, want {:.9g}, {:.3g} times the "
                    "bound ({})\n",
                    nodes.size(), n_bad, bad->op, bad->path, bad->kernel, bad->worst_index,
                    bad->got, bad->want, bad->worst_ratio, bad->where);
}

std::string VerifyReport::to_json() const {
  const NodeCheck* bad = first_bad();
  nlohmann::ordered_json json{{"passed", bad == nullptr}};
  json["first_bad"] = bad ? nlohmann::ordered_json(bad->path) : nlohmann::ordered_json();
  auto& all = json["nodes"] = nlohmann::ordered_json::array();
  for (const NodeCheck& n : nodes) {
    all.push_back({{"path", n.path},
                   {"op", n.op},
                   {"kernel", n.kernel},
                   {"where", n.where},
                   {"passed", n.passed()},
                   {"worst_error", number(n.worst_error)},
                   {"worst_ratio", number(n.worst_ratio)},
                   {"worst_index", n.worst_index},
                   {"got", number(n.got)},
                   {"want", number(n.want)},
                   {"non_finite", n.non_finite}});
  }
  return json.dump();
}

}  // namespace weft
