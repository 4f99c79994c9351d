#include "kept_rows.h"

#include <algorithm>
#include <cstring>

namespace weft::measure {

KeptRows::KeptRows(std::int64_t n_rows, std::int64_t n_cols, std::int32_t n_copies)
    : n_rows_(n_rows),
      n_cols_(n_cols),
      n_copies_(n_copies),
      copies_(static_cast<std::size_t>(n_copies)) {}

void KeptRows::keep(const View& x, const std::byte* quantized, const Region& region) noexcept {
  float* const copy = copy_of(quantized);
  if (!copy) return;
  for (std::int64_t r = region.row0; r < region.row1; ++r) {
    std::memcpy(copy + r * n_cols_ + region.col0, x.row<const float>(r) + region.col0,
                static_cast<std::size_t>(region.col1 - region.col0) * sizeof(float));
  }
}

const float* KeptRows::row(const std::byte* quantized, std::int64_t r) noexcept {
  const float* const copy = copy_of(quantized);
  return copy ? copy + r * n_cols_ : nullptr;
}

// Copies of a node are at fixed addresses. The first lane that comes with an address claims a copy.
float* KeptRows::copy_of(const std::byte* quantized) noexcept {
  if (n_copies_ == 1) return data_;
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const std::byte* holder = nullptr;
    if (copies_[i].compare_exchange_strong(holder, quantized) || holder == quantized)
      return data_ + static_cast<std::int64_t>(i) * n_rows_ * n_cols_;
  }
  return nullptr;
}

void KeptRowsMemory::add(const std::vector<KeptRows*>& rows) {
  std::vector<Placed> others;  // the other rows of this plan, by offset
  for (KeptRows* one : rows) {
    std::int64_t offset = 0;
    for (const Placed& other : others) {
      const bool at_once =
          other.rows->first_stage <= one->last_stage && one->first_stage <= other.rows->last_stage;
      if (at_once && offset < other.offset + other.rows->size() &&
          other.offset < offset + one->size())
        offset = other.offset + other.rows->size();
    }
    const Placed placed{one, offset};
    others.insert(std::ranges::upper_bound(others, offset, {}, &Placed::offset), placed);
    placed_.push_back(placed);
  }
}

void KeptRowsMemory::allocate() {
  std::int64_t size = 0;
  for (const Placed& p : placed_) size = std::max(size, p.offset + p.rows->size());
  memory_.resize(static_cast<std::size_t>(size));
  for (const Placed& p : placed_) p.rows->place(memory_.data() + p.offset);
}

}  // namespace weft::measure
