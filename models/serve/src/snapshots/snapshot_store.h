#pragma once
// What a session's texts leave in a folder of snapshots, and what they can continue from.
//
// A text of which less is in memory than in the folder is read from there if that is faster than
// computing it, as measured. What cannot be read, or is damaged, is as if it were not there.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "weft/base/clock.h"
#include "weft/serve/engine.h"

#include "prefixes/prompt_price.h"
#include "prefixes/sequence_tree.h"
#include "snapshots/snapshot_folder.h"
#include "snapshots/snapshot_tree.h"
#include "snapshots/snapshot_writer.h"

namespace weft::serve {

// Owned by the engine's thread.
class SnapshotStore {
 public:
  // Snapshots of the beginning of a text, open and checked.
  struct Open {
    std::vector<SnapshotFile> files;
    std::int64_t n = 0;  // the tokens at which a sequence can continue

    std::vector<const Snapshot*> chain() const;
  };

  // Reads the labels of all files of the session's origin, for which it reads the weights once.
  // `wake` is called on another thread when something was written. Throws IoError if the folder
  // cannot be used.
  SnapshotStore(Session& session, const SnapshotOptions& options, std::function<void()> wake);

  // More than n_held tokens of the text, if reading them is faster than computing them. The texts
  // must not have parts from other positions.
  std::optional<Open> find(const Scope& scope, std::span<const TokenId> ids, std::int64_t n_held,
                           const PromptPrice& price);
  // Puts them into the sequence. Throws like restore() of snapshot.h. REQUIRES: the sequence is
  // empty.
  void restore(std::int32_t sequence, const Open& open);
  // They were used.
  void close(Open open);

  // Whether another snapshot may be written now.
  bool may_save() const;
  // Writes a snapshot of what the folder lacks of the sequence, from its beginning on. Returns
  // false if it lacks nothing that is worth a file. REQUIRES: it is idle, and may be saved.
  bool save(std::int32_t sequence, const Scope& scope);
  // Takes note of what was written and removed meanwhile. Returns whether anything was.
  bool update();
  // Waits until everything is written, or until then.
  void wait(Clock::time_point until);

  const SnapshotCounters& counters() const { return counters_; }
  const SnapshotTree& tree() const { return tree_; }

 private:
  void read_labels();
  bool read_label(std::uint64_t key);
  void drop(std::uint64_t key, const std::string& why);
  std::optional<Open> open(const SnapshotTree::Match& match, std::int64_t n_held);
  bool has_room(const SnapshotTree::Match& match) const;
  bool pays(const SnapshotTree::Match& match, std::int64_t n_held, const PromptPrice& price);
  std::int64_t file_bytes() const;  // about what the largest snapshot takes
  void warn(const std::string& what);

  Session& session_;
  const SnapshotOptions options_;
  const SequenceOrigin origin_;
  SnapshotFolder folder_;
  SnapshotWriter writer_;
  SnapshotTree tree_;
  std::set<std::uint64_t> ignored_, orphans_;  // keys of files that are not read again
  Clock::time_point listed_ = {}, failed_ = {};
  double bytes_per_second_ = 0;  // of reading and restoring; 0: not measured yet
  SnapshotCounters counters_;
};

}  // namespace weft::serve
