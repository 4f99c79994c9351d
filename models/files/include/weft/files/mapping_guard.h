#pragma once
// Mapped files that lose pages: another program truncates the file, or the disk cannot read it. The
// system then answers an access to a lost page with the signal SIGBUS, which ends the process.
//
// With the guard, the rest of the mapping reads as zeros and the mapping counts as failed, so that
// the process can refuse the results computed from them: MappedFile::failed(),
// Checkpoint::check_mapped(), and Session, whose steps throw.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace weft {

// Handles SIGBUS for all mapped files, also those that are mapped already. At another cause of the
// signal the handler that was there before takes over, for good. For a program's main(): a library
// does not touch the signals of its host. Throws IoError if the system refuses.
void install_mapping_guard();

// How often a page was missing in this process; it never falls.
std::uint32_t n_missing_pages();
// The path of the first mapping that failed; "a mapped file" if it is not known yet.
std::string first_failed_mapping();

// Registers a mapping for as long as it lives. Movable. At most 4096 mappings at a time are
// guarded; further ones are not.
class GuardedMapping {
 public:
  GuardedMapping() = default;
  // REQUIRES: destroyed before the bytes are unmapped.
  GuardedMapping(const std::byte* data, std::size_t size, const std::string& path);
  GuardedMapping(GuardedMapping&& other) noexcept
      : slot_(std::exchange(other.slot_, -1)), path_(std::move(other.path_)) {}
  GuardedMapping& operator=(GuardedMapping&& other) noexcept {
    std::swap(slot_, other.slot_);
    std::swap(path_, other.path_);
    return *this;
  }
  ~GuardedMapping();

  // Whether an access found a page missing. From any thread.
  bool failed() const;

 private:
  int slot_ = -1;
  std::unique_ptr<const std::string> path_;  // at a fixed address, for the handler
};

}  // namespace weft
