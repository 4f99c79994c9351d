#pragma once
// Opens a model on disk. It is a GGUF file (versions 2 and 3, little-endian, whole or split: give
// the first part, "-00001-of-00003.gguf"), or a directory with model.safetensors (or its shards),
// config.json and a tokenizer. A directory looks like the GGUF file that `weft convert` makes
// from it (docs/safetensors.md). Files are mapped read-only; nothing is copied. Every count,
// length, offset, size and product is checked before use. An inconsistent file is refused with
// FormatError (UnsupportedError for versions and types that cannot be read); the message names the
// file, the place and the numbers. Immutable after open: any number of threads may read. Files must
// not be written while they are mapped: replace model files by renaming, not by overwriting them.
// check_mapped() finds a file that was truncated, with install_mapping_guard() (mapping_guard.h).
//
// The GGUF format (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md):
//
//   header     "GGUF", version u32, number of tensors u64, number of entries u64
//   entries    each: key, type u32, value
//   tensors    each: name, rank u32, dims u64[rank], type u32, offset u64
//   padding    to a multiple of general.alignment (32 unless given)
//   data       of each tensor, at its offset from here, a multiple of the alignment
//
//   A string is its length u64 and its bytes; an array is element type u32, length u64, elements.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/files/key_override.h"
#include "weft/files/metadata.h"
#include "weft/graph/op_def.h"

namespace weft {

// Rows of a tensor that are not in order, or not next to the previous rows in the files. Row r of
// the run begins (r / inner) * outer_stride + (r % inner) * row_stride bytes after `data`. Its
// elements are elem_stride bytes apart, or contiguous if that is 0.
//
// A run may have only some columns of its rows. Then the runs of the other columns of the same rows
// are next to it, in the order of columns.
struct RowRun {
  const std::byte* data = nullptr;  // into the mapping
  std::int64_t first = 0;           // the run's first row of the tensor
  std::int64_t n_rows = 0;
  std::int64_t row_stride = 0, elem_stride = 0;
  std::int64_t inner = 0, outer_stride = 0;
  std::int32_t part = 0;          // index of the file
  std::uint64_t file_offset = 0;  // offset of `data` within that file
  std::int64_t first_col = 0;     // the run's first column of the tensor
  std::int64_t n_cols = 0;        // 0: all columns of the tensor
};

// One tensor of the file. `spec` has the slowest dimension first (GGUF stores the fastest first); a
// tensor without dimensions has shape [1]. The type may be one that GGUF knows and Weft cannot
// compute with: see require_format.
struct CheckpointTensor {
  std::string_view name;
  TensorSpec spec;
  const std::byte* data = nullptr;  // into the mapping
  std::int64_t n_bytes = 0;
  std::int32_t part = 0;          // index of the file of a split model
  std::uint64_t file_offset = 0;  // within that file
  // Not empty for some tensors of directories, of older files and of with_parts(): where their rows
  // are, in the order of rows. `data` is then null, and copy_rows() the way to read them.
  std::span<const RowRun> runs = {};
  bool lent = false;  // the data is in memory of the caller (Checkpoint::parse)
  // The file has only parts of the tensor, or nothing of it: it is that of a rank (rank_file.h).
  // It then has neither data nor runs, nor an offset in a file.
  bool absent = false;

  // Bytes of a row of the last dimension, and the number of such rows. Runs and the functions below
  // count these rows.
  std::int64_t row_bytes() const { return spec.dtype.bytes(spec.shape.last()); }
  std::int64_t n_rows() const { return n_bytes / row_bytes(); }
};

class Checkpoint;
class MappedFile;

// Copies the rows first .. last - 1, in order. Throws ValueError if the tensor is absent, as
// row_sources() does.
void copy_rows(const CheckpointTensor& tensor, std::int64_t first, std::int64_t last,
               std::byte* out);

// A piece of a file that rows are read from.
struct RowSource {
  std::span<const std::byte> bytes;
  std::int32_t part = 0;
  std::uint64_t file_offset = 0;
  bool last = true;   // rows from `last` on do not need it
  bool lent = false;  // CheckpointTensor::lent
};
// The bytes that copy_rows() reads for the same rows, and perhaps some bytes between them.
std::vector<RowSource> row_sources(const CheckpointTensor& tensor, std::int64_t first,
                                   std::int64_t last);

// A tensor that Checkpoint::with() adds, under another name.
struct AddedTensor {
  std::string name;
  const Checkpoint* from = nullptr;
  const CheckpointTensor* tensor = nullptr;  // a tensor of `from`
};

// What is taken of a dimension of a tensor.
struct TensorCut {
  int axis = 0;  // which dimension, the slowest first
  // Half-open, not empty, not overlapping, in the order that they have in the part, where their
  // lengths add up to the dimension. Whole blocks of the type if the axis is the last one. No
  // ranges: all of it.
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges = {};
};

// A part of a tensor, for Checkpoint::with_parts().
struct TensorPart {
  std::string name;                  // in the new checkpoint
  std::string source;                // a tensor of the old one
  std::vector<TensorCut> cuts = {};  // each of what those before it left; none: the whole tensor
};

struct OpenOptions {
  // Settings in config.json that Weft does not know have no effect. Otherwise they are refused with
  // UnsupportedError, because they may change the results of the model.
  bool allow_unknown_settings = false;
  // Opens the file of a rank, too, which has only parts of the tensors of a model (rank_file.h):
  // for those that read its metadata only, or pass it to model_of_rank_file(). Of a directory of
  // such files, the first by name is opened. Otherwise they are refused with FormatError.
  bool rank_files = false;
};

class Checkpoint {
 public:
  // A GGUF file or a directory of safetensors. Throws IoError, FormatError, UnsupportedError.
  static Checkpoint open(const std::string& path, const OpenOptions& options = {});
  // The same checks over the bytes of a GGUF file in memory, which outlive the object (tests,
  // fuzzing), but files of ranks are parsed. `name` stands for the path in messages. Split models
  // cannot be parsed this way.
  static Checkpoint parse(std::span<const std::byte> bytes, const std::string& name);
  // The same for a file that the object owns: MappedFile::anonymous() for a copy of bytes,
  // MappedFile::of_descriptor() for an open file.
  static Checkpoint parse(MappedFile file, const std::string& name);

  // This checkpoint and tensors of others, whose files become further parts. Metadata and path are
  // those of this one. Throws FormatError if a name is taken.
  Checkpoint with(std::span<const AddedTensor> added) const;

  // This checkpoint with other values of keys, or with keys that it lacks; of several values of a
  // key, the last one counts. Refers to the same files.
  Checkpoint with_keys(std::span<const KeyOverride> overrides) const;

  // A checkpoint of only these parts of this one's tensors, in the order of their sources: what one
  // of several machines holds of a model. Metadata, paths and files are those of this one. The
  // whole of a tensor and one range of its slowest dimension stay where they are in the file; parts
  // of tensors with runs, and other parts, are runs. Throws ValueError for sources, axes and ranges
  // that do not exist, FormatError if a name is taken.
  Checkpoint with_parts(std::span<const TensorPart> parts) const;

  const std::string& path() const;
  bool is_directory() const;  // a directory of safetensors: its metadata was derived, not read
  std::uint32_t version() const;
  std::uint64_t alignment() const;
  std::int64_t file_bytes() const;  // all parts
  // A hash of the stamps of the mapped files (FileStamp): if it is the same as at an earlier time,
  // so are their bytes. None if that is not certain, because a file was written a moment before it
  // was mapped, or the bytes are the caller's. Copies of a file have other stamps, and so have
  // other parts of it (with_parts).
  std::optional<std::uint64_t> stamp() const;
  // Throw IoError "FILE: ..., while it was in use": after some of its bytes could not be read
  // (MappedFile::failed(); takes a few nanoseconds unless a mapping has failed); if it was written
  // since it was mapped, by the times and sizes that the system knows.
  void check_mapped() const;
  void check_unchanged() const;
  std::span<const std::string> part_paths() const;  // one for a whole file; a directory and its
                                                    // shards
  // Whether the file of a part's path is the one that was mapped, so that it can be opened again:
  // not after it was replaced, nor for bytes in memory.
  bool is_at_path(std::int32_t part) const;
  std::span<const MetaEntry> metadata() const;        // the first part's
  std::span<const CheckpointTensor> tensors() const;  // those of all parts, in file order

  const MetaValue* find(std::string_view key) const;
  const CheckpointTensor* find_tensor(std::string_view name) const;

  // Typed reads: nullopt if the key is absent; FormatError "FILE: key 'K' must be an unsigned
  // integer, got string" if it has another type or does not fit. Integers may have any integer
  // type.
  std::optional<std::uint64_t> find_uint(std::string_view key) const;
  std::optional<std::int64_t> find_int(std::string_view key) const;
  std::optional<double> find_float(std::string_view key) const;  // f32, f64 or any integer
  std::optional<bool> find_bool(std::string_view key) const;
  std::optional<std::string_view> find_string(std::string_view key) const;
  std::optional<std::vector<std::string_view>> find_strings(std::string_view key) const;
  // f32 or f64 elements; any integer elements.
  std::optional<std::vector<float>> find_floats(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> find_ints(std::string_view key) const;
  std::optional<std::vector<bool>> find_bools(std::string_view key) const;

  // Throws UnsupportedError "FILE: tensor 'x' has type IQ2_S, which is not supported yet
  // (supported: F32, ...)" unless is_supported(). Files with such tensors can be inspected, but not
  // run.
  void require_format(const CheckpointTensor& tensor) const;

 private:
  friend Checkpoint model_of_rank_file(const Checkpoint& file);  // rank_file.h

  struct Impl;
  explicit Checkpoint(std::shared_ptr<const Impl> impl);
  std::shared_ptr<const Impl> impl_;
};

// Whether Weft can compute with a type: those with a codec, and I32, the type of ids.
bool is_supported(DType type);

// Checks the path of a new file. Throws ValueError if it is a file that the model was read from, or
// an existing file in its directory.
void check_output(const Checkpoint& file, const std::string& path);

}  // namespace weft
