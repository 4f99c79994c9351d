#include "tune/tune.h"

#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"

#include "subcommand.h"

namespace weft::tools {
namespace {

using bench::MeasuredTunable;
using Json = nlohmann::ordered_json;

std::string to_text(const std::vector<MeasuredTunable>& measured) {
  std::string text;
  for (const MeasuredTunable& m : measured) {
    text += fmt::format("{}\n ", m.tunable.about);
    for (const auto& [value, speed] : m.speeds) {
      text +=
          fmt::format("  {}{}: {:.1f} GB/s", value, value == m.best.value ? "*" : "", speed / 1e9);
    }
    text += m.best.gain > 1 ? fmt::format("  ({:.2f} times the standard)\n", m.best.gain) : "\n";
  }
  return text;
}

std::string to_json(const std::vector<MeasuredTunable>& measured, const std::string& isa) {
  Json tunables = Json::array();
  for (const MeasuredTunable& m : measured) {
    Json speeds = Json::array();
    for (const auto& [value, speed] : m.speeds)
      speeds.push_back({{"value", value}, {"bytes_per_second", speed}});
    tunables.push_back({{"name", m.tunable.name},
                        {"standard", m.tunable.standard},
                        {"value", m.best.value},
                        {"gain", m.best.gain},
                        {"speeds", speeds}});
  }
  return Json{{"machine", tuned_machine(isa)}, {"choices", tunables}}.dump(1);
}

int tune(int argc, char** argv) {
  cli::App app(
      "Measures which of several ways of computing the same bits are fastest on this machine, and "
      "stores them for all programs: how many bytes ahead kernels prefetch weights. Results never "
      "depend on it. WEFT_TUNE=off ignores stored values.",
      "weft tune");
  int threads = 0;
  double seconds = 1.5;
  bool as_json = false, dry = false;
  app.add_option("-t,--threads", threads, "number of threads; 0: the default number of workers")
      .range(0, kMaxWorkers);
  app.add_option("--seconds", seconds,
                 "begin no measurement later; the most common formats come first")
      .real_range(0.1, 600);
  app.add_flag("--dry-run", dry, "measure, but store nothing");
  app.add_flag("--json", as_json, "print JSON");
  app.footer(
      "Examples:\n"
      "  weft tune\n"
      "  weft tune --seconds 10\n"
      "  WEFT_CPU_ISA=avx2 weft tune --dry-run");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const std::string isa(cpu_backend_isa());
  if (isa.empty() || cpu_tunables(isa).empty())
    fail<UnsupportedError>("there is nothing to choose with {}",
                           isa.empty() ? "no instruction set" : isa);
  const std::vector<MeasuredTunable> measured =
      bench::measure_choices({.isa = isa,
                              .threads = threads == 0 ? default_workers() : threads,
                              .seconds = seconds,
                              .max_bytes = default_budget() / 2});
  std::cout << (as_json ? to_json(measured, isa) + '\n' : to_text(measured));
  if (dry) return 0;
  const std::string path = bench::store_values(bench::best_values(measured), isa);
  if (path.empty()) fail<IoError>("not stored: set XDG_CACHE_HOME or HOME to a folder");
  std::cerr << fmt::format("stored in {} for {}\n", path, tuned_machine(isa));
  return 0;
}

}  // namespace

const Subcommand kTune{"tune", "measures and stores the fastest settings of this machine", tune};

}  // namespace weft::tools
