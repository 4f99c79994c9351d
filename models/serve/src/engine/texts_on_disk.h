#pragma once
// Connects the sequences of an engine with a folder of snapshots: a text that starts continues from
// there if less of it is in memory, and what idle sequences hold is saved there.

#include <cstdint>
#include <memory>
#include <string>

#include "engine/sequence_store.h"

namespace weft::serve {

class EngineInbox;
class SnapshotStore;

// Owned by the engine's thread.
class TextsOnDisk {
 public:
  // All but the options outlive it. Without a folder it does nothing; with one that cannot be used,
  // or for a session that saves nothing, it warns once and does nothing.
  TextsOnDisk(Session& session, SequenceStore& store, EngineInbox& inbox,
              const SnapshotOptions& options);

  ~TextsOnDisk();

  bool is_on() const { return snapshots_ != nullptr; }
  // Before SequenceStore::prepare(): puts what the folder has of the text into the idle slot, if
  // that is more than `reuse`. Returns what the text then continues from. What the slot held is
  // kept as prepare() does it.
  SequenceStore::Reuse read_more(std::int32_t slot, const EngineText& text,
                                 SequenceStore::Reuse reuse);
  // A text has left its slot.
  void text_ended(std::int32_t slot);
  // Whether save_some() would save something now.
  bool has_work() const;
  // Saves a piece of what idle sequences hold, if there is something to save.
  void save_some();
  // Saves all of it, if that takes no longer than so many seconds.
  void finish(double seconds);

 private:
  bool save(std::int32_t sequence);
  void report();

  Session& session_;
  SequenceStore& store_;
  EngineInbox& inbox_;
  std::unique_ptr<SnapshotStore> snapshots_;  // null: off
  bool unsaved_ = false;                      // some sequence may hold more than the folder has
  std::int32_t next_ = 0;                     // the sequence that is looked at first
};

}  // namespace weft::serve
