#include "profiles/profile_file.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/base/text.h"
#include "weft/scheduler/workers.h"

#include "common/read_text.h"

namespace weft::tools {
namespace {

using Json = nlohmann::ordered_json;

Json parsed(const std::string& path) {
  try {
    return Json::parse(cli::read_text(path));
  } catch (const Json::exception& e) {
    fail<FormatError>("{}: not JSON: {}", path, without_json_id(e.what()));
  }
}

constexpr std::string_view kNeither =
    "neither a trace of weft profile -o FILE nor a report of weft profile --json";

// Calls `read` with the file's JSON; missing members and wrong types become errors that name the
// file.
template <class F>
auto read_file(const std::string& path, F read) {
  const Json json = parsed(path);
  try {
    return read(json);
  } catch (const Json::exception& e) {
    fail<FormatError>("{}: {} ({})", path, kNeither, e.what());
  } catch (const FormatError& e) {
    fail<FormatError>("{}: {}", path, e.what());
  }
}

// Bytes, nanoseconds, microseconds and counts are far below this, so that sums of them fit.
constexpr double kMaxNumber = 1e15;

// Throws Json::exception if it is not a number, FormatError if it is out of range.
double number(const Json& json, double min = 0, double max = kMaxNumber) {
  const double value = json.get<double>();
  if (!(value >= min && value <= max))
    fail<FormatError>("{}: numbers must be {} to {}, got {}", kNeither, min, max, value);
  return value;
}

template <class T>
T whole_number(const Json& json, double min, double max) {
  return static_cast<T>(number(json, min, max));
}

ProfiledPlan plan_of(const Json& json) {
  ProfiledPlan plan{.name = json.at("name").get<std::string>(),
                    .signature = json.at("signature").get<std::string>(),
                    .steps = whole_number<std::int64_t>(json.at("steps"), 0, kMaxNumber),
                    .wall_ns = number(json.at("wall_ns")),
                    .nodes = {}};
  for (const Json& node : json.at("nodes")) {
    plan.nodes.push_back({.path = node.at("path").get<std::string>(),
                          .kernel = node.value("kernel", ""),
                          .ns = number(node.at("ns")),
                          .bytes = number(node.at("bytes"))});
  }
  return plan;
}

// Steps of one plan, begin and end in microseconds.
using Spans = std::vector<std::pair<double, double>>;

Spans spans_of(const Json& events, const std::string& plan) {
  Spans spans;
  for (const Json& event : events) {
    if (event.value("cat", "") != "step" || event.at("args").value("plan", "") != plan) continue;
    const double begin = number(event.at("ts"), -kMaxNumber);
    spans.emplace_back(begin, begin + number(event.at("dur")));
  }
  return spans;
}

TimedStep median_step(const Json& json, const std::string& path, const std::string& plan) {
  if (!json.contains("traceEvents") && json.contains("profile")) {
    fail<ValueError>(
        "{} is a report, which has no individual calls: make a trace with weft profile -o FILE",
        path);
  }
  const Json& events = json.at("traceEvents");
  Spans spans = spans_of(events, plan);
  if (spans.empty()) fail<ValueError>("{} has no step of plan '{}'", path, plan);
  const auto middle = spans.begin() + std::ssize(spans) / 2;
  std::nth_element(spans.begin(), middle, spans.end(), [](const auto& a, const auto& b) {
    return a.second - a.first < b.second - b.first;
  });
  const auto [begin, end] = *middle;
  TimedStep step{.ns = (end - begin) * 1e3, .calls = {}};
  for (const Json& event : events) {
    if (event.value("ph", "") != "X" || event.value("cat", "") == "step") continue;
    const double from = number(event.at("ts"), -kMaxNumber), to = from + number(event.at("dur"));
    if (from < begin || from >= end) continue;
    step.calls.push_back(
        {.path = event.at("name").get<std::string>(),
         .worker = whole_number<int>(event.at("tid"), 1, kMaxWorkers) - 1,
         .stage = whole_number<std::int32_t>(event.at("args").at("stage"), 0, INT32_MAX),
         .begin_ns = (from - begin) * 1e3,
         .end_ns = (to - begin) * 1e3});
  }
  return step;
}

}  // namespace

ProfileFile read_profile(const std::string& path, SessionOptions& options) {
  ProfileFile profile = read_file(path, [](const Json& whole) {
    const Json& json =
        whole.contains("profile") ? whole.at("profile") : whole.at("otherData").at("weft");
    ProfileFile file{.model = json.at("model").get<std::string>(),
                     .weights = json.at("weights").get<std::string>(),
                     .backend = json.at("backend").get<std::string>(),
                     .route = json.value("route", ""),
                     .isa = json.value("isa", ""),
                     .context = whole_number<std::int64_t>(json.at("context"), 1, kMaxNumber),
                     .workers = whole_number<int>(json.at("workers"), 1, kMaxWorkers),
                     .plans = {}};
    for (const Json& plan : json.at("plans")) file.plans.push_back(plan_of(plan));
    return file;
  });
  if (options.context == 0) options.context = profile.context;
  if (options.workers == 0) options.workers = profile.workers;
  if (options.weights == WeightMode::automatic)
    options.weights = find_weight_mode(profile.weights).value_or(options.weights);
  const bool left_open = options.backend == "cpu" && options.route.empty();
  if (left_open && profile.backend == "cpu" && profile.isa != cpu_isa_name() &&
      std::ranges::count(cpu_isas(), std::string_view(profile.isa)) != 0)
    options.backend = "cpu:" + profile.isa;
  return profile;
}

namespace {

// The first difference between two plans.
std::string first_difference(const ProfiledPlan& profiled, const Plan& plan) {
  const std::size_t n = std::min(profiled.nodes.size(), plan.steps.size());
  std::size_t i = 0;
  while (i < n && profiled.nodes[i].path == plan.steps[i].path) ++i;
  const auto there = i < profiled.nodes.size() ? printable(profiled.nodes[i].path) : "nothing";
  const auto here = i < plan.steps.size() ? plan.steps[i].path : "nothing";
  if (i < profiled.nodes.size() || i < plan.steps.size())
    return fmt::format("step {} is '{}' in the profile, '{}' here", i, there, here);
  return "its nodes have the same names, but not the same types, shapes, lanes or stages";
}

}  // namespace

const ProfiledPlan& profile_of(const ProfileFile& profile, const std::string& path,
                               const Graph& graph, const Plan& plan) {
  std::string names;
  for (const ProfiledPlan& p : profile.plans) {
    names += (names.empty() ? "" : ", ") + printable(p.name);
    if (p.name != plan.name) continue;
    if (p.signature == plan_signature(graph, plan)) return p;
    fail<ValueError>(
        "{} is the profile of another plan '{}': {}. It was made of '{}', context {}, {} workers, "
        "backend {}{}, instruction set {}, weights {}",
        path, plan.name, first_difference(p, plan), printable(profile.model), profile.context,
        profile.workers, printable(profile.backend),
        profile.route.empty() ? "" : fmt::format(" ({})", printable(profile.route)),
        printable(profile.isa.empty() ? "unknown" : profile.isa), printable(profile.weights));
  }
  fail<ValueError>("{} has no plan '{}', only {}", path, plan.name,
                   names.empty() ? "none at all" : names);
}

TimedStep read_median_step(const std::string& path, const std::string& plan) {
  return read_file(path, [&](const Json& json) { return median_step(json, path, plan); });
}

}  // namespace weft::tools
