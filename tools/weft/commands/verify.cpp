#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "weft/backends/backend.h"
#include "weft/base/error.h"
#include "weft/check/verify_model.h"

#include "arrays/npz.h"
#include "common/flags.h"
#include "inputs/run_tokens.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

struct Flags {
  cli::ModelFlags model;
  RunTokens tokens;
  std::string dump, isa;
  bool json = false, no_plain = false, all_isas = false, unfused_too = false;
};

// The variants to be checked: the requested backend, or each instruction set; with passes, and
// without them.
std::vector<SessionOptions> variants(const Flags& flags) {
  std::vector<SessionOptions> list{flags.model.session};
  if (!flags.isa.empty() || flags.all_isas) {
    if (flags.model.session.backend != "cpu")
      fail<ValueError>("--isa and --all-isas are for the cpu backend, not for '{}'",
                       flags.model.session.backend);
    list.clear();
    for (const std::string_view isa : cpu_isas()) {
      if (!flags.all_isas && isa != flags.isa) continue;
      list.push_back(flags.model.session);
      list.back().backend = "cpu:" + std::string(isa);
    }
    if (list.empty()) cpu_backend(flags.isa);  // throws, with the reason
  }
  for (std::size_t i = list.size(); flags.unfused_too && i-- > 0;) {
    SessionOptions unfused = list[i];
    unfused.passes_off = {"all"};
    list.insert(list.begin() + static_cast<std::ptrdiff_t>(i) + 1, unfused);
  }
  return list;
}

bool run(Flags& flags) {
  const auto model = cli::load_inspected_model(flags.model);
  std::optional<Dump> dump;
  if (!flags.dump.empty()) dump = read_npz(flags.dump);
  VerifyOptions options{.tokens = flags.tokens.of(*model),
                        .plain = !flags.no_plain,
                        .dump = dump ? &*dump : nullptr,
                        .borders = !flags.tokens.given()};
  auto json = nlohmann::ordered_json::array();
  bool passed = true;
  for (const SessionOptions& session : variants(flags)) {
    options.session = session;
    const ModelVerification result = verify_model(model, options);
    passed = passed && result.passed();
    if (!flags.json) {
      std::cout << result.to_text() << '\n';
      continue;
    }
    for (auto& step : nlohmann::ordered_json::parse(result.to_json())) json.push_back(step);
  }
  if (flags.json) std::cout << json.dump(1) << '\n';
  return passed;
}

int verify(int argc, char** argv) {
  cli::App app(
      "Runs a model node by node and compares each node with its scalar definition, computed from "
      "the "
      "same inputs. Exit code 1 if one exceeds its tolerance.",
      "weft verify");
  Flags flags;
  cli::add_model_flags(app, flags.model);
  flags.tokens.add_flags(app);
  app.add_option("--dump", flags.dump,
                 "also compare with this .npz file of tensors, named by node path, for all tokens")
      .type_name("FILE");
  const cli::Option isa =
      app.add_option("--isa", flags.isa, "use the kernels of this instruction set")
          .type_name("NAME");
  app.add_flag("--all-isas", flags.all_isas,
               "use the kernels of every instruction set of this machine")
      .excludes(isa);
  app.add_flag("--unfused-too", flags.unfused_too, "also verify without passes");
  app.add_flag("--no-plain", flags.no_plain,
               "do not compare with the plain graph computed by definitions");
  app.add_flag("--json", flags.json, "print the reports as JSON");
  app.footer(
      "All tokens but the last go through a prefill plan, the last one through the decode plan. If "
      "no tokens are given, steps of random ids follow that cross the ends of a block of cells and "
      "of the width classes; of their projections the last rows are compared, "
      "and only a sample of the projections and attention nodes of large models.\n"
      "Columns: the worst error, its share of the op's bound, the worst error in units "
      "of the last place and relative to the node's largest value; NaN and Inf; the normalized "
      "distance from the plain graph and from the dump, where errors of all nodes before add up.\n"
      "Examples:\n"
      "  weft verify -m model.gguf\n"
      "  weft verify -m model.gguf --tokens 1,2,3 --all-isas --unfused-too\n"
      "  weft verify -m model.gguf --tokens 1,2,3 --dump other-engine.npz --json");
  if (const auto code = parse_flags(app, argc, argv)) return *code;
  return run(flags) ? 0 : 1;
}

}  // namespace

const Subcommand kVerify{"verify", "checks every node against its scalar definition", verify};

}  // namespace weft::tools
