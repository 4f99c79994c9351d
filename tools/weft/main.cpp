#include <cstring>
#include <iostream>
#include <string>

#include "subcommand.h"

namespace weft::tools {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"backends", "available backends, built in and loaded, and their devices", backends},
    {"bench", "tokens per second of prefill and decode, and their share of the machine's limits",
     bench},
    {"bisect", "finds the pass or kernel that makes a model wrong", bisect},
    {"codec", "encodes or decodes one matrix in a weight format", codec},
    {"convert", "converts a directory of safetensors to a GGUF file", convert},
    {"dot", "draws the graph, and what the passes change", dot},
    {"embed", "writes embeddings of a text or of token ids as a .npy file", embed},
    {"grammar", "checks texts against a grammar, a JSON Schema or a pattern", grammar},
    {"imatrix", "computes an importance matrix for quantizing", imatrix},
    {"inspect", "shows header, metadata, tensors, types and bytes of a model", inspect},
    {"limits", "measures and stores the limits of this machine", limits},
    {"logits", "writes the logits of a list of token ids as a .npy file", logits},
    {"new-model-check", "runs all checks on a new architecture", new_model_check},
    {"perplexity", "measures perplexity, and the divergence from another model", perplexity},
    {"plan", "shows how a model would run: order, memory, lanes, kernels", plan},
    {"profile", "time of every node, its share of the machine's limits, a trace of the workers",
     profile},
    {"quantize", "converts a GGUF file to other weight types", quantize},
    {"selftest", "checks a model against itself: chunks, workers, batches, memory, tokenizer",
     selftest},
    {"template", "renders a chat template with the arguments on stdin", render_template},
    {"tokenize", "prints the token ids of a text on stdin", tokenize},
    {"trace", "stores a hash of every node's output in every step", trace},
    {"trace-diff", "finds the first node that differs between two traces", trace_diff},
    {"verify", "checks every node against its scalar definition", verify},
};

void print_usage(std::ostream& out) {
  out << "Usage: weft SUBCOMMAND [options]\n\nSubcommands (weft SUBCOMMAND --help shows its "
         "options):\n";
  for (const Subcommand& subcommand : kSubcommands) {
    out << "  " << subcommand.name << std::string(17 - std::strlen(subcommand.name), ' ')
        << subcommand.summary << '\n';
  }
}

}  // namespace
}  // namespace weft::tools

int main(int argc, char** argv) {
  using namespace weft::tools;
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "--help" || name == "-h" || name == "help" || name == "--version") {
    return weft::cli::run_program("weft", [&] {
      name == "--version" ? void(std::cout << "weft " WEFT_VERSION "\n") : print_usage(std::cout);
      return 0;
    });
  }
  for (const Subcommand& subcommand : kSubcommands) {
    if (name == subcommand.name)
      return weft::cli::run_program("weft " + name,
                                    [&] { return subcommand.run(argc - 1, argv + 1); });
  }
  if (!name.empty()) std::cerr << "weft: unknown subcommand '" << name << "'\n\n";
  print_usage(std::cerr);
  return weft::cli::kWrongUsage;
}
