#pragma once
// Saves, restores and erases what idle slots hold, and all that is kept.

#include <cstdint>
#include <functional>
#include <string>

#include "weft/serve/engine.h"

namespace weft::serve {

class SequenceStore;

// Restores a sequence, and evicts texts until there is room for it. Throws like `restore`.
void evict_for(SequenceStore& store, const std::function<void()>& restore);

// Owned by the engine's thread.
class SlotFiles {
 public:
  // Both outlive it.
  SlotFiles(Session& session, SequenceStore& store) : session_(session), store_(store) {}

  // As Engine::save_slot() and those after it.
  Engine::SlotFile save(std::int32_t slot, const std::string& path, const std::string& owner,
                        const std::function<void()>& make_room) const;
  Engine::SlotFile restore(std::int32_t slot, const SavedSequence& saved, const std::string& owner);
  std::int64_t erase(std::int32_t slot, const std::string& owner);  // returns the tokens it held

  // As Engine::leave_texts() and take_texts().
  LeftTexts leave(std::int64_t max_bytes) const;
  void take(const LeftTexts& texts);

 private:
  void check_idle(std::int32_t slot, const std::string* owner) const;

  Session& session_;
  SequenceStore& store_;
};

}  // namespace weft::serve
