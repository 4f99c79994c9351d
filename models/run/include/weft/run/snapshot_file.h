#pragma once
// A snapshot in a file. What is read of one is checked: it may be damaged, cut, or of another
// program.
//
// The file, little-endian: "weftsnp1"; u64 bytes of the header, u64 bytes of the file; 4 u64 of
// SequenceOrigin, in its order; u64 key, u64 parent, u64 before (SnapshotLabel); u64 length and
// bytes of the owner; u64 begin; u64 n, i32[n] tokens; u64 number of states, then per state u64
// bytes of a row, u64 tokens of a row, u64 first row, u64 bytes, u64 m, i64[m] lengths
// (SavedShape); XXH3-64 of the contents; XXH3-64 of everything before it. That is the header. The
// contents follow: the bytes of the states, in order.

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "weft/run/saved_sequence.h"
#include "weft/run/snapshot.h"

namespace weft {

// Whose it is, and which text it is a part of.
struct SnapshotLabel {
  SequenceOrigin origin;
  std::uint64_t key = 0;     // identifies it among those of one origin
  std::uint64_t parent = 0;  // the key of the snapshot that it begins in or after; 0: none
  std::uint64_t before = 0;  // the hash of the tokens before it, by hash_tokens()
  std::string owner;         // who may continue from it; compared as a whole
};

// The hash of tokens that follow others with the hash `before`, which is 0 for none.
std::uint64_t hash_tokens(std::uint64_t before, std::span<const std::int32_t> tokens);

// Writes a file that only its owner can read, and which appears when it is complete. A link at its
// place is replaced, not followed. Throws IoError.
void write_snapshot(const std::string& path, const SnapshotLabel& label, const Snapshot& snapshot);

// A file of a snapshot, mapped. Immutable.
class SnapshotFile {
 public:
  // Reads the header. Throws IoError if that fails or the path is not that of a regular file
  // itself; UnsupportedError for a file of another kind or version; FormatError if it is damaged,
  // or does not have the size that it states.
  static SnapshotFile open(const std::string& path);
  // The same checks over bytes that outlive the object; `name` stands for the path in messages.
  static SnapshotFile parse(std::span<const std::byte> bytes, const std::string& name);

  const SnapshotLabel& label() const { return label_; }
  const Snapshot& snapshot() const { return snapshot_; }  // its bytes belong to the file
  std::int64_t n_bytes() const { return n_bytes_; }

  // Reads the contents. Throws FormatError unless they have their checksum, IoError if some could
  // not be read.
  void check_contents() const;
  // Throws IoError if some bytes could not be read since then.
  void check_mapped() const;

 private:
  SnapshotFile() = default;

  std::string path_;
  std::shared_ptr<const MappedFile> file_;  // null after parse()
  SnapshotLabel label_;
  Snapshot snapshot_;
  std::span<const std::byte> contents_;
  std::uint64_t checksum_ = 0;
  std::int64_t n_bytes_ = 0;
};

}  // namespace weft
