#include "gguf/part.h"

#include <algorithm>
#include <array>
#include <bit>

#include "weft/base/printable.h"
#include "weft/files/cursor.h"
#include "weft/files/gguf_limits.h"
#include "weft/files/gguf_types.h"

#include "gguf/metadata.h"
#include "lfs_pointer.h"

namespace weft::gguf {
namespace {

void check_magic(Cursor& cursor) {
  if (cursor.remaining() == 0) cursor.fail_here("the file is empty, expected a GGUF header");
  const auto magic = cursor.read<std::array<char, 4>>("magic");
  const std::string_view text(magic.data(), magic.size());
  if (text == "GGUF") return;
  constexpr std::string_view kOld[] = {"lmgg", "fmgg", "tjgg", "algg"};
  const bool old = std::find(std::begin(kOld), std::end(kOld), text) != std::end(kOld);
  cursor.fail_here("magic must be 'GGUF', got '{}'{}", printable(text),
                   old ? " (a GGML file from before GGUF; convert the original model again)" : "");
}

std::uint32_t read_version(Cursor& cursor) {
  const auto version = cursor.read<std::uint32_t>("version");
  if (version == 2 || version == 3) return version;
  if (version != 0 && (version & 0xffff) == 0) {
    cursor.fail_here<UnsupportedError>(
        "the file is big-endian (version {}), expected little-endian", __builtin_bswap32(version));
  }
  if (version == 0) cursor.fail_here("version must be 2 or 3, got 0");
  cursor.fail_here<UnsupportedError>("version must be 2 or 3, got {}", version);
}

std::uint64_t read_alignment(const files::FilePart& part, const std::string& file) {
  const MetaValue* value = part.find("general.alignment");
  if (!value) return part.alignment;
  const std::uint64_t alignment = files::to_uint(*value, "general.alignment", file);
  if (!std::has_single_bit(alignment) || alignment < kMinAlignment || alignment > kMaxAlignment) {
    fail<FormatError>("{}: key 'general.alignment' must be a power of two from {} to {}, got {}",
                      printable_path(file), kMinAlignment, kMaxAlignment, alignment);
  }
  return alignment;
}

// The fastest dimension comes first in the file; slowest first in the result.
Shape read_shape(Cursor& cursor) {
  const auto n_dims = cursor.read<std::uint32_t>("number of dimensions");
  if (n_dims > kMaxDims)
    cursor.fail_here("a tensor has at most {} dimensions, got {}", kMaxDims, n_dims);
  std::array<Dim, kMaxDims> dims{1};  // a tensor without dimensions is one element
  std::int64_t elems = 1;
  for (std::size_t i = n_dims; i-- > 0;) {
    const auto dim = cursor.read<std::uint64_t>("dimensions");
    if (dim == 0 || dim > INT64_MAX)
      cursor.fail_here("dimension {} must be 1 to 2^63 - 1, got {}", n_dims - 1 - i, dim);
    dims[i] = static_cast<std::int64_t>(dim);
    if (__builtin_mul_overflow(elems, dims[i].bound, &elems))
      cursor.fail_here("the product of the dimensions exceeds 2^63 - 1");
  }
  return Shape(std::span(dims).first(std::max<std::size_t>(n_dims, 1)));
}

DType read_dtype(Cursor& cursor) {
  const auto id = cursor.read<std::uint32_t>("type");
  const DType type = find_type(id);
  if (type.valid()) return type;
  if (const std::string_view name = removed_type(id); !name.empty()) {
    cursor.fail_here<UnsupportedError>(
        "type {} ({}) was removed from GGUF; convert the original model again", name, id);
  }
  cursor.fail_here<UnsupportedError>("unknown type {}", id);
}

std::int64_t count_bytes(const Cursor& cursor, const TensorSpec& spec) {
  const std::int64_t block = spec.dtype.block_elems();
  if (spec.shape.last() % block != 0) {
    cursor.fail_here("rows of {} elements are not whole {} blocks of {}", spec.shape.last(),
                     spec.dtype.name(), block);
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(spec.shape.elems() / block, std::int64_t{spec.dtype.block_bytes()},
                             &bytes)) {
    cursor.fail_here("{} takes more than 2^63 - 1 bytes", to_string(spec));
  }
  return bytes;
}

// One row of the tensor table; `file_offset` is relative to the data section until it is placed.
CheckpointTensor read_tensor(Cursor& cursor, std::uint64_t alignment) {
  CheckpointTensor tensor;
  cursor.set_subject("tensor table");
  tensor.name = cursor.read_string("name", kMaxTensorName);
  cursor.set_subject("tensor", tensor.name);
  tensor.spec.shape = read_shape(cursor);
  tensor.spec.dtype = read_dtype(cursor);
  tensor.n_bytes = count_bytes(cursor, tensor.spec);
  tensor.file_offset = cursor.read<std::uint64_t>("offset");
  if (tensor.file_offset % alignment != 0) {
    cursor.fail_here("offset must be a multiple of the alignment {}, got {}", alignment,
                     tensor.file_offset);
  }
  return tensor;
}

// Turns offsets into positions in the file. `data_begin` is the start of the data section.
void place_tensors(std::vector<CheckpointTensor>& tensors, std::span<const std::byte> bytes,
                   std::uint64_t data_begin, const std::string& file) {
  const std::uint64_t data_bytes = bytes.size() > data_begin ? bytes.size() - data_begin : 0;
  for (CheckpointTensor& tensor : tensors) {
    const auto n = static_cast<std::uint64_t>(tensor.n_bytes);
    if (tensor.file_offset > data_bytes || n > data_bytes - tensor.file_offset) {
      fail<FormatError>(
          "{}: tensor '{}' needs {} bytes at offset {} of the data section, which has {} bytes (is "
          "the file truncated?)",
          printable_path(file), printable(tensor.name), n, tensor.file_offset, data_bytes);
    }
    tensor.file_offset += data_begin;
    tensor.data = bytes.data() + tensor.file_offset;
  }
}

void check_overlaps(const std::vector<CheckpointTensor>& tensors, const std::string& file) {
  std::vector<const CheckpointTensor*> by_place;
  by_place.reserve(tensors.size());
  for (const CheckpointTensor& tensor : tensors) by_place.push_back(&tensor);
  std::sort(by_place.begin(), by_place.end(),
            [](const CheckpointTensor* a, const CheckpointTensor* b) {
              return a->file_offset < b->file_offset;
            });
  for (std::size_t i = 1; i < by_place.size(); ++i) {
    const CheckpointTensor &before = *by_place[i - 1], &after = *by_place[i];
    if (static_cast<std::uint64_t>(before.n_bytes) > after.file_offset - before.file_offset) {
      fail<FormatError>("{}: tensors '{}' (bytes {} to {}) and '{}' (from byte {}) overlap",
                        printable_path(file), printable(before.name), before.file_offset,
                        before.file_offset + static_cast<std::uint64_t>(before.n_bytes),
                        printable(after.name), after.file_offset);
    }
  }
}

}  // namespace

files::FilePart parse_part(std::span<const std::byte> bytes, const std::string& file) {
  constexpr std::uint64_t kMinTensor = 8 + 4 + 4 + 8;
  files::refuse_lfs_pointer(bytes, file);
  Cursor cursor(bytes, file);
  cursor.set_subject("header");
  check_magic(cursor);
  files::FilePart part;
  part.version = read_version(cursor);
  const auto n_tensors = cursor.read<std::uint64_t>("tensor count");
  const auto n_entries = cursor.read<std::uint64_t>("metadata count");
  cursor.set_subject("tensor count");
  cursor.require(n_tensors, kMinTensor, "tensors");

  DecodeBudget budget;
  part.metadata = parse_metadata(cursor, n_entries, budget);
  part.by_key = files::index_by_name(
      part.metadata, [](const MetaEntry& e) { return e.key; }, "key", file);
  part.alignment = read_alignment(part, file);

  cursor.set_subject("tensor count");
  cursor.require(n_tensors, kMinTensor, "tensors");
  budget.charge(cursor, n_tensors, sizeof(CheckpointTensor));
  part.tensors.reserve(static_cast<std::size_t>(n_tensors));
  for (std::uint64_t i = 0; i < n_tensors; ++i)
    part.tensors.push_back(read_tensor(cursor, part.alignment));

  const std::uint64_t data_begin =
      (cursor.offset() + part.alignment - 1) / part.alignment * part.alignment;
  place_tensors(part.tensors, bytes, data_begin, file);
  check_overlaps(part.tensors, file);
  return part;
}

}  // namespace weft::gguf
