#include "weft/files/gguf.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"
#include "weft/files/gguf_types.h"
#include "weft/files/mapped_file.h"

#include "gguf/metadata.h"
#include "gguf/part.h"
#include "gguf/split.h"
#include "safetensors/directory.h"

namespace weft {

struct GgufFile::Impl {
  std::vector<MappedFile> maps;
  std::vector<std::string> paths;
  gguf::Part head;                                        // the first part, with the tensors of all
  std::shared_ptr<const std::vector<std::string>> names;  // of tensors of a directory
  bool is_directory = false;
  std::vector<std::uint32_t> by_name;
  std::int64_t file_bytes = 0;

  void index_tensors() {
    by_name = gguf::index_by_name(
        head.tensors, [](const GgufTensor& t) { return t.name; }, "tensor", paths.front());
  }

  void take(safetensors::Directory directory) {
    is_directory = true;
    maps = std::move(directory.maps);
    paths = std::move(directory.paths);
    head = std::move(directory.head);
    names = std::move(directory.names);
    file_bytes = directory.file_bytes;
  }

  // Maps and appends the parts after the first.
  void append_parts(const gguf::Split& split) {
    for (std::uint64_t i = 1; i < split.count; ++i) {
      const std::string& path = paths.emplace_back(gguf::part_path(paths.front(), split, i));
      const MappedFile& map = maps.emplace_back(path);
      gguf::Part part = gguf::parse_part(map.bytes(), path);
      gguf::check_part(part, split, i, path);
      file_bytes += static_cast<std::int64_t>(map.bytes().size());
      for (GgufTensor& tensor : part.tensors) {
        tensor.part = static_cast<std::int32_t>(i);
        head.tensors.push_back(tensor);
      }
    }
    gguf::check_tensor_count(head.tensors.size(), split, paths.front());
  }
};

GgufFile::GgufFile(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

GgufFile GgufFile::open(const std::string& path) {
  auto impl = std::make_shared<Impl>();
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    impl->take(safetensors::open_directory(path));
    impl->index_tensors();
    return GgufFile(std::move(impl));
  }
  if (path.ends_with(".safetensors")) {
    fail<FormatError>("{}: holds weights alone; give the directory with config.json beside it",
                      printable_path(path));
  }
  impl->paths.push_back(path);
  const MappedFile& map = impl->maps.emplace_back(path);
  impl->file_bytes = static_cast<std::int64_t>(map.bytes().size());
  impl->head = gguf::parse_part(map.bytes(), path);
  const gguf::Split split = gguf::read_split(impl->head, path);
  if (split.count > 1) impl->append_parts(split);
  impl->index_tensors();
  return GgufFile(std::move(impl));
}

GgufFile GgufFile::parse(std::span<const std::byte> bytes, const std::string& name) {
  auto impl = std::make_shared<Impl>();
  impl->paths.push_back(name);
  impl->file_bytes = static_cast<std::int64_t>(bytes.size());
  impl->head = gguf::parse_part(bytes, name);
  if (gguf::read_split(impl->head, name).count > 1) {
    fail<UnsupportedError>("{}: is part of a split model, which can only be opened from files",
                           printable_path(name));
  }
  impl->index_tensors();
  return GgufFile(std::move(impl));
}

const std::string& GgufFile::path() const {
  return impl_->paths.front();
}
bool GgufFile::is_directory() const {
  return impl_->is_directory;
}
std::uint32_t GgufFile::version() const {
  return impl_->head.version;
}
std::uint64_t GgufFile::alignment() const {
  return impl_->head.alignment;
}
std::int64_t GgufFile::file_bytes() const {
  return impl_->file_bytes;
}
std::span<const std::string> GgufFile::part_paths() const {
  return impl_->paths;
}
std::span<const MetaEntry> GgufFile::metadata() const {
  return impl_->head.metadata;
}
std::span<const GgufTensor> GgufFile::tensors() const {
  return impl_->head.tensors;
}
void check_output(const GgufFile& file, const std::string& path) {
  std::error_code error;
  bool own = false;
  for (const std::string& part : file.part_paths())
    own = own || std::filesystem::equivalent(part, path, error);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  own = own || (file.is_directory() && std::filesystem::is_regular_file(path, error) &&
                std::filesystem::equivalent(file.path(), folder.empty() ? "." : folder, error));
  if (own) fail<ValueError>("{}: the output must be another file than the input", path);
}

const MetaValue* GgufFile::find(std::string_view key) const {
  return impl_->head.find(key);
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto& tensors = impl_->head.tensors;
  const auto found =
      std::lower_bound(impl_->by_name.begin(), impl_->by_name.end(), name,
                       [&](std::uint32_t i, std::string_view n) { return tensors[i].name < n; });
  if (found == impl_->by_name.end() || tensors[*found].name != name) return nullptr;
  return &tensors[*found];
}

void GgufFile::require_format(const GgufTensor& tensor) const {
  if (is_supported(tensor.spec.dtype)) return;
  fail<UnsupportedError>("{}: tensor '{}' has type {}, which is not supported yet (supported: {})",
                         printable_path(impl_->paths[static_cast<std::size_t>(tensor.part)]),
                         printable(tensor.name), tensor.spec.dtype.name(), gguf::supported_types());
}

std::int64_t stored_row(const GgufTensor& tensor, std::int64_t row) {
  if (tensor.paired_rows == 0) return row;
  const std::int64_t in_head = row % tensor.paired_rows;
  return row - in_head + in_head / 2 + in_head % 2 * (tensor.paired_rows / 2);
}

void copy_rows(const GgufTensor& tensor, std::int64_t first, std::int64_t last, std::byte* out) {
  const std::int64_t row_bytes = tensor.spec.row_bytes();
  for (std::int64_t r = first; r < last; ++r, out += row_bytes)
    std::memcpy(out, tensor.data + stored_row(tensor, r) * row_bytes,
                static_cast<std::size_t>(row_bytes));
}

}  // namespace weft
