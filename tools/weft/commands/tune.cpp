#include "tune/tune.h"

#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "weft/base/error.h"
#include "weft/base/human_numbers.h"
#include "weft/run/read_choices.h"
#include "weft/scheduler/budget.h"
#include "weft/scheduler/workers.h"

#include "subcommand.h"
#include "tune/reads.h"

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

int store(const TunedValues& values, const std::string& name) {
  const std::string path = bench::store_values(values, name);
  if (path.empty()) fail<IoError>("not stored: set XDG_CACHE_HOME or HOME to a folder");
  std::cerr << fmt::format("stored in {} for {}\n", path, tuned_machine(name));
  return 0;
}

int tune_reads(const std::string& model, double seconds, bool as_json, bool dry) {
  const bench::MeasuredReads measured = bench::measure_reads(model, seconds);
  Json speeds = Json::array();
  std::string text = fmt::format("{}: reads of pieces at random places\n", measured.reader);
  for (const bench::ReadSpeed& s : measured.speeds) {
    const bool best = s.depth == measured.best.depth && s.block == measured.best.block;
    text += fmt::format("  {:2} of {:>9}: {:6.2f} GB/s{}\n", s.depth, human_bytes(s.block),
                        s.bytes_per_second / 1e9, best ? " *" : "");
    speeds.push_back({{"depth", s.depth},
                      {"block", s.block},
                      {"bytes_per_second", s.bytes_per_second},
                      {"best", best}});
  }
  std::cout << (as_json ? Json{{"reader", measured.reader}, {"speeds", speeds}}.dump(1) + '\n'
                        : text);
  return dry ? 0 : store(bench::best_values(measured), std::string(run::kTunedReads));
}

int tune_kernels(int threads, double seconds, bool as_json, bool dry) {
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
  return dry ? 0 : store(bench::best_values(measured), isa);
}

int tune(int argc, char** argv) {
  cli::App app(
      "Measures which of several ways of computing the same bits are fastest on this machine, and "
      "stores them for all programs: how many bytes ahead kernels prefetch weights. Results never "
      "depend on it. WEFT_TUNE=off ignores stored values.",
      "weft tune");
  int threads = 0;
  double seconds = 1.5;
  std::string model;
  bool as_json = false, dry = false;
  const cli::Option with_threads =
      app.add_option("-t,--threads", threads, "number of threads; 0: the default number of workers")
          .range(0, kMaxWorkers);
  app.add_option("--seconds", seconds,
                 "begin no measurement later; the most common formats come first")
      .real_range(0.1, 600);
  app.add_option("-m,--model", model,
                 "measure how the disk of this file is read best while steps run, for models that "
                 "are larger than memory, instead of kernels")
      .type_name("FILE")
      .excludes(with_threads);
  app.add_flag("--dry-run", dry, "measure, but store nothing");
  app.add_flag("--json", as_json, "print JSON");
  app.footer(
      "Examples:\n"
      "  weft tune\n"
      "  weft tune --seconds 10\n"
      "  weft tune -m model.gguf          # reads of streamed weights\n"
      "  WEFT_CPU_ISA=avx2 weft tune --dry-run");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  if (!model.empty()) return tune_reads(model, seconds, as_json, dry);
  return tune_kernels(threads, seconds, as_json, dry);
}

}  // namespace

const Subcommand kTune{"tune", "measures and stores the fastest settings of this machine", tune};

}  // namespace weft::tools
