#include <string>

#include "serve/program.h"
#include "subcommand.h"

namespace weft::tools {
namespace {

int serve(int argc, char** argv) {
  server::Flags flags;
  if (const auto code = server::parse(argc, argv, flags)) return *code;
  return server::serve(std::move(flags), {}, WEFT_VERSION);
}

}  // namespace

const Subcommand kServe{"serve", "answers HTTP requests: OpenAI, Anthropic, Ollama, llama-server",
                        serve};

}  // namespace weft::tools
