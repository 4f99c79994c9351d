#pragma once
// Flags that several programs have, under the names that llama.cpp gives them where it has them.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weft/run/session.h"
#include "weft/sample/sampler.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace weft::cli {

// The model that comes with the programs: WEFT_MODEL, or share/weft/models (of an installation or a
// build folder) or examples/models (of the source tree) in the nearest folder above the program
// that has one of them. Empty if there is none.
std::string bundled_model();

struct ModelFlags {
  std::string path;  // never empty after parsing
  SessionOptions session;
  std::string quantize;  // ModelOptions::quantize
};
// The model that the flags name.
std::shared_ptr<const Model> load_model(const ModelFlags& flags,
                                        const std::function<bool(double)>& progress = {});
// Call it before other flags are added: of a flag that is given twice, the last one counts.
void add_model_flags(CLI::App& app, ModelFlags& flags);

// --cache-cells, for programs whose sessions have several sequences.
CLI::Option* add_cells_flag(CLI::App& app, SessionOptions& session);

struct SamplerFlags : SamplerOptions {
  std::vector<std::string> dry_breaker_texts{"\n", ":", "\"", "*"};
};
// --seed -1, the default, takes a seed by chance when the flags are parsed.
void add_sampler_flags(CLI::App& app, SamplerFlags& flags);
// The options with what needs the vocabulary: the tokens that break repetitions.
SamplerOptions sampler_options(const Model& model, const SamplerFlags& flags);

}  // namespace weft::cli
