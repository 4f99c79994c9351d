#include "weft/serve/prompt_cache.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>

#include <unistd.h>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/run/modes.h"

namespace weft {
namespace {

std::optional<SavedSequence> open_cache(const std::string& path, bool read_only,
                                        const Generation& generation, std::string& warning) {
  std::error_code none;
  if (std::filesystem::file_size(path, none) == 0 || none == std::errc::no_such_file_or_directory)
    return std::nullopt;
  try {
    SavedSequence saved = SavedSequence::open(path);
    if (!saved.note().empty() && !read_only)
      fail<UnsupportedError>("{}: a conversation, not a prompt cache: not replaced",
                             printable_path(path));
    const std::string why = saved.why_not(generation.session(), generation.sequence());
    if (why.empty()) return saved;
    warning = printable_path(path) + ": " + why + ": not used";
  } catch (const FormatError& e) {
    warning = std::string(e.what()) + ": not used";
  }
  return std::nullopt;
}

// Called before a long prompt is computed, not after.
void check_writable(const std::filesystem::path& path) {
  const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    fail<IoError>("{}: cannot be written: {}", printable_path(path.string()),
                  std::generic_category().message(errno));
  }
}

}  // namespace

PromptCache::PromptCache(std::string path, bool read_only)
    : path_(std::move(path)), read_only_(read_only) {}

std::int64_t PromptCache::restore(Generation& generation, std::span<const TokenId> prompt,
                                  std::string& warning) {
  if (path_.empty() || prompt.empty()) return 0;
  require(generation.session().model(), Feature::prompt_cache);
  if (!read_only_) check_writable(path_);
  in_file_.clear();
  const auto saved = open_cache(path_, read_only_, generation, warning);
  if (!saved) return 0;
  in_file_.assign(saved->tokens().begin(), saved->tokens().end());
  const auto differ = std::ranges::mismatch(in_file_, prompt).in2 - prompt.begin();
  // The last token is fed again, for its logits.
  const std::int64_t n = saved->resume_point(
      generation.session(), std::clamp<std::int64_t>(differ, 0, std::ssize(prompt) - 1));
  generation.restore(*saved, n);
  return n;
}

void PromptCache::keep(Generation& generation) {
  if (path_.empty() || read_only_) return;
  if (generation.session().mixes_lora_scales(generation.sequence())) return;
  const std::int64_t known = generation.session().common_prefix(generation.sequence(), in_file_);
  if (known < std::ssize(generation.held())) generation.save(path_);
}

}  // namespace weft
