#include <iostream>

#include <fmt/format.h>

#include "weft/scheduler/workers.h"

#include "reports/kept_limits.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int limits(int argc, char** argv) {
  cli::App app(
      "Measures the limits of this machine once and stores them for `weft profile`: bytes read per "
      "second, multiply-adds of int8 and of f32 with the instruction set that is used "
      "(WEFT_CPU_ISA).",
      "weft limits");
  int threads = 0;
  bool again = false, as_json = false;
  app.add_option("-t,--threads", threads, "number of threads; 0: the default number of workers")
      .range(0, kMaxWorkers);
  app.add_flag("--again", again, "measure again even if a result is stored");
  app.add_flag("--json", as_json, "print JSON");
  app.footer(
      "Examples:\n"
      "  weft limits\n"
      "  weft limits --again -t 1");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  std::int64_t age_s = 0;
  const MachineLimits found = kept_limits(threads == 0 ? default_workers() : threads, again, age_s);
  std::cout << (as_json ? to_json(found) + '\n' : to_text({found}));
  if (age_s > 0)
    std::cerr << fmt::format("measured {} min ago; --again measures again\n", age_s / 60);
  return 0;
}

}  // namespace

const Subcommand kLimits{"limits", "measures and stores the limits of this machine", limits};

}  // namespace weft::tools
