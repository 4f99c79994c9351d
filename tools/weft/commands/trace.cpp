#include "weft/check/trace.h"

#include <iostream>

#include <fmt/format.h>

#include "weft/files/output_file.h"
#include "weft/run/modes.h"

#include "common/flags.h"
#include "inputs/run_tokens.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int trace(int argc, char** argv) {
  cli::App app(
      "Stores a 64-bit hash of every node's output in every step, for weft trace-diff to compare "
      "builds, instruction sets or machines.",
      "weft trace");
  cli::ModelFlags flags;
  RunTokens tokens;
  std::string out;
  std::int64_t n_more = 4;
  bool hash = false;
  cli::add_model_flags(app, flags);
  tokens.add_flags(app);
  app.add_flag("--hash", hash, "store hashes, the only kind of trace so far").required();
  app.add_option("-n,--predict", n_more, "number of tokens to generate greedily after the input")
      .range(0, 4096)
      .capture_default_str()
      .type_name("N");
  app.add_option("-o,--output", out, "file to write").required().type_name("FILE");
  app.footer(
      "Examples:\n"
      "  weft trace -m model.gguf --hash -o here.trace\n"
      "  WEFT_CPU_ISA=avx2 weft trace -m model.gguf --hash -o avx2.trace\n"
      "  weft trace-diff here.trace avx2.trace");
  if (const auto code = parse_flags(app, argc, argv)) return *code;

  const auto model = cli::load_model(flags);
  if (const int ranks = model->sharding().ranks(); ranks > 1)
    std::cerr << fmt::format("rank 0 of {}: {}\n", ranks, why_not(Feature::traces, Mode::sharded));
  OutputFile file(out);
  file.write(trace_model(model, flags.session, tokens.of(*model), n_more).to_json() + '\n');
  file.commit();
  return 0;
}

}  // namespace

const Subcommand kTrace{"trace", "stores a hash of every node's output in every step", trace};

}  // namespace weft::tools
