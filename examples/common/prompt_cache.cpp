#include "prompt_cache.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iostream>
#include <optional>
#include <system_error>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/run/saved_sequence.h"

namespace weft::cli {
namespace {

std::optional<SavedSequence> open_cache(const std::string& path, const Session& session) {
  std::error_code none;
  if (std::filesystem::file_size(path, none) == 0 || none == std::errc::no_such_file_or_directory)
    return std::nullopt;
  try {
    SavedSequence saved = SavedSequence::open(path);
    if (saved.fits(session)) return saved;
    std::cerr << "warning: " << printable_path(path)
              << " was made with another model, other cache types or other kernels: not used\n";
  } catch (const FormatError& e) {
    std::cerr << "warning: " << e.what() << ": not used\n";
  }
  return std::nullopt;
}

// Before a long prompt is computed, not after.
void check_writable(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fail<IoError>("{}: cannot be written: {}", printable_path(path.string()),
                  std::generic_category().message(errno));
  }
}

}  // namespace

void add_prompt_cache_flags(CLI::App& app, PromptCache& cache) {
  auto* path = app.add_option("--prompt-cache", cache.path,
                              "keep the computed prompt in this file, for runs that begin alike");
  app.add_flag("--prompt-cache-all", cache.all, "keep what is generated, too")->needs(path);
  app.add_flag("--prompt-cache-ro", cache.read_only, "use the file, do not change it")->needs(path);
}

std::int64_t restore_prompt(PromptCache& cache, Session& session,
                            std::span<const std::int32_t> prompt) {
  if (cache.path.empty()) return 0;
  if (!cache.read_only) check_writable(cache.path);
  const auto saved = open_cache(cache.path, session);
  if (!saved) return 0;
  const auto differ = std::ranges::mismatch(saved->tokens(), prompt).in2 - prompt.begin();
  // The last token is fed anew, for its logits.
  const std::int64_t n = std::min<std::int64_t>(differ, std::ssize(prompt) - 1);
  saved->restore(session, 0, n);
  cache.kept.assign(saved->tokens().begin(), saved->tokens().end());
  return n;
}

void keep_prompt(const PromptCache& cache, Session& session, std::span<const std::int32_t> tokens) {
  if (cache.path.empty() || cache.read_only) return;
  const bool held = std::ranges::mismatch(tokens, cache.kept).in1 == tokens.end();
  if (!held) save_sequence(session, 0, tokens, "", cache.path);
}

}  // namespace weft::cli
