#include "streaming/weight_files.h"

#include <utility>

#include "weft/base/error.h"
#include "weft/base/printable.h"

#include "weights/weight_layout.h"

namespace weft::run {

WeightFiles::WeightFiles(const Checkpoint& model)
    : paths_(model.part_paths().begin(), model.part_paths().end()) {
  std::vector<bool> can_be_opened;
  for (std::size_t i = 0; i < paths_.size(); ++i)
    can_be_opened.push_back(model.is_at_path(static_cast<std::int32_t>(i)));
  for (const CheckpointTensor& t : model.tensors()) {
    if (!t.runs.empty() || t.lent || !can_be_opened[static_cast<std::size_t>(t.part)]) continue;
    locations_[std::string(t.name)] = {
        .file = t.part, .offset = t.file_offset, .bytes = t.n_bytes, .dtype = t.spec.dtype};
  }
}

WeightFiles::WeightFiles(std::string path, const WeightLayout& layout, std::uint64_t begin)
    : paths_{std::move(path)} {
  for (const PlacedWeight& w : layout.weights) {
    if (w.offset == kInFile) continue;
    locations_[std::string(w.tensor->name)] = {
        .offset = begin + static_cast<std::uint64_t>(w.offset),
        .bytes = w.bytes(),
        .dtype = w.dtype};
  }
}

const WeightFiles::Location& WeightFiles::at(std::string_view path) const {
  const auto it = locations_.find(path);
  if (it == locations_.end()) fail<Error>("weight '{}' is not in the files", printable(path));
  return it->second;
}

std::optional<WeightFiles::Location> WeightFiles::find(const Node& weight) const {
  const auto it = locations_.find(std::string_view(weight.path));
  if (it == locations_.end() || it->second.dtype != weight.spec.dtype) return std::nullopt;
  return it->second;
}

}  // namespace weft::run
