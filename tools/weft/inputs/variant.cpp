#include "inputs/variant.h"

#include <charconv>
#include <string_view>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/run/memory_plan.h"

#include "subcommand.h"

namespace weft::tools {
namespace {

WeightMode weight_mode(const std::string& text) {
  if (const auto mode = find_weight_mode(text)) return *mode;
  fail<cli::UsageError>("weights must be auto, mapped, resident or streamed, got '{}'",
                        printable(text));
}

int worker_count(const std::string& text) {
  int n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || end != text.data() + text.size() || n < 1 || n > kMaxWorkers)
    fail<cli::UsageError>("threads must be 1 to {}, got '{}'", kMaxWorkers, printable(text));
  return n;
}

void change(SessionOptions& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string key = text.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  if (text == "default") return;
  if (text == "as-built") {
    options.passes_off = {"all"};
  } else if (key == "no-pass" && !value.empty()) {
    options.passes_off.push_back(value);
  } else if (key == "backend" && !value.empty()) {
    options.backend = value;
  } else if (key == "threads") {
    options.workers = worker_count(value);
  } else if (key == "weights") {
    options.weights = weight_mode(value);
  } else {
    fail<cli::UsageError>(
        "--diff takes default, as-built, no-pass=NAME, backend=NAME, threads=N or weights=MODE, "
        "got '{}'",
        printable(text));
  }
}

}  // namespace

void read_layers(const std::string& text, std::int64_t n_layers, std::int64_t& first_layer,
                 std::int64_t& last_layer) {
  if (text.empty()) return;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, first_layer);
  last_layer = first_layer;
  auto rest = first;
  if (first.ec == std::errc() && first.ptr != end && *first.ptr == '-')
    rest = std::from_chars(first.ptr + 1, end, last_layer);
  if (rest.ec != std::errc() || rest.ptr != end || first_layer < 0 || last_layer < first_layer) {
    fail<cli::UsageError>("--layers must be a number or FIRST-LAST, got '{}'", printable(text));
  }
  if (last_layer >= n_layers) {
    fail<cli::UsageError>("--layers {}: the model has layers 0-{}", text, n_layers - 1);
  }
}

std::size_t find_phase(const PlannedModel& planned, const std::string& phase) {
  if (phase == "prefill") return planned.n_step_plans - 1;
  const auto [first, last] = planned.plans_of(arch::GraphPart::encoder);
  const bool has_encoder = first < last;
  if (phase == "encode" && has_encoder) return last - 1;
  std::string names = has_encoder ? "prefill, encode" : "prefill";
  for (std::size_t i = 0; i < planned.plans.size(); ++i) {
    if (planned.plans[i].name == phase) return i;
    names += ", " + planned.plans[i].name;
  }
  fail<cli::UsageError>("--phase must be one of {}; got '{}'", names, printable(phase));
}

Variant make_variant(const Model& model, SessionOptions options, const std::string& changes,
                     const std::string& phase) {
  for (std::size_t begin = 0; begin < changes.size();) {
    const std::size_t end = std::min(changes.find(',', begin), changes.size());
    change(options, changes.substr(begin, end - begin));
    begin = end + 1;
  }
  Variant variant{plan_to_look_at(model, std::move(options)), 0};
  variant.index = find_phase(variant.planned, phase);
  return variant;
}

}  // namespace weft::tools
