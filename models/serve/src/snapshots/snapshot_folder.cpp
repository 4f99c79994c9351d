#include "snapshots/snapshot_folder.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "weft/base/checksum.h"
#include "weft/base/clock.h"
#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/pages.h"
#include "weft/scheduler/budget.h"

namespace weft::serve {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".weftsnap";
// What the folder leaves of the disk for everybody else: a twentieth.
constexpr std::uint64_t kDiskShare = 20;
constexpr double kCountEvery = 30;  // seconds; others may write, too
// Files of interrupted writers are older.
constexpr std::int64_t kMaxWriteNs = std::int64_t{600} * 1'000'000'000;

std::uint64_t hash_of(const SequenceOrigin& origin) {
  const auto numbers = origin.numbers();
  return checksum(std::as_bytes(std::span(numbers)));
}

// The key in "KEY.weftsnap".
std::optional<std::uint64_t> key_in(const std::string& name) {
  if (name.size() != 16 + kSuffix.size() || !name.ends_with(kSuffix)) return {};
  std::uint64_t key = 0;
  const char* const end = name.data() + 16;
  const auto [last, error] = std::from_chars(name.data(), end, key, 16);
  if (error != std::errc() || last != end) return {};
  return key;
}

// "KEY.weftsnap.PID-N.tmp": OutputFile gives a file that name for a moment.
bool is_unfinished(const std::string& name) {
  return name.size() > 16 && name.ends_with(".tmp") &&
         std::string_view(name).substr(16).starts_with(kSuffix);
}

std::int64_t modified_ns(const struct stat& info) {
  return std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
}

void make_private(const fs::path& folder) {
  std::error_code error;
  const bool made = fs::create_directories(folder, error);
  std::error_code unknown;
  if (error || !fs::is_directory(folder, unknown))
    fail<IoError>("{}: cannot make the folder: {}", printable_path(folder.string()),
                  error ? error.message() : "there is a file of that name");
  if (made) fs::permissions(folder, fs::perms::owner_all, error);
}

struct Found {
  fs::path path;
  std::int64_t used_ns = 0, n_bytes = 0;
  std::optional<std::uint64_t> key;  // none: a writer was interrupted
};

// As far as they can be listed.
std::vector<fs::directory_entry> entries_of(const fs::path& folder) {
  std::vector<fs::directory_entry> entries;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    entries.push_back(*it);
  return entries;
}

// All files of snapshots; links are not followed.
std::vector<Found> files_in(const std::string& all) {
  std::vector<Found> found;
  std::error_code error;
  const std::int64_t now =
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count();
  for (const fs::directory_entry& folder : entries_of(all)) {
    if (folder.is_symlink(error) || !folder.is_directory(error)) continue;
    for (const fs::directory_entry& file : entries_of(folder.path())) {
      const std::string name = file.path().filename().string();
      const auto key = key_in(name);
      struct stat info {};
      if ((!key && !is_unfinished(name)) || ::lstat(file.path().c_str(), &info) != 0) continue;
      if (!key && std::abs(now - modified_ns(info)) < kMaxWriteNs) continue;
      found.push_back({file.path(), key ? modified_ns(info) : 0, info.st_blocks * 512, key});
    }
  }
  return found;
}

// Bytes that may be written before the disk is too full.
std::int64_t free_bytes(const std::string& folder) {
  struct statvfs info {};
  if (::statvfs(folder.c_str(), &info) != 0) return 0;
  const std::uint64_t all = info.f_blocks * info.f_frsize, free = info.f_bavail * info.f_frsize;
  const std::uint64_t left = all / kDiskShare;
  return free > left ? static_cast<std::int64_t>(free - left) : 0;
}

}  // namespace

SnapshotFolder::SnapshotFolder(const std::string& folder, const SequenceOrigin& origin,
                               std::int64_t max_bytes)
    : all_(folder),
      own_((fs::path(folder) / fmt::format("{:016x}", hash_of(origin))).string()),
      max_bytes_(max_bytes) {
  make_private(all_);
  std::error_code error;
  if (fs::is_symlink(own_, error))
    fail<IoError>("{}: is a link, expected a folder", printable_path(own_));
  make_private(own_);
}

std::string SnapshotFolder::path_of(std::uint64_t key) const {
  return (fs::path(own_) / fmt::format("{:016x}{}", key, kSuffix)).string();
}

std::vector<std::uint64_t> SnapshotFolder::keys() const {
  std::vector<std::uint64_t> keys;
  for (const fs::directory_entry& file : entries_of(own_))
    if (const auto key = key_in(file.path().filename().string())) keys.push_back(*key);
  return keys;
}

bool SnapshotFolder::has_changed() {
  struct stat info {};
  const std::int64_t now = ::stat(own_.c_str(), &info) == 0 ? modified_ns(info) : 0;
  return std::exchange(seen_ns_, now) != now;
}

// The first one last, so that no file is older than one that begins in it or after it.
void SnapshotFolder::touch(const std::vector<std::uint64_t>& keys) const {
  for (auto key = keys.rbegin(); key != keys.rend(); ++key)
    ::utimensat(AT_FDCWD, path_of(*key).c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

void SnapshotFolder::remove(std::uint64_t key) const {
  std::error_code error;
  fs::remove(path_of(key), error);
}

bool SnapshotFolder::is_limited() {
  return group_memory_limit().has_value();
}

void SnapshotFolder::forget_pages(std::uint64_t key) const {
  constexpr std::uint64_t kAll = std::uint64_t{1} << 62;
  if (is_limited()) CacheDropper(path_of(key)).drop(0, kAll);
}

bool SnapshotFolder::make_room(std::int64_t n_bytes, std::vector<std::uint64_t>& removed) {
  make_private(own_);  // someone may have removed it
  if (n_bytes <= room_ && seconds_since(counted_) < kCountEvery) {
    room_ -= n_bytes;
    return true;
  }
  std::vector<Found> files = files_in(all_);
  std::int64_t used = 0;
  for (const Found& file : files) used += file.n_bytes;
  std::ranges::sort(files, {}, &Found::used_ns);
  std::int64_t free = free_bytes(own_);
  room_ = 0;
  if (n_bytes > max_bytes_ || n_bytes > free + used) return false;
  for (const Found& file : files) {
    if (used + n_bytes <= max_bytes_ && n_bytes <= free) break;
    std::error_code error;
    if (!fs::remove(file.path, error)) continue;
    used -= file.n_bytes;
    free += file.n_bytes;
    if (file.key && file.path.parent_path() == own_) removed.push_back(*file.key);
  }
  room_ = std::min(max_bytes_ - used, free) - n_bytes;
  counted_ = Clock::now();
  return room_ >= 0;
}

}  // namespace weft::serve
