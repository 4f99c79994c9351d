#include "string_table.h"

#include <bit>

#include "weft/base/keyed_hash.h"

namespace weft::tokenize {

std::size_t StringIndex::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = keyed_hash(text) & mask;
  while (slots_[slot] >= 0 && (*table_)[static_cast<std::size_t>(slots_[slot])] != text) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

std::size_t StringIndex::build(const StringTable& table) {
  table_ = &table;
  slots_.assign(std::bit_ceil(2 * table.size() + 2), -1);
  std::size_t n_shadowed = 0;
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (table[i].empty()) continue;
    std::int32_t& slot = slots_[slot_of(table[i])];
    if (slot >= 0) ++n_shadowed;
    slot = static_cast<std::int32_t>(i);
  }
  return n_shadowed;
}

std::int64_t StringIndex::find(std::string_view text) const {
  return slots_.empty() || text.empty() ? -1 : slots_[slot_of(text)];
}

}  // namespace weft::tokenize
