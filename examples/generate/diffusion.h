#pragma once
// Texts of diffusion language models, which are filled in step by step.

#include <memory>
#include <span>
#include <string>

#include "weft/run/model.h"

#include "generate/flags.h"

namespace weft::generate {

// Writes the texts that the options ask for to stdout, and how they are filled in to stderr.
// Returns a remark on speed and memory. Throws UsageError for options that need a text that grows
// from left to right. REQUIRES: the model is a diffusion model.
std::string diffuse(const std::shared_ptr<const Model>& model, std::span<const TokenId> prompt,
                    const Options& options);

// For other models: throws UsageError if a flag for diffusion was given, UnsupportedError if the
// model writes no text at all.
void check_writes(const Model& model, const Options& options);

}  // namespace weft::generate
