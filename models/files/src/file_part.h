#pragma once
// The results that the readers of GGUF files and of directories return to Checkpoint.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/checkpoint.h"
#include "weft/files/gguf_limits.h"
#include "weft/files/mapped_file.h"

namespace weft::files {

// Metadata and tensor table of one file.
struct FilePart {
  std::uint32_t version = gguf::kWrittenVersion;
  std::uint64_t alignment = gguf::kDefaultAlignment;
  std::vector<MetaEntry> metadata;
  std::vector<std::uint32_t> by_key;  // indices of `metadata`, sorted by key
  // Inside the file, not overlapping; names not yet checked for duplicates.
  std::vector<CheckpointTensor> tensors;

  const MetaValue* find(std::string_view key) const;
};

// The parts that the file of a rank has, by their names.
using StoredParts = std::map<std::string, CheckpointTensor, std::less<>>;

// A whole model.
struct OpenedFiles {
  std::vector<std::string> paths;  // by part; the requested one first
  std::vector<MappedFile> maps;    // likewise
  FilePart head;                   // the first part, with the tensors of all
  // Text that `head` views and that is not in a file.
  std::shared_ptr<const std::deque<std::string>> texts;
  // The runs that tensors view.
  std::shared_ptr<const std::deque<std::vector<RowRun>>> runs;
  bool is_directory = false;
  std::int64_t file_bytes = 0;
  // If the tensors are those of a model of which the file has parts (stored_parts.h): the parts.
  std::shared_ptr<const StoredParts> stored;
  std::uint64_t parts = 0;  // if the tensors are parts of those of another checkpoint: which ones
};

// All rows of a matrix as rows first .. of a larger tensor.
inline RowRun whole_run(const CheckpointTensor& matrix, std::int64_t first) {
  const std::int64_t n = matrix.n_rows();
  return {.data = matrix.data,
          .first = first,
          .n_rows = n,
          .row_stride = matrix.row_bytes(),
          .inner = n,
          .part = matrix.part,
          .file_offset = matrix.file_offset};
}

// Bytes from the data of a run to one of its rows.
inline std::int64_t row_offset(const RowRun& run, std::int64_t row) {
  return row / run.inner * run.outer_stride + row % run.inner * run.row_stride;
}

// Indices of `items`, sorted by name. Throws FormatError for equal names: "FILE: key 'K' appears
// twice".
template <class Items, class GetName>
std::vector<std::uint32_t> index_by_name(const Items& items, GetName name, std::string_view kind,
                                         const std::string& file) {
  std::vector<std::uint32_t> index(items.size());
  std::iota(index.begin(), index.end(), 0u);
  std::sort(index.begin(), index.end(),
            [&](std::uint32_t a, std::uint32_t b) { return name(items[a]) < name(items[b]); });
  for (std::size_t i = 1; i < index.size(); ++i) {
    if (name(items[index[i]]) == name(items[index[i - 1]])) {
      fail<FormatError>("{}: {} '{}' appears twice", printable_path(file), kind,
                        printable(name(items[index[i]])));
    }
  }
  return index;
}

// An integer value as an unsigned one. Throws FormatError "FILE: key 'K' must be an unsigned
// integer, got string".
std::uint64_t to_uint(const MetaValue& value, std::string_view key, const std::string& file);

}  // namespace weft::files
