#include "engine/slot_files.h"

#include <filesystem>

#include "weft/base/error.h"

#include "engine/sequence_store.h"

namespace weft::serve {

// Throws unless the slot is idle, and has no text of another owner than this one; null: anybody's.
void SlotFiles::check_idle(std::int32_t slot, const std::string* owner) const {
  if (slot < 0 || slot >= session_.options().sequences)
    fail<ValueError>("no slot {}: the engine has {}", slot, session_.options().sequences);
  if (store_.is_busy(slot)) fail<ValueError>("slot {} is busy", slot);
  if (owner && session_.length(slot) > 0 && store_.owner(slot) != *owner)
    fail<SlotOwnerError>("slot {} holds a text of another client", slot);
}

Engine::SlotFile SlotFiles::save(std::int32_t slot, const std::string& path,
                                 const std::string& owner,
                                 const std::function<void()>& make_room) const {
  check_idle(slot, &owner);
  if (make_room) make_room();
  save_sequence(session_, slot, "", path);
  return {session_.length(slot), static_cast<std::int64_t>(std::filesystem::file_size(path))};
}

Engine::SlotFile SlotFiles::restore(std::int32_t slot, const SavedSequence& saved,
                                    const std::string& owner) {
  check_idle(slot, nullptr);
  for (bool restored = false; !restored;) {
    try {
      saved.restore(session_, slot, std::ssize(saved.tokens()));
      restored = true;
    } catch (const BudgetError&) {
      if (!store_.evict()) throw;
    }
  }
  store_.adopt(slot, owner);
  return {std::ssize(saved.tokens()),
          static_cast<std::int64_t>(std::filesystem::file_size(saved.name()))};
}

std::int64_t SlotFiles::erase(std::int32_t slot, const std::string& owner) {
  check_idle(slot, &owner);
  const std::int64_t n = session_.length(slot);
  store_.clear(slot);
  return n;
}

}  // namespace weft::serve
