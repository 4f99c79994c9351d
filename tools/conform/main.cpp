// weft-conform: checks that a backend is right, and measures its speed.

#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include <fmt/format.h>

#include "weft/backends/plugins.h"
#include "weft/base/error.h"

#include "common/app.h"
#include "common/program.h"
#include "conform/case_run.h"

namespace weft::conform {
namespace {

struct Summary {
  int asked = 0, supported = 0, failed = 0;
  double worst_ratio = 0;
};

// The backend's name: that of the loaded library, or as given.
std::string backend_of(const std::string& given) {
  if (given.find('/') == std::string::npos && given.find(".so") == std::string::npos) return given;
  load_plugins(given);
  std::error_code ignored;
  for (const PluginInfo& info : plugins()) {
    if (!std::filesystem::equivalent(info.path, given, ignored)) continue;
    if (info.devices.empty()) fail<UnsupportedError>("{}: finds no device on this machine", given);
    return info.devices.front().backend;
  }
  fail<ValueError>("{}: give the library, not its folder", given);
}

void print(const Case& c, const Outcome& o) {
  if (!o.error.empty()) {
    std::cout << fmt::format("ERROR  {:<22} {:<22} {:<24} {}\n", c.op, c.types, c.shape, o.error);
    return;
  }
  std::string speed;
  if (o.ns > 0) {
    const double bytes = static_cast<double>(o.cost.bytes_read + o.cost.bytes_written);
    speed = fmt::format("  {:8.1f} us {:7.2f} GB/s {:7.2f} Gmul/s", o.ns * 1e-3, bytes / o.ns,
                        static_cast<double>(o.cost.multiply_adds) / o.ns);
  }
  std::cout << fmt::format("{}  {:<22} {:<22} {:<24} {:<36} {:6.3f} of the bound{}\n",
                           o.check.passed() ? "ok   " : "WRONG", c.op, c.types, c.shape, o.kernel,
                           o.check.worst_ratio, speed);
  if (o.check.passed()) return;
  std::cout << fmt::format("       '{}' element {}: got {}, the definition gives {}\n",
                           o.check.path, o.check.worst_index, o.check.got, o.check.want);
}

int conform(const std::string& given, const std::string& only, bool quiet) {
  const std::string name = backend_of(given);
  const Backend& backend = find_backend(name);
  const Routes routes(name, "");
  std::cout << fmt::format("{}: {}\n", name, backend.description());
  std::map<std::string, Summary> summaries;
  for (const Case& c : all_cases(backend.layouts())) {
    if (!only.empty() && c.op != only) continue;
    const Outcome o = run_case(routes, backend, c);
    Summary& s = summaries[c.op];
    ++s.asked;
    if (!o.supported && o.error.empty()) continue;
    ++s.supported;
    s.failed += !o.passed();
    s.worst_ratio = std::max(s.worst_ratio, o.check.worst_ratio);
    if (!quiet || !o.passed()) print(c, o);
  }
  if (summaries.empty()) fail<ValueError>("no cases for op '{}'", only);
  int failed = 0;
  std::cout << fmt::format("\n{:<22} {:>6} {:>10} {:>6}  worst error / bound\n", "op", "cases",
                           "supported", "wrong");
  for (const auto& [op, s] : summaries) {
    std::cout << fmt::format("{:<22} {:>6} {:>10} {:>6}  {:.3f}\n", op, s.asked, s.supported,
                             s.failed, s.worst_ratio);
    failed += s.failed;
  }
  std::cout << (failed == 0 ? "conforms\n" : fmt::format("does not conform: {} wrong\n", failed));
  return failed == 0 ? 0 : 1;
}

int run(int argc, char** argv) {
  cli::App app(
      "Runs every op with every type and many shapes on a backend and compares the results with "
      "the "
      "scalar definitions. Exit code 1 if one is past its computed bound.",
      "weft-conform");
  std::string backend, op;
  bool quiet = false;
  app.add_option("backend", backend, "a library (./libX.so) or the name of a backend")
      .required()
      .type_name("BACKEND");
  app.add_option("--op", op, "only the cases of this op").type_name("NAME");
  app.add_flag("-q,--quiet", quiet, "print only errors, and the table at the end");
  app.footer(
      "Examples:\n"
      "  weft-conform ./libskeleton.so\n"
      "  WEFT_CPU_ISA=avx2 weft-conform cpu -q");
  if (const auto code = cli::parse_flags(app, argc, argv)) return *code;
  return conform(backend, op, quiet);
}

}  // namespace
}  // namespace weft::conform

int main(int argc, char** argv) {
  return weft::cli::run_program("weft-conform", [&] { return weft::conform::run(argc, argv); });
}
