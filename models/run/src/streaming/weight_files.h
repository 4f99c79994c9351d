#pragma once
// The files from which weights are streamed: those of the model, or one with the weights in the
// layout of kernels (packed_file.h).

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weft/files/checkpoint.h"
#include "weft/graph/graph.h"

namespace weft::run {

struct WeightLayout;

class WeightFiles {
 public:
  // The bytes of a weight, in order and without gaps.
  struct Location {
    std::int32_t file = 0;  // index of the path
    std::uint64_t offset = 0;
    std::int64_t bytes = 0;
    DType dtype;
  };

  // The files of a model, which outlives the object. Asks the system about each of them.
  explicit WeightFiles(const Checkpoint& model);
  // A file that has, or will have, the weights of a layout from byte `begin` on.
  WeightFiles(std::string path, const WeightLayout& layout, std::uint64_t begin);

  // None if the files lack the weight in the type that the graph gives it, or cannot be opened.
  std::optional<Location> find(const Node& weight) const;
  bool contains(std::string_view path) const { return locations_.contains(path); }
  const Location& at(std::string_view path) const;  // REQUIRES: contains(path)
  std::span<const std::string> paths() const { return paths_; }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::vector<std::string> paths_;
  std::unordered_map<std::string, Location, Hash, std::equal_to<>> locations_;
};

}  // namespace weft::run
