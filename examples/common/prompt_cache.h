#pragma once
// --prompt-cache: a prompt whose keys and values are kept in a file from one run to the next.

#include <cstdint>
#include <span>
#include <string>

#include "weft/models/session.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct PromptCache {
  std::string path;        // empty: none
  bool all = false;        // keep what was generated, too
  bool read_only = false;  // never write
};
void add_prompt_cache_flags(CLI::App& app, PromptCache& cache);

// Puts into sequence 0 what the file holds of the beginning of the prompt, at least one token less
// than all of it, and returns how many tokens that are. A file that is not there, is damaged or
// was made by another model gives 0, the last two with a warning. Throws UnsupportedError where the
// path is a file of another kind, IoError where it cannot be read.
std::int64_t restore_prompt(const PromptCache& cache, Session& session,
                            std::span<const std::int32_t> prompt);

// Keeps sequence 0, which these tokens were fed to. Throws IoError. Nothing without a path or where
// the cache is read-only.
void keep_prompt(const PromptCache& cache, Session& session, std::span<const std::int32_t> tokens);

}  // namespace weft::cli
