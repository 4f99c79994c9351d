#include "checkpoint_builder.h"

#include <cstring>
#include <utility>

namespace weft::files {

void CheckpointBuilder::add(std::string_view key, const MetaValue& value) {
  if (key.empty() || keys_.contains(key))
    fail<ValueError>("key '{}' already exists", printable(key));
  MetaValue kept = value;
  if (auto* text = std::get_if<std::string_view>(&kept.value)) *text = keep(*text);
  if (const auto* array = std::get_if<std::shared_ptr<const MetaArray>>(&kept.value)) {
    MetaArray copy = **array;
    if (copy.element == MetaType::array)
      fail<ValueError>("key '{}': arrays of arrays cannot be added", printable(key));
    if (auto* texts = std::get_if<std::vector<std::string_view>>(&copy.values))
      for (std::string_view& text : *texts) text = keep(text);
    kept.value = std::make_shared<const MetaArray>(std::move(copy));
  }
  const std::string_view own_key = keep(key);
  keys_.insert(own_key);
  metadata_.push_back({own_key, std::move(kept)});
}

void CheckpointBuilder::add_floats(std::string name, std::span<const float> values) {
  const std::size_t offset = (bytes_.size() + gguf::kDefaultAlignment - 1) /
                             gguf::kDefaultAlignment * gguf::kDefaultAlignment;
  bytes_.resize(offset + values.size_bytes());
  std::memcpy(bytes_.data() + offset, values.data(), values.size_bytes());
  vectors_.push_back({keep(name), offset, std::ssize(values)});
}

OpenedFiles CheckpointBuilder::finish(const std::string& path) {
  OpenedFiles files;
  files.paths.push_back(path);
  const MappedFile& map = files.maps.emplace_back(MappedFile::anonymous(bytes_));
  files.head.metadata = std::move(metadata_);
  files.head.by_key = index_by_name(
      files.head.metadata, [](const MetaEntry& e) { return e.key; }, "key", path);
  for (const Vector& v : vectors_) {
    CheckpointTensor tensor{.name = v.name,
                            .spec = {f32, {v.elems}},
                            .data = map.bytes().data() + v.offset,
                            .n_bytes = v.elems * f32.bytes(1),
                            .file_offset = v.offset};
    files.head.tensors.push_back(tensor);
  }
  files.texts = std::exchange(texts_, std::make_shared<std::deque<std::string>>());
  keys_.clear();
  vectors_.clear();
  bytes_.clear();
  return files;
}

}  // namespace weft::files
