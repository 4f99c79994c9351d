#include <cstring>
#include <iostream>
#include <string>

#include "subcommand.h"

namespace weft::tools {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"backends", "backends that there are, built in and loaded, and their devices", backends},
    {"bench", "tokens per second of prefill and decode, and the share of what memory allows",
     bench},
    {"bisect", "the pass or kernel that makes a model wrong", bisect},
    {"codec", "one quantized format on one matrix: numbers to bytes and back", codec},
    {"convert", "a directory of safetensors as a GGUF file", convert},
    {"dot", "the graph as a picture, and what the passes make of it", dot},
    {"embed", "embeddings of a text or of token ids, as a .npy file", embed},
    {"grammar", "which texts a grammar, a JSON Schema or a pattern allows", grammar},
    {"imatrix", "which inputs of a model's weights matter over a text, for quantizing it", imatrix},
    {"inspect", "header, metadata, tensors, types and bytes of a model", inspect},
    {"limits", "what this machine can do at best, measured once", limits},
    {"logits", "logits of a list of token ids, as a .npy file", logits},
    {"new-model-check", "a new architecture, through every check there is", new_model_check},
    {"perplexity", "how well a model predicts a text, and how far it is from another model",
     perplexity},
    {"plan", "what running a model would do and take: order, memory, lanes, kernels", plan},
    {"profile", "time of every node, its share of what the machine allows, a trace of the workers",
     profile},
    {"quantize", "a GGUF file with other weight types", quantize},
    {"selftest", "a model against itself: chunks, workers, batches, memory, tensors, tokenizer",
     selftest},
    {"template", "renders a chat template with the arguments on stdin", render_template},
    {"tokenize", "text on stdin, token ids on stdout", tokenize},
    {"trace", "a hash of every node's output in every step", trace},
    {"trace-diff", "the first node that differs between two traces", trace_diff},
    {"verify", "every node against its scalar definition", verify},
};

void print_usage(std::ostream& out) {
  out << "Usage: weft SUBCOMMAND [options]\n\nSubcommands (weft SUBCOMMAND --help tells more):\n";
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
  if (!name.empty()) std::cerr << "weft: there is no subcommand '" << name << "'\n\n";
  print_usage(std::cerr);
  return weft::cli::kWrongUsage;
}
