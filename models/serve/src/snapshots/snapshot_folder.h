#pragma once
// The files of snapshots in a folder: DIR/ORIGIN/KEY.weftsnap, where ORIGIN is a hash of all that
// the states of a session depend on. Several models and processes may share the folder, and files
// may disappear at any time. Files of other names are nobody's business, and stay.
//
// What was used last is kept: the time of modification of a file is that of its last use.

#include <cstdint>
#include <string>
#include <vector>

#include "weft/base/clock.h"
#include "weft/run/saved_sequence.h"

namespace weft::serve {

class SnapshotFolder {
 public:
  // Makes the folder, readable by its owner alone, if it is missing. Throws IoError if it cannot be
  // made, is not a folder, or the one of the origin is a link.
  SnapshotFolder(const std::string& folder, const SequenceOrigin& origin, std::int64_t max_bytes);

  std::string path_of(std::uint64_t key) const;
  // The keys of the files of this origin, by their names. Empty if they cannot be listed.
  std::vector<std::uint64_t> keys() const;
  // Whether files may have come or gone since the last call.
  bool has_changed();

  // The files of a text were used, the first one first. Nothing happens to those that are missing.
  void touch(const std::vector<std::uint64_t>& keys) const;
  void remove(std::uint64_t key) const;
  // Whether the page cache is charged to a control group that has a limit
  // now.
  static bool is_limited();
  // Then evicts the pages of the file from it.
  void forget_pages(std::uint64_t key) const;
  // Removes files of any origin, those used longest ago first, and what interrupted writers left,
  // until the folder has room for so many bytes. Adds the keys of those of this origin. Returns
  // false if there is no such room.
  bool make_room(std::int64_t n_bytes, std::vector<std::uint64_t>& removed);

 private:
  const std::string all_, own_;  // the folder, and the one of the origin
  const std::int64_t max_bytes_;
  std::int64_t seen_ns_ = -1;  // when the folder was modified, at the last call of has_changed()
  std::int64_t room_ = 0;      // for files, as counted then, without those written since then
  Clock::time_point counted_ = {};
};

}  // namespace weft::serve
