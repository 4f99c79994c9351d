#pragma once
// The identity of a checkpoint's model. All data that is kept beside a model and read again later
// (saved sequences, prompt caches, packed weights) is keyed and checked by it. By cost:
//
//   stamp        (Checkpoint::stamp) is read from the file system. The same stamp: the files were
//                not written since then, on this machine. Another one: nothing, since copies and
//                touched files have others.
//   description  is read from the headers: all metadata but layout keys (is_layout_key), and the
//                names, types and shapes of all tensors. Another one: certainly another model, or
//                other metadata. The same: nothing, since fine-tunes of a model may share it.
//   contents     is read from all bytes of all tensors. The same: the same tensors, row for row,
//                regardless of the names and places of files. Another one: another model, or a
//                damaged file.
//
// Description and contents together are the identity. The hashes are XXH3 with 64 bits: they find
// accidents (1 in 2^64 is missed), not files that somebody made to collide. There are no samples of
// the contents, because a sample cannot exclude a change between two samples.
//
// Reading the contents takes as long as reading the weights once, about like one step of a dense
// model, even if it does not fit in memory: docs/performance_log.md has the figures. It is done
// once for each process and model, when something needs it, and not at all for tensors that a
// loader of weights has summed up.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/base/fork_mutex.h"
#include "weft/files/checkpoint.h"

namespace weft {

// The hash of the names, types and shapes of all tensors: the part of the description on which
// contents depend.
std::uint64_t tensor_table(const Checkpoint& file);

// Contents are summed in pieces of about 2 MiB. Returns the rows of a piece, a multiple of 16; the
// last piece has fewer.
std::int64_t piece_rows(const CheckpointTensor& tensor);
// The checksum of the rows [first, last) in order. REQUIRES: they are mapped (prefault_rows).
std::uint64_t piece_checksum(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last);

struct ReadOptions {
  int threads = 1;             // the caller's among them; the checksum does not depend on it
  bool release_pages = false;  // unmap pages that were read
  std::function<bool(double)> progress;  // 0..1, on the caller's thread; false: CancelledError
};

// The identity of one checkpoint, computed when it is needed. Any number of threads may use it; one
// that needs the contents waits while another one reads them.
class Identity {
 public:
  explicit Identity(const Checkpoint& file);

  std::uint64_t description();
  // Reads the tensors that are not known, unless this process knows the contents of files with this
  // stamp. Throws IoError if files cannot be read, or were written while they were mapped: results
  // computed from them would then have a wrong identity. CancelledError.
  std::uint64_t contents(const ReadOptions& options = {});
  // The contents, if nothing has to be read for them.
  std::optional<std::uint64_t> known_contents();

  // For those who read the contents for another purpose: the checksums of all pieces of a tensor of
  // the checkpoint, in order.
  void add(const CheckpointTensor& tensor, std::span<const std::uint64_t> pieces);
  // The contents that files with this stamp had when they were read. Has no effect if the contents
  // are known.
  void set_contents(std::uint64_t contents);

 private:
  std::uint64_t combined() const;

  const Checkpoint file_;
  ForkMutex mutex_{ForkMutex::Held::lasting};  // while files are read
  std::optional<std::uint64_t> description_, contents_;
  std::vector<std::optional<std::uint64_t>> tensors_;  // checksums of their pieces, by index
};

}  // namespace weft
