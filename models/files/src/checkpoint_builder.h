#pragma once
// Assembles a checkpoint whose metadata and small tensors are not in a file.

#include <deque>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "file_part.h"

namespace weft::files {

class CheckpointBuilder : public MetadataSink {
 public:
  // Also throws ValueError for arrays of arrays.
  void add(std::string_view key, const MetaValue& value) override;

  // Keeps a copy of the text as long as the checkpoint lives.
  std::string_view keep(std::string_view text) { return texts_->emplace_back(text); }

  // A vector in F32. REQUIRES: not empty.
  void add_floats(std::string name, std::span<const float> values);

  // Returns everything that was added, as part 0 of `path`. The vectors are in an anonymous file,
  // so that their pages can be released and reloaded like those of other parts. The builder is
  // empty afterwards.
  OpenedFiles finish(const std::string& path);

 private:
  struct Vector {
    std::string_view name;
    std::size_t offset;  // in bytes_
    std::int64_t elems;
  };

  std::shared_ptr<std::deque<std::string>> texts_ = std::make_shared<std::deque<std::string>>();
  std::vector<MetaEntry> metadata_;
  std::set<std::string_view> keys_;
  std::vector<Vector> vectors_;
  std::vector<std::byte> bytes_;
};

}  // namespace weft::files
