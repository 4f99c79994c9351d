#pragma once
// --prompt-cache: a prompt whose keys and values are kept in a file from one run to the next.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/run/session.h"

namespace CLI {
class App;
}

namespace weft::cli {

struct PromptCache {
  std::string path;                // empty: none
  bool all = false;                // keep what was generated, too
  bool read_only = false;          // never write
  std::vector<std::int32_t> kept;  // tokens that the file held when it was read
};
void add_prompt_cache_flags(CLI::App& app, PromptCache& cache);

// Puts into sequence 0 what the file holds of the beginning of the prompt, at least one token less
// than all of it, and returns how many tokens that are. A file that is not there, is empty, damaged
// or made by another model gives 0, the last two with a warning. Throws UnsupportedError where the
// path is a file of another kind, IoError where it cannot be read or will not be writable.
std::int64_t restore_prompt(PromptCache& cache, Session& session,
                            std::span<const std::int32_t> prompt);

// Keeps sequence 0, which these tokens were fed to. Throws IoError. Nothing without a path, where
// the cache is read-only, or where the file holds these tokens already.
void keep_prompt(const PromptCache& cache, Session& session, std::span<const std::int32_t> tokens);

}  // namespace weft::cli
