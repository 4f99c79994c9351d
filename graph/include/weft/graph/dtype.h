#pragma once
// Element types. A type is described by one DTypeInfo: how many elements a block holds and how many
// bytes it takes. The scalar types are defined here. A quantized format defines its own DTypeInfo
// beside its codec (ops/formats), so that a new format changes nothing in this folder.

#include <cstdint>
#include <string_view>

namespace weft {

struct RowLayout;

struct DTypeInfo {
  std::string_view name;     // "F32", "Q4_K": the names GGUF tools use
  std::int32_t gguf_id;      // number in GGUF's tensor tables, -1 for types that no file holds
  std::int32_t block_elems;  // elements per block, 1 for scalar types
  std::int32_t block_bytes;  // bytes per block
  // Only for types that a backend defines for matrices in memory: how rows are stored
  // (row_layout.h), and the type that stores the same rows one after the other.
  const RowLayout* layout = nullptr;
  const DTypeInfo* plain = nullptr;
};

// An element type: a pointer to its DTypeInfo, compared by identity. A default-constructed DType is
// not valid().
class DType {
 public:
  constexpr DType() = default;
  constexpr explicit DType(const DTypeInfo* info) : info_(info) {}

  constexpr bool valid() const { return info_ != nullptr; }
  constexpr std::string_view name() const { return info_ ? info_->name : "none"; }
  constexpr std::int32_t gguf_id() const { return info_->gguf_id; }
  constexpr std::int32_t block_elems() const { return info_->block_elems; }
  constexpr std::int32_t block_bytes() const { return info_->block_bytes; }
  constexpr bool is_quantized() const { return info_->block_elems > 1; }
  // Null if rows are stored one after the other.
  constexpr const RowLayout* layout() const { return info_->layout; }
  constexpr DType plain() const { return info_->plain ? DType(info_->plain) : *this; }

  // Bytes of `n_elems` consecutive elements. REQUIRES: n_elems is a multiple of block_elems().
  constexpr std::int64_t bytes(std::int64_t n_elems) const {
    return n_elems / info_->block_elems * info_->block_bytes;
  }

  friend constexpr bool operator==(DType a, DType b) { return a.info_ == b.info_; }

 private:
  const DTypeInfo* info_ = nullptr;
};

inline constexpr DTypeInfo kF32Info{"F32", 0, 1, 4};
inline constexpr DTypeInfo kF16Info{"F16", 1, 1, 2};
inline constexpr DTypeInfo kBF16Info{"BF16", 30, 1, 2};
inline constexpr DTypeInfo kI32Info{"I32", 26, 1, 4};

inline constexpr DType f32{&kF32Info};
inline constexpr DType f16{&kF16Info};
inline constexpr DType bf16{&kBF16Info};
inline constexpr DType i32{&kI32Info};

}  // namespace weft
