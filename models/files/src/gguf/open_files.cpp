#include <deque>
#include <memory>
#include <string>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "gguf/experts.h"
#include "gguf/part.h"
#include "gguf/split.h"

namespace weft::gguf {
namespace {

// Maps and appends the parts after the first.
void append_parts(const Split& split, files::OpenedFiles& files) {
  for (std::uint64_t i = 1; i < split.count; ++i) {
    const std::string& path = files.paths.emplace_back(part_path(files.paths.front(), split, i));
    const MappedFile& map = files.maps.emplace_back(path);
    files::FilePart part = parse_part(map.bytes(), path);
    check_part(part, split, i, path);
    files.file_bytes += static_cast<std::int64_t>(map.bytes().size());
    for (CheckpointTensor& tensor : part.tensors) {
      tensor.part = static_cast<std::int32_t>(i);
      files.head.tensors.push_back(tensor);
    }
  }
  check_distinct(files);
  check_tensor_count(files.head.tensors.size(), split, files.paths.front());
}

// Tensors are looked up by name as long as the model is open: also when pages of its file are lost,
// which then read as zeros until the loss is told (Checkpoint::check_mapped()).
void own_names(files::OpenedFiles& files) {
  const auto names = std::make_shared<std::deque<std::string>>();
  for (CheckpointTensor& tensor : files.head.tensors)
    tensor.name = names->emplace_back(tensor.name);
  files.texts = names;
}

}  // namespace

files::OpenedFiles open_files(const std::string& path) {
  files::OpenedFiles files;
  files.paths.push_back(path);
  const MappedFile& map = files.maps.emplace_back(path);
  files.file_bytes = static_cast<std::int64_t>(map.bytes().size());
  files.head = parse_part(map.bytes(), path);
  const Split split = read_split(files.head, path);
  if (split.count > 1) append_parts(split, files);
  stack_experts(files);
  own_names(files);
  return files;
}

files::FilePart parse_whole(std::span<const std::byte> bytes, const std::string& name) {
  files::FilePart part = parse_part(bytes, name);
  if (read_split(part, name).count > 1) {
    fail<UnsupportedError>("{}: part of a split model, which can only be opened from files",
                           printable_path(name));
  }
  return part;
}

}  // namespace weft::gguf
