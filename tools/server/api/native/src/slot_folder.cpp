#include "slot_folder.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "weft/base/error.h"
#include "weft/base/folders.h"
#include "weft/http/digest.h"

namespace weft::api::native {
namespace fs = std::filesystem;
namespace {

// All folders of saved slots together are looked through in a few milliseconds.
constexpr int kMaxFiles = 1000;

struct Saved {
  std::int64_t n_bytes = 0;
  int n_files = 0;
};

// What is in files below the folder, without `except`, until there are too many.
Saved saved_below(const std::string& folder, const std::string& except) {
  Saved saved;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end;
       !error && at != end && saved.n_files < kMaxFiles; at.increment(error)) {
    std::error_code ignored;
    if (!at->is_regular_file(ignored) || at->path() == except) continue;
    const auto size = at->file_size(ignored);
    if (!ignored) saved.n_bytes += static_cast<std::int64_t>(size);
    ++saved.n_files;
  }
  if (error) fail<IoError>("{}: cannot read the folder: {}", folder, error.message());
  return saved;
}

}  // namespace

std::string SlotFolder::of_client(const ApiCall& call) const {
  const std::string client = call.owner();
  return client.empty() ? path_ : (fs::path(path_) / http::digest_name(client)).string();
}

std::string SlotFolder::of(const ApiCall& call, const std::string& cache_salt) const {
  if (path_.empty())
    throw not_supported("saved slots need a folder: start the server with --slot-save-path");
  const std::string folder = of_client(call);
  return cache_salt.empty() ? folder
                            : (fs::path(folder) / http::digest_name("salt " + cache_salt)).string();
}

void SlotFolder::make_room(const std::string& client_folder, const std::string& path) const {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status))
    throw bad_request("filename", "there is something of this name that is not a file");
  make_private_folders(fs::path(path).parent_path().string(), error);
  if (error) fail<IoError>("{}: cannot make the folder: {}", path, error.message());
  if (quota_ == 0) return;
  const Saved saved = saved_below(client_folder, path);
  if (saved.n_bytes < quota_ && saved.n_files < kMaxFiles) return;
  throw ApiError(403, "permission_error",
                 fmt::format("the saved slots are {} files of {} bytes, and less than {} of {} are "
                             "allowed (--slot-save-quota): ask for some of them to be deleted",
                             saved.n_files, saved.n_bytes, kMaxFiles, quota_),
                 {}, "slot_quota");
}

}  // namespace weft::api::native
